//! Values that live until the process ends, behind an atomic pointer.

use std::sync::atomic::{AtomicPtr, Ordering};

/// What `place` points to, if anything was put there.
pub(crate) fn get<T>(place: &AtomicPtr<T>) -> Option<&'static T> {
    // SAFETY: only `replace` stores a pointer, and what it points to is never freed.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

/// Puts `value` in the place of `before` for good. When someone else was
/// faster, theirs stays and is the answer.
pub(crate) fn replace<T>(place: &AtomicPtr<T>, before: Option<&'static T>, value: T) -> &'static T {
    let before =
        before.map_or(std::ptr::null_mut(), |before| std::ptr::from_ref(before).cast_mut());
    let new = Box::into_raw(Box::new(value));
    match place.compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: `new` was just leaked, so it stays valid.
        Ok(_) => unsafe { &*new },
        Err(theirs) => {
            // SAFETY: `new` was never shared, so this is its only owner.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: only leaked boxes are stored.
            unsafe { &*theirs }
        }
    }
}
