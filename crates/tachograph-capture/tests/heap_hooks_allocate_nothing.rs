//! A hook runs inside of `malloc`, so it must not allocate. This program counts
//! what Rust code allocates on its main thread while a C library there
//! allocates, is sampled with native stacks, and frees.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use tachograph_capture::{Client, HeapOptions, Host, Options};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

static COUNT: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches
// an atomic and a thread-local without a destructor.
#[expect(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(u64::from(WATCHED.get()), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        COUNT.fetch_add(u64::from(WATCHED.get()), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_sampled_allocation_allocates_nothing_else() {
    let folder = std::env::temp_dir().join(format!("tachograph-hooks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, library) = (folder.join("ways.c"), folder.join("libways.so"));
    std::fs::write(&source, include_str!("heap_library.c")).unwrap();
    let options = ["-O1", "-shared", "-fPIC", "-pthread", "-fno-builtin", "-o"];
    let built = Command::new("gcc").args(options).args([&library, &source]).status().unwrap();
    assert!(built.success());
    let name = CString::new(library.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: a terminated path; the library has no constructors of note.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    let function = |name: &std::ffi::CStr| {
        // SAFETY: the handle is open and the name terminated.
        let address: *mut c_void = unsafe { libc::dlsym(handle, name.as_ptr()) };
        // SAFETY: the functions of the library take and give a number.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(u64) -> u64>(address) }
    };
    let ways = [c"by_malloc", c"by_calloc", c"by_realloc", c"by_memalign"].map(function);
    let (free_all, in_threads) = (function(c"free_all"), function(c"in_threads"));
    let heap = HeapOptions { rate_bytes: 2 << 10, ..HeapOptions::default() };
    let client =
        Client::open(Options { heap: Some(heap), ..Options::default() }, Host::default()).unwrap();

    WATCHED.set(true);
    for way in ways {
        way(5_000);
        free_all(0);
    }
    in_threads(20);
    free_all(0);
    WATCHED.set(false);

    let samples = client.heap_picture().unwrap().stats.total_samples;
    assert!(samples > 5_000, "{samples} samples");
    assert_eq!(COUNT.load(Ordering::Relaxed), 0);
    drop(client);
    std::fs::remove_dir_all(&folder).unwrap();
}
