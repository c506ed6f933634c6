//! The heap source's arithmetic and what it hands out: which blocks are
//! sampled, what one stands for, and the picture of a moment.
//!
//! The hooks themselves are in `sys/heap`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(crate) mod gaps;
mod picture;

/// A door's wish to see Python's small objects one by one, while this exists.
#[derive(Debug)]
pub struct PythonObjects {
    generation: u32,
}

impl PythonObjects {
    /// Makes the wish. Where it cannot be met, recordings say why; the heap is sampled
    /// all the same, and small objects show as the arenas they are in.
    ///
    /// Call it with the interpreter lock held, before the door is opened that takes it.
    #[must_use]
    pub fn hold() -> Self {
        crate::sys::fork::watch();
        crate::sys::heap::prepare();
        HOLDERS.fetch_add(1, Ordering::AcqRel);
        let outcome = crate::sys::heap::objects::install();
        *REFUSAL.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
        Self { generation: crate::sys::fork::generation() }
    }
}

impl Drop for PythonObjects {
    fn drop(&mut self) {
        // A forked child begins with no wishes.
        if self.generation == crate::sys::fork::generation() {
            HOLDERS.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Gives the interpreter its own allocator functions back when no door wants to see
/// objects any more, nothing stands around ours, and no free has to be seen there: a
/// program that was recorded then runs as it did before.
///
/// Call it with the interpreter lock held, after a door stopped sampling.
pub fn restore_python_allocators() {
    if HOLDERS.load(Ordering::Acquire) == 0 {
        crate::sys::heap::objects::uninstall();
    }
}

/// In a forked child nobody wants anything. Context: the child of a fork.
pub(crate) fn forget_holders() {
    HOLDERS.store(0, Ordering::Release);
}

/// Wishes that exist.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);

/// Why small objects are not seen one by one, if they are not.
static REFUSAL: Mutex<Option<&'static str>> = Mutex::new(None);

/// Why [`PythonObjects::hold`] could not do it, the last time.
pub(crate) fn objects_refusal() -> Option<&'static str> {
    *REFUSAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks whether something took the hooks of [`PythonObjects`] out again, as
/// `tracemalloc.stop()` does if it was started first; then recordings say so.
///
/// Call it with the interpreter lock held, before a door closes.
pub fn check_python_objects() {
    crate::sys::heap::objects::check();
}

pub use picture::{HeapPicture, HeapStats, PeakRow};
