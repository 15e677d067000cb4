//! What can go wrong with one request, as classes that are counted.

use rustix::io::Errno;

/// Why one request has no valid answer. Small and ordered, so that counting one allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failure {
    /// The connection could not be opened; the number is the errno.
    Connect(i32),
    /// The client's process or the machine is out of descriptors.
    Descriptors(i32),
    /// All connections that the specification allows are in use.
    ConnectionLimit,
    /// The server reset the connection.
    Reset(i32),
    /// Reading failed in another way.
    Read(i32),
    /// Writing failed in another way.
    Write(i32),
    /// The server closed the connection before the first byte of an answer.
    ClosedEarly,
    /// The server closed the connection in the middle of an answer.
    ClosedInResponse,
    /// A complete answer whose status is neither 200 nor 503.
    Status(u16),
    /// A 200 with another body than the expected one.
    WrongBody,
    /// Not an HTTP/1.x response.
    Malformed,
    /// Bytes after the end of the answer.
    ExtraBytes,
    /// `Transfer-Encoding`, which this client does not decode.
    ChunkedUnsupported,
    /// No `Content-Length`, so the end of the answer is not known.
    LengthMissing,
    /// Head or body above the client's limit.
    TooLarge,
}

impl Failure {
    pub(super) fn connecting(errno: Errno) -> Self {
        match errno {
            Errno::MFILE | Errno::NFILE => Self::Descriptors(errno.raw_os_error()),
            _ => Self::Connect(errno.raw_os_error()),
        }
    }

    pub(super) fn reading(errno: Errno) -> Self {
        match errno {
            Errno::CONNRESET | Errno::PIPE => Self::Reset(errno.raw_os_error()),
            _ => Self::Read(errno.raw_os_error()),
        }
    }

    pub(super) fn writing(errno: Errno) -> Self {
        match errno {
            Errno::CONNRESET | Errno::PIPE => Self::Reset(errno.raw_os_error()),
            _ => Self::Write(errno.raw_os_error()),
        }
    }

    /// Whether a complete answer came, so that the connection is none the worse.
    pub(super) fn is_answer(self) -> bool {
        matches!(self, Self::Status(200..) | Self::WrongBody)
    }

    /// The class under which results count it.
    pub(super) fn class(self) -> String {
        match self {
            Self::Connect(errno) if errno == Errno::CONNREFUSED.raw_os_error() => {
                "connect-refused".to_owned()
            }
            Self::Connect(errno) => format!("connect-other:{}", errno_name(errno)),
            Self::Descriptors(_) => "descriptors".to_owned(),
            Self::ConnectionLimit => "connection-limit".to_owned(),
            Self::Reset(_) => "reset".to_owned(),
            Self::Read(errno) => format!("read-other:{}", errno_name(errno)),
            Self::Write(errno) => format!("write-other:{}", errno_name(errno)),
            Self::ClosedEarly => "closed-early".to_owned(),
            Self::ClosedInResponse => "closed-in-response".to_owned(),
            Self::Status(status) => format!("status-{status}"),
            Self::WrongBody => "wrong-body".to_owned(),
            Self::Malformed => "malformed".to_owned(),
            Self::ExtraBytes => "extra-bytes".to_owned(),
            Self::ChunkedUnsupported => "chunked-unsupported".to_owned(),
            Self::LengthMissing => "length-missing".to_owned(),
            Self::TooLarge => "too-large".to_owned(),
        }
    }

