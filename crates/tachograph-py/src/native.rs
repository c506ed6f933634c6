//! The native stack of the calling thread, for `tachograph.capture_native_stack`.

use pyo3::prelude::*;

use tachograph_capture::native;

use crate::errors::guarded;

/// `(ip, symbol, filename, offset)`.
type NativeRow = (u64, String, String, u64);

/// Whether native stacks can be unwound here.
#[pyfunction]
pub(crate) fn native_available() -> PyResult<bool> {
    guarded(|| Ok(native::available()))
}

/// The native stack of the calling thread, innermost first.
#[pyfunction]
pub(crate) fn capture_native_stack(max_depth: usize) -> PyResult<Vec<NativeRow>> {
    guarded(|| {
        let frames = native::capture_here(max_depth);
        Ok(frames
            .into_iter()
            .map(|frame| (frame.ip, frame.symbol, frame.filename, frame.offset))
            .collect())
    })
}
