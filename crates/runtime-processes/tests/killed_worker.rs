//! A worker that is killed is replaced, and the requests that it had are accounted for as errors.

#![expect(clippy::unwrap_used, reason = "a test that fails says where by the line")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use conformance::Client;
use rustix::process::{Pid, Signal, kill_process};

const WORKERS: usize = 2;
const WAITING: usize = 12;

/// A server by hand, which dies with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn start() -> (Server, SocketAddr) {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--workers", &WORKERS.to_string()];
    let mut command = Command::new(env!("CARGO_BIN_EXE_runtime-processes"));
    let mut child = command.args(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split_once("http://").unwrap().1.split_once('/').unwrap().0.parse().unwrap();
    (Server(child), address)
}

fn workers(server: &Server) -> Vec<i32> {
    let mut workers = Vec::new();
    for thread in fs::read_dir(format!("/proc/{}/task", server.0.id())).unwrap().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        workers.extend(children.split_whitespace().map(|child| child.parse::<i32>().unwrap()));
    }
    workers
}

fn metric(address: SocketAddr, name: &str) -> usize {
    let text = Client::connect(address).unwrap().get("/metrics").unwrap().text().to_string();
    let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_worker_is_replaced_and_its_requests_are_errors() {
    let (server, address) = start();
    let mut clients: Vec<_> = (0..WAITING).map(|_| Client::connect(address).unwrap()).collect();
    for client in &mut clients {
        client.ask("/run/wait=3s").unwrap();
    }
    wait_until("all in flight", || metric(address, "requests_in_flight") == WAITING);

    let before = workers(&server);
    assert_eq!(before.len(), WORKERS);
    kill_process(Pid::from_raw(before[0]).unwrap(), Signal::KILL).unwrap();
    wait_until("a replacement", || {
        let after = workers(&server);
        after.len() == WORKERS && !after.contains(&before[0])
    });

    let completed = clients.iter_mut().filter_map(|client| client.response().ok()).count();
    assert_eq!(metric(address, "requests_failed_total"), WAITING - completed);
    assert_eq!(metric(address, "requests_completed_total"), completed);
    assert_eq!(metric(address, "requests_accepted_total"), WAITING);
    assert_eq!(metric(address, "requests_in_flight"), 0);
    assert_eq!(Client::connect(address).unwrap().get("/run/wait=1ms").unwrap().status, 200);
}

#[test]
fn a_drain_does_not_wait_for_a_replacement() {
    let (mut server, address) = start();
    kill_process(Pid::from_raw(workers(&server)[0]).unwrap(), Signal::KILL).unwrap();
    // The killed worker was young, so its replacement is still to come.
    thread::sleep(Duration::from_millis(30));
    let begin = Instant::now();
    kill_process(Pid::from_child(&server.0), Signal::TERM).unwrap();
    let status = server.0.wait().unwrap();
    assert!(status.success(), "{status}");
    // A drain may take 10 s, which is how long a replacement that nobody told would be waited for.
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(Client::connect(address).is_err());
}

#[test]
fn workers_end_with_their_parent_and_a_term_lets_requests_finish() {
    let (mut server, address) = start();
    let mut client = Client::connect(address).unwrap();
    client.ask("/run/wait=1s").unwrap();
    wait_until("in flight", || metric(address, "requests_in_flight") == 1);
    kill_process(Pid::from_child(&server.0), Signal::TERM).unwrap();
    assert_eq!(client.response().unwrap().status, 200);
    assert!(server.0.wait().unwrap().success());

    let (mut server, _) = start();
    let orphans = workers(&server);
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    let is_alive = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    wait_until("the workers to end", || !orphans.iter().any(is_alive));
}
