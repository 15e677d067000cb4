//! Reads answers: finds where one ends, and says whether it is the right one.
//!
//! The first right answer of a run, once `httparse` has taken it apart and its body was compared, becomes a
//! template: an answer with the same bytes is the same answer, and comparing bytes is all that it costs. Any other
//! answer is taken apart again, and becomes the template if it is right (a `Date` header may have moved on).

use std::collections::BTreeMap;

use super::failure::Failure;

/// Longest head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 65_536;
/// Longest body of an answer, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
const HEADERS_MAX: usize = 64;
/// A connection keeps the memory of answers that come in pieces up to this size, for its next one.
const KEPT_BYTES_MAX: usize = 16 * 1024;
/// How much of an answer an error example shows.
const SHOWN_BYTES_MAX: usize = 160;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Status 200 and the expected body.
    Completed,
    /// Status 503: the server said that it will not do it.
    Rejected,
    /// No answer in time.
    TimedOut,
    /// Anything else.
    Failed(Failure),
}

/// What the bytes so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Incomplete,
    Done { verdict: Verdict, keep_alive: bool },
}

/// An answer of which a part has come.
#[derive(Debug, Default)]
pub(super) struct Partial {
    bytes: Vec<u8>,
    head: Option<Head>,
}

impl Partial {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn reset(&mut self) {
        self.head = None;
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        } else {
            self.bytes.clear();
        }
    }
}

/// Judges the answers of one run.
#[derive(Debug)]
pub(super) struct Verifier {
    expected_body: Option<Vec<u8>>,
    template: Option<Template>,
    examples: BTreeMap<Failure, String>,
}

#[derive(Debug, Default)]
struct Template {
    bytes: Vec<u8>,
    keep_alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    bytes: usize,
    body_bytes: usize,
    keep_alive: bool,
}

impl Verifier {
    pub(super) fn new(expected_body: Option<&str>) -> Self {
        let expected_body = expected_body.map(|body| body.as_bytes().to_vec());
        Self { expected_body, template: None, examples: BTreeMap::new() }
    }

    /// Takes the next bytes of an answer. `partial` holds what came before them, if anything.
    #[inline]
    pub(super) fn take(&mut self, chunk: &[u8], partial: &mut Option<Box<Partial>>) -> Answer {
        let nothing_before = partial.as_ref().is_none_or(|partial| partial.is_empty());
        if nothing_before
            && let Some(template) = &self.template
            && template.bytes == chunk
        {
            return Answer::Done { verdict: Verdict::Completed, keep_alive: template.keep_alive };
        }
        self.take_slowly(chunk, partial)
    }

    /// Describes the bytes of the first answer that failed so; none where no bytes tell.
    pub(super) fn example(&self, failure: Failure) -> Option<&str> {
        self.examples.get(&failure).map(String::as_str)
    }

    #[cold]
    fn take_slowly(&mut self, chunk: &[u8], partial: &mut Option<Box<Partial>>) -> Answer {
        let whole_before = partial.as_ref().is_none_or(|partial| partial.is_empty());
        if whole_before {
            let mut head = None;
            let answer = self.judge(chunk, &mut head);
            if answer == Answer::Incomplete {
                let partial = partial.get_or_insert_default();
                partial.bytes.extend_from_slice(chunk);
                partial.head = head;
            }
            return answer;
        }
        let partial = partial.get_or_insert_default();
        partial.bytes.extend_from_slice(chunk);
        let mut head = partial.head;
        let answer = self.judge(&partial.bytes, &mut head);
        partial.head = head;
        if answer != Answer::Incomplete {
            partial.reset();
        }
        answer
    }

    fn judge(&mut self, bytes: &[u8], known: &mut Option<Head>) -> Answer {
        let head = match *known {
            Some(head) => head,
            None => match parse_head(bytes) {
                Ok(Some(head)) => *known.insert(head),
                Ok(None) => return Answer::Incomplete,
                Err(failure) => return self.failed(failure, bytes, false),
            },
        };
        let end = head.bytes + head.body_bytes;
        if bytes.len() < end {
            return Answer::Incomplete;
        }
        if bytes.len() > end {
            return self.failed(Failure::ExtraBytes, bytes, false);
        }
        match head.status {
            200 if self.expected_body.as_deref().is_none_or(|body| body == &bytes[head.bytes..]) => {
                // Where each answer differs from the last, this costs a copy and no allocation.
                let template = self.template.get_or_insert_default();
                template.bytes.clear();
                template.bytes.extend_from_slice(bytes);
                template.keep_alive = head.keep_alive;
                Answer::Done { verdict: Verdict::Completed, keep_alive: head.keep_alive }
            }
            200 => self.failed(Failure::WrongBody, bytes, head.keep_alive),
            503 => Answer::Done { verdict: Verdict::Rejected, keep_alive: head.keep_alive },
            status => self.failed(Failure::Status(status), bytes, head.keep_alive),
        }
    }

    fn failed(&mut self, failure: Failure, bytes: &[u8], keep_alive: bool) -> Answer {
        self.examples.entry(failure).or_insert_with(|| {
            let shown = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
            let more = if shown.len() < bytes.len() { "..." } else { "" };
            format!("\"{}{more}\"", shown.escape_ascii())
        });
        Answer::Done { verdict: Verdict::Failed(failure), keep_alive }
    }
}

