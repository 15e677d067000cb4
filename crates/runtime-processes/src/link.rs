//! The parent's end of one worker: its process, which is replaced when it dies, and the tickets of the
//! requests that it has.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use execution_model::{Request, RuntimeConfig, Ticket, tell};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};
use slab::Slab;

use crate::server::Serving;
use crate::variant::Variant;
use crate::wire::{self, FromWorker, Message, ToWorker};

/// The most requests that are handed over in one system call.
const BATCH: usize = 64;
/// How long a worker may take from its start until it says that it is ready.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(10);
/// A worker that dies younger than this is replaced only after a pause, lest a fault at the start spin. The pause doubles
/// from one such death to the next.
const YOUNG: Duration = Duration::from_secs(1);
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_LONGEST: Duration = Duration::from_secs(3);

/// How to start a worker.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) variant: Variant,
    pub(crate) config: RuntimeConfig,
}

/// One worker, whichever process it is at the time.
#[derive(Debug)]
pub(crate) struct Link {
    part: usize,
    /// How many requests the worker can have in service.
    places: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The process, from its start until it is about to be reaped.
    process: Option<u32>,
    up: Option<Up>,
    tickets: Slab<Ticket>,
    serving: Option<Arc<Serving>>,
    stopping: bool,
    /// The last process has been reaped, and there will be no other.
    over: bool,
}

/// A process that has said that it is ready.
#[derive(Debug)]
struct Up {
    socket: Arc<UnixStream>,
    serves: bool,
}

impl Link {
    pub(crate) fn new(part: usize, places: usize) -> Link {
        Link { part, places, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Starts the worker, takes its answers, and replaces it when it dies, until told to stop. The kernel
    /// kills the worker when this thread ends, so it must live as long as the runtime.
    pub(crate) fn manage(&self, launch: &Launch, up: mpsc::Sender<io::Result<()>>) {
        let mut up = Some(up);
        let mut pause = PAUSE_FIRST;
        loop {
            let born = Instant::now();
            let how =
                self.live_once(launch, &mut up).unwrap_or_else(|error| format!("cannot start: {error}"));
            if let Some(up) = up.take() {
                // Whoever started the runtime is told, and nobody else.
                let _told = up.send(Err(io::Error::other(format!("worker {} {how}", self.part))));
                return;
            }
            if self.is_stopped_within(Duration::ZERO) {
                return;
            }
            let serving = self.lock().serving.clone();
            if let Some(serving) = serving {
                serving.state.settle_killed(self.part);
            }
            tell(format_args!("processes: worker {} {how}, and is replaced", self.part));
            if born.elapsed() >= YOUNG {
                pause = PAUSE_FIRST;
            } else if self.is_stopped_within(pause) {
                return;
            } else {
                pause = (pause * 2).min(PAUSE_LONGEST);
            }
        }
    }

    /// Waits so long for the word to stop. Where it has come, there will be no other process.
    fn is_stopped_within(&self, pause: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), pause, |state| !state.stopping);
        let (mut state, _) = waited.expect("nothing panics under this lock");
        state.over = state.stopping;
        state.over
    }

