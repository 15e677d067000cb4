//! A loop that dies ends its process and says why: a server that held its clients and answered none would be worse.

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use execution_model::server::{ListenSpec, ServerLimits, ServerState, Work};
use execution_model::{Server, VariantInfo};
use readiness_loop::{Asker, Executor, LoopServer, Taken};

const SERVE: &str = "SERVE_UNTIL_DEAD";

struct Dies;

impl Executor for Dies {
    fn execute(&mut self, _work: Work, _asker: &Asker<'_>) -> Taken {
        panic!("planted");
    }
}

#[test]
fn a_dead_loop_ends_the_process() {
    if env::var_os(SERVE).is_some() {
        serve_until_dead();
    }
    let ended = Command::new(env::current_exe().unwrap())
        .args(["--exact", "a_dead_loop_ends_the_process", "--nocapture"])
        .env(SERVE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("the readiness loop ended: it panicked"), "{said}");
}

fn serve_until_dead() -> ! {
    let long = Duration::from_secs(60);
    let limits = ServerLimits { in_flight: 1, connections: 1, idle: long, request: long };
    let variant = VariantInfo {
        name: "only".into(),
        summary: String::new(),
        in_flight_limit: None,
        thread_per_request: false,
        refuses_offload: None,
        refuses_in_place: None,
    };
    let listen = ListenSpec { address: ([127, 0, 0, 1], 0).into(), backlog: 1, reuse_port: false };
    let server = LoopServer::start(&listen, ServerState::new(limits, variant), Dies).expect("a server");
    let mut client = TcpStream::connect(server.address()).expect("a connection");
    client.write_all(b"GET /run/ HTTP/1.1\r\nHost: a\r\n\r\n").expect("it is sent");
    client.set_read_timeout(Some(Duration::from_secs(10))).expect("a time limit");
    let answer = client.read(&mut [0; 64]);
    panic!("the server lives on, and the client has {answer:?}");
}
