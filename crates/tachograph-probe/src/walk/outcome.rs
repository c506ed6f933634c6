//! What came of a walk.

/// Whether the entries of a walk can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkState {
    /// The chain was followed to its end, or as far as the walker goes.
    Complete,
    /// The chain could not be read or broke a rule; there are no entries.
    Unreadable,
    /// The thread runs no Python code; there may be boundaries.
    Empty,
}

/// What [`walk`](super::walk) found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// How many entries were written, innermost first.
    pub depth: usize,
    /// Whether outer frames are missing for lack of room.
    pub truncated: bool,
    /// Whether the entries can be believed.
    pub state: WalkState,
    /// The first local variable of the frame that called the outermost
    /// coroutine, or 0. Under asyncio that is the `Handle` being run.
    pub coroutine_handle: u64,
    /// The first local variable of the outermost frame, or 0. In a thread that
    /// `threading` started that is the `Thread`.
    pub thread_object: u64,
}

impl Walk {
    /// A walk that gave up.
    pub(super) const UNREADABLE: Self = Self {
        depth: 0,
        truncated: false,
        state: WalkState::Unreadable,
        coroutine_handle: 0,
        thread_object: 0,
    };
}
