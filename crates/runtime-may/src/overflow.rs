//! A coroutine that overflows its stack ends the process, with a message.
//!
//! generator, the library below may, has a handler for the fault on a stack's guard page that leaves
//! the coroutine where it is and goes on. What the coroutine held is then never let go: its request
//! never ends, nor its connection. A runner that hangs tells less than one that ends.

use std::io;
use std::process;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Replaces the handlers of generator, which installs them when the first coroutine runs.
pub(crate) fn end_process() -> io::Result<()> {
    // Worker threads have a signal stack: std gives one to each thread that it starts.
    let action = SigAction::new(SigHandler::Handler(fault), SaFlags::SA_ONSTACK, SigSet::empty());
    for signal in [Signal::SIGSEGV, Signal::SIGBUS] {
        // SAFETY: the handler makes one system call and aborts, both of which a handler may do.
        #[expect(unsafe_code, reason = "signal handlers have no safe call")]
        unsafe {
            sigaction(signal, &action)?;
        }
    }
    Ok(())
}

extern "C" fn fault(_signal: i32) {
    let message =
        b"may: a fault in memory: a coroutine has overflowed its stack; give it more with stack=Nk\n";
    let _last_words = rustix::io::write(rustix::stdio::stderr(), message);
    process::abort();
}
