//! Python's objects, sampled one by one for as long as a window wants it.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use tachograph_capture as capture;

/// A window's wish to see objects one by one.
pub(crate) struct Objects(AtomicBool);

impl Objects {
    /// Makes the wish, if it is `wanted`; before the window is opened. Why it cannot be
    /// done becomes a note of the window.
    pub(crate) fn hold(_attached: Python<'_>, wanted: bool) -> Self {
        if wanted {
            let _ = capture::install_python_objects();
        }
        Self(AtomicBool::new(wanted))
    }

    /// Takes it back, the first time; after the window samples no more.
    pub(crate) fn release(&self, _attached: Python<'_>) {
        if self.0.swap(false, Ordering::AcqRel) {
            capture::release_python_objects();
        }
    }
}
