//! Performance events that make a thread look at itself.
//!
//! The event counts the thread's own CPU time in user code and raises SIGTRAP
//! synchronously. User code only: one that counts kernel time fires inside
//! `execve` and kills the new program (measured: 47 of 50). What that leaves
//! unseen is repaired by a slow tick.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use perf_event_open_sys::{self as perf, bindings};

/// The code of a SIGTRAP that a performance event raised.
const TRAP_PERF: libc::c_int = 6;

/// An event that traps one thread; dropping it ends it.
#[derive(Debug)]
pub(crate) struct TrapEvent {
    event: File,
}

impl TrapEvent {
    /// Starts trapping thread `tid` every `period_ns` of its user CPU time.
    /// `value` comes back in the signal.
    pub(crate) fn start(tid: i32, value: u64, period_ns: u64) -> io::Result<Self> {
        let mut attributes = bindings::perf_event_attr {
            type_: bindings::PERF_TYPE_SOFTWARE,
            size: size_of::<bindings::perf_event_attr>() as u32,
            config: u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK),
            sig_data: value,
            ..Default::default()
        };
        attributes.__bindgen_anon_1.sample_period = period_ns;
        attributes.set_exclude_kernel(1);
        attributes.set_exclude_hv(1);
        attributes.set_sigtrap(1);
        attributes.set_remove_on_exec(1);
        // SAFETY: `attributes` is complete and lives until the call returns; a
        // kernel that knows less answers with an error.
        let fd = unsafe {
            perf::perf_event_open(
                &raw mut attributes,
                tid,
                -1,
                -1,
                u64::from(bindings::PERF_FLAG_FD_CLOEXEC),
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call returned a new descriptor that nobody else owns.
        let event = unsafe { File::from_raw_fd(fd) };
        Ok(Self { event })
    }

    /// What the thread's own handler may change of the event.
    pub(crate) fn number(&self) -> i32 {
        self.event.as_raw_fd()
    }

    /// Stops trapping; what is on its way still arrives.
    fn disable(&self) {
        // SAFETY: the descriptor is a performance event.
        unsafe { perf::ioctls::DISABLE(self.event.as_raw_fd(), 0) };
    }
}

impl Drop for TrapEvent {
    /// Closing the descriptor is not enough: a forked child has a copy of it,
    /// and the event lives as long as one is open.
    fn drop(&mut self) {
        self.disable();
    }
}

/// A thread's event as its handler knows it: the descriptor plus one, so that
/// zeroed memory means none.
#[derive(Debug)]
pub(crate) struct TrapHandle {
    number: AtomicI32,
    period_ns: AtomicU64,
}

impl TrapHandle {
    /// Lets the handler reach `event`, whose period is `period_ns` on average.
    pub(crate) fn set(&self, event: &TrapEvent, period_ns: u64) {
        self.period_ns.store(period_ns, Ordering::Release);
        self.number.store(event.number() + 1, Ordering::Release);
    }

    /// The event is about to be closed.
    pub(crate) fn clear(&self) {
        self.number.store(0, Ordering::Release);
    }

    /// Draws a new period every eighth trap, so that looks never stay in step
    /// with the program. Done right after a trap: a new period starts the count
    /// anew, and at any other moment the part already counted would be lost.
    /// On every trap it would cost as much as the trap itself.
    ///
    /// Context: signal handler.
    pub(crate) fn vary(&self, state: &mut (u64, u64)) {
        let (traps, random) = state;
        *traps = traps.wrapping_add(1);
        let number = self.number.load(Ordering::Acquire);
        if *traps % 8 != 1 || number == 0 {
            return;
        }
        // One step of a xorshift generator; any start but zero will do.
        let mut x = if *random == 0 { self.period_ns.as_ptr() as u64 } else { *random };
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *random = x;
        let period = self.period_ns.load(Ordering::Acquire);
        let varied = period / 2 + x % period.max(1);
        // The binding passes the number itself, the kernel wants its address.
        const SET_PERIOD: libc::c_ulong = 0x4008_2404;
        // SAFETY: on a performance event the kernel reads one word at the given
        // address, which lives until the call returns; any other descriptor
        // refuses the request.
        unsafe { libc::ioctl(number - 1, SET_PERIOD, &raw const varied) };
    }
}

/// The value a trap of a performance event carries; `None` for any other trap.
///
/// Context: signal handler.
pub(crate) fn trap_data(info: *mut libc::siginfo_t) -> Option<u64> {
    if info.is_null() {
        return None;
    }
    // SAFETY: the kernel passes a valid siginfo to a SA_SIGINFO handler.
    let code = unsafe { (*info).si_code };
    if code != TRAP_PERF {
        return None;
    }
    // SAFETY: a siginfo is 128 bytes, aligned like a word.
    let words = unsafe { &*info.cast::<[u64; 16]>() };
    // For this code the kernel puts the value right behind the faulting address.
    words.get(3).copied()
}

/// Why performance events are not to be had for this process, or `None`.
pub(crate) fn unavailable() -> Option<String> {
    let tid = super::threads::own_id();
    // A second of CPU time: long enough that the test event never fires.
    match TrapEvent::start(tid, 0, 1_000_000_000) {
        Ok(_) => None,
        Err(error) => {
            let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            let level = level.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned());
            Some(format!("perf_event_open: {error} (perf_event_paranoid is {level})"))
        }
    }
}
