//! Stops one thread of another process for a moment.
//!
//! The thread is seized, interrupted, and let go again, all by one thread of
//! ours. Nothing is left behind between two stops: the target has no tracer
//! most of the time, so its signals are never held up. If the tracing thread
//! dies, by a panic or a `kill -9`, the kernel lets the target go.

use std::io;
use std::ptr;
use std::time::Duration;

use super::registers::Interrupted;

/// `status >> 16` of a stop that we asked for, or of a stopped process.
const EVENT_STOP: i32 = 128;

/// How often, and how far apart, we look whether a program that replaces itself has stopped:
/// ten seconds, for a machine that is very busy.
const REPLACED_LOOKS: u32 = 100_000;
const REPLACED_APART: Duration = Duration::from_micros(100);

/// A thread of another process that does not run until this is dropped.
#[derive(Debug)]
pub(crate) struct Stopped {
    tid: i32,
    /// A signal that was on its way to the thread when it stopped.
    signal: i32,
    /// The thread is no more; there is nothing to let go.
    ended: bool,
    /// Only the thread that stopped it can let it go.
    _not_send: std::marker::PhantomData<*const ()>,
}

/// While this lives, the terminal cannot stop the calling thread (Ctrl-Z): it
/// would leave a thread that we hold standing until we go on.
#[derive(Debug)]
pub(crate) struct NoPause {
    before: libc::sigset_t,
}

impl NoPause {
    /// Puts off the terminal's stop signals until this is dropped.
    pub(crate) fn begin() -> Self {
        let mut blocked = empty_signals();
        for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
            // SAFETY: `blocked` is a set that was initialised above.
            unsafe { libc::sigaddset(&raw mut blocked, signal) };
        }
        let mut before = empty_signals();
        // SAFETY: both sets are initialised and live until the call returns.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
        }
        Self { before }
    }
}

impl Drop for NoPause {
    fn drop(&mut self) {
        // SAFETY: the set was filled in by the kernel; the old one is not asked for.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
        }
    }
}

fn empty_signals() -> libc::sigset_t {
    let mut signals = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `signals` has the size of a set and lives until the call returns.
    unsafe { libc::sigemptyset(signals.as_mut_ptr()) };
    // SAFETY: all integers, zeroed above and initialised by the call.
    unsafe { signals.assume_init() }
}

/// Why a thread could not be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no such thread any more.
    Ended,
    /// The kernel does not allow it, or another tracer has it.
    Denied,
}

impl Stopped {
    /// Stops thread `tid` of process `pid`. Takes 20 to 60 µs. Of several threads of a
    /// process the one that has its number must be the last that is stopped.
    ///
    /// A thread that is just replacing its program forgets that it is to stop, and
    /// we would wait for ever; so it is to stop for that too.
    pub(crate) fn stop(pid: i32, tid: i32) -> Result<Self, Refusal> {
        let seized = request(libc::PTRACE_SEIZE, tid, libc::PTRACE_O_TRACEEXEC);
        seized.map_err(|error| match error.raw_os_error() {
            Some(libc::ESRCH) => Refusal::Ended,
            _ => Refusal::Denied,
        })?;
        let mut stopped =
            Self { tid, signal: 0, ended: false, _not_send: std::marker::PhantomData };
        if request(libc::PTRACE_INTERRUPT, tid, 0).is_err() {
            stopped.ended = true;
            let_replaced_go(pid);
            return Err(Refusal::Ended);
        }
        stopped.wait(pid)?;
        Ok(stopped)
    }

