//! Who started a thread: what a thread allocates that Python never saw belongs
//! to the code that started it.
//!
//! A new thread begins in our function, which notes its maker's stack and jumps
//! on to the thread's own, so that no frame of ours is on its stack.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::local::local;
use super::real;
use super::sample::{errno, set_errno};
use super::{control, desk, store};

/// Threads that are just being started; more have no maker.
const ROOM: usize = 256;

/// What a thread that is being started has to know.
struct Start {
    /// 0 while the place is free, 1 while it is being filled.
    function: AtomicUsize,
    argument: AtomicUsize,
    maker: AtomicU64,
}

static STARTS: [Start; ROOM] = [const {
    Start { function: AtomicUsize::new(0), argument: AtomicUsize::new(0), maker: AtomicU64::new(0) }
}; ROOM];

/// What to call, and with what. Two words come back in two registers.
#[repr(C)]
struct Next {
    function: usize,
    argument: usize,
}

/// In place of `pthread_create`.
///
/// Context: allocator hook.
#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    function: usize,
    argument: usize,
) -> c_int {
    let local = local();
    if control::is_sampling() && !local.is_busy() && function > 1 {
        let before = errno();
        let maker = local.parked(|| desk::with_stack(store::tell).flatten());
        set_errno(before);
        if let Some(start) = maker.and_then(|maker| put(function, argument, maker)) {
            let begin = begin as *const () as usize;
            let status =
                real::pthread_create(thread, attributes, begin, std::ptr::from_ref(start) as usize);
            if status != 0 {
                start.function.store(0, Ordering::Release);
            }
            return status;
        }
    }
    real::pthread_create(thread, attributes, function, argument)
}

fn put(function: usize, argument: usize, maker: u64) -> Option<&'static Start> {
    let free = STARTS.iter().find(|start| {
        start.function.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    })?;
    free.argument.store(argument, Ordering::Relaxed);
    free.maker.store(maker, Ordering::Relaxed);
    free.function.store(function, Ordering::Release);
    Some(free)
}

/// Where a new thread begins.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn begin(_start: *mut c_void) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {note}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rdx",
        "jmp rax",
        ".cfi_endproc",
        note = sym note_maker,
    );
}

extern "C" fn note_maker(start: &'static Start) -> Next {
    local().creator.set(start.maker.load(Ordering::Relaxed));
    let argument = start.argument.load(Ordering::Relaxed);
    let function = start.function.swap(0, Ordering::AcqRel);
    Next { function, argument }
}

/// In a forked child no thread is being started.
pub(super) fn forget() {
    STARTS.iter().for_each(|start| start.function.store(0, Ordering::Release));
}
