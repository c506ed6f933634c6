//! Our own threads: started here, known by id, never part of a recording.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;

use crate::sys::threads;

/// Room for every thread of ours; 0 marks a free place.
static OWN: [AtomicI32; 16] = [const { AtomicI32::new(0) }; 16];

/// Whether thread `tid` is one of ours.
pub(crate) fn is_own(tid: i32) -> bool {
    OWN.iter().any(|own| own.load(Ordering::Acquire) == tid)
}

/// Starts a thread of ours. It is known as such before this returns, and a
/// panic in it ends the thread and nothing else.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (send, receive) = std::sync::mpsc::channel();
    let label = name.to_owned();
    let thread =
        std::thread::Builder::new().name(name.to_owned()).stack_size(1 << 20).spawn(move || {
            crate::sys::signals::block_all();
            crate::sys::heap::exempt_this_thread();
            let tid = threads::own_id();
            let place = OWN.iter().find(|place| {
                place.compare_exchange(0, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            });
            threads::name_own(&label);
            let _ = send.send(());
            let _ = catch_unwind(AssertUnwindSafe(work));
            if let Some(place) = place {
                place.store(0, Ordering::Release);
            }
        })?;
    let _ = receive.recv();
    Ok(thread)
}

/// In a forked child none of our threads lives on.
pub(crate) fn forget() {
    for place in &OWN {
        place.store(0, Ordering::Release);
    }
}
