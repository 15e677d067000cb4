//! The state machine against the ways in which bytes come, handlers end and peers leave.

use super::*;
use crate::server::state::tests::state;

fn connection(in_flight: u64) -> Connection {
    Connection::new(state(in_flight, 10).open_connection().unwrap())
}

/// Carries the connection on until it reads or closes, and returns all that it sent.
fn carry_on(connection: &mut Connection) -> (String, Next) {
    let mut sent = Vec::new();
    loop {
        match connection.advance() {
            Next::Run(work) => {
                let (job, service) = work.begin();
                let checksum = job.plan.checksum(job.seed);
                let steps = u32::try_from(job.plan.steps().len()).unwrap();
                connection.answered(service.end(Ok(Answer { steps, checksum })));
            }
            Next::Write => {
                // Byte by byte, as the slowest peer takes them.
                sent.push(connection.output()[0]);
                connection.written(1);
            }
            next => return (String::from_utf8(sent).unwrap(), next),
        }
    }
}

fn statuses(text: &str) -> Vec<&str> {
    text.match_indices("HTTP/1.1 ").map(|(at, _)| &text[at + 9..at + 12]).collect()
}

#[test]
fn answers_pipelined_requests_in_order_however_the_bytes_come() {
    let bytes =
        b"GET /run/compute=2?seed=5 HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    for piece in [1, 7, bytes.len()] {
        let mut connection = connection(1);
        let mut text = String::new();
        for chunk in bytes.chunks(piece) {
            connection.received(chunk);
            let (sent, next) = carry_on(&mut connection);
            assert!(matches!(next, Next::Read(_)));
            text += &sent;
        }
        assert_eq!(statuses(&text), ["200", "200", "404"]);
        let checksum = format!("{:016x}", "compute=2".parse::<workload::Plan>().unwrap().checksum(5));
        assert!(text.contains(&checksum), "{text}");
        assert!(connection.is_idle());
    }
}

