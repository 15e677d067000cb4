//! The HTTP/1.1 wire format that every server here speaks: one codec, so that no model wins by
//! parsing less. It turns bytes into a [`Target`] and an answer into bytes, and does no I/O.

mod request;
mod response;

pub use request::{HEAD_BYTES_MAX, Parsed, Refusal, Request, Target, parse};
pub use response::{ContentType, Response, Status, answer_body, write_answer, write_response};
