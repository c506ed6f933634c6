//! The lines of the program's own code, whatever of it runs.
//!
//! Every function that starts is met once. What is a library's is never asked
//! for again, so it runs at its own speed; what is the program's own is
//! watched from then on, until the last window closes.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use tachograph_capture::lines::{Count, start};
use tachograph_profile::Roots;

use super::code::Code;
use super::monitoring::{Tool, never_again};
use super::state::{self, State};
use super::window::{FunctionLines, Window};
use super::{costs, monitoring, tracing};
use crate::errors::guarded;

/// Own code that was met while at least one window was open.
pub(super) struct OwnCode {
    windows: usize,
    /// Our place in `sys.monitoring`; without it, the trace hook tells.
    tool: Option<Tool>,
    roots: Roots,
    met: Vec<Window>,
}

impl OwnCode {
    fn is_own(&self, code: &Bound<'_, PyAny>) -> PyResult<bool> {
        let file = code.getattr("co_filename")?;
        Ok(self.roots.is_own(&file.str()?.to_string_lossy()))
    }

    fn add(&mut self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.met.iter().any(|window| window.code.object.is(code)) {
            return Ok(());
        }
        let window = Window::open_empty(Code::of(code)?);
        if let Some(tool) = self.tool {
            tool.lines_of(code, true)?;
        }
        self.met.push(window);
        Ok(())
    }
}

/// A function starts that is not watched: watches it if it is own code.
/// Returns what the interpreter is to be told.
pub(crate) fn met<'py>(code: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let mut state = state::lock(code.py())?;
    let own = state.own.as_mut()?;
    match own.is_own(code) {
        Ok(true) => {
            if own.add(code).is_ok() {
                start(code.as_ptr() as usize);
            }
            None
        }
        _ => never_again(code.py()).ok(),
    }
}

/// A function starts that is not watched, on an interpreter that can only be
/// traced. Returns whether it is own code, which is watched from now on.
pub(crate) fn met_in_trace(code: &Bound<'_, PyAny>) -> bool {
    let Some(mut state) = state::lock(code.py()) else { return false };
    let Some(own) = state.own.as_mut() else { return false };
    own.is_own(code).unwrap_or(false) && own.add(code).is_ok()
}

/// Counts the lines of all own code between `start` and `stop`.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct OwnLineWatch {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    is_open: bool,
    /// Counts at the beginning of what was met before.
    begin: Vec<(Py<PyAny>, Vec<Count>)>,
    lines: Vec<FunctionLines>,
}

#[pymethods]
impl OwnLineWatch {
    #[new]
    fn new() -> Self {
        Self { inner: Mutex::default() }
    }

    /// Begins to count. `roots` say what is own code; `running` are the code
    /// objects of the functions that run already.
    fn start(
        &self,
        py: Python<'_>,
        roots: (String, String, Vec<String>, Vec<String>),
        running: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        guarded(|| {
            if monitoring::exists(py)? {
                costs::measure(py)?;
            }
            let mut inner = self.lock(py);
            if inner.is_open {
                return Ok(());
            }
            inner.lines = Vec::new();
            let mut state = state::lock_for_call(py)?;
            open(py, &mut state, roots)?;
            let Some(own) = state.own.as_mut() else { return Ok(()) };
            for code in &running {
                if own.is_own(code)? {
                    own.add(code)?;
                }
            }
            inner.is_open = true;
            let counts = |window: &Window| (window.code.object.clone_ref(py), window.counts());
            inner.begin = own.met.iter().map(counts).collect();
            Ok(())
        })
    }

    /// Ends counting, and returns what was counted.
    fn stop(&self, py: Python<'_>) -> PyResult<Vec<FunctionLines>> {
        guarded(|| {
            let mut inner = self.lock(py);
            if inner.is_open {
                let mut state = state::lock_for_call(py)?;
                inner.is_open = false;
                let lines = state.own.as_ref().map(|own| inner.lines_of(own));
                inner.lines = lines.unwrap_or_default();
                inner.begin = Vec::new();
                close(py, &mut state)?;
            }
            Ok(inner.lines.clone())
        })
    }
}

impl Inner {
    fn lines_of(&self, own: &OwnCode) -> Vec<FunctionLines> {
        let lines = own.met.iter().map(|window| {
            let begin = self.begin.iter().find(|(code, _)| code.is(&window.code.object));
            let begin = begin.map_or(&[][..], |(_, counts)| counts);
            window.lines_since(begin, &window.counts())
        });
        lines.filter(|lines| !lines.4.is_empty()).collect()
    }
}

impl OwnLineWatch {
    fn lock(&self, py: Python<'_>) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn open(
    py: Python<'_>,
    state: &mut State,
    roots: (String, String, Vec<String>, Vec<String>),
) -> PyResult<()> {
    let monitors = monitoring::exists(py)?;
    if let Some(own) = &mut state.own {
        own.windows += 1;
        return if monitors { state.hold_tool(py).map(drop) } else { Ok(()) };
    }
    let tool = if monitors { Some(state.hold_tool(py)?) } else { None };
    let (working_directory, script, standard_library, site_packages) = roots;
    let roots = Roots { working_directory, script, standard_library, site_packages };
    let begun = match tool {
        Some(tool) => tool.everywhere(py, true),
        None => tracing::start(py),
    };
    if begun.is_ok() {
        state.own = Some(OwnCode { windows: 1, tool, roots, met: Vec::new() });
    }
    begun
}

fn close(py: Python<'_>, state: &mut State) -> PyResult<()> {
    if let Some(own) = &mut state.own {
        own.windows -= 1;
    }
    if let Some(own) = state.own.take_if(|own| own.windows == 0) {
        let Some(tool) = own.tool else { return tracing::stop(py) };
        tool.everywhere(py, false)?;
        for window in own.met.iter().filter(|window| window.is_alone()) {
            tool.lines_of(&window.object(py), false)?;
        }
    }
    if monitoring::exists(py)? { state.let_go_of_tool(py) } else { Ok(()) }
}
