//! The HTTP load client against small servers that behave well and badly.

mod closed;
mod hold;
mod one_each;
mod open;
mod servers;
