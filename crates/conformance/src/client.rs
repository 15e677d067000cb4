//! A strict HTTP/1.1 client over one connection, which sends bytes exactly as a check writes them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How long any read or write of a check may take.
const LIMIT: Duration = Duration::from_secs(15);

/// A connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// One response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What went wrong on a connection.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The system refused something.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What the client was doing.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The server closed the connection before an answer was whole.
    #[error("the server closed the connection after {received:?} of an answer")]
    Cut {
        /// What had come of it.
        received: String,
    },
    /// The server sent something after the last answer.
    #[error("the server sent more than was asked for: {received:?}")]
    Surplus {
        /// The beginning of it.
        received: String,
    },
    /// Nothing came.
    #[error("no answer within {LIMIT:?}, but {received:?}")]
    Late {
        /// What had come of it.
        received: String,
    },
    /// What came is not HTTP.
    #[error("the answer is malformed: {why}: {head:?}")]
    Malformed {
        /// What is wrong.
        why: &'static str,
        /// The head.
        head: String,
    },
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// The server does not take the connection.
    pub fn connect(address: SocketAddr) -> Result<Client, HttpError> {
        let io = |doing| move |source| HttpError::Io { doing, source };
        let stream = TcpStream::connect_timeout(&address, LIMIT).map_err(io("connect"))?;
        stream.set_nodelay(true).map_err(io("set TCP_NODELAY"))?;
        stream.set_read_timeout(Some(LIMIT)).map_err(io("set a time limit"))?;
        stream.set_write_timeout(Some(LIMIT)).map_err(io("set a time limit"))?;
        Ok(Client { stream, buffer: Vec::new() })
    }

    /// A second handle on the connection, to send on while this one receives.
    pub(crate) fn duplicate(&self) -> Result<Client, HttpError> {
        let stream = self.stream.try_clone();
        let stream = stream.map_err(|source| HttpError::Io { doing: "duplicate the socket", source })?;
        Ok(Client { stream, buffer: Vec::new() })
    }

    /// Sends bytes.
    ///
    /// # Errors
    ///
    /// The server does not take them.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), HttpError> {
        self.stream.write_all(bytes.as_ref()).map_err(|source| HttpError::Io { doing: "send", source })
    }

    /// Sends a request without waiting for its answer.
    ///
    /// # Errors
    ///
    /// As for [`send`](Client::send).
    pub fn ask(&mut self, path: &str) -> Result<(), HttpError> {
        self.send(get(path))
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    ///
    /// There is no whole, well-formed answer.
    pub fn get(&mut self, path: &str) -> Result<Response, HttpError> {
        self.ask(path)?;
        self.response()
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    ///
    /// There is no whole, well-formed answer.
    pub fn response(&mut self) -> Result<Response, HttpError> {
        let (mut response, length) = self.head()?;
        while self.buffer.len() < length {
            self.fill()?;
        }
        response.body = self.buffer.drain(..length).collect();
        Ok(response)
    }

    /// Waits for the next answer, which is one to `HEAD`: it counts a body and has none. Returns the
    /// length that it counts.
    ///
    /// # Errors
    ///
    /// There is no whole, well-formed answer.
    pub fn response_to_head(&mut self) -> Result<(Response, usize), HttpError> {
        self.head()
    }

    /// Says that nothing more will be sent.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub fn finish_sending(&mut self) -> Result<(), HttpError> {
        self.stream
            .shutdown(Shutdown::Write)
            .map_err(|source| HttpError::Io { doing: "shut the sending side down", source })
    }

    /// Ends the connection both ways, also for those who hold a second handle on it.
    pub(crate) fn finish_both_ways(&self) -> Result<(), HttpError> {
        match self.stream.shutdown(Shutdown::Both) {
            Err(error) if error.kind() != ErrorKind::NotConnected => {
                Err(HttpError::Io { doing: "shut the connection down", source: error })
            }
            _ => Ok(()),
        }
    }

    /// Waits until the server closes the connection, which must be orderly and without another byte.
    /// Returns how long that took.
    ///
    /// # Errors
    ///
    /// It does not close it so.
    pub fn closed(&mut self) -> Result<Duration, HttpError> {
        let begin = Instant::now();
        if self.buffer.is_empty() {
            match self.fill() {
                Err(HttpError::Cut { .. }) => return Ok(begin.elapsed()),
                other => other?,
            }
        }
        Err(HttpError::Surplus { received: self.excerpt() })
    }

    fn head(&mut self) -> Result<(Response, usize), HttpError> {
        let length = loop {
            if let Some(at) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            self.fill()?;
        };
        let head: Vec<u8> = self.buffer.drain(..length).collect();
        parse_head(&String::from_utf8_lossy(&head))
    }

    fn fill(&mut self) -> Result<(), HttpError> {
        let mut chunk = [0; 16 * 1024];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(HttpError::Cut { received: self.excerpt() }),
            Ok(bytes) => {
                self.buffer.extend_from_slice(&chunk[..bytes]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                Err(HttpError::Late { received: self.excerpt() })
            }
            Err(source) => Err(HttpError::Io { doing: "receive an answer", source }),
        }
    }

    fn excerpt(&self) -> String {
        String::from_utf8_lossy(&self.buffer[..self.buffer.len().min(200)]).into_owned()
    }
}

impl Response {
    /// The value of a header field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether the server says that the connection ends here.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// The bytes of a request that any client would send.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

fn parse_head(head: &str) -> Result<(Response, usize), HttpError> {
    let malformed = |why| HttpError::Malformed { why, head: head.to_owned() };
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
    let status = status.and_then(|rest| rest.split_once(' ')).and_then(|(code, _)| number::<u16>(code));
    let status = status.ok_or_else(|| malformed("no status line of HTTP/1.1"))?;
    let mut fields = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("a field without a colon"))?;
        if name.is_empty() || name.contains([' ', '\t']) {
            return Err(malformed("a bad field name"));
        }
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut lengths = fields.iter().filter(|(name, _)| name == "content-length");
    let length = lengths.next().and_then(|(_, value)| number(value));
    let length = length.ok_or_else(|| malformed("no Content-Length"))?;
    if lengths.next().is_some() {
        return Err(malformed("two fields of Content-Length"));
    }
    Ok((Response { status, fields, body: Vec::new() }, length))
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    // `parse` would take a sign too.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_and_a_bad_one_is_named() {
        let (response, length) =
            parse_head("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 7\r\n\r\n").unwrap();
        assert_eq!((response.status, length), (503, 7));
        assert_eq!(response.field("retry-after"), Some("1"));
        assert!(!response.closes());
        for (head, why) in [
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "status line"),
            ("HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n", "status line"),
            ("HTTP/1.1 200 OK\r\n\r\n", "no Content-Length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "two fields"),
            ("HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n", "field name"),
            ("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "colon"),
        ] {
            let error = parse_head(head).unwrap_err().to_string();
            assert!(error.contains(why), "{head:?}: {error}");
        }
    }
}
