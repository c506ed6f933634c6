//! What the operating system knows about this process.

use pyo3::prelude::*;

use crate::errors::guarded;

/// The most physical memory this process ever held, in bytes; `None` where it is not told.
#[pyfunction]
pub(crate) fn peak_memory(py: Python<'_>) -> PyResult<Option<u64>> {
    guarded(|| Ok(py.detach(tachograph_capture::peak_memory)))
}
