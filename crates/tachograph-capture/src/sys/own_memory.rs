//! How much memory our own code holds, so that a program's resident size can be
//! explained with us in it.
//!
//! The library that links this crate makes [`OwnMemory`] its global allocator.
//! The heap's hooks leave that library alone, so nothing counts twice.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

/// Counts that threads share; more than one, so that they rarely meet.
const COUNTS: usize = 16;
/// Stacks of threads are at least this far apart, as a power of two.
const STACK_BITS: usize = 20;

/// A count that shares no cache line with another.
#[repr(align(64))]
struct Count(AtomicI64);

/// What was allocated minus what was freed; only the sum means something.
static HELD: [Count; COUNTS] = [const { Count(AtomicI64::new(0)) }; COUNTS];

/// The system's allocator, with a count of the bytes that are held.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnMemory;

/// Bytes that the library with [`OwnMemory`] as its allocator holds now.
pub(crate) fn held_bytes() -> u64 {
    let sum: i64 = HELD.iter().map(|count| count.0.load(Ordering::Relaxed)).sum();
    sum.max(0).cast_unsigned()
}

/// Adds to the count that goes with this thread's stack.
fn add(bytes: usize, sign: i64) {
    let here = 0_u8;
    let stack = std::ptr::from_ref(&here).addr() >> STACK_BITS;
    if let Some(count) = HELD.get(stack % COUNTS) {
        count.0.fetch_add(sign.wrapping_mul(bytes.cast_signed() as i64), Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator as it came; the
// count beside it neither allocates nor panics.
unsafe impl GlobalAlloc for OwnMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the caller keeps the promises of `alloc`, and this is one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        add(layout.size(), -1);
        // SAFETY: the caller got `block` from `System` through us, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the caller keeps the promises of `alloc_zeroed`, and this is one.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size, 1);
        add(layout.size(), -1);
        // SAFETY: the caller got `block` from `System` through us, with this layout.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_the_sum_over_all_threads() {
        let before = held_bytes();
        let layout = Layout::from_size_align(5_000, 8).unwrap();

        // SAFETY: the layout is not empty; the block is freed below with what it has then.
        let block = unsafe { OwnMemory.alloc(layout) };
        assert_eq!(held_bytes() - before, 5_000);
        let address = block.expose_provenance();
        let moved = std::thread::spawn(move || {
            let block = std::ptr::with_exposed_provenance_mut::<u8>(address);
            // SAFETY: the block has this layout and nobody else uses it.
            unsafe { OwnMemory.realloc(block, layout, 9_000) }.expose_provenance()
        });
        let block = std::ptr::with_exposed_provenance_mut::<u8>(moved.join().unwrap());
        assert_eq!(held_bytes() - before, 9_000);
        // SAFETY: the block has this size since `realloc` and is not used again.
        unsafe { OwnMemory.dealloc(block, Layout::from_size_align(9_000, 8).unwrap()) };
        assert_eq!(held_bytes(), before);
    }
}
