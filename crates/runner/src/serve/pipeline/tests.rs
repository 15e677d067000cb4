//! What a pipeline answers over HTTP, with workers that do nothing and without any.

use execution_model::pipeline::{Next, Stage};
use workload::Progress;
use workload::pipeline::Policy;

use super::*;

/// A front on a port of its own. Its pipeline has no workers.
fn front(policy: Policy, connections_max: u64) -> (Arc<Front>, std::net::SocketAddr) {
    let setup = PipelineSetup {
        spec: PipelineSpec { policy, ..PipelineSpec::of_the_study(1) },
        strategy: BlockingStrategy::Inline,
        rounds_per_us: 1.0,
        seed: 1,
        faults: Vec::new(),
    };
    let stages = Stages::new(setup.checked().unwrap());
    stages.measure(stages.epoch(), stages.epoch() + FOR_EVER);
    let time = Duration::from_millis(500);
    let limits = ServerLimits { in_flight: 48, connections: connections_max, idle: time, request: time };
    let front = Arc::new(Front { stages, connections: AtomicU64::new(0), limits });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = Arc::clone(&front);
    thread::spawn(move || accepting.accept(&listener));
    (front, address)
}

/// Workers of every stage, which call everything done at once.
fn hire(stages: &Arc<Stages>) {
    for stage in Stage::ALL {
        let (woken, wakes) = std::sync::mpsc::channel();
        let worker = stages.hire(stage, move || _ = woken.send(()));
        thread::spawn(move || {
            loop {
                match worker.next() {
                    Next::Work(work) => {
                        let answer = Progress::new(work.job().seed).answer();
                        work.done(answer);
                    }
                    Next::Wait(None) => _ = wakes.recv(),
                    Next::Wait(Some(until)) => {
                        _ = wakes.recv_timeout(until.saturating_duration_since(Instant::now()));
                    }
                    Next::Closed => return,
                }
            }
        });
    }
}

/// Sends a request that asks for the connection's end, and reads until there.
fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    // At once: a request in pieces may meet an answer, and a reset, before its end.
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn an_image_goes_through_and_says_how_long_it_took() {
    let (front, address) = front(Policy::HOLD8, 10);
    hire(&front.stages);
    for lane in ["interactive", "bulk"] {
        let answer = get(address, &format!("/image/{lane}"));
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("{\"response_ns\":"),
            "{answer}"
        );
    }
    let metrics = get(address, "/metrics");
    for line in [
        "images_completed_total{lane=\"interactive\"} 1",
        "images_in_flight{lane=\"bulk\"} 0",
        "batches_total{size=\"1\"} 2",
        "queue_wait_seconds_count{stage=\"detect\",lane=\"bulk\"} 1",
        "image_bytes{form=\"decoded\"} 0",
    ] {
        assert!(metrics.lines().any(|have| have == line), "{line}: {metrics}");
    }
    front.stages.close();
}

#[test]
fn an_interactive_image_beyond_its_slice_is_answered_429_and_a_bulk_one_waits_in_vain() {
    let (front, address) = front(Policy::HOLD8, 10);
    // Nobody takes what is admitted, so that the first queue fills up.
    while front.stages.try_admit(Lane::Interactive, Instant::now()).is_ok() {}
    let answer = get(address, "/image/interactive");
    assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{answer}");
    assert!(answer.contains("Retry-After: 1\r\n") && answer.contains("no interactive image is admitted now"));
    while front.stages.try_admit(Lane::Bulk, Instant::now()).is_ok() {}
    let answer = get(address, "/image/bulk");
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("no slot was free in time"), "{answer}");
    assert!(get(address, "/metrics").contains("images_refused_total{lane=\"interactive\"} 2"));
    front.stages.stop_admitting();
    assert!(get(address, "/image/interactive").contains("admits nothing any more"));
}

#[test]
fn what_is_no_image_is_told_so_and_connections_have_a_limit() {
    let (_front, address) = front(Policy::FIFO1, 10);
    assert!(get(address, "/healthz").ends_with("\r\n\r\nok\n"));
    assert!(get(address, "/run/wait=1ms").starts_with("HTTP/1.1 404 "));
    let nowhere = get(address, "/nowhere");
    assert!(nowhere.contains("/image/") && nowhere.ends_with("/metrics\n"), "{nowhere}");
    let (_front, address) = front(Policy::FIFO1, 1);
    let kept = TcpStream::connect(address).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    let refused = loop {
        let answer = get(address, "/healthz");
        if answer.starts_with("HTTP/1.1 503 ") || Instant::now() > deadline {
            break answer;
        }
    };
    assert!(refused.contains("too many connections"), "{refused}");
    drop(kept);
}

#[test]
fn half_a_request_is_answered_408_and_an_idle_connection_is_closed() {
    let (_front, address) = front(Policy::FIFO1, 10);
    let ends = |sent: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ends("GET /healthz HT").starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    assert_eq!(ends(""), "");
    let kept = ends("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(kept.starts_with("HTTP/1.1 200 OK\r\n") && kept.ends_with("\r\n\r\nok\n"), "{kept}");
}
