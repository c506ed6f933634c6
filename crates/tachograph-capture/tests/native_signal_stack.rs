//! A walk may run on the signal stack that a program gave its thread, and those
//! are small: `faulthandler` asks for about 10 KB on machines without large
//! vector registers.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use tachograph_capture::native::{Walked, Walker, refresh};

const ROOM: usize = 1 << 20;
/// Stack a walk may use, with the kernel's signal frame. A debug build needs
/// more than the 5 KB of a release build.
const LIMIT: usize = if cfg!(debug_assertions) { 20 << 10 } else { 6 << 10 };
const PAINT: u8 = 0xa5;

struct Walk {
    walker: Walker,
    words: [u64; 64],
    walked: Walked,
}

static WALK: AtomicPtr<Walk> = AtomicPtr::new(std::ptr::null_mut());
static SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(_signal: c_int) {
    // SAFETY: the test stores its own `Walk` and raises the signal itself.
    let walk = unsafe { &mut *WALK.load(Ordering::Relaxed) };
    walk.walked = walk.walker.walk(&mut walk.words);
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_walk_fits_a_small_signal_stack() {
    let mut room = vec![PAINT; ROOM];
    refresh();
    let mut walk = Walk { walker: Walker::new(), words: [0; 64], walked: Walked::default() };
    WALK.store(&raw mut walk, Ordering::Relaxed);
    let stack = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: ROOM };
    let mut before = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: `room` outlives the stack, which is put back below.
    let status = unsafe { libc::sigaltstack(&raw const stack, &raw mut before) };
    assert_eq!(status, 0);
    // SAFETY: a struct of integers, for which zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
    action.sa_flags = libc::SA_ONSTACK;
    // SAFETY: the handler only walks its own stack.
    let status = unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) };
    assert_eq!(status, 0);

    // SAFETY: the handler is installed.
    unsafe { libc::raise(libc::SIGUSR1) };

    // SAFETY: the stack that was there before.
    let status = unsafe { libc::sigaltstack(&raw const before, std::ptr::null_mut()) };
    assert_eq!(status, 0);
    assert_eq!(SIGNALS.load(Ordering::Relaxed), 1);
    assert!(walk.walked.complete, "{:?}", walk.walked);
    let untouched = room.iter().take_while(|byte| **byte == PAINT).count();
    let used = ROOM - untouched;
    assert!(used > 500, "the handler ran elsewhere: {used} bytes");
    assert!(used < LIMIT, "a walk used {used} bytes of stack");
}
