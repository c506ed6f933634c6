//! The handler runs wherever the program was interrupted, inside `malloc` too.
//! So it must not allocate. This program counts what its main thread allocates
//! while it is sampled and does nothing that allocates itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tachograph_capture::{Client, CpuOptions, Host, Options};
use tachograph_profile::file;

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
        if WATCHED.get() {
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// CPU time of this thread: on a busy machine elapsed time says little.
fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[test]
fn a_sampled_thread_allocates_nothing_in_its_handler() {
    for native in [false, true] {
        let cpu = CpuOptions { interval_ns: 1_000_000, native, ..CpuOptions::default() };
        let options = Options { cpu: Some(cpu), ..Options::default() };
        let client = Client::open(options, Host::default()).unwrap();

        WATCHED.set(true);
        let end = cpu_time() + Duration::from_millis(300);
        while cpu_time() < end {
            black_box((0..1000_u64).sum::<u64>());
        }
        WATCHED.set(false);

        let profile = file::read(&client.finish(&[]).bytes, "test").unwrap();
        let looks = profile.samples.len() as u64 + profile.loss.late_ticks;
        assert!(!profile.samples.is_empty() && looks > 20, "{looks} samples");
        assert_eq!(COUNT.load(Ordering::Relaxed), 0, "native frames: {native}");
    }
}
