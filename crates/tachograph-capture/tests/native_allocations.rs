//! A native walk happens in a signal handler, so it may not allocate: not on
//! the first walk, not on later ones, not through a library, not when lost.

mod native_library;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;

use native_library::{Loaded, Scratch, build};
use tachograph_capture::native::{Walked, Walker, refresh};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Walk {
    walker: Walker,
    words: [u64; 256],
    walked: Walked,
    allocations: usize,
}

extern "C" fn walk_here(data: *mut c_void) {
    // SAFETY: the test passes its own `Walk`, used by nobody meanwhile.
    let walk = unsafe { &mut *data.cast::<Walk>() };
    let before = ALLOCATIONS.get();
    for _ in 0..100 {
        walk.walked = walk.walker.walk(&mut walk.words);
    }
    walk.allocations = ALLOCATIONS.get() - before;
}

#[test]
fn walking_a_native_stack_allocates_nothing() {
    let directory = Scratch::new("allocations");
    let library = Loaded::new(&build(&directory.0, "allocations", 555));
    refresh();
    let mut walk =
        Walk { walker: Walker::new(), words: [0; 256], walked: Walked::default(), allocations: 0 };

    library.call(walk_here, std::ptr::from_mut(&mut walk).cast());

    assert!(walk.walked.complete && walk.walked.depth > 8, "{:?}", walk.walked);
    assert_eq!(walk.allocations, 0);
    let counted = ALLOCATIONS.get();
    drop(Box::new(1));
    assert!(ALLOCATIONS.get() >= counted + 2, "the counter counts");
}
