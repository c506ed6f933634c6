//! What all watches of this process share: our place in the interpreter, and
//! the program's own code that was met.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::monitoring::Tool;
use super::own_code::OwnCode;
use super::rewritten::Rewrites;
use crate::errors;

/// Shared by all watches.
pub(super) struct State {
    tool: Option<Tool>,
    /// Watches that need the tool.
    users: usize,
    /// Windows on the program's own code.
    pub(super) own: Option<OwnCode>,
    /// Functions with inserted calls.
    pub(super) rewrites: Rewrites,
}

static STATE: Mutex<State> =
    Mutex::new(State { tool: None, users: 0, own: None, rewrites: Rewrites::new() });

/// Who has the state: its process, and a number of the thread that is not 0.
static HOLDER: (AtomicU32, AtomicUsize) = (AtomicU32::new(0), AtomicUsize::new(0));

/// How long one wait for another thread lasts.
const WAIT: Duration = Duration::from_micros(20);

/// How long a function that starts waits at most: whoever has the state may itself
/// wait for something that this thread has. The next start will do.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long a call of the program waits at most.
const PATIENCE_OF_CALL: Duration = Duration::from_secs(10);

/// The state, held by this thread.
pub(super) struct Held(MutexGuard<'static, State>);

impl Deref for Held {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HOLDER.1.store(0, Ordering::Release);
    }
}

/// The state for the start of a function; `None` if it cannot be had.
pub(super) fn lock(py: Python<'_>) -> Option<Held> {
    lock_within(py, PATIENCE)
}

/// The state for a call of the program, which is told if it cannot be had.
pub(super) fn lock_for_call(py: Python<'_>) -> PyResult<Held> {
    lock_within(py, PATIENCE_OF_CALL).ok_or_else(|| {
        errors::failed(
            "cannot count lines now: a window was being opened or closed when this was called, \
             or when this process was forked; call it outside of destructors, fork at another time"
                .to_owned(),
        )
    })
}

/// The state, once no other thread has it; `None` if nobody will let go of it before
/// we return, or not in time.
///
/// This thread may have it itself, when the interpreter tells of a function
/// that we caused to run; or a thread that a `fork` left behind in the parent.
/// The lock is taken while attached only: a `fork` waits for that, so it never
/// finds the state taken and its holder unknown.
fn lock_within(py: Python<'_>, patience: Duration) -> Option<Held> {
    let here = this_thread();
    let begin = Instant::now();
    loop {
        match STATE.try_lock() {
            Ok(state) => return Some(hold(state, here)),
            Err(TryLockError::Poisoned(state)) => return Some(hold(state.into_inner(), here)),
            Err(TryLockError::WouldBlock) => {}
        }
        let holder = HOLDER.1.load(Ordering::Acquire);
        let left_behind = || holder != 0 && HOLDER.0.load(Ordering::Relaxed) != std::process::id();
        if holder == here || left_behind() || begin.elapsed() > patience {
            return None;
        }
        py.detach(|| std::thread::sleep(WAIT));
    }
}

fn hold(state: MutexGuard<'static, State>, here: usize) -> Held {
    HOLDER.0.store(std::process::id(), Ordering::Relaxed);
    HOLDER.1.store(here, Ordering::Release);
    Held(state)
}

/// A number that no other living thread has.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place) as usize)
}

impl State {
    /// Our place in `sys.monitoring`, for one more watch.
    pub(super) fn hold_tool(&mut self, py: Python<'_>) -> PyResult<Tool> {
        let tool = match self.tool {
            Some(tool) => tool,
            None => *self.tool.insert(Tool::take(py)?),
        };
        self.users += 1;
        Ok(tool)
    }

    /// One watch fewer; the last one gives the place back.
    pub(super) fn let_go_of_tool(&mut self, py: Python<'_>) -> PyResult<()> {
        self.users = self.users.saturating_sub(1);
        match self.tool.take_if(|_| self.users == 0) {
            Some(tool) => tool.give_back(py),
            None => Ok(()),
        }
    }

    /// Our place, while there is one.
    pub(super) fn tool(&self) -> Option<Tool> {
        self.tool
    }
}
