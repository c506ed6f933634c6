//! The hooks by the names of the functions they stand for, for a library that
//! exports them and is loaded before all others.
//!
//! The real functions are found at the first call, which may come before any
//! constructor has run.

use std::ffi::{c_int, c_void};

use super::rust::ready;
use super::{hooks, mappings};

/// `malloc`.
#[must_use]
pub fn malloc(size: usize) -> *mut c_void {
    ready();
    hooks::malloc(size)
}

/// `calloc`.
#[must_use]
pub fn calloc(count: usize, size: usize) -> *mut c_void {
    ready();
    hooks::calloc(count, size)
}

/// `realloc`.
///
/// # Safety
///
/// `block` is null or a live block of this allocator.
#[must_use]
pub unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    ready();
    hooks::realloc(block, size)
}

/// `free`.
///
/// # Safety
///
/// `block` is null or a live block of this allocator.
pub unsafe fn free(block: *mut c_void) {
    ready();
    hooks::free(block);
}

/// `memalign`.
#[must_use]
pub fn memalign(align: usize, size: usize) -> *mut c_void {
    ready();
    hooks::memalign(align, size)
}

/// `aligned_alloc`.
#[must_use]
pub fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    ready();
    hooks::aligned_alloc(align, size)
}

/// `posix_memalign`.
///
/// # Safety
///
/// `out` is a place for the answer.
pub unsafe fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    ready();
    hooks::posix_memalign(out, align, size)
}

/// `valloc`.
#[must_use]
pub fn valloc(size: usize) -> *mut c_void {
    ready();
    hooks::valloc(size)
}

/// `pvalloc`.
#[must_use]
pub fn pvalloc(size: usize) -> *mut c_void {
    ready();
    hooks::pvalloc(size)
}

/// `mmap`.
///
/// # Safety
///
/// As for the function itself.
#[must_use]
pub unsafe fn mmap(
    hint: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    ready();
    mappings::mmap(hint, length, protection, flags, file, offset)
}

/// `munmap`.
///
/// # Safety
///
/// As for the function itself.
pub unsafe fn munmap(block: *mut c_void, length: usize) -> c_int {
    ready();
    mappings::munmap(block, length)
}
