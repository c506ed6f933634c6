//! How much of a thread's CPU time was the kernel's.
//!
//! A signal reaches a running thread by an interrupt that takes some
//! microseconds. A thread that enters the kernel before it arrives meets the
//! signal there, on its way back. So code that makes short system calls all the
//! time is nearly always seen in one: 99 % of a loop of `stat` and arithmetic
//! whose true share is 40 %. The kernel's own account of user and kernel time
//! says how much the looks in system calls are worth together.

use crate::sys::threads;

/// Looks in system calls, and all looks, below which there is nothing to correct.
const FEWEST: (usize, usize) = (5, 20);
/// The kernel's account advances by ten milliseconds; fewer than this say nothing.
const FEWEST_UNITS: u64 = 10;
/// Looks may tell this much more of the kernel than its account before they
/// are corrected: the account itself is sampled.
const TOLERANCE: f64 = 0.05;

/// The kernel's account of one thread, from one batch to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KernelShare {
    user: u64,
    kernel: u64,
    latest: Option<f64>,
    /// Looks told much more of the kernel than its account in the last batch.
    pub(crate) is_overtold: bool,
}

impl KernelShare {
    /// Begins with what thread `tid` has used so far.
    pub(crate) fn new(tid: i32) -> Self {
        let (user, kernel) = threads::user_and_kernel_time(tid).unwrap_or((0, 0));
        Self { user, kernel, ..Self::default() }
    }

    /// The kernel's share of the time since the last batch, when `in_kernel` of
    /// `all` looks tell more than that; `None` when equal shares are right.
    pub(crate) fn share(&mut self, tid: i32, in_kernel: usize, all: usize) -> Option<f64> {
        self.is_overtold = false;
        if in_kernel < FEWEST.0 || all < FEWEST.1 {
            return None;
        }
        if let Some((user, kernel)) = threads::user_and_kernel_time(tid) {
            let (u, k) = (user.saturating_sub(self.user), kernel.saturating_sub(self.kernel));
            if u + k >= FEWEST_UNITS {
                (self.user, self.kernel) = (user, kernel);
                self.latest = Some(k as f64 / (u + k) as f64);
            }
        }
        let share = self.latest?;
        let told = in_kernel as f64 / all as f64;
        self.is_overtold = told > share + 3.0 * TOLERANCE;
        (told > share + TOLERANCE).then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_tell_no_more_than_the_account_are_left_alone() {
        let mut account = KernelShare { latest: Some(0.4), ..KernelShare::default() };
        let nobody = 1 << 22;

        assert_eq!(account.share(nobody, 40, 100), None);
        assert!(!account.is_overtold);
        assert_eq!(account.share(nobody, 99, 100), Some(0.4));
        assert!(account.is_overtold);
        assert_eq!(account.share(nobody, 3, 4), None, "too few looks");
    }
}
