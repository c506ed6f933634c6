//! A call of an asynchronous generator: its turns, each up to its next value.

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;

use super::run::Run;
use super::steps::Steps;

/// The turns of one asynchronous generator.
#[pyclass(frozen, name = "_Turns", module = "tachograph._native")]
pub(crate) struct Turns {
    pub(super) run: Run,
}

#[pymethods]
impl Turns {
    /// The steps of `awaitable`, which leads to the next value.
    fn turn(slf: Bound<'_, Self>, awaitable: Bound<'_, PyAny>) -> Steps {
        Steps::of_turn(slf.unbind(), awaitable.unbind())
    }

    /// The call is over, between two steps.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.run.finish(py, None, None)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.run.plan)
    }
}
