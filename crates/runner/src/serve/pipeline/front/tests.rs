//! What a pipeline answers over HTTP, with workers that do nothing and without any.

use std::net::SocketAddr;
use std::time::Duration;

use execution_model::Server;
use execution_model::VariantInfo;
use execution_model::pipeline::{Next, PipelineSetup, Stage};
use execution_model::server::ServerLimits;
use workload::pipeline::{PipelineSpec, Policy};
use workload::{BlockingStrategy, Progress};

use super::*;

/// A front on a port of its own. Its pipeline has no workers.
fn front(policy: Policy, connections: u64) -> (SocketServer<TcpListener, TcpStream>, Arc<Stages>) {
    let setup = PipelineSetup {
        spec: PipelineSpec { policy, ..PipelineSpec::of_the_study(1) },
        strategy: BlockingStrategy::Inline,
        rounds_per_us: 1.0,
        seed: 1,
        faults: Vec::new(),
    };
    let stages = Stages::new(setup.checked().unwrap());
    stages.measure(stages.epoch(), stages.epoch() + Duration::from_secs(3_600));
    let time = Duration::from_millis(500);
    let limits = ServerLimits { in_flight: 48, connections, idle: time, request: time };
    let listen = ListenSpec { address: "127.0.0.1:0".parse().unwrap(), backlog: 16, reuse_port: false };
    let variant = VariantInfo {
        name: "default".to_owned(),
        summary: String::new(),
        in_flight_limit: None,
        thread_per_request: false,
        refuses_offload: None,
        refuses_in_place: None,
    };
    let state = ServerState::new(limits, variant);
    let server = serve(&listen, state, Arc::clone(&stages)).unwrap();
    (server, stages)
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
fn get(address: SocketAddr, path: &str) -> String {
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
    let (server, stages) = front(Policy::HOLD8, 10);
    let address = server.address();
    hire(&stages);
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
    stages.close();
}

#[test]
fn an_interactive_image_beyond_its_slice_is_answered_429_and_a_bulk_one_waits_in_vain() {
    let (server, stages) = front(Policy::HOLD8, 10);
    let address = server.address();
    // Nobody takes what is admitted, so that the first queue fills up.
    while stages.try_admit(Lane::Interactive, Instant::now()).is_ok() {}
    let answer = get(address, "/image/interactive");
    assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{answer}");
    assert!(answer.contains("Retry-After: 1\r\n") && answer.contains("no interactive image is admitted now"));
    while stages.try_admit(Lane::Bulk, Instant::now()).is_ok() {}
    let answer = get(address, "/image/bulk");
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("no slot was free in time"), "{answer}");
    assert!(get(address, "/metrics").contains("images_refused_total{lane=\"interactive\"} 2"));
    stages.stop_admitting();
    assert!(get(address, "/image/interactive").contains("admits nothing any more"));
}

#[test]
fn what_is_no_image_is_told_so_and_connections_have_a_limit() {
    let (server, _stages) = front(Policy::FIFO1, 10);
    let address = server.address();
    assert!(get(address, "/healthz").ends_with("\r\n\r\nok\n"));
    let no_plan = get(address, "/run/wait=1ms");
    assert!(no_plan.starts_with("HTTP/1.1 404 ") && no_plan.contains("/image/LANE"), "{no_plan}");
    let nowhere = get(address, "/nowhere");
    assert!(nowhere.contains("/image/LANE") && nowhere.ends_with("/metrics\n"), "{nowhere}");

    let (server, _stages) = front(Policy::FIFO1, 1);
    let kept = TcpStream::connect(server.address()).unwrap();
    // Connections are accepted in turn: this one is one too many, and need not ask to be told so.
    let mut refused = String::new();
    TcpStream::connect(server.address()).unwrap().read_to_string(&mut refused).unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("connection limit"), "{refused}");
    drop(kept);
}

#[test]
fn a_drain_answers_who_waits_and_closes_who_does_not() {
    let (mut server, stages) = front(Policy::HOLD8, 10);
    let address = server.address();
    let mut idle = TcpStream::connect(address).unwrap();
    let waits = thread::spawn(move || get(address, "/image/bulk"));
    while stages.levels().counts[Lane::Bulk].in_flight == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    hire(&stages);
    assert_eq!(server.drain(Instant::now() + Duration::from_secs(10)), 0);
    assert!(waits.join().unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert!(TcpStream::connect(address).is_err());
    assert_eq!(stages.drain(Instant::now()), 0);
}

#[test]
fn half_a_request_is_answered_408_and_an_idle_connection_is_closed() {
    let (server, _stages) = front(Policy::FIFO1, 10);
    let ends = |sent: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
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
