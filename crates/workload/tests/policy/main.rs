//! What holds of every policy, whatever comes, and what each of them does in cases whose answer is known.

mod admission;
mod known;
mod properties;
