//! Floating point operations of linear algebra, counted at its BLAS calls.
//!
//! A window is the difference of two totals. The hooks stay once a window was
//! opened; without an open window they only pass calls on.

use crate::sys::blas;

/// A stretch of time in which BLAS calls are counted, in all threads.
#[derive(Debug)]
pub struct BlasWindow {
    begin: u64,
}

impl BlasWindow {
    /// Opens it; libraries that were loaded since the last one are hooked.
    ///
    /// Not for hooks or handlers: talks to the dynamic loader.
    #[must_use]
    pub fn open() -> Self {
        blas::want();
        Self { begin: blas::total() }
    }

    /// Operations since it was opened.
    #[must_use]
    pub fn operations(&self) -> u64 {
        blas::total().wrapping_sub(self.begin)
    }
}

impl Drop for BlasWindow {
    fn drop(&mut self) {
        blas::unwant();
    }
}

/// Leaves out what this thread and its helpers call until [`count_again`]: someone
/// else counts it. Returns whether it was counted until now.
#[must_use]
pub fn leave_out() -> bool {
    blas::leave_out()
}

/// Counts this thread's calls again, after [`leave_out`] has returned true.
pub fn count_again() {
    blas::let_in();
}
