//! From bytes to a request: the head by `httparse`, then the route and the plan in the URL.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use crate::http::Status;
use crate::job::{BlockingStrategy, Job};
use crate::pipeline::Lane;

/// The largest request head, in bytes. A longer one is refused with 431.
pub const HEAD_BYTES_MAX: usize = 8 * 1024;
const HEADERS_MAX: usize = 64;

/// What the bytes received so far hold.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// No whole request yet.
    Partial,
    /// A whole request.
    Request(Request),
    /// Bytes after which the connection cannot go on, because it is unknown where the next request begins.
    Refused(Refusal),
}

/// A request whose head has arrived whole.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked for.
    pub target: Target,
    /// Whether the client keeps the connection for another request.
    pub keep_alive: bool,
    /// Whether the client must be told that the connection is kept (HTTP/1.0).
    pub announce_keep_alive: bool,
    /// Whether only the head of the answer is wanted (`HEAD`).
    pub head_only: bool,
    /// How many bytes the request took.
    pub bytes: usize,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// `/run/PLAN?seed=N&strategy=NAME`
    Run(Job),
    /// `/image/interactive` or `/image/bulk`, where a pipeline is served.
    Image(Lane),
    /// `/healthz`
    Healthz,
    /// `/metrics`
    Metrics,
    /// Understood as HTTP but not as one of these: the status and the reason to answer with.
    Wrong(Refusal),
}

/// A status with a reason in words.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status to answer with.
    pub status: Status,
    /// What was wrong and what would be right.
    pub reason: Cow<'static, str>,
}

/// Reads one request from the front of `bytes`.
#[must_use]
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut []);
    match head.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(httparse::Status::Complete(length)) if length > HEAD_BYTES_MAX => too_long(),
        Ok(httparse::Status::Complete(length)) => whole(&head, length),
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES_MAX => too_long(),
        Ok(httparse::Status::Partial) => Parsed::Partial,
        Err(httparse::Error::TooManyHeaders) => {
            refused(Status::HeadTooLarge, format!("more than {HEADERS_MAX} header fields"))
        }
        Err(error) => refused(Status::BadRequest, format!("malformed request head: {error}")),
    }
}

fn whole(head: &httparse::Request<'_, '_>, length: usize) -> Parsed {
    let http_1_1 = head.version == Some(1);
    let mut keep_alive = http_1_1;
    let mut hosts = 0;
    for header in head.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("host") {
            hosts += 1;
        } else if is("connection") {
            let has = |token: &str| {
                header
                    .value
                    .split(|byte| *byte == b',')
                    .any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
            };
            if has("close") {
                keep_alive = false;
            } else if has("keep-alive") {
                keep_alive = true;
            }
        } else if is("transfer-encoding") || (is("content-length") && header.value.trim_ascii() != b"0") {
            return refused(
                Status::BadRequest,
                "the request has a body; every request here is a GET without one",
            );
        }
    }
    let method = head.method.unwrap_or_default();
    let target = match method {
        // RFC 9112, section 3.2.
        _ if hosts > 1 || (hosts == 0 && http_1_1) => {
            wrong(Status::BadRequest, "a request of HTTP/1.1 has a Host field, and no request has two")
        }
        "GET" | "HEAD" => target(head.path.unwrap_or_default()),
        _ => wrong(Status::MethodNotAllowed, format!("method {method} is not served; use GET or HEAD")),
    };
    Parsed::Request(Request {
        target,
        keep_alive,
        announce_keep_alive: keep_alive && !http_1_1,
        head_only: method == "HEAD",
        bytes: length,
    })
}

fn target(uri: &str) -> Target {
    let (path, query) = path_and_query(uri);
    match path {
        "/healthz" => Target::Healthz,
        "/metrics" => Target::Metrics,
        "/image/interactive" => Target::Image(Lane::Interactive),
        "/image/bulk" => Target::Image(Lane::Bulk),
        _ => match path.strip_prefix("/run/") {
            Some(plan) => run_target(plan, query).unwrap_or_else(Target::Wrong),
            None => wrong(
                Status::NotFound,
                "no such path; there are /run/PLAN or /image/LANE, /healthz and /metrics",
            ),
        },
    }
}

/// Splits a request target, dropping the scheme and authority that a proxy's client sends.
fn path_and_query(uri: &str) -> (&str, &str) {
    let uri =
        uri.strip_prefix("http://").map_or(uri, |rest| rest.find('/').map_or("/", |slash| &rest[slash..]));
    split_once(uri, b'?').unwrap_or((uri, ""))
}

/// `str::split_once` for an ASCII byte: the texts here are short, and a plain loop is the quickest.
fn split_once(text: &str, at: u8) -> Option<(&str, &str)> {
    let index = text.bytes().position(|byte| byte == at)?;
    Some((&text[..index], &text[index + 1..]))
}

fn run_target(plan: &str, query: &str) -> Result<Target, Refusal> {
    let bad = |reason: String| Refusal { status: Status::BadRequest, reason: reason.into() };
    let plan = decode(plan)?.parse().map_err(|error| bad(format!("bad plan: {error}")))?;
    let mut job = Job { plan, seed: 0, strategy: BlockingStrategy::Inline };
    let mut rest = query;
    while !rest.is_empty() {
        let (pair, after) = split_once(rest, b'&').unwrap_or((rest, ""));
        rest = after;
        if pair.is_empty() {
            continue;
        }
        let (name, value) = split_once(pair, b'=').unwrap_or((pair, ""));
        match name {
            "seed" => {
                job.seed = value.parse().map_err(|_| {
                    bad(format!("bad seed {value:?}: write a whole number from 0 to {}", u64::MAX))
                })?;
            }
            "strategy" => {
                job.strategy = value.parse().map_err(|error| bad(format!("bad strategy: {error}")))?;
            }
            _ => return Err(bad(format!("unknown parameter {name:?}; there are seed and strategy"))),
        }
    }
    Ok(Target::Run(job))
}

