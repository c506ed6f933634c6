//! The heap source's arithmetic and what it hands out: which blocks are
//! sampled, what one stands for, and the picture of a moment.
//!
//! The hooks themselves are in `sys/heap`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(crate) mod gaps;
mod picture;

/// Lets Python's small objects be sampled one by one from the next door on that
/// wants them. Where that cannot be, half a sentence says why; the heap is
/// sampled all the same, and small objects show as the arenas they are in.
///
/// Call it with the interpreter lock held, before the door is opened, and
/// [`release_python_objects`] once for each call, whatever it returned.
///
/// # Errors
///
/// There is no interpreter, or it does not let large requests through to `malloc`.
pub fn install_python_objects() -> Result<(), &'static str> {
    crate::sys::fork::watch();
    crate::sys::heap::prepare();
    HOLDERS.fetch_add(1, Ordering::AcqRel);
    let outcome = crate::sys::heap::objects::install();
    *REFUSAL.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    outcome
}

/// A door that wanted objects samples no more. When none does, the interpreter gets
/// its own allocator functions back, where nothing stands around ours and no free
/// has to be seen there: a program that was recorded then runs as it did before.
///
/// Call it with the interpreter lock held.
pub fn release_python_objects() {
    if HOLDERS.fetch_sub(1, Ordering::AcqRel) == 1 {
        crate::sys::heap::objects::uninstall();
    }
}

/// Doors that sample objects.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);

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