    /// What happened, for the reader of a report; `what_came` describes the bytes of an answer, where there are some.
    pub(super) fn example(self, what_came: Option<&str>) -> String {
        let happened = match self {
            Self::Connect(errno) => format!("connecting failed with {}{}", errno_text(errno), hint(errno)),
            Self::Descriptors(errno) => {
                format!("no socket could be made: {}{}", errno_text(errno), hint(errno))
            }
            Self::ConnectionLimit => {
                "all connections that the load may use were in use at an intended start".to_owned()
            }
            Self::Reset(errno) => format!("the server reset the connection: {}", errno_text(errno)),
            Self::Read(errno) => format!("reading failed with {}", errno_text(errno)),
            Self::Write(errno) => format!("writing failed with {}", errno_text(errno)),
            Self::ClosedEarly => "the server closed the connection before it answered".to_owned(),
            Self::ClosedInResponse => {
                "the server closed the connection in the middle of its answer".to_owned()
            }
            Self::Status(status) => format!("the server answered with status {status}"),
            Self::WrongBody => "a 200 had another body than the expected one".to_owned(),
            Self::Malformed => "the answer is not an HTTP/1.x response with one valid length".to_owned(),
            Self::ExtraBytes => "more bytes came than the answer has by its Content-Length".to_owned(),
            Self::ChunkedUnsupported => {
                "the answer has a Transfer-Encoding, which this client does not decode".to_owned()
            }
            Self::LengthMissing => "the answer has no Content-Length".to_owned(),
            Self::TooLarge => "the answer is above this client's limit of head or body size".to_owned(),
        };
        match what_came {
            Some(bytes) => format!("{happened}; it came: {bytes}"),
            None => happened,
        }
    }
}

fn hint(errno: i32) -> &'static str {
    match errno {
        libc::EADDRNOTAVAIL => {
            "; the ephemeral ports of this address pair are used up: spread the source addresses"
        }
        libc::EMFILE => "; the limit is this client's: raise it with `ulimit -n`, or use more processes",
        libc::ENFILE => "; the limit is the whole machine's: see fs.file-max",
        _ => "",
    }
}

fn errno_text(errno: i32) -> String {
    format!("{} ({})", errno_name(errno), std::io::Error::from_raw_os_error(errno))
}

/// The symbolic name of an error number that a TCP client may meet; others are given as a number.
fn errno_name(errno: i32) -> String {
    let name = match errno {
        libc::EACCES => "EACCES",
        libc::EADDRINUSE => "EADDRINUSE",
        libc::EADDRNOTAVAIL => "EADDRNOTAVAIL",
        libc::EAFNOSUPPORT => "EAFNOSUPPORT",
        libc::EAGAIN => "EAGAIN",
        libc::EBADF => "EBADF",
        libc::ECONNABORTED => "ECONNABORTED",
        libc::ECONNREFUSED => "ECONNREFUSED",
        libc::ECONNRESET => "ECONNRESET",
        libc::EHOSTUNREACH => "EHOSTUNREACH",
        libc::EINTR => "EINTR",
        libc::EINVAL => "EINVAL",
        libc::EMFILE => "EMFILE",
        libc::ENETDOWN => "ENETDOWN",
        libc::ENETUNREACH => "ENETUNREACH",
        libc::ENFILE => "ENFILE",
        libc::ENOBUFS => "ENOBUFS",
        libc::ENOMEM => "ENOMEM",
        libc::ENOSPC => "ENOSPC",
        libc::ENOTCONN => "ENOTCONN",
        libc::EPERM => "EPERM",
        libc::EPIPE => "EPIPE",
        libc::EPROTO => "EPROTO",
        libc::ETIMEDOUT => "ETIMEDOUT",
        other => return format!("errno-{other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_errno_has_a_class_and_an_example_that_names_it() {
        for (failure, class, example) in [
            (Failure::connecting(Errno::CONNREFUSED), "connect-refused", "ECONNREFUSED"),
            (Failure::connecting(Errno::ADDRNOTAVAIL), "connect-other:EADDRNOTAVAIL", "spread the source"),
            (Failure::connecting(Errno::MFILE), "descriptors", "ulimit -n"),
            (Failure::reading(Errno::CONNRESET), "reset", "ECONNRESET"),
            (Failure::writing(Errno::PIPE), "reset", "EPIPE"),
            (Failure::reading(Errno::TIMEDOUT), "read-other:ETIMEDOUT", "ETIMEDOUT"),
            (Failure::writing(Errno::from_raw_os_error(133)), "write-other:errno-133", "errno-133"),
            (Failure::Status(404), "status-404", "404"),
        ] {
            assert_eq!(failure.class(), class);
            assert!(failure.example(None).contains(example), "{}", failure.example(None));
        }
    }
}
