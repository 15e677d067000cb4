//! A worker process: this executable again, with a socket to its parent as standard input.

mod event_loop;
mod pool;

use std::env;
use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use execution_model::server::ServerState;
use execution_model::{Answer, Panicked, Runtime, Server, tell};
use readiness_loop::LoopServer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Signal, set_parent_process_death_signal};
use signal_hook::consts::{SIGINT, SIGTERM};

use self::event_loop::EventLoop;
use self::pool::Pool;
use crate::runtime::Processes;
use crate::shared;
use crate::variant::{Carrier, Variant};
use crate::wire::{self, FromWorker, Message, ToWorker};

/// How many bytes are read at once.
const READ_BYTES: usize = 64 * 1024;

/// Runs a worker where the command line asks for one, which only a parent of this crate does.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [word, variant, workers, queue_capacity] = &arguments[..] else { return None };
    if word != "worker" {
        return None;
    }
    let variant = Variant::parse(variant).ok()?;
    let (workers, queue_capacity) = (workers.parse().ok()?, queue_capacity.parse().ok()?);
    Some(match Worker::start(variant, workers, queue_capacity).and_then(Worker::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("processes: a worker ended: {error}"));
            ExitCode::FAILURE
        }
    })
}

/// The socket to the parent, for answers.
#[derive(Debug)]
pub(crate) struct Parent {
    socket: UnixStream,
    answers: Mutex<Vec<u8>>,
}

impl Parent {
    /// Keeps an answer for the next [`flush`](Parent::flush).
    fn keep(&self, number: u32, answer: Result<Answer, Panicked>) {
        let mut answers = self.answers.lock().expect("nothing panics under this lock");
        FromWorker::Answer { number, answer }.write(&mut answers);
    }

    /// Sends the answers that were kept.
    fn flush(&self) -> io::Result<()> {
        let mut answers = self.answers.lock().expect("nothing panics under this lock");
        if !answers.is_empty() {
            (&self.socket).write_all(&answers)?;
            answers.clear();
        }
        Ok(())
    }

    fn say(&self, message: &FromWorker) -> io::Result<()> {
        let mut answers = self.answers.lock().expect("nothing panics under this lock");
        message.write(&mut answers);
        drop(answers);
        self.flush()
    }
}

/// A worker between messages.
struct Worker {
    variant: Variant,
    workers: usize,
    /// How many requests of clients may wait in all workers together.
    queue_capacity: u64,
    parent: Arc<Parent>,
    carries: Carries,
    /// Descriptors that came along with messages not yet read.
    descriptors: Vec<OwnedFd>,
}

/// Who carries requests out.
enum Carries {
    EventLoop(EventLoop),
    Pool(Arc<Pool>),
}

impl Worker {
    fn start(variant: Variant, workers: usize, queue_capacity: u64) -> io::Result<Worker> {
        // Should the parent die without a word. Should it be dead already, its socket is closed.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        for signal in [SIGINT, SIGTERM] {
            // Meant for the parent, which tells the workers to drain; a terminal sends it to all.
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let parent = Arc::new(Parent { socket, answers: Mutex::default() });
        let carries = match variant.carrier {
            Carrier::EventLoop => Carries::EventLoop(EventLoop::new(Arc::clone(&parent))),
            Carrier::Threads(threads) => Carries::Pool(Arc::new(Pool::start(threads)?)),
        };
        Ok(Worker { variant, workers, queue_capacity, parent, carries, descriptors: Vec::new() })
    }

    /// Does what the parent says, until it says that this is the end, or says no more.
    fn run(mut self) -> io::Result<()> {
        self.parent.say(&FromWorker::Ready)?;
        let mut chunk = vec![0; READ_BYTES];
        let mut bytes = Vec::new();
        let mut server = None;
        loop {
            self.wait()?;
            match self.receive(&mut chunk) {
                // The parent is gone, and with it everybody who waits for an answer.
                Ok(0) => return Ok(()),
                Ok(read) => bytes.extend_from_slice(&chunk[..read]),
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for message in wire::take(&mut bytes) {
                match message {
                    ToWorker::Request { number, job } => match &mut self.carries {
                        Carries::EventLoop(event_loop) => event_loop.execute(number, job),
                        Carries::Pool(pool) => pool.answer(number, job, &self.parent),
                    },
                    ToWorker::Serve { part, parts, limits } => {
                        server = Some(self.serve(part as usize, parts as usize, limits)?);
                        self.parent.say(&FromWorker::Serving)?;
                    }
                    ToWorker::Drain { left_ns } => {
                        let deadline = Instant::now() + Duration::from_nanos(left_ns);
                        server.map(|mut server: LoopServer| server.drain(deadline));
                        return Ok(());
                    }
                    ToWorker::End => return self.finish(),
                }
            }
        }
    }

    /// Waits for the parent to say something. Meanwhile an event loop goes on with its requests.
    fn wait(&mut self) -> io::Result<()> {
        let next_wake = match &mut self.carries {
            Carries::EventLoop(event_loop) => event_loop.wake(),
            Carries::Pool(_) => None,
        };
        self.parent.flush()?;
        let left = next_wake.map(|wake| wake.saturating_duration_since(Instant::now()));
        let limit = left.map(|left| Timespec::try_from(left).expect("a wait is no longer than minutes"));
        match poll(&mut [PollFd::new(&self.parent.socket, PollFlags::IN)], limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&mut self, chunk: &mut [u8]) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.parent.socket, &mut [IoSliceMut::new(chunk)], &mut control, flags)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        Ok(received.bytes)
    }

    fn serve(&mut self, part: usize, parts: usize, limits: [u64; 4]) -> io::Result<LoopServer> {
        let (Some(counts), Some(listener)) = (self.descriptors.pop(), self.descriptors.pop()) else {
            return Err(io::Error::other("the parent sent no listener"));
        };
        let parts = shared::open(counts, parts)?;
        let info = Processes::describe(&self.variant, self.workers);
        let state = ServerState::shared(wire::limits(limits), info, parts, part);
        let listener = TcpListener::from(listener);
        match &self.carries {
            Carries::EventLoop(_) => LoopServer::start_on(listener, state, event_loop::executor()),
            Carries::Pool(pool) => {
                let executor = pool::executor(pool, &state, self.queue_capacity);
                LoopServer::start_on(listener, state, executor)
            }
        }
    }

    /// Finishes the requests in hand.
    fn finish(self) -> io::Result<()> {
        match self.carries {
            Carries::EventLoop(mut event_loop) => event_loop.finish(),
            Carries::Pool(pool) => pool.finish(),
        }
        self.parent.flush()
    }
}
