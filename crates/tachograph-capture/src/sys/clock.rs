//! Clocks: the monotonic one, the wall, and every thread's CPU clock.

use std::mem::MaybeUninit;

/// Nanoseconds of `clock`; `None` when the kernel knows no such clock, as for
/// a thread that has ended.
///
/// Context: signal handler.
fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is large enough and lives until the call returns.
    let status = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    if status != 0 {
        return None;
    }
    // SAFETY: the call succeeded, so the kernel filled it in.
    let time = unsafe { time.assume_init() };
    Some((time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64))
}

/// Nanoseconds on the monotonic clock.
///
/// Context: signal handler.
pub(crate) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Nanoseconds since 1970.
pub(crate) fn wall() -> i64 {
    read(libc::CLOCK_REALTIME).map_or(0, |ns| i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Nanoseconds from the monotonic clock to 1970, and by how much that may be wrong.
///
/// A thread that loses its processor between the two readings would take the
/// pause for a difference of the clocks, so the best of a few tries counts.
pub(crate) fn monotonic_to_unix() -> (i64, u64) {
    const TRIES: usize = 5;
    const GOOD_NS: u64 = 10_000;
    let mut best = (0, u64::MAX);
    for _ in 0..TRIES {
        let (before, wall, after) = (monotonic(), wall(), monotonic());
        let took = after.saturating_sub(before);
        if took < best.1 {
            best = (wall - i64::try_from(before + took / 2).unwrap_or(0), took);
        }
        if took < GOOD_NS {
            break;
        }
    }
    best
}

/// CPU time of the whole process, its ended threads included.
pub(crate) fn process_cpu() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// CPU time of process `pid`, its ended threads included; `None` when it is gone.
///
/// The kernel builds these ids as `(~pid << 3) | 2` (2: scheduler clock).
pub(crate) fn cpu_of_process(pid: i32) -> Option<u64> {
    read((!pid << 3) | 2)
}

/// CPU time of the calling thread.
pub(crate) fn own_thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// The kernel's name for the CPU clock of thread `tid`.
///
/// The kernel builds these ids as `(~tid << 3) | 6` (6: per thread, scheduler clock).
pub(crate) fn thread_cpu_clock(tid: i32) -> libc::clockid_t {
    (!tid << 3) | 6
}

/// CPU time of thread `tid` of this process; `None` when it has ended.
pub(crate) fn thread_cpu(tid: i32) -> Option<u64> {
    read(thread_cpu_clock(tid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_clock_of_a_thread_moves_only_while_it_works() {
        // SAFETY: gettid has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        let before = thread_cpu(tid).unwrap();
        let spun = own_thread_cpu() + 2_000_000;
        while own_thread_cpu() < spun {}

        let after = thread_cpu(tid).unwrap();

        assert!(after - before >= 2_000_000);
    }

    #[test]
    fn the_clocks_are_as_far_apart_as_is_said() {
        let (apart, uncertain) = monotonic_to_unix();
        let (before, wall, after) = (monotonic(), wall(), monotonic());

        // Whoever keeps the wall clock right may hurry it by a two-thousandth meanwhile.
        let slack = uncertain + 1_000 + (after - before) / 2_000;
        let unix = |time: u64| time.checked_add_signed(apart).unwrap();
        assert!(unix(before) - slack <= wall as u64 && wall as u64 <= unix(after) + slack);
    }

    #[test]
    fn a_thread_that_does_not_exist_has_no_clock() {
        assert_eq!(thread_cpu(1 << 22), None);
    }
}