/// The head, if all of it is there.
fn parse_head(bytes: &[u8]) -> Result<Option<Head>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let head_bytes = match response.parse(bytes) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) if bytes.len() > HEAD_BYTES_MAX => return Err(Failure::TooLarge),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Failure::TooLarge),
        Err(_) => return Err(Failure::Malformed),
    };
    let status = response.code.ok_or(Failure::Malformed)?;
    let mut keep_alive = response.version == Some(1);
    let mut length = None;
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = content_length(header.value)?;
            if length.is_some_and(|earlier| earlier != value) {
                return Err(Failure::Malformed);
            }
            length = Some(value);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Failure::ChunkedUnsupported);
        } else if header.name.eq_ignore_ascii_case("connection") {
            for option in header.value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                if option.eq_ignore_ascii_case(b"close") {
                    keep_alive = false;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    keep_alive = true;
                }
            }
        }
    }
    let body_bytes = match (status, length) {
        // An interim response has no place here: no request asks for one, and its answer would come after it.
        (100..200, _) => return Err(Failure::Status(status)),
        (204 | 304, _) => 0,
        (_, Some(length)) if length > BODY_BYTES_MAX => return Err(Failure::TooLarge),
        (_, Some(length)) => length,
        (_, None) => return Err(Failure::LengthMissing),
    };
    Ok(Some(Head { status, bytes: head_bytes, body_bytes, keep_alive }))
}

fn content_length(value: &[u8]) -> Result<usize, Failure> {
    let digits = value.trim_ascii();
    // Unlike the number parser, the protocol allows no sign.
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Failure::Malformed);
    }
    str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or(Failure::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

    fn done(verdict: Verdict, keep_alive: bool) -> Answer {
        Answer::Done { verdict, keep_alive }
    }

    fn judged(bytes: &[u8]) -> Answer {
        Verifier::new(Some("hello")).take(bytes, &mut None)
    }

    fn failed(failure: Failure) -> Answer {
        done(Verdict::Failed(failure), false)
    }

    #[test]
    fn one_answer_may_come_in_pieces_of_any_size() {
        for size in 1..=GOOD.len() {
            let mut verifier = Verifier::new(Some("hello"));
            let mut partial = None;
            // Twice on one connection: the first answer makes the template, the second starts from a used buffer.
            for _ in 0..2 {
                let mut pieces = GOOD.chunks(size).peekable();
                while let Some(piece) = pieces.next() {
                    let expected = if pieces.peek().is_some() {
                        Answer::Incomplete
                    } else {
                        done(Verdict::Completed, true)
                    };
                    assert_eq!(verifier.take(piece, &mut partial), expected, "pieces of {size}");
                }
            }
        }
    }

    #[test]
    fn only_a_right_answer_becomes_the_template() {
        let mut verifier = Verifier::new(Some("hello"));
        let wrong = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhullo";
        for _ in 0..2 {
            assert_eq!(verifier.take(wrong, &mut None), done(Verdict::Failed(Failure::WrongBody), true));
            assert!(verifier.template.is_none());
        }
        assert!(verifier.example(Failure::WrongBody).expect("an example").contains("hullo"));
        assert_eq!(verifier.take(GOOD, &mut None), done(Verdict::Completed, true));
        assert_eq!(verifier.template.as_ref().expect("a template").bytes, GOOD);
        assert_eq!(verifier.take(GOOD, &mut None), done(Verdict::Completed, true));
        assert_eq!(verifier.take(wrong, &mut None), done(Verdict::Failed(Failure::WrongBody), true));
    }

    #[test]
    fn the_end_of_the_connection_is_announced_in_several_ways() {
        let closing = b"HTTP/1.1 200 OK\r\nconnection: Foo, Close\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(judged(closing), done(Verdict::Completed, false));
        let old = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(judged(old), done(Verdict::Completed, false));
        let old_kept = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(judged(old_kept), done(Verdict::Completed, true));
    }

    #[test]
    fn statuses_are_told_apart() {
        let rejected = b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(judged(rejected), done(Verdict::Rejected, true));
        let missing = b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno";
        assert_eq!(judged(missing), done(Verdict::Failed(Failure::Status(404)), true));
        assert_eq!(judged(b"HTTP/1.1 204 None\r\n\r\n"), done(Verdict::Failed(Failure::Status(204)), true));
        assert_eq!(judged(b"HTTP/1.1 100 Continue\r\n\r\n"), failed(Failure::Status(100)));
    }

    #[test]
    fn what_cannot_be_understood_is_a_failure_of_its_own_class() {
        for (bytes, failure) in [
            (&b"SSH-2.0-x\r\n"[..], Failure::Malformed),
            (b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", Failure::Malformed),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", Failure::Malformed),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", Failure::ExtraBytes),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Failure::ChunkedUnsupported),
            (b"HTTP/1.1 200 OK\r\n\r\nhello", Failure::LengthMissing),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", Failure::TooLarge),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", Failure::TooLarge),
        ] {
            assert_eq!(judged(bytes), failed(failure), "{}", bytes.escape_ascii());
        }
        let endless = [&b"HTTP/1.1 200 OK\r\nX: "[..], &[b'a'; HEAD_BYTES_MAX]].concat();
        assert_eq!(judged(&endless), failed(Failure::TooLarge));
    }
}
