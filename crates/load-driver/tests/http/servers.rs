//! Small servers of ordinary threads that behave well or badly on purpose, and the load to offer them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec, run};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const BODY: &str = "{\"steps\":1}";

/// A listener whose connections each have a thread that runs `serve`. It stops accepting when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let (accepted, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let server = Self { address, accepted: Arc::clone(&accepted), stop: Arc::clone(&stop) };
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                accepted.fetch_add(1, Ordering::Relaxed);
                stream.set_nodelay(true).expect("an open socket");
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream));
            }
        });
        server
    }

    /// A server that answers every request on a connection with `respond`, until that says "no more".
    pub(crate) fn responding(respond: impl Fn(&mut TcpStream) -> More + Send + Sync + 'static) -> Self {
        Self::start(move |mut stream| {
            while read_request(&mut stream).is_some() {
                if respond(&mut stream) == More::No {
                    break;
                }
            }
        })
    }

    /// A server that answers every request with the same bytes.
    pub(crate) fn constant(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::responding(move |stream| if stream.write_all(&response).is_ok() { More::Yes } else { More::No })
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the accept loop, so that the listener closes.
        drop(TcpStream::connect(self.address));
    }
}

#[derive(PartialEq, Eq)]
pub(crate) enum More {
    Yes,
    No,
}

/// Reads up to the end of a request's head; none at the end of the stream.
pub(crate) fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(length) => request.extend_from_slice(&buffer[..length]),
        }
    }
    Some(request)
}

pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(crate) fn ok() -> Vec<u8> {
    response("200 OK", "", BODY)
}

/// Four connections in a closed loop: 50 ms of warm-up, a window of 200 ms.
pub(crate) fn closed(server: SocketAddr) -> HttpLoadSpec {
    HttpLoadSpec {
        server,
        target: "/run/wait=1ms?seed=7".to_owned(),
        expected_body: Some(BODY.to_owned()),
        connections: 4,
        load: HttpLoad::Closed { warmup_ns: 50 * MS, duration_ns: 200 * MS },
        timeout_ns: 2_000 * MS,
        drain_ns: 1_000 * MS,
        cpus: Vec::new(),
        spread_sources: false,
        start_at_monotonic_ns: None,
    }
}

/// `requests` connections of one request each.
pub(crate) fn one_each(server: SocketAddr, requests: usize, spread_ns: u64) -> HttpLoadSpec {
    let load = HttpLoad::OneEach { requests, spread_ns, first: 0, stride: 1 };
    HttpLoadSpec { connections: requests, load, ..closed(server) }
}

/// Runs it and checks what holds for every run.
pub(crate) fn measure(spec: &HttpLoadSpec) -> HttpLoadResult {
    let result = run(spec).expect("a result");
    let errors: u64 = result.errors.values().sum();
    assert_eq!(
        result.offered,
        result.completed + result.rejected + result.timed_out + errors + result.in_flight_at_end,
        "{result:?}"
    );
    assert_eq!(result.errors.keys().collect::<Vec<_>>(), result.first_errors.keys().collect::<Vec<_>>());
    assert!(result.in_flight_integral_ns.is_finite());
    result
}

/// A duration in nanoseconds.
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("a short time")
}
