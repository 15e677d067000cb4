//! The open loop on a virtual clock: known answers, and accounts that balance in whatever order things happen.

mod identity;
mod known_answers;
mod world;
