//! Watches over the program until it ends: passes signals on, draws a line.
//!
//! Ctrl-C reaches the program through the terminal, as every process of its
//! group; it is not sent a second time. A signal that was sent to us alone is
//! passed on. We outlive the program in any case, to tell what came of it.

use std::fs;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::{Cause, Origin};

use super::progress::{Progress, REDRAW};
use crate::console::Console;
use crate::failure::{Failure, without_number};

/// What happens while a program runs.
enum Event {
    Ended(std::io::Result<ExitStatus>),
    Signal(Origin),
}

/// How a program ended, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Its exit status or signal.
    pub(super) status: ExitStatus,
}

/// Signals that reach us from now on, none of which ends us any more.
pub(super) struct Signals {
    tell: Sender<Event>,
    events: Receiver<Event>,
}

/// Begins to listen for signals. Before the program starts: a Ctrl-C in
/// between would end us and leave it alone.
pub(super) fn listen() -> Signals {
    let (tell, events) = channel();
    watch_signals(tell.clone());
    Signals { tell, events }
}

/// Waits for the end of `child`; `watched` is the file that grows meanwhile.
pub(super) fn until_the_end(
    signals: Signals,
    mut child: Child,
    name: &str,
    watched: &Path,
    console: &Console,
) -> Result<Ended, Failure> {
    let pid = Pid::from_child(&child);
    let Signals { tell, events } = signals;
    let waiter = move || {
        let _ = tell.send(Event::Ended(child.wait()));
    };
    let no_thread = |error: std::io::Error| {
        Failure::failed(
            format!("cannot watch the program: {}", without_number(&error.to_string())),
            "raise the limit of threads with ulimit -u",
        )
    };
    thread::Builder::new().name("tacho-wait".to_owned()).spawn(waiter).map_err(no_thread)?;
    let mut progress = Progress::new(name, pid.as_raw_nonzero().get(), watched, console);
    let ended = serve(&events, pid, &mut progress);
    progress.erase();
    let status = ended.map_err(|error| {
        Failure::failed(
            format!("lost sight of the program: {}", without_number(&error.to_string())),
            "its recording may still be read with tachograph report",
        )
    })?;
    Ok(Ended { status })
}

/// Passes signals on and draws until the program ends.
fn serve(
    events: &Receiver<Event>,
    pid: Pid,
    progress: &mut Progress,
) -> std::io::Result<ExitStatus> {
    let started = Instant::now();
    loop {
        match events.recv_timeout(REDRAW) {
            Ok(Event::Ended(status)) => return status,
            Ok(Event::Signal(origin)) => pass_on(&origin, pid, progress),
            Err(RecvTimeoutError::Timeout) => progress.draw(started.elapsed()),
            Err(RecvTimeoutError::Disconnected) => return Err(std::io::ErrorKind::Other.into()),
        }
    }
}

fn pass_on(origin: &Origin, pid: Pid, progress: &mut Progress) {
    match origin.signal {
        SIGTSTP => {
            // The terminal stops the whole group; the shell wants its screen back.
            progress.erase();
            let _ = emulate_default_handler(SIGTSTP);
        }
        SIGWINCH | SIGCONT => progress.erase(),
        signal => {
            let is_from_terminal = matches!(origin.cause, Cause::Kernel);
            if let Some(signal) = Signal::from_named_raw(signal).filter(|_| !is_from_terminal) {
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// Hands signals to `tell` from a thread of its own.
///
/// A signal that is ignored, as SIGHUP under `nohup`, stays so: a handler of
/// ours would make it deadly for the program, which inherits what we do.
fn watch_signals(tell: Sender<Event>) {
    let ignored = ignored_signals();
    let wanted = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH];
    let wanted = wanted.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = SignalsInfo::<WithOrigin>::new(wanted) else { return };
    let listen = move || {
        for origin in signals.forever() {
            if tell.send(Event::Signal(origin)).is_err() {
                return;
            }
        }
    };
    // Without the thread signals are not passed on; the program runs all the same.
    let _ = thread::Builder::new().name("tacho-signals".to_owned()).spawn(listen);
}

/// The signals this process ignores, the lowest bit for signal 1.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
