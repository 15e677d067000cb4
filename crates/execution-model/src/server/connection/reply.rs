//! How requests are answered, beside what with.

use workload::http::{self, ContentType, Response, Status};

/// What a server answers by itself, where others have plans.
#[derive(Clone, Debug)]
pub struct OwnAnswer {
    /// The status.
    pub status: Status,
    /// The type of the body.
    pub content_type: ContentType,
    /// The body.
    pub body: String,
}

/// How to answer a request, beside what to answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    pub(super) keep_alive: bool,
    pub(super) announce_keep_alive: bool,
    pub(super) head_only: bool,
}

impl Reply {
    pub(super) const CLOSE: Reply = Reply { keep_alive: false, announce_keep_alive: false, head_only: false };

    pub(super) fn response(self, close: bool) -> Response<'static> {
        Response {
            status: Status::Ok,
            content_type: ContentType::Json,
            body: b"",
            close,
            announce_keep_alive: self.announce_keep_alive,
            head_only: self.head_only,
        }
    }
}

/// What a connection over the limit is sent.
pub(super) fn over_limit() -> Vec<u8> {
    let mut output = Vec::new();
    let response = Response {
        status: Status::Unavailable,
        content_type: ContentType::Text,
        body: b"the connection limit is reached, or the server is draining\n",
        ..Reply::CLOSE.response(true)
    };
    http::write_response(&mut output, &response);
    output
}
