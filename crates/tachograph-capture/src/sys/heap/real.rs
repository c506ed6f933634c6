//! The functions that are really called.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::apart::Apart;

macro_rules! real {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        /// Where the functions are; 0 for one that is not known.
        #[repr(C)]
        pub(super) struct Places {
            $(pub(super) $name: AtomicUsize,)*
        }

        /// Read by every call, so nothing that changes is near.
        pub(super) static PLACES: Apart<Places> =
            Apart(Places { $($name: AtomicUsize::new(0),)* });

        $(
        /// Context: allocator hook.
        #[inline(always)]
        pub(super) fn $name($($argument: $kind),*) -> $answer {
            let address = PLACES.0.$name.load(Ordering::Relaxed);
            // SAFETY: a hook is reached only through a slot, and no slot is written
            // before the address of the real function, which has this signature.
            let function = unsafe {
                std::mem::transmute::<usize, unsafe extern "C" fn($($kind),*) -> $answer>(address)
            };
            // SAFETY: the arguments are those that the program, or we, gave for it.
            unsafe { function($($argument),*) }
        }
        )*
    };
}

real! {
    malloc(size: usize) -> *mut c_void;
    calloc(count: usize, size: usize) -> *mut c_void;
    realloc(block: *mut c_void, size: usize) -> *mut c_void;
    free(block: *mut c_void) -> ();
    memalign(align: usize, size: usize) -> *mut c_void;
    posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int;
    aligned_alloc(align: usize, size: usize) -> *mut c_void;
    valloc(size: usize) -> *mut c_void;
    pvalloc(size: usize) -> *mut c_void;
    usable_size(block: *mut c_void) -> usize;
    mmap(hint: *mut c_void, length: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    munmap(block: *mut c_void, length: usize) -> c_int;
    pthread_create(thread: *mut c_void, attributes: *const c_void, function: usize, argument: usize) -> c_int;
    mremap(block: *mut c_void, old: usize, new: usize, flags: c_int, place: *mut c_void) -> *mut c_void;
}

pub(super) static REALLOCARRAY: AtomicUsize = AtomicUsize::new(0);
pub(super) static FREE_SIZED: AtomicUsize = AtomicUsize::new(0);
pub(super) static FREE_ALIGNED_SIZED: AtomicUsize = AtomicUsize::new(0);
#[cfg(target_arch = "x86_64")]
pub(super) static DLSYM: AtomicUsize = AtomicUsize::new(0);
