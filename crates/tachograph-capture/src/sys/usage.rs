//! What the kernel counted for this process, in one call.

use std::mem::MaybeUninit;

/// Counts of this process since it began, its ended threads included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// CPU time in the program, in nanoseconds.
    pub(crate) user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub(crate) system_ns: u64,
    /// The most physical memory held at once since the mark was last put back,
    /// or before this program was executed; in bytes.
    pub(crate) most_resident: u64,
    /// Pages that came without reading a disk.
    pub(crate) minor_faults: u64,
    /// Pages that had to be read.
    pub(crate) major_faults: u64,
    /// Context switches because the process waited.
    pub(crate) voluntary_switches: u64,
    /// Context switches because its turn was over.
    pub(crate) involuntary_switches: u64,
}

/// Reads the counts; all zero where the kernel does not tell.
pub(crate) fn read() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` is large enough and lives until the call returns.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    if failed != 0 {
        return Usage::default();
    }
    // SAFETY: the call succeeded, so the kernel filled it in.
    let usage = unsafe { usage.assume_init() };
    Usage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        most_resident: usage.ru_maxrss.unsigned_abs().saturating_mul(1024),
        minor_faults: usage.ru_minflt.unsigned_abs(),
        major_faults: usage.ru_majflt.unsigned_abs(),
        voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
        involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000
}

/// Bytes of one page.
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Clock ticks in a second, the unit of `/proc/stat`.
pub(crate) fn ticks_per_second() -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock;

    #[test]
    fn user_and_system_time_add_up_to_the_cpu_clock() {
        let before = clock::process_cpu();
        let usage = read();
        let after = clock::process_cpu();

        let both = usage.user_ns + usage.system_ns;
        // Both are cut to microseconds.
        assert!(both + 2_000 >= before && both <= after, "{before} {both} {after}");
    }
}
