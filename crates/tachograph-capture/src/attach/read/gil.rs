//! Who holds the interpreter lock.

use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;

/// The thread state that holds the lock `tstate` works under, if any does.
///
/// `None` also for builds without the lock.
pub(crate) fn holder<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    runtime: u64,
    tstate: u64,
) -> Option<u64> {
    if layout.free_threaded || layout.gil_at == 0 {
        return None;
    }
    let word = |address: u64, offset: u32| memory.word(address.wrapping_add(u64::from(offset)));
    let lock = if layout.minor < 12 {
        runtime.wrapping_add(u64::from(layout.gil_at))
    } else {
        word(word(tstate, layout.thread_interpreter)?, layout.gil_at)?
    };
    let locked = memory.signed_half(lock.wrapping_add(u64::from(layout.gil_locked)))?;
    let holder = word(lock, layout.gil_holder)?;
    (locked > 0 && holder != 0).then_some(holder)
}