/// Undoes percent-encoding, which some clients apply to `=` and `,`.
fn decode(text: &str) -> Result<Cow<'_, str>, Refusal> {
    if !text.as_bytes().contains(&b'%') {
        return Ok(Cow::Borrowed(text));
    }
    let bad = || Refusal { status: Status::BadRequest, reason: "bad percent-encoding in the path".into() };
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16)).ok_or_else(bad);
            let value = digit()? * 16 + digit()?;
            decoded.push(u8::try_from(value).map_err(|_| bad())?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| bad())
}

fn too_long() -> Parsed {
    refused(Status::HeadTooLarge, format!("the request head is over {HEAD_BYTES_MAX} bytes"))
}

fn refused(status: Status, reason: impl Into<Cow<'static, str>>) -> Parsed {
    Parsed::Refused(Refusal { status, reason: reason.into() })
}

fn wrong(status: Status, reason: impl Into<Cow<'static, str>>) -> Target {
    Target::Wrong(Refusal { status, reason: reason.into() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Request(request) => request,
            other => panic!("{text:?} parsed as {other:?}"),
        }
    }

    fn wrong(path: &str) -> (Status, String) {
        match request(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).target {
            Target::Wrong(refusal) => (refusal.status, refusal.reason.into_owned()),
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn reads_the_plan_seed_and_strategy() {
        let text = "GET /run/wait=20ms,compute=5?strategy=offload&seed=7 HTTP/1.1\r\nHost: x\r\n\r\n";
        let request = request(text);
        let job = Job {
            plan: "wait=20ms,compute=5".parse().unwrap(),
            seed: 7,
            strategy: BlockingStrategy::Offload,
        };
        assert_eq!(request.target, Target::Run(job));
        assert!(request.keep_alive && !request.announce_keep_alive && !request.head_only);
        assert_eq!(request.bytes, text.len());
    }

    #[test]
    fn reads_what_proxies_and_browsers_send() {
        let absolute = request("GET http://host:80/run/wait%3D1ms%2Cblock=1ms HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(matches!(absolute.target, Target::Run(job) if job.plan.to_string() == "wait=1ms,block=1ms"));
        assert_eq!(request("GET http://host/healthz HTTP/1.1\r\nHost: a\r\n\r\n").target, Target::Healthz);
        assert!(request("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n").head_only);
    }

    #[test]
    fn keeps_and_closes_connections_as_each_version_says() {
        assert!(!request("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(request("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").announce_keep_alive);
        assert!(!request("GET / HTTP/1.1\r\nconnection: close\r\n\r\n").keep_alive);
        assert!(!request("GET / HTTP/1.1\r\nConnection: TE, Close\r\n\r\n").keep_alive);
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(wrong("/").0, Status::NotFound);
        assert_eq!(wrong("/run").0, Status::NotFound);
        let (status, reason) = wrong("/run/wait=fast");
        assert_eq!(status, Status::BadRequest);
        assert!(reason.contains("is not a duration"), "{reason}");
        assert!(wrong("/run/?seed=x").1.contains("bad seed"));
        assert!(wrong("/run/?strategy=x").1.contains("inline, offload and in-place"));
        assert!(wrong("/run/?=").1.contains("unknown parameter"));
        assert!(wrong("/run/?sede=1").1.contains("unknown parameter"));
        assert!(wrong("/run/%zz").1.contains("percent-encoding"));
        assert!(wrong("/run/%ff").1.contains("percent-encoding"));
        let post = request("POST /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(matches!(post.target, Target::Wrong(Refusal { status: Status::MethodNotAllowed, .. })));
    }

    #[test]
    fn a_request_has_one_host() {
        for text in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n"] {
            let request = request(text);
            match request.target {
                Target::Wrong(refusal) => assert!(refusal.reason.contains("Host"), "{refusal:?}"),
                other => panic!("{text:?} is {other:?}"),
            }
        }
        let old = request("GET /healthz HTTP/1.0\r\n\r\n");
        assert_eq!(old.target, Target::Healthz);
        let empty = request("GET /run/?&seed=3& HTTP/1.1\r\nHost:\r\n\r\n");
        assert!(matches!(empty.target, Target::Run(job) if job.seed == 3));
    }

    #[test]
    fn refuses_bodies_and_long_heads() {
        let refused = |text: &str| match parse(text.as_bytes()) {
            Parsed::Refused(refusal) => refusal.status,
            other => panic!("parsed as {other:?}"),
        };
        assert_eq!(refused("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), Status::BadRequest);
        assert_eq!(refused("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Status::BadRequest);
        assert_eq!(refused("\0\0\0"), Status::BadRequest);
        assert_eq!(refused(&format!("GET /{}", "a".repeat(HEAD_BYTES_MAX))), Status::HeadTooLarge);
        let many = "a: b\r\n".repeat(HEADERS_MAX + 1);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\n{many}\r\n")), Status::HeadTooLarge);
        assert!(matches!(parse(b"GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), Parsed::Request(_)));
    }

    proptest! {
        #[test]
        fn every_strict_prefix_is_partial(cut in 0_usize..60) {
            let text = b"GET /run/wait=1ms?seed=3 HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
            let cut = cut.min(text.len() - 1);
            prop_assert_eq!(parse(&text[..cut]), Parsed::Partial);
        }

        #[test]
        fn no_bytes_panic_the_parser(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }
    }
}
