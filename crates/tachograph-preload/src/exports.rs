//! The symbols that programs call. Each is one call to the hook behind it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use tachograph_capture::exported;

#[unsafe(no_mangle)]
pub(crate) extern "C" fn malloc(size: usize) -> *mut c_void {
    exported::malloc(size)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    exported::calloc(count, size)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise is passed on.
    unsafe { exported::realloc(block, size) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: the caller's promise is passed on.
    unsafe { exported::free(block) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    exported::memalign(align, size)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    exported::aligned_alloc(align, size)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn posix_memalign(
    out: *mut *mut c_void,
    align: usize,
    size: usize,
) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe { exported::posix_memalign(out, align, size) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn valloc(size: usize) -> *mut c_void {
    exported::valloc(size)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pvalloc(size: usize) -> *mut c_void {
    exported::pvalloc(size)
}
