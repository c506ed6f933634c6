//! SIGTERM and SIGHUP finish the recordings before they end the program.
//!
//! Only for a program that leaves these signals to the kernel: the handler
//! takes a note and returns, the collector finishes every recording, puts the
//! default action back and sends the signal again, so the program dies of it as
//! it would have, some hundredths of a second later. A second signal does not
//! wait. Python still reports `SIG_DFL`, and a handler that the program
//! installs replaces ours.

use std::sync::atomic::{AtomicI32, Ordering};

use super::signals::{Handler, Installed, query, raise};

static TERMINATE: Installed = Installed::new(libc::SIGTERM);
static HANG_UP: Installed = Installed::new(libc::SIGHUP);

/// The process whose collector listens; a forked child has none at first.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// The signal that told the program to end; 0 as long as none did.
static TOLD: AtomicI32 = AtomicI32::new(0);

/// Begins to listen, for those signals that the program left to the kernel.
pub(crate) fn listen() {
    TOLD.store(0, Ordering::Relaxed);
    OWNER.store(own_pid(), Ordering::Release);
    for (signal, installed) in [(libc::SIGTERM, &TERMINATE), (libc::SIGHUP, &HANG_UP)] {
        if query(signal).sa_sigaction == libc::SIG_DFL {
            installed.install(handle as Handler, FLAGS);
        }
    }
}

/// Interrupted calls go on: the program does not notice that it is about to end.
const FLAGS: libc::c_int = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;

/// Leaves the signals to the kernel again.
pub(crate) fn stop() {
    if OWNER.swap(0, Ordering::AcqRel) == own_pid() {
        TERMINATE.remove();
        HANG_UP.remove();
    }
}

/// The signal that told the program to end, once.
pub(crate) fn told() -> Option<libc::c_int> {
    // A look is cheap, and almost always the answer.
    if TOLD.load(Ordering::Relaxed) == 0 || OWNER.load(Ordering::Acquire) != own_pid() {
        return None;
    }
    Some(TOLD.load(Ordering::Acquire))
}

/// Lets `signal` do what it was about to do.
pub(crate) fn obey(signal: libc::c_int) {
    stop();
    // SAFETY: kill has no memory arguments; our own pid is always ours to signal.
    unsafe { libc::kill(own_pid(), signal) };
}

/// Takes a note for the collector; in a process without one, or when told a
/// second time, the default action happens at once.
///
/// Context: signal handler.
extern "C" fn handle(signal: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if OWNER.load(Ordering::Acquire) == own_pid()
        && TOLD.compare_exchange(0, signal, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    {
        return;
    }
    let installed = if signal == libc::SIGHUP { &HANG_UP } else { &TERMINATE };
    installed.restore_default();
    // It is blocked while its handler runs, and delivered when that returns.
    raise(signal);
}

/// Context: signal handler.
fn own_pid() -> libc::pid_t {
    // SAFETY: getpid has no arguments and cannot fail.
    unsafe { libc::getpid() }
}
