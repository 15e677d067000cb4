//! The arithmetic that each measured figure stands beside. Pure functions of their arguments.

pub mod amdahl;
pub mod erlang;
pub mod little;
pub mod pipeline;
pub mod pool;
pub mod whole;
