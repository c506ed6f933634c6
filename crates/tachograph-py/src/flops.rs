//! BLAS calls, counted.

use std::sync::Mutex;

use pyo3::prelude::*;

use tachograph_capture::flops;

use crate::errors::guarded;

/// A stretch of time in which BLAS calls are counted, in all threads.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct BlasWindow {
    open: Mutex<Option<flops::BlasWindow>>,
}

#[pymethods]
impl BlasWindow {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        guarded(|| Ok(Self { open: Mutex::new(Some(py.detach(flops::BlasWindow::open))) }))
    }

    /// Ends it and returns how many operations were counted; 0 the second time.
    fn close(&self) -> u64 {
        let window = self.open.lock().ok().and_then(|mut open| open.take());
        window.map_or(0, |window| window.operations())
    }
}

/// Leaves out what this thread calls; returns whether it was counted until now.
#[pyfunction]
pub(crate) fn blas_leave_out() -> bool {
    flops::leave_out()
}

/// Counts this thread's calls again.
#[pyfunction]
pub(crate) fn blas_count_again() {
    flops::count_again();
}
