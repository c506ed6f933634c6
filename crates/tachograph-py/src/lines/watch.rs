//! One window on the lines of some functions.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use super::window::{FunctionLines, Window};
use super::{code, costs, monitoring, state};
use crate::errors::guarded;

/// Counts the lines of some functions between `start` and `stop`.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct LineWatch {
    functions: Vec<Py<PyAny>>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    is_open: bool,
    windows: Vec<Window>,
}

#[pymethods]
impl LineWatch {
    #[new]
    fn new(functions: Vec<Py<PyAny>>) -> Self {
        Self { functions, inner: Mutex::default() }
    }

    /// Begins to count; what was counted before is forgotten.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| {
            costs::measure(py)?;
            self.open(py)
        })
    }

    /// Ends counting. Does nothing if it has not begun.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| self.shut(py))
    }

    /// What was counted so far, a function and those inside it after each other.
    fn functions(&self, py: Python<'_>) -> PyResult<Vec<FunctionLines>> {
        guarded(|| Ok(self.lock(py).windows.iter().map(Window::lines).collect()))
    }

    /// Whether it counts now.
    #[getter]
    fn is_open(&self, py: Python<'_>) -> bool {
        self.lock(py).is_open
    }
}

impl LineWatch {
    /// A watch of `functions` for our own use.
    pub(super) fn of(functions: Vec<Py<PyAny>>) -> Self {
        Self::new(functions)
    }

    /// Begins to count, without asking what that costs.
    pub(super) fn open(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock(py);
        if inner.is_open {
            return Ok(());
        }
        let mut state = state::lock_for_call(py)?;
        let mut codes = Vec::new();
        for function in &self.functions {
            code::collect(&state.rewrites.original(function.bind(py))?, &mut codes)?;
        }
        let monitors = monitoring::exists(py)?;
        let tool = monitors.then(|| state.hold_tool(py)).transpose()?;
        inner.windows = codes.into_iter().map(Window::open).collect();
        inner.is_open = true;
        if let Some(tool) = tool {
            for window in &inner.windows {
                tool.lines_of(&window.object(py), true)?;
            }
            return Ok(());
        }
        for (done, function) in self.functions.iter().enumerate() {
            if let Err(error) = state.rewrites.insert(function.bind(py)) {
                inner.is_open = false;
                inner.windows = Vec::new();
                for function in self.functions.iter().take(done) {
                    state.rewrites.take_out(function.bind(py))?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Ends counting. Does nothing if it has not begun.
    pub(super) fn shut(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock(py);
        if !inner.is_open {
            return Ok(());
        }
        let mut state = state::lock_for_call(py)?;
        inner.is_open = false;
        let tool = state.tool();
        for window in &mut inner.windows {
            let alone = window.is_alone();
            window.close();
            if let Some(tool) = tool.filter(|_| alone) {
                tool.lines_of(&window.object(py), false)?;
            }
        }
        if tool.is_some() {
            return state.let_go_of_tool(py);
        }
        for function in &self.functions {
            state.rewrites.take_out(function.bind(py))?;
        }
        Ok(())
    }

    fn lock(&self, py: Python<'_>) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
