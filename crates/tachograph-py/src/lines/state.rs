//! What all watches of this process share: our place in the interpreter, and
//! the program's own code that was met.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use super::monitoring::Tool;
use super::own_code::OwnCode;
use super::rewritten::Rewrites;

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

/// The state, locked; whoever waits lets other threads run Python.
pub(super) fn lock(py: Python<'_>) -> MutexGuard<'static, State> {
    STATE.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// The state, unless someone has it: then this thread may be the one.
pub(super) fn try_lock() -> Option<MutexGuard<'static, State>> {
    STATE.try_lock().ok()
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
