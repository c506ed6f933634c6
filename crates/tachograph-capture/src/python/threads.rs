//! The thread states an interpreter has, for threads that do not run.
//!
//! A thread that waits cannot be asked by a signal without disturbing its wait,
//! so its frames are read from outside. This finds where they hang.

use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;

use super::copy::Copy;

/// More interpreters than a process has; ends a list that runs in a circle.
const MOST_INTERPRETERS: usize = 1024;

/// More threads than an interpreter has.
const MOST_THREADS: usize = 1 << 14;

/// Bytes of a thread state that hold all fields we read.
const HEAD: usize = 192;

/// One thread as one interpreter knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// The address of the thread state.
    pub address: u64,
    /// The kernel's id of the thread as the thread itself sees it; 0 before
    /// 3.11, which does not keep it.
    pub native_id: i32,
    /// The `pthread_t`.
    pub pthread: u64,
    /// The address of its interpreter.
    pub interpreter: u64,
}

/// The thread states of all interpreters of the runtime at `runtime`.
///
/// A thread that works for several interpreters is in the list once for each.
/// The list changes while it is read: a state that does not point back to its
/// interpreter ends that interpreter's part.
pub fn thread_states<M: ReadMemory>(memory: &M, layout: &Layout, runtime: u64) -> Vec<ThreadState> {
    let word = |address: u64, offset: u32| memory.word(address.wrapping_add(u64::from(offset)));
    let mut found = Vec::new();
    let mut interpreter = word(runtime, layout.runtime_interpreters).unwrap_or(0);
    for _ in 0..MOST_INTERPRETERS {
        if interpreter == 0 {
            break;
        }
        let mut thread = word(interpreter, layout.interpreter_threads).unwrap_or(0);
        while thread != 0 && found.len() < MOST_THREADS {
            let Some((state, next)) = thread_state(memory, layout, thread, interpreter) else {
                break;
            };
            found.push(state);
            thread = next;
        }
        interpreter = word(interpreter, layout.interpreter_next).unwrap_or(0);
    }
    found
}

/// The thread state at `address`, if it belongs to `interpreter`, and the next.
fn thread_state<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    address: u64,
    interpreter: u64,
) -> Option<(ThreadState, u64)> {
    let copy = Copy::<M, HEAD>::of(memory, address)?;
    let word = |offset: u32| copy.word(address.wrapping_add(u64::from(offset)));
    if word(layout.thread_interpreter)? != interpreter {
        return None;
    }
    let native_id = match layout.thread_native_id {
        0 => 0,
        offset => i32::try_from(word(offset)?).ok()?,
    };
    let (next, pthread) = (word(layout.thread_next)?, word(layout.thread_id)?);
    Some((ThreadState { address, native_id, pthread, interpreter }, next))
}
