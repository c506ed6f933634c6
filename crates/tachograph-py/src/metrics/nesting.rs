//! Which phase a new one is inside of.
//!
//! A context variable holds the innermost phase: threads and tasks each have
//! their own, and what a task starts begins with a copy.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::phase::Phase;
use crate::raw;

/// The innermost phase of the current context.
pub(super) fn innermost<'py>(py: Python<'py>) -> Option<Bound<'py, Phase>> {
    let value = raw::context_value(py, variable(py).ok()?).ok()??;
    value.cast_into::<Phase>().ok()
}

/// Makes `phase` the innermost one of the current context.
pub(super) fn enter(py: Python<'_>, phase: Option<&Bound<'_, Phase>>) {
    let Ok(variable) = variable(py) else { return };
    let none = py.None();
    let value = phase.map_or_else(|| none.bind(py), |phase| phase.as_any());
    // Out of memory: phases inside are told apart from it, no more.
    let _ = raw::set_context_value(py, variable, value.as_borrowed());
}

fn variable(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    VARIABLE.get_or_try_init(py, || {
        let kind = py.import("contextvars")?.getattr("ContextVar")?;
        Ok(kind.call1(("tachograph_phase",))?.unbind())
    })
}
