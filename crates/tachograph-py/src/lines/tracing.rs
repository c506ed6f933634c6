//! The trace hook of 3.11, for own code that no one has named: it slows down
//! everything that runs in the thread, and tells of it all.

use pyo3::prelude::*;
use pyo3::types::PyAnyMethods;

use crate::errors;
use crate::raw::{set_line_trace, thread_trace};

/// Traces this thread, and those that are started from now on.
pub(super) fn start(py: Python<'_>) -> PyResult<()> {
    let held = py.import("sys")?.call_method0("gettrace")?;
    if !held.is_none() {
        let holder = held.repr()?.to_string_lossy().into_owned();
        return Err(errors::failed(format!(
            "cannot count lines: {holder} is traced with already, by a debugger or coverage; \
             stop it first, or use 3.12 or newer"
        )));
    }
    set_line_trace(py, true);
    match threading(py)? {
        Some(threading) => threading.call_method1("settrace", (thread_trace(py)?,)).map(drop),
        None => Ok(()),
    }
}

/// Ends it in this thread, and in those that are started from now on.
pub(super) fn stop(py: Python<'_>) -> PyResult<()> {
    set_line_trace(py, false);
    match threading(py)? {
        Some(threading) => threading.call_method1("settrace", (py.None(),)).map(drop),
        None => Ok(()),
    }
}

/// The module, unless the program does without.
fn threading(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let module = modules.call_method1("get", ("threading",))?;
    Ok((!module.is_none()).then_some(module))
}
