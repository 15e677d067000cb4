//! From an answer to bytes: status line, the few header fields that are needed, and the body.

use std::io::Write;

use crate::job::Answer;

/// The statuses that a server here answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 200
    Ok,
    /// 400
    BadRequest,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 408: the request did not arrive in time
    RequestTimeout,
    /// 429: no slot is kept for it now
    TooManyRequests,
    /// 431
    HeadTooLarge,
    /// 500: the handler panicked
    InternalError,
    /// 503: the in-flight limit or the connection limit is reached, or the server is draining
    Unavailable,
}

impl Status {
    /// The status code.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Status::Ok => 200,
            Status::BadRequest => 400,
            Status::NotFound => 404,
            Status::MethodNotAllowed => 405,
            Status::RequestTimeout => 408,
            Status::TooManyRequests => 429,
            Status::HeadTooLarge => 431,
            Status::InternalError => 500,
            Status::Unavailable => 503,
        }
    }

    const fn phrase(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::BadRequest => "Bad Request",
            Status::NotFound => "Not Found",
            Status::MethodNotAllowed => "Method Not Allowed",
            Status::RequestTimeout => "Request Timeout",
            Status::TooManyRequests => "Too Many Requests",
            Status::HeadTooLarge => "Request Header Fields Too Large",
            Status::InternalError => "Internal Server Error",
            Status::Unavailable => "Service Unavailable",
        }
    }
}

/// The type of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// `application/json`
    Json,
    /// Plain text, one message a line.
    Text,
    /// The Prometheus text exposition format, version 0.0.4.
    Prometheus,
}

impl ContentType {
    const fn name(self) -> &'static str {
        match self {
            ContentType::Json => "application/json",
            ContentType::Text => "text/plain; charset=utf-8",
            ContentType::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// One response, before it is bytes.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The status. 429 and 503 bring `Retry-After: 1`, and 405 brings `Allow`.
    pub status: Status,
    /// The type of the body.
    pub content_type: ContentType,
    /// The body.
    pub body: &'a [u8],
    /// Whether the connection ends with this response.
    pub close: bool,
    /// Whether to say that the connection is kept, as HTTP/1.0 needs.
    pub announce_keep_alive: bool,
    /// Whether to leave the body out but count it, as `HEAD` wants.
    pub head_only: bool,
}

/// Appends `response` to `output`.
pub fn write_response(output: &mut Vec<u8>, response: &Response<'_>) {
    let Response { status, content_type, body, .. } = *response;
    let mut head = |arguments: std::fmt::Arguments<'_>| {
        output.write_fmt(arguments).expect("writing to a vector cannot fail");
    };
    head(format_args!("HTTP/1.1 {} {}\r\n", status.code(), status.phrase()));
    head(format_args!("Content-Type: {}\r\nContent-Length: {}\r\n", content_type.name(), body.len()));
    match status {
        Status::Unavailable | Status::TooManyRequests => head(format_args!("Retry-After: 1\r\n")),
        Status::MethodNotAllowed => head(format_args!("Allow: GET, HEAD\r\n")),
        _ => {}
    }
    if response.close {
        head(format_args!("Connection: close\r\n"));
    } else if response.announce_keep_alive {
        head(format_args!("Connection: keep-alive\r\n"));
    }
    output.extend_from_slice(b"\r\n");
    if !response.head_only {
        output.extend_from_slice(body);
    }
}

/// Appends the response to a plan that was carried out: 200 with [`answer_body`].
pub fn write_answer(output: &mut Vec<u8>, answer: Answer, template: &Response<'_>) {
    // The usual answer, on every request's path: what `write_response` writes, from a form that is filled in.
    const FORM: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 41\r\n\r\n\
        {\"steps\":0,\"checksum\":\"0000000000000000\"}";
    const CHECKSUM_AT: usize = FORM.len() - "0000000000000000\"}".len();
    const STEPS_AT: usize = CHECKSUM_AT - "0,\"checksum\":\"".len();
    let usual = !(template.close || template.announce_keep_alive || template.head_only);
    match u8::try_from(answer.steps) {
        Ok(steps @ 0..=9) if usual => {
            let mut form: [u8; FORM.len()] = FORM.try_into().expect("it has its own length");
            form[STEPS_AT] = b'0' + steps;
            form[CHECKSUM_AT..][..16].copy_from_slice(&hexadecimal(answer.checksum));
            output.extend_from_slice(&form);
        }
        _ => {
            let body = answer_body(answer);
            let (status, content_type) = (Status::Ok, ContentType::Json);
            write_response(output, &Response { status, content_type, body: body.as_bytes(), ..*template });
        }
    }
}

/// The body of the answer to a plan: `{"steps":3,"checksum":"00c0ffee00c0ffee"}`.
///
/// The checksum is text because JSON numbers lose digits past 2^53 in many readers.
#[must_use]
pub fn answer_body(answer: Answer) -> String {
    format!("{{\"steps\":{},\"checksum\":\"{:016x}\"}}", answer.steps, answer.checksum)
}

fn hexadecimal(number: u64) -> [u8; 16] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 16];
    for (pair, byte) in text.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: Response<'_> = Response {
        status: Status::Ok,
        content_type: ContentType::Json,
        body: b"",
        close: false,
        announce_keep_alive: false,
        head_only: false,
    };

    fn text(response: &Response<'_>) -> String {
        let mut output = Vec::new();
        write_response(&mut output, response);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn the_quick_path_writes_what_the_general_one_writes() {
        for answer in [
            Answer { steps: 0, checksum: 0 },
            Answer { steps: 9, checksum: 0x0123_4567_89ab_cdef },
            Answer { steps: 16, checksum: 0xdead_beef },
            Answer { steps: u32::MAX, checksum: u64::MAX },
        ] {
            let mut quick = Vec::new();
            write_answer(&mut quick, answer, &TEMPLATE);
            let body = format!("{{\"steps\":{},\"checksum\":\"{:016x}\"}}", answer.steps, answer.checksum);
            assert_eq!(answer_body(answer), body);
            let general = text(&Response { body: body.as_bytes(), ..TEMPLATE });
            assert_eq!(String::from_utf8(quick).unwrap(), general);
        }
    }

    #[test]
    fn each_status_brings_the_fields_it_needs() {
        let full = text(&Response { status: Status::Unavailable, close: true, body: b"full", ..TEMPLATE });
        assert!(full.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{full}");
        assert!(full.contains("\r\nRetry-After: 1\r\n") && full.contains("\r\nConnection: close\r\n"));
        assert!(full.ends_with("\r\n\r\nfull"));
        let method = text(&Response { status: Status::MethodNotAllowed, ..TEMPLATE });
        assert!(method.contains("\r\nAllow: GET, HEAD\r\n"));
    }

    #[test]
    fn an_answer_to_head_has_a_length_and_no_body() {
        let mut output = Vec::new();
        write_answer(
            &mut output,
            Answer { steps: 1, checksum: 2 },
            &Response { head_only: true, ..TEMPLATE },
        );
        let output = String::from_utf8(output).unwrap();
        assert!(output.contains("Content-Length: 41\r\n") && output.ends_with("\r\n\r\n"), "{output}");
    }
}