    /// Sleeps until the thread has stopped.
    ///
    /// Asking again and again for 25 µs first took 5 to 14 µs more of our own CPU
    /// time per sample at 1 kHz. Flat out it was steadier: 28 thousand samples a
    /// second, where this gives 19 to 32. Measured at depth 10 on a quiet virtual
    /// machine with two processors, with `benches/attach`.
    fn wait(&mut self, pid: i32) -> Result<(), Refusal> {
        match wait_for(pid, self.tid) {
            // Nothing of what it was is left to be read. It is let go.
            Ok(status) if status >> 16 == libc::PTRACE_EVENT_EXEC => Err(Refusal::Ended),
            Ok(status) if libc::WIFSTOPPED(status) => {
                let by_us = status >> 16 == EVENT_STOP;
                self.signal = if by_us { 0 } else { libc::WSTOPSIG(status) };
                Ok(())
            }
            _ => {
                self.ended = true;
                Err(Refusal::Ended)
            }
        }
    }

    /// The registers it stopped with.
    pub(crate) fn registers(&self) -> Option<Registers> {
        registers(self.tid)
    }
}

impl Drop for Stopped {
    /// Lets the thread go on, with the signal that was on its way to it.
    fn drop(&mut self) {
        if !self.ended {
            // It fails only if the thread was killed meanwhile.
            let _ = request(libc::PTRACE_DETACH, self.tid, self.signal);
        }
    }
}