#[test]
fn an_answer_is_sent_before_a_plan_that_takes_time() {
    let mut connection = connection(1);
    connection
        .received(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /run/wait=1s HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(matches!(connection.advance(), Next::Write));
    let sent = connection.output().len();
    connection.written(sent);
    assert!(matches!(connection.advance(), Next::Run(_)));
}

#[test]
fn a_request_that_stays_partial_is_answered_408_and_an_idle_connection_is_just_closed() {
    let mut idle = connection(1);
    assert!(matches!(idle.advance(), Next::Read(limit) if limit == Duration::from_secs(60)));
    idle.timed_out();
    assert!(matches!(idle.advance(), Next::Close));
    let mut slow = connection(1);
    slow.received(b"GET /healthz HT");
    assert!(matches!(slow.advance(), Next::Read(limit) if limit <= Duration::from_secs(10)));
    assert!(!slow.is_idle());
    slow.timed_out();
    let (text, next) = carry_on(&mut slow);
    assert_eq!(statuses(&text), ["408"]);
    assert!(matches!(next, Next::HalfClose));
    // What comes late is thrown away, and is not taken for a request.
    assert!(matches!(slow.advance(), Next::Read(limit) if limit <= LINGER));
    slow.received(b"TP/1.1\r\n\r\n");
    assert!(matches!(slow.advance(), Next::Read(_)));
    slow.peer_closed();
    assert!(matches!(slow.advance(), Next::Close));
}

#[test]
fn the_time_for_a_request_does_not_begin_anew_with_each_byte() {
    let mut connection = connection(1);
    connection.received(b"G");
    let Next::Read(first) = connection.advance() else { panic!("it must read") };
    std::thread::sleep(Duration::from_millis(5));
    connection.received(b"E");
    let Next::Read(second) = connection.advance() else { panic!("it must read") };
    assert!(second <= first - Duration::from_millis(5));
}

#[test]
fn what_cannot_be_served_is_answered_with_its_reason() {
    let mut full = connection(0);
    full.received(
        b"GET /run/ HTTP/1.1\r\nHost: a\r\n\r\nGET /run/?strategy=in-place HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    let (text, next) = carry_on(&mut full);
    assert_eq!(statuses(&text), ["503", "400"]);
    assert!(text.contains("Retry-After: 1") && text.contains("it cannot"), "{text}");
    assert!(matches!(next, Next::Read(_)));
    let counts = full.state().counts();
    assert_eq!((counts.rejected, counts.refused, counts.accepted), (1, 1, 0));
}

#[test]
fn a_panic_is_answered_500_and_counted() {
    let mut connection = connection(1);
    connection.received(b"GET /run/panic HTTP/1.1\r\nHost: a\r\n\r\n");
    let Next::Run(work) = connection.advance() else { panic!("it must run") };
    let (_job, service) = work.begin();
    connection.answered(service.end(Err(Panicked)));
    let (text, next) = carry_on(&mut connection);
    assert_eq!(statuses(&text), ["500"]);
    assert!(matches!(next, Next::Read(_)));
    assert_eq!(connection.state().counts().failed, 1);
}

#[test]
fn work_that_cannot_be_queued_is_turned_away() {
    let mut connection = connection(1);
    connection.received(b"GET /run/ HTTP/1.1\r\nHost: a\r\n\r\n");
    let Next::Run(work) = connection.advance() else { panic!("it must run") };
    drop(work);
    connection.turned_away("the queue is full");
    assert_eq!(statuses(&carry_on(&mut connection).0), ["503"]);
    let counts = connection.state().counts();
    assert_eq!((counts.rejected, counts.accepted, counts.queued), (1, 0, 0));
}

#[test]
fn a_peer_that_closes_its_side_still_gets_its_answers() {
    let mut connection = connection(1);
    connection.received(b"GET /run/wait=1ms HTTP/1.1\r\nHost: a\r\n\r\nGET /hea");
    connection.peer_closed();
    let (text, next) = carry_on(&mut connection);
    assert_eq!(statuses(&text), ["200"]);
    assert!(matches!(next, Next::Close));
}

#[test]
fn a_draining_server_finishes_and_closes() {
    let mut connection = connection(1);
    connection.received(b"GET /run/wait=1ms HTTP/1.1\r\nHost: a\r\n\r\n");
    let Next::Run(work) = connection.advance() else { panic!("it must run") };
    connection.state().start_draining();
    let (_job, service) = work.begin();
    connection.answered(service.end(Ok(Answer { steps: 1, checksum: 0 })));
    let (text, next) = carry_on(&mut connection);
    assert!(text.contains("200 OK") && text.contains("Connection: close"), "{text}");
    assert!(matches!(next, Next::Close));
}

#[test]
fn a_flood_of_pipelined_requests_keeps_the_output_bounded() {
    let mut connection = connection(1);
    connection.received(&b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1_000));
    assert!(matches!(connection.advance(), Next::Write));
    assert!(connection.output().len() < OUTPUT_BYTES_MAX + 8_000);
    let (text, _) = carry_on(&mut connection);
    assert_eq!(statuses(&text).len(), 1_000);
}

#[test]
fn the_time_to_take_an_answer_does_not_begin_anew_with_each_byte() {
    let mut connection = connection(1);
    connection.received(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(matches!(connection.advance(), Next::Write));
    let first = connection.time_to_write().unwrap();
    assert!(first <= Duration::from_secs(10));
    std::thread::sleep(Duration::from_millis(5));
    connection.written(1);
    let second = connection.time_to_write().unwrap();
    assert!(second <= first - Duration::from_millis(5));
    connection.write_deadline = Some(Instant::now());
    assert_eq!(connection.time_to_write().unwrap_err().kind(), io::ErrorKind::TimedOut);
    // The next answer has its own time.
    let rest = connection.output().len();
    connection.written(rest);
    connection.received(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(matches!(connection.advance(), Next::Write));
    assert!(connection.time_to_write().unwrap() > Duration::from_secs(5));
}
