//! The processor's own clock, read without a system call.

use std::sync::OnceLock;

/// Where the kernel says which clock it trusts.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Whether the processor's counter runs evenly and alike on all cores: the
/// kernel tests that, and uses the counter itself if so.
pub(crate) fn are_steady() -> bool {
    static STEADY: OnceLock<bool> = OnceLock::new();
    *STEADY.get_or_init(|| {
        cfg!(target_arch = "x86_64")
            && std::fs::read_to_string(CLOCK_SOURCE).is_ok_and(|name| name.trim() == "tsc")
    })
}

/// The counter now; 0 where there is none.
#[inline]
pub(crate) fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86_64 processor has this instruction; it touches no memory.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        0
    }
}
