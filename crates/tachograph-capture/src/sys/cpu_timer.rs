//! POSIX timers on a thread's CPU clock.
//!
//! They fire only while the thread runs, so a wait is never interrupted; the
//! kernel looks at them on its own tick, so they give at most that many samples
//! per CPU-second (250 on common kernels).

use std::io;
use std::mem::MaybeUninit;

use super::clock::thread_cpu_clock;

/// A timer that signals one thread each time it used up a period of CPU time.
/// Dropping it deletes the timer.
#[derive(Debug)]
pub(crate) struct CpuTimer {
    timer: libc::timer_t,
}

// SAFETY: a timer id may be used from any thread of the process.
unsafe impl Send for CpuTimer {}

impl CpuTimer {
    /// Starts a timer that queues `signal` with `value` for thread `tid` every
    /// `period_ns` of its CPU time, the first time after `first_ns`.
    pub(crate) fn start(
        tid: i32,
        signal: libc::c_int,
        value: u64,
        first_ns: u64,
        period_ns: u64,
    ) -> io::Result<Self> {
        // SAFETY: sigevent is plain numbers and pointers; zero is a valid state.
        let mut event = unsafe { MaybeUninit::<libc::sigevent>::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_value = libc::sigval { sival_ptr: value as *mut libc::c_void };
        event.sigev_notify_thread_id = tid;
        let mut timer = MaybeUninit::<libc::timer_t>::uninit();
        // SAFETY: `event` and `timer` live until the call returns.
        let status = unsafe {
            libc::timer_create(thread_cpu_clock(tid), &raw mut event, timer.as_mut_ptr())
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so it filled in the id.
        let timer = unsafe { timer.assume_init() };
        let timer = Self { timer };
        timer.set(first_ns, period_ns)?;
        Ok(timer)
    }

    fn set(&self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        let spec = libc::itimerspec {
            it_interval: timespec(period_ns),
            it_value: timespec(first_ns.max(1)),
        };
        // SAFETY: the timer exists until drop; `spec` lives until the call returns.
        let status =
            unsafe { libc::timer_settime(self.timer, 0, &raw const spec, std::ptr::null_mut()) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        // SAFETY: the timer was created by us and is deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
