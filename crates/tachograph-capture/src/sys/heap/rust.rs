//! The allocator of a Rust program, with the same hooks around it.
//!
//! A program that links us is not scanned for slots: its own calls to the
//! allocator are Rust's, and come here if it says so.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use super::hooks;

/// The system's allocator, seen by the heap source.
///
/// While nobody records, or records without the heap, it costs about a
/// nanosecond for each block and its end.
///
/// ```
/// use tachograph_capture::Allocator;
///
/// #[global_allocator]
/// static ALLOCATOR: Allocator = Allocator;
///
/// assert_eq!(vec![1, 2, 3].iter().sum::<i32>(), 6);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// Blocks of the C library are at multiples of this.
const ALIGN: usize = 16;

static READY: AtomicBool = AtomicBool::new(false);

/// The real functions are known from the first allocation on.
#[inline(always)]
pub(super) fn ready() {
    if !READY.load(Ordering::Relaxed) {
        find();
    }
}

#[cold]
#[inline(never)]
fn find() {
    hooks::resolve();
    READY.store(true, Ordering::Release);
}

// SAFETY: every block comes from the C library's allocator and goes back to it, with
// the size and alignment that were asked for; hooks never unwind.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ready();
        if layout.align() <= ALIGN {
            hooks::malloc(layout.size()).cast()
        } else {
            hooks::memalign(layout.align(), layout.size()).cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ready();
        if layout.align() <= ALIGN {
            return hooks::calloc(1, layout.size()).cast();
        }
        let block = hooks::memalign(layout.align(), layout.size()).cast::<u8>();
        if !block.is_null() {
            // SAFETY: the block has this many bytes and is nobody else's yet.
            unsafe { std::ptr::write_bytes(block, 0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        hooks::free(block.cast::<c_void>());
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= ALIGN {
            return hooks::realloc(block.cast(), size).cast();
        }
        let moved = hooks::memalign(layout.align(), size).cast::<u8>();
        if !moved.is_null() {
            // SAFETY: both blocks have at least this many bytes and are different ones.
            unsafe { std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
            hooks::free(block.cast::<c_void>());
        }
        moved
    }
}
