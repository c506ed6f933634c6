//! The memory this process holds, as the kernel accounts for it.

use std::fs;

/// The most physical memory this process ever held at once, in bytes; `None`
/// where the kernel does not tell.
///
/// The kernel keeps this mark itself, so no peak is too short to be in it.
///
/// ```
/// let before = tachograph_capture::peak_memory().unwrap_or(0);
/// let block = vec![1_u8; 32 << 20];
///
/// assert!(tachograph_capture::peak_memory().unwrap_or(block.len() as u64) >= before);
/// ```
pub fn peak_memory() -> Option<u64> {
    peak_of(&fs::read_to_string("/proc/self/status").ok()?)
}

/// The mark in the text of a `status` file, where it stands in kilobytes.
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_in_kilobytes() {
        let status = "Name:\tpython\nVmPeak:\t  900 kB\nVmHWM:\t  123 kB\nVmRSS:\t  100 kB\n";

        assert_eq!(peak_of(status), Some(123 * 1024));
    }

    #[test]
    fn a_text_without_the_mark_has_no_peak() {
        assert_eq!(peak_of("Name:\tkthreadd\n"), None);
        assert_eq!(peak_of("VmHWM:\t many kB\n"), None);
        assert_eq!(peak_of("VmHWM:\t 18446744073709551615 kB\n"), None);
    }

    #[test]
    fn memory_that_was_given_back_stays_in_the_peak() {
        let size = 64 << 20;
        let before = peak_memory().unwrap();

        drop(std::hint::black_box(vec![1_u8; size]));

        let after = peak_memory().unwrap();
        assert!(after >= before);
        assert!(after >= size as u64);
    }
}