fn request(what: libc::c_uint, tid: i32, data: i32) -> io::Result<()> {
    let nothing = ptr::null_mut::<libc::c_void>();
    let data = data as usize as *mut libc::c_void;
    // SAFETY: seize, interrupt and detach take numbers and read no memory.
    let result = unsafe { libc::ptrace(what, tid, nothing, data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The thread's new state, once it has one.
///
/// We wait for whatever this thread of ours holds: a thread that replaces its program goes on
/// under the number of its process, and nobody would wake us for the number it had.
fn wait_for(pid: i32, tid: i32) -> io::Result<i32> {
    loop {
        let mut status = 0;
        let options = libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: `status` lives until the call returns.
        let found = unsafe { libc::waitpid(-1, &raw mut status, options) };
        if found == tid {
            return Ok(status);
        }
        if found == pid {
            let_go(pid, status);
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if found == -1 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// Lets a program go that was replaced by a thread of ours before we could wait for that.
fn let_replaced_go(pid: i32) {
    for _ in 0..REPLACED_LOOKS {
        let mut status = 0;
        // SAFETY: `status` lives until the call returns.
        match unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            0 if is_held(pid) => std::thread::sleep(REPLACED_APART),
            0 | -1 => return,
            _ => return let_go(pid, status),
        }
    }
}

/// Whether we are the tracer of a process, which may also be our child.
fn is_held(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.and_then(|tid| tid.trim().parse().ok()) == Some(super::threads::own_id())
}

/// Lets a process go on that has stopped with `status`.
fn let_go(pid: i32, status: i32) {
    if libc::WIFSTOPPED(status) {
        let signal = if status >> 16 == 0 { libc::WSTOPSIG(status) } else { 0 };
        // It fails only if the process was killed meanwhile.
        let _ = request(libc::PTRACE_DETACH, pid, signal);
    }
}

/// What a stopped thread has in its registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    /// What unwinding begins with.
    pub(crate) start: Interrupted,
    /// It stopped on its way out of a system call.
    pub(crate) in_system_call: bool,
}

#[cfg(target_arch = "x86_64")]
fn registers(tid: i32) -> Option<Registers> {
    let mut found = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
    let nothing = ptr::null_mut::<libc::c_void>();
    // SAFETY: `found` has the size the kernel fills and lives until the call returns.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, nothing, found.as_mut_ptr()) };
    if result == -1 {
        return None;
    }
    // SAFETY: all integers, zeroed above and filled by the kernel.
    let found = unsafe { found.assume_init() };
    Some(Registers {
        start: Interrupted { ip: found.rip, sp: found.rsp, fp: found.rbp, lr: 0 },
        in_system_call: found.orig_rax.cast_signed() >= 0,
    })
}

#[cfg(target_arch = "aarch64")]
fn registers(tid: i32) -> Option<Registers> {
    let mut found = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut buffer = libc::iovec {
        iov_base: found.as_mut_ptr().cast(),
        iov_len: std::mem::size_of::<libc::user_regs_struct>(),
    };
    // SAFETY: `buffer` covers `found`, and both live until the call returns.
    let result = unsafe {
        libc::ptrace(libc::PTRACE_GETREGSET, tid, libc::NT_PRSTATUS as usize, &raw mut buffer)
    };
    if result == -1 {
        return None;
    }
    // SAFETY: all integers, zeroed above and filled by the kernel.
    let found = unsafe { found.assume_init() };
    let register = |index: usize| found.regs.get(index).copied().unwrap_or(0);
    Some(Registers {
        start: Interrupted { ip: found.pc, sp: found.sp, fp: register(29), lr: register(30) },
        in_system_call: false,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap()
    }

    /// Stops it, once it has become the program that it is to be.
    fn stop(child: &Child) -> Stopped {
        let pid = child.id().cast_signed();
        (0..100).find_map(|_| Stopped::stop(pid, pid).ok()).unwrap()
    }

    fn letter(pid: u32) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    }

    #[test]
    fn a_thread_stands_still_while_it_is_held_and_goes_on_after() {
        let mut child = sleeper();
        let stopped = stop(&child);

        assert_eq!(letter(child.id()), 't');
        assert!(stopped.registers().is_some_and(|registers| registers.start.sp != 0));
        drop(stopped);

        assert_ne!(letter(child.id()), 't');
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_thread_of_ours_that_panics_lets_the_target_go() {
        let mut child = sleeper();
        let pid = child.id().cast_signed();
        drop(stop(&child));
        let panicked = std::thread::spawn(move || {
            let stopped = std::mem::ManuallyDrop::new(Stopped::stop(pid, pid).unwrap());
            assert!(stopped.ended, "and so this thread ends without letting go");
        });
        assert!(panicked.join().is_err());

        while letter(child.id()) == 't' {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_program_that_replaces_itself_again_and_again_can_be_stopped_every_time() {
        let arguments = ["-c", r#"exec sh -c "$0" "$0""#, r#"exec sh -c "$0" "$0""#];
        let mut child = Command::new("sh").args(arguments).spawn().unwrap();
        let pid = child.id().cast_signed();
        let until = std::time::Instant::now() + Duration::from_secs(60);
        let mut refused = Vec::new();
        while refused.len() < 3 && std::time::Instant::now() < until {
            refused.extend(Stopped::stop(pid, pid).map(drop).err());
            // It must come to that.
            std::thread::sleep(Duration::from_micros(50));
        }
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();

        assert_eq!(ended, None, "it goes on");
        assert_eq!(refused, [Refusal::Ended; 3], "it was stopped while it replaced itself");
    }

    #[test]
    fn a_program_that_another_thread_replaces_is_let_go() {
        const PROGRAM: &str = "import os, sys, threading\n\
            again = lambda: os.execv(sys.executable, sys.orig_argv)\n\
            threading.Thread(target=again).start()\n\
            threading.Event().wait()";
        let pythons = std::env::var("TACHOGRAPH_TEST_PYTHONS").unwrap_or_default();
        let python = pythons.split(':').find(|name| !name.is_empty()).unwrap_or("python3");
        let mut child = Command::new(python).args(["-ISc", PROGRAM]).spawn().unwrap();
        let pid = child.id().cast_signed();
        let others = || {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
            let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
            numbers.filter(|tid: &i32| *tid != pid).collect::<Vec<i32>>()
        };
        let until = std::time::Instant::now() + Duration::from_secs(60);
        let mut ended = 0;
        while ended < 20 && std::time::Instant::now() < until {
            for tid in others() {
                ended += usize::from(matches!(Stopped::stop(pid, tid), Err(Refusal::Ended)));
            }
        }
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();

        assert_eq!(ended, 20, "the program stands still: {status}");
        assert!(status.contains("TracerPid:\t0\n"), "{status}");
    }

    #[test]
    fn a_thread_that_is_not_there_has_ended() {
        assert_eq!(Stopped::stop(1 << 22, 1 << 22).unwrap_err(), Refusal::Ended);
    }
}
