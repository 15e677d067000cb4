//! The arithmetic that each measured figure stands beside. Pure functions of their arguments.

pub mod erlang;
pub mod little;
