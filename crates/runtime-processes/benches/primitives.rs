//! What the primitives of processes cost, each as a system call of its own.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, io};

use primitive_benches::{Primitives, Support, batches, measured};
use rustix::event::{Timespec, poll};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// What another process of this program is started for.
const NOTHING: &str = "nothing";
const ECHO: &str = "echo";
const ECHO_ON_ONE_CPU: &str = "echo-on-one-cpu";
const TAKE: &str = "take";

/// The message after the last.
const END: u64 = u64::MAX;

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some(NOTHING) => {}
        Some(ECHO) => echo(),
        Some(TAKE) => take(),
        Some(ECHO_ON_ONE_CPU) => {
            stay_on_one_cpu();
            echo();
        }
        _ => run(),
    }
    ExitCode::SUCCESS
}

fn run() {
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            spawn_join: measured(spawn_join),
            switch: measured(switch),
            wake: measured(|operations| round_trips(operations, ECHO) / 2),
            hop: measured(hop),
            offload: Support::Refused(
                "a process that blocks holds up nobody whom another thread could protect",
            ),
            lateness: measured(lateness),
        },
    );
}

/// This program again, which ends at once: with the loading of a program, and not a bare fork.
fn spawn_join(operations: u64) -> Duration {
    let began = Instant::now();
    for batch in batches(operations) {
        let children: Vec<_> = (0..batch).map(|_| this_program().arg(NOTHING).spawn()).collect();
        for child in children {
            wait_for(child.expect("this program can be started again"));
        }
    }
    began.elapsed()
}

/// Two processes on one CPU. They share no memory, so that each hands a byte to the other: a write and a read are in it.
fn switch(operations: u64) -> Duration {
    let measure = || {
        stay_on_one_cpu();
        round_trips(operations, ECHO_ON_ONE_CPU) / 2
    };
    std::thread::scope(|scope| scope.spawn(measure).join()).expect("the other process answers")
}

/// Sends a byte so many times to another process, which sends it back.
fn round_trips(operations: u64, other: &str) -> Duration {
    let (child, mut socket) = start(other);
    let began = Instant::now();
    let mut byte = [0];
    for _ in 0..operations {
        socket.write_all(&[1]).expect("it is read");
        socket.read_exact(&mut byte).expect("it is sent back");
    }
    let took = began.elapsed();
    drop(socket);
    wait_for(child);
    took
}

/// Messages of eight bytes over a socket pair: a write and a read each, and as much room as the kernel gives a socket.
fn hop(operations: u64) -> Duration {
    let (child, mut socket) = start(TAKE);
    let began = Instant::now();
    for message in 0..operations {
        socket.write_all(&message.to_le_bytes()).expect("it is read");
    }
    socket.write_all(&END.to_le_bytes()).expect("it is read");
    let mut taken = [0; 8];
    socket.read_exact(&mut taken).expect("how many were taken is told");
    let took = began.elapsed();
    assert_eq!(u64::from_le_bytes(taken), operations);
    wait_for(child);
    took
}

/// As an event loop waits for its next deadline.
fn lateness(operations: u64) -> Duration {
    let late = |asked: Duration| {
        let limit = Timespec::try_from(asked).expect("it is short");
        let began = Instant::now();
        poll(&mut [], Some(&limit)).expect("nothing interrupts it");
        began.elapsed().checked_sub(asked).expect("a wait is never shorter")
    };
    (0..operations).map(primitive_benches::wait).map(late).sum()
}

fn this_program() -> Command {
    Command::new("/proc/self/exe")
}

/// Starts another process with a socket to this one, and waits until it is up.
fn start(word: &str) -> (Child, UnixStream) {
    let (mut ours, theirs) = UnixStream::pair().expect("descriptors");
    let child = this_program().arg(word).stdin(OwnedFd::from(theirs)).spawn();
    ours.read_exact(&mut [0]).expect("it says that it is up");
    (child.expect("this program can be started again"), ours)
}

fn wait_for(mut child: Child) {
    assert!(child.wait().expect("it is a child").success());
}

/// The other process: its end of the socket, when it has said that it is up.
fn parent() -> UnixStream {
    let socket = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let mut socket = socket.expect("standard input is a socket");
    socket.write_all(&[1]).expect("the parent reads");
    socket
}

/// The other process sends back each byte, until there are no more.
fn echo() {
    let (mut parent, mut byte) = (parent(), [0]);
    while parent.read(&mut byte).expect("the parent writes") == 1 {
        parent.write_all(&byte).expect("the parent reads");
    }
}

/// The other process takes messages, which come in turn, and says how many there were.
fn take() {
    let (mut parent, mut message) = (parent(), [0; 8]);
    let mut taken = 0_u64;
    loop {
        parent.read_exact(&mut message).expect("the parent writes");
        match u64::from_le_bytes(message) {
            END => break parent.write_all(&taken.to_le_bytes()).expect("the parent reads"),
            number => assert_eq!(number, taken, "each message comes once, in turn"),
        }
        taken += 1;
    }
}

fn stay_on_one_cpu() {
    let allowed = sched_getaffinity(None).expect("a thread may ask");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("it runs on one");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("a thread may stay where it may be");
}
