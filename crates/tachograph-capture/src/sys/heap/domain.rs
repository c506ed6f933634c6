//! The interpreter's tables of allocator functions, as C lays them out.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use tachograph_profile::Allocator;

/// `PyMemAllocatorEx`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) context: *mut c_void,
    pub(super) malloc: usize,
    pub(super) calloc: usize,
    pub(super) realloc: usize,
    pub(super) free: usize,
}

/// `PyObjectArenaAllocator`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Arenas {
    pub(super) context: *mut c_void,
    pub(super) alloc: usize,
    pub(super) free: usize,
}

pub(super) type Malloc = extern "C" fn(*mut c_void, usize) -> *mut c_void;
pub(super) type Calloc = extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
pub(super) type Realloc = extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
pub(super) type Free = extern "C" fn(*mut c_void, *mut c_void);
pub(super) type FreeArena = extern "C" fn(*mut c_void, *mut c_void, usize);
pub(super) type Access = extern "C" fn(c_int, *mut Functions);
pub(super) type AccessArenas = extern "C" fn(*mut Arenas);

/// Makes the functions that stand around others.
pub(super) type Wrap = fn(&Functions) -> Functions;

/// The functions of one domain that were there before ours.
pub(super) struct Domain {
    pub(super) malloc: AtomicUsize,
    pub(super) calloc: AtomicUsize,
    pub(super) realloc: AtomicUsize,
    pub(super) free: AtomicUsize,
    /// The largest object that the interpreter serves itself.
    pub(super) most: AtomicUsize,
    pub(super) allocator: Allocator,
}

impl Domain {
    pub(super) const fn new(allocator: Allocator) -> Self {
        let [malloc, calloc, realloc, free, most] = [const { AtomicUsize::new(0) }; 5];
        Self { malloc, calloc, realloc, free, most, allocator }
    }

    #[inline(always)]
    pub(super) fn malloc(&self, context: *mut c_void, size: usize) -> *mut c_void {
        let address = self.malloc.load(Ordering::Relaxed);
        // SAFETY: the interpreter had this function in its table, with this signature.
        let function = unsafe { std::mem::transmute::<usize, Malloc>(address) };
        function(context, size)
    }

    #[inline(always)]
    pub(super) fn calloc(&self, context: *mut c_void, count: usize, size: usize) -> *mut c_void {
        let address = self.calloc.load(Ordering::Relaxed);
        // SAFETY: the interpreter had this function in its table, with this signature.
        let function = unsafe { std::mem::transmute::<usize, Calloc>(address) };
        function(context, count, size)
    }

    #[inline(always)]
    pub(super) fn realloc(
        &self,
        context: *mut c_void,
        block: *mut c_void,
        size: usize,
    ) -> *mut c_void {
        let address = self.realloc.load(Ordering::Relaxed);
        // SAFETY: the interpreter had this function in its table, with this signature.
        let function = unsafe { std::mem::transmute::<usize, Realloc>(address) };
        function(context, block, size)
    }

    #[inline(always)]
    pub(super) fn free(&self, context: *mut c_void, block: *mut c_void) {
        let address = self.free.load(Ordering::Relaxed);
        // SAFETY: the interpreter had this function in its table, with this signature.
        let function = unsafe { std::mem::transmute::<usize, Free>(address) };
        function(context, block);
    }

    /// Whether an object of `size` bytes stays away from `malloc`.
    #[inline(always)]
    pub(super) fn serves(&self, size: usize) -> bool {
        size <= self.most.load(Ordering::Relaxed)
    }

    /// The table `now` with the functions that were there before, but for `free`,
    /// which is as it was.
    pub(super) fn recall(&self, now: &Functions) -> Functions {
        Functions {
            malloc: self.malloc.load(Ordering::Acquire),
            calloc: self.calloc.load(Ordering::Acquire),
            realloc: self.realloc.load(Ordering::Acquire),
            ..*now
        }
    }

    pub(super) fn remember(&self, functions: &Functions, most: usize) {
        self.most.store(most, Ordering::Release);
        self.malloc.store(functions.malloc, Ordering::Release);
        self.calloc.store(functions.calloc, Ordering::Release);
        self.realloc.store(functions.realloc, Ordering::Release);
        self.free.store(functions.free, Ordering::Release);
    }
}
