//! Keeps what is known of a block that is sampled.

use std::ffi::c_void;

use tachograph_profile::Allocator;

use super::local::local;
use super::store::{self, New};
use super::{control, desk, mappings};

/// Keeps a sampled block with the calling thread's stack; false, and counted,
/// when there is no room, and false when sampling has ended meanwhile.
///
/// Context: allocator hook, parked.
pub(super) fn keep(
    block: *mut c_void,
    size: usize,
    weight: u64,
    allocator: Allocator,
    is_pooled: bool,
) -> bool {
    let (address, size) = (block as u64, size as u64);
    let new = New { address, size, weight, allocator, is_pooled };
    let tid = local().tid();
    let kept = desk::with_stack(|stack| {
        if allocator == Allocator::Mmap {
            // It must be found by any part of it.
            mappings::add(address, size, || store::insert(&new, stack, tid))
        } else {
            store::insert(&new, stack, tid)
        }
    });
    let kept = kept == Some(true);
    if !kept && control::is_sampling() {
        control::drop_one();
    }
    kept
}

/// The calling thread's `errno`.
pub(super) fn errno() -> i32 {
    // SAFETY: the function only answers where this thread's errno is.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: that place is valid for as long as the thread lives.
    unsafe { *place }
}

/// Sets the calling thread's `errno`.
pub(super) fn set_errno(value: i32) {
    // SAFETY: the function only answers where this thread's errno is.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: that place is valid for as long as the thread lives.
    unsafe { *place = value };
}
