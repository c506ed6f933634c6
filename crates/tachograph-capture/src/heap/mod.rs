//! The heap source's arithmetic and what it hands out: which blocks are
//! sampled, what one stands for, and the picture of a moment.
//!
//! The hooks themselves are in `sys/heap`.

use std::sync::{Mutex, PoisonError};

pub(crate) mod gaps;
mod picture;

/// Lets Python's small objects be sampled one by one from the next door on that
/// wants them. Where that cannot be, half a sentence says why; the heap is
/// sampled all the same, and small objects show as the arenas they are in.
///
/// Does nothing where it is done already. Call it with the interpreter lock held,
/// before the door is opened.
///
/// # Errors
///
/// There is no interpreter, or it does not let large requests through to `malloc`.
pub fn install_python_objects() -> Result<(), &'static str> {
    crate::sys::fork::watch();
    crate::sys::heap::prepare();
    let outcome = crate::sys::heap::objects::install();
    *REFUSAL.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    outcome
}

/// Why small objects are not seen one by one, if they are not.
static REFUSAL: Mutex<Option<&'static str>> = Mutex::new(None);

/// What [`install_python_objects`] said last, if it could not do it.
pub(crate) fn objects_refusal() -> Option<&'static str> {
    *REFUSAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks whether something took the hooks of [`install_python_objects`] out again, as
/// `tracemalloc.stop()` does if it was started first; then recordings say so.
///
/// Call it with the interpreter lock held, before a door closes.
pub fn check_python_objects() {
    crate::sys::heap::objects::check();
}

pub use picture::{HeapPicture, HeapStats, PeakRow};
