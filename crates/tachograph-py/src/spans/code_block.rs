//! The context manager behind doors that time a block of code.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::PyTraverseError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use tachograph_capture::spans::Attributes;

use super::clock::Clock;
use super::key::Key;
use super::meter::Meter;
use super::plan::{Call, Plan, Started, Went};
use super::values::packed_dict;
use crate::text::Text;

/// A block of code that is timed each time it is entered.
#[pyclass(frozen, name = "_Block", module = "tachograph._native")]
pub(crate) struct Block {
    plan: Plan,
    attributes: Attributes,
    /// The times it was entered and not yet left.
    entered: Mutex<Vec<Started>>,
    elapsed_ns: AtomicU64,
}

/// A block called `name` that feeds `meter` and, if one is open, the recording.
#[pyfunction]
#[pyo3(signature = (name, /, *, meter = None, clock = "wall", after = None, attributes = None))]
pub(crate) fn block(
    name: Text,
    meter: Option<Bound<'_, Meter>>,
    clock: &str,
    after: Option<Py<PyAny>>,
    attributes: Option<Bound<'_, PyDict>>,
) -> PyResult<Block> {
    let plan = Plan {
        key: Key::of(&name.0),
        meter: meter.map(|meter| meter.get().live.clone()),
        clock: Clock::named(clock)?,
        always: true,
        timing: None,
        before: None,
        after,
        signal: None,
        warned: AtomicBool::new(false),
    };
    let attributes = attributes.map(|given| packed_dict(&given)).transpose()?.unwrap_or_default();
    let entered = Mutex::new(Vec::with_capacity(1));
    Ok(Block { plan, attributes, entered, elapsed_ns: AtomicU64::new(0) })
}

#[pymethods]
impl Block {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        let this = slf.get();
        let started =
            this.plan.begin(slf.py(), Call::Metered, this.plan.key, this.attributes.clone());
        this.entered.lock().unwrap_or_else(PoisonError::into_inner).push(started);
        slf
    }

    #[pyo3(signature = (kind = None, error = None, traceback = None))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        error: Option<Py<PyAny>>,
        traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        drop(traceback);
        let started = self.entered.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(started) = started else {
            let name = self.plan.name().text();
            let text = format!("the block {name:?} is left but was not entered");
            return Err(PyRuntimeError::new_err(text));
        };
        let went = Went { failed: kind.is_some(), error, ..Went::default() };
        let elapsed = self.plan.finish(py, started, went)?;
        self.elapsed_ns.store(elapsed, Ordering::Relaxed);
        Ok(())
    }

    /// What it is called.
    #[getter]
    fn name(&self) -> &'static str {
        self.plan.name().text()
    }

    /// How long it took when it was left last, on its clock.
    #[getter]
    fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns.load(Ordering::Relaxed)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.plan.after)
    }
}
