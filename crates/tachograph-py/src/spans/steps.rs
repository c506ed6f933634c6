//! The steps of a coroutine or generator, passed through and timed.
//!
//! A real `async def` or generator function in Python stands around it, so the
//! kind of function and object that a program sees does not change. This object
//! only lies between that and the program's own coroutine.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::PyTraverseError;
use pyo3::exceptions::{PyGeneratorExit, PyStopAsyncIteration, PyStopIteration};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::run::{Run, Step};
use super::turns::Turns;
use crate::raw::{self, Sent};

/// An iterator over the steps of another one.
#[pyclass(frozen, name = "_Steps", module = "tachograph._native")]
pub(crate) struct Steps {
    call: Stepped,
    inner: Py<PyAny>,
    is_task: bool,
    /// The step that Python takes itself.
    taken: Mutex<Option<Step>>,
}

/// Which call the steps belong to.
enum Stepped {
    /// One that ends with them.
    Whole(Run),
    /// That of an asynchronous generator, which goes on after them.
    Turn(Py<Turns>),
}

impl Steps {
    /// The steps of a coroutine (`is_task`) or a generator.
    pub(super) fn new(run: Run, inner: Py<PyAny>, is_task: bool) -> Self {
        Self { call: Stepped::Whole(run), inner, is_task, taken: Mutex::new(None) }
    }

    /// The steps of one turn of an asynchronous generator.
    pub(super) fn of_turn(turns: Py<Turns>, inner: Py<PyAny>) -> Self {
        Self { call: Stepped::Turn(turns), inner, is_task: false, taken: Mutex::new(None) }
    }

    fn run(&self) -> &Run {
        match &self.call {
            Stepped::Whole(run) => run,
            Stepped::Turn(turns) => &turns.get().run,
        }
    }

    fn ends_call(&self) -> bool {
        matches!(self.call, Stepped::Whole(_))
    }

    fn begin(&self, py: Python<'_>) -> Option<Step> {
        self.run().step(py, self.is_task)
    }

    /// A step led to a value for the caller.
    fn paused(&self, py: Python<'_>, step: Option<&Step>) {
        if let Some(step) = step {
            self.run().pause(py, step);
        }
    }

    /// A step was the last one.
    fn returned(&self, py: Python<'_>, step: Option<&Step>) -> PyResult<()> {
        if self.ends_call() {
            self.run().finish(py, step, None)
        } else {
            self.paused(py, step);
            Ok(())
        }
    }

    /// A step ended with an exception.
    fn raised(&self, py: Python<'_>, step: Option<&Step>, error: PyErr) -> PyErr {
        let is_end = if self.ends_call() {
            error.is_instance_of::<PyStopIteration>(py)
        } else {
            error.is_instance_of::<PyStopAsyncIteration>(py)
        };
        if !self.ends_call() && error.is_instance_of::<PyStopIteration>(py) {
            self.paused(py, step);
            return error;
        }
        let is_closed = error.is_instance_of::<PyGeneratorExit>(py);
        let failure = (!is_end && !is_closed).then_some(&error);
        match self.run().finish(py, step, failure) {
            Ok(()) => error,
            Err(stronger) => stronger,
        }
    }

    fn taken(&self) -> MutexGuard<'_, Option<Step>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = value.py();
        let step = self.begin(py);
        match raw::send(self.inner.bind(py), value) {
            Ok(Sent::Yielded(value)) => {
                self.paused(py, step.as_ref());
                Ok(Some(value))
            }
            Ok(Sent::Returned(value)) => {
                self.returned(py, step.as_ref())?;
                if value.is_none() {
                    Ok(None)
                } else {
                    Err(PyStopIteration::new_err((value.unbind(),)))
                }
            }
            Err(error) => Err(self.raised(py, step.as_ref(), error)),
        }
    }
}

#[pymethods]
impl Steps {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.advance(py.None().bind(py))
    }

    fn send<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.advance(value)? {
            Some(value) => Ok(value),
            None => Err(PyStopIteration::new_err(())),
        }
    }

    #[pyo3(signature = (*error))]
    fn throw<'py>(
        &self,
        py: Python<'py>,
        error: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let step = self.begin(py);
        match self.inner.bind(py).call_method1("throw", error) {
            Ok(value) => {
                self.paused(py, step.as_ref());
                Ok(value)
            }
            Err(error) => Err(self.raised(py, step.as_ref(), error)),
        }
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let step = self.begin(py);
        match self.inner.bind(py).call_method0("close") {
            Ok(_) => self.returned(py, step.as_ref()),
            Err(error) => Err(self.raised(py, step.as_ref(), error)),
        }
    }

    /// What is stepped through.
    #[getter]
    fn inner(&self, py: Python<'_>) -> Py<PyAny> {
        self.inner.clone_ref(py)
    }

    /// Python takes a step itself; one of the three that follow must come after it.
    fn take_step(&self, py: Python<'_>) {
        let step = self.begin(py);
        *self.taken() = step;
    }

    /// The step led to a value.
    fn step_paused(&self, py: Python<'_>) {
        let step = self.taken().take();
        self.paused(py, step.as_ref());
    }

    /// The step was the last one.
    fn step_returned(&self, py: Python<'_>) -> PyResult<()> {
        let step = self.taken().take();
        self.returned(py, step.as_ref())
    }

    /// The step ended with `error`.
    fn step_raised(&self, py: Python<'_>, error: Bound<'_, PyAny>) -> PyResult<()> {
        let step = self.taken().take();
        let given = PyErr::from_value(error.clone());
        let raised = self.raised(py, step.as_ref(), given);
        if raised.value(py).is(&error) { Ok(()) } else { Err(raised) }
    }

    /// What the coroutine inside waits for, for tools that follow the chain.
    #[getter]
    fn cr_await<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.inner.bind(py).getattr("cr_await")
    }

    /// The frame of the coroutine inside.
    #[getter]
    fn cr_frame<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.inner.bind(py).getattr("cr_frame")
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.call {
            Stepped::Whole(run) => visit.call(&run.plan)?,
            Stepped::Turn(turns) => visit.call(turns)?,
        }
        visit.call(&self.inner)
    }
}
