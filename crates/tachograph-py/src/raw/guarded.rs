//! A value that one thread at a time may touch, under whichever lock there is.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use pyo3::{Python, ffi};

/// Whether this is a build for an interpreter without a global lock: its
/// objects have a longer head.
pub(crate) const FREE_THREADED: bool = size_of::<ffi::PyObject>() > 2 * size_of::<usize>();

/// A value guarded by the interpreter's lock, or by its own where there is none.
///
/// An atomic operation costs a tenth of a span, so none is made for nothing.
pub(crate) struct Guarded<T> {
    lock: Mutex<()>,
    value: RefCell<T>,
}

// SAFETY: `with` is the only way to the value. It needs a thread that is
// attached to the interpreter, and never lets go of the interpreter's lock
// meanwhile; where there is no such lock it takes its own.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Guards `value`.
    pub(crate) const fn new(value: T) -> Self {
        Self { lock: Mutex::new(()), value: RefCell::new(value) }
    }

    /// Looks at the value; `None` if it is being looked at already.
    ///
    /// `look` must not call into Python, which could let another thread in.
    #[inline]
    pub(crate) fn with<R>(&self, _py: Python<'_>, look: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _held = FREE_THREADED.then(|| self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.value.try_borrow_mut().ok().map(|mut value| look(&mut value))
    }
}