    /// One process of the worker, from its start to its end. Says how it ended.
    fn live_once(
        &self,
        launch: &Launch,
        up: &mut Option<mpsc::Sender<io::Result<()>>>,
    ) -> io::Result<String> {
        let (mut child, socket) = launch.spawn()?;
        self.lock().process = Some(child.id());
        let said_its_last = self.take_answers(&socket, up);
        self.went_down();
        let _ended_already = child.kill();
        let status = child.wait()?;
        Ok(match said_its_last {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                format!("was not ready within {START_LIMIT:?}")
            }
            _ => format!("ended with {status}"),
        })
    }

    /// Hands requests over as the worker has room for them, until the queue is closed and empty.
    pub(crate) fn feed(&self, requests: &Receiver<Request>) {
        let mut bytes = Vec::new();
        loop {
            // A request is taken from the queue only where it can be served: the queue stays the bound.
            drop(self.wait_for_room());
            let Ok(first) = requests.recv() else {
                self.tell(&ToWorker::End);
                return;
            };
            let mut state = self.wait_for_room();
            let Some(up) = &state.up else {
                // Stopping, and the worker is gone.
                first.begin().1.fail_killed();
                continue;
            };
            let socket = Arc::clone(&up.socket);
            let room = self.places.saturating_sub(state.tickets.len()).min(BATCH);
            let more = requests.try_iter().take(room.saturating_sub(1));
            for request in [first].into_iter().chain(more) {
                let (job, ticket) = request.begin();
                let number = u32::try_from(state.tickets.insert(ticket)).expect("a ledger has fewer");
                ToWorker::Request { number, job }.write(&mut bytes);
            }
            drop(state);
            // Where the worker has died, its tickets are told so by whoever takes its answers.
            let _died = (&*socket).write_all(&bytes);
            bytes.clear();
        }
    }

    /// The id of the worker's process, while there is one.
    pub(crate) fn process(&self) -> Option<u32> {
        self.lock().process
    }

    /// Does not replace the worker any more.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Whether the last process of the worker is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Ends the worker now.
    pub(crate) fn kill(&self) {
        // Under the lock: the process is reaped only after it is no longer here.
        let state = self.lock();
        let process = state.process.and_then(|process| Pid::from_raw(i32::try_from(process).ok()?));
        if let Some(process) = process {
            let _ended_already = kill_process(process, Signal::KILL);
        }
    }

    /// Makes the worker serve, and those that replace it.
    pub(crate) fn serve(&self, serving: &Arc<Serving>) -> io::Result<()> {
        let mut state = self.lock();
        state.serving = Some(Arc::clone(serving));
        match &state.up {
            Some(up) => self.tell_serving(up, serving),
            // The next one is told when it is up.
            None => Ok(()),
        }
    }

    /// Whether the worker serves.
    pub(crate) fn serves(&self) -> bool {
        self.lock().up.as_ref().is_some_and(|up| up.serves)
    }

    /// Makes the worker finish what its server has accepted, and end.
    pub(crate) fn drain(&self, deadline: Instant) {
        self.stop();
        self.lock().serving = None;
        let left = deadline.saturating_duration_since(Instant::now());
        self.tell(&ToWorker::Drain { left_ns: wire::nanoseconds(left) });
    }

    fn tell(&self, message: &ToWorker) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        let socket = self.lock().up.as_ref().map(|up| Arc::clone(&up.socket));
        if let Some(socket) = socket {
            let _died = (&*socket).write_all(&bytes);
        }
    }

    fn tell_serving(&self, up: &Up, serving: &Serving) -> io::Result<()> {
        let (part, parts) = (self.part, serving.parts);
        let number = |number: usize| u32::try_from(number).expect("workers are few");
        let limits = wire::numbers(serving.state.limits());
        let mut bytes = Vec::new();
        ToWorker::Serve { part: number(part), parts: number(parts), limits }.write(&mut bytes);
        send_with(&up.socket, &bytes, [serving.listener(part).as_fd(), serving.counts.as_fd()])
    }

    /// Takes what the worker says until it says no more.
    fn take_answers(
        &self,
        socket: &Arc<UnixStream>,
        up: &mut Option<mpsc::Sender<io::Result<()>>>,
    ) -> io::Result<()> {
        let mut chunk = vec![0; 64 * 1024];
        let mut bytes = Vec::new();
        socket.set_read_timeout(Some(START_LIMIT))?;
        loop {
            let read = (&**socket).read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            bytes.extend_from_slice(&chunk[..read]);
            let mut state = self.lock();
            for message in wire::take(&mut bytes) {
                match message {
                    // Nobody would tell it any more that it must end.
                    FromWorker::Ready if state.stopping => return Ok(()),
                    FromWorker::Ready => {
                        socket.set_read_timeout(None)?;
                        let now_up = Up { socket: Arc::clone(socket), serves: false };
                        if let Some(serving) = &state.serving {
                            self.tell_serving(&now_up, serving)?;
                        }
                        state.up = Some(now_up);
                        if let Some(up) = up.take() {
                            let _told = up.send(Ok(()));
                        }
                    }
                    FromWorker::Serving => {
                        if let Some(up) = &mut state.up {
                            up.serves = true;
                        }
                    }
                    FromWorker::Answer { number, answer } => {
                        match (state.tickets.remove(number as usize), answer) {
                            (ticket, Ok(answer)) => ticket.complete(answer),
                            (ticket, Err(_)) => ticket.fail_panicked(),
                        }
                    }
                }
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// The worker is gone, and with it the requests that it had.
    fn went_down(&self) {
        let mut state = self.lock();
        state.process = None;
        state.up = None;
        state.tickets.drain().for_each(Ticket::fail_killed);
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until the worker is up and has room, or is gone for good.
    fn wait_for_room(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        loop {
            let waits = if state.up.is_some() { state.tickets.len() >= self.places } else { !state.stopping };
            if !waits {
                return state;
            }
            state = self.changed.wait(state).expect("nothing panics under this lock");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics under this lock")
    }
}

impl Launch {
    /// Starts this executable again, with one end of a socket pair as its standard input.
    fn spawn(&self) -> io::Result<(Child, Arc<UnixStream>)> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new("/proc/self/exe")
            .args(["worker", &self.variant.to_string(), &self.config.workers.to_string()])
            .arg(self.config.queue_capacity.to_string())
            .stdin(OwnedFd::from(theirs))
            // The parent's standard output speaks the cell protocol.
            .stdout(Stdio::null())
            .spawn()?;
        Ok((child, Arc::new(ours)))
    }
}

fn send_with(socket: &UnixStream, bytes: &[u8], descriptors: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    // The message is short, and the socket's buffer is empty when a server begins.
    sendmsg(socket, &[io::IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
