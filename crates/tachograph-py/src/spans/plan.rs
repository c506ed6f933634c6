//! How the calls of one function, or one block, are to be measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::PyTraverseError;
use pyo3::exceptions::{PyException, PyRuntimeWarning};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use tachograph_capture::spans::{self, Attributes, Name, Timing};

use super::begun::Begun;
use super::clock::Clock;
use super::ended::{self, Ended};
use super::key::Key;
use super::run::Run;
use super::signal_calls::Signal;
use super::steps::Steps;
use super::turns::Turns;
use super::values::packed_dict;
use crate::raw;

/// How calls are measured, and who hears of them.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Plan {
    pub(super) key: &'static Key,
    /// Gets every duration; the meter of the live report if there is none.
    pub(super) meter: Option<spans::Meter>,
    pub(super) clock: Clock,
    /// Measures also while nobody asked for a report or recording.
    pub(super) always: bool,
    /// How an end enters the timeline of the live report.
    pub(super) timing: Option<Timing>,
    pub(super) before: Option<Py<PyAny>>,
    pub(super) after: Option<Py<PyAny>>,
    /// Its calls are counted, and those told of that fail or take long.
    pub(super) signal: Option<Signal>,
    pub(super) warned: AtomicBool,
}

/// Who hears of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Nobody: it is not measured.
    Unseen,
    /// Nobody, unless it fails: it is not measured.
    Watched,
    /// An open recording only.
    Recorded,
    /// The meter, and a recording if one is open.
    Metered,
    /// The meter and the timeline, and a recording if one is open.
    Reported,
}

/// A call that has begun.
pub(crate) struct Started {
    pub(super) begun: Begun,
    key: &'static Key,
    /// What was attached to the call of a signal.
    attributes: Attributes,
    pub(super) call: Call,
    /// The chosen clock, when it is none that a span reads anyway.
    pub(super) reading: u64,
}

/// How a call went.
#[derive(Default)]
pub(super) struct Went {
    pub(super) failed: bool,
    pub(super) error: Option<Py<PyAny>>,
    pub(super) suspended_ns: u64,
    /// What the chosen clock says, when it was not read from one end to the other.
    pub(super) counted_ns: Option<u64>,
}

impl Went {
    /// How a call went that returned `result` or an error.
    pub(super) fn of<T>(py: Python<'_>, result: &PyResult<T>) -> Self {
        let error = result.as_ref().err().map(|error| error.value(py).clone().into_any().unbind());
        Self { failed: error.is_some(), error, ..Self::default() }
    }

    /// What callbacks are told.
    pub(super) fn ended(self, key: &Key, duration_ns: u64, wall_ns: u64) -> Ended {
        Ended {
            name: key.name().text(),
            duration_ns,
            wall_ns,
            running_ns: wall_ns.saturating_sub(self.suspended_ns),
            suspended_ns: self.suspended_ns,
            failed: self.failed,
            error: self.error,
            started_unix_ns: ended::unix_ns(wall_ns),
        }
    }
}

impl Plan {
    /// Who hears of a call that begins now.
    #[inline]
    pub(crate) fn call(&self) -> Call {
        if self.signal.is_some() {
            return Signal::call(self.has_before());
        }
        if spans::is_profiling() && (self.timing.is_some() || !self.always) && spans::is_sampled() {
            return if self.timing.is_some() { Call::Reported } else { Call::Metered };
        }
        if self.always {
            Call::Metered
        } else if spans::is_recording() {
            Call::Recorded
        } else {
            Call::Unseen
        }
    }

    /// Whether nothing but a span and numbers come of a call.
    #[inline]
    pub(crate) fn is_simple(&self) -> bool {
        self.before.is_none() && self.after.is_none() && self.clock == Clock::Wall
    }

    /// Whether a callback wants the arguments.
    pub(crate) fn has_before(&self) -> bool {
        self.before.is_some()
    }

    /// What it is called.
    #[inline]
    pub(crate) fn name(&self) -> Name {
        self.key.name()
    }

    /// Begins a call.
    pub(crate) fn begin(
        &self,
        py: Python<'_>,
        call: Call,
        key: &'static Key,
        attributes: Attributes,
    ) -> Started {
        let kept = if self.is_signal() { attributes.clone() } else { Attributes::default() };
        let begun = Begun::now(py, key.name(), attributes);
        Started { begun, key, attributes: kept, call, reading: self.clock.reading() }
    }

    /// Measures `work`, the whole call of a simple plan; it tells whether it failed.
    #[inline]
    pub(crate) fn measure<T>(
        &self,
        py: Python<'_>,
        call: Call,
        work: impl FnOnce() -> T,
        failed: impl FnOnce(&T) -> bool,
    ) -> T {
        let mut begun = Begun::not_yet(self.name());
        begun.begin_here(py);
        let result = work();
        let ended = spans::Ended {
            failed: failed(&result),
            meter: self.meter_for(call, self.key),
            timing: self.timing_for(call),
            ..spans::Ended::default()
        };
        begun.end_here(py, &ended);
        result
    }

    /// Ends a call and tells who wants to know.
    pub(super) fn finish(&self, py: Python<'_>, mut started: Started, went: Went) -> PyResult<u64> {
        let counted = went.counted_ns.or_else(|| self.clock.since(started.reading));
        let ended = spans::Ended {
            failed: went.failed,
            suspended_ns: went.suspended_ns,
            meter: self.meter_for(started.call, started.key),
            value: counted.map(|ns| ns as f64),
            timing: self.timing_for(started.call),
        };
        let wall_ns = started.begun.end_here(py, &ended);
        let duration_ns = counted.unwrap_or(wall_ns);
        if let Some(after) = &self.after {
            let ended = went.ended(started.key, duration_ns, wall_ns);
            let told = after.bind(py).call1((ended,)).map(drop);
            self.forgive(py, "the callback `after`", told)?;
        } else if self.must_tell(went.failed, wall_ns) {
            let ended = went.ended(started.key, duration_ns, wall_ns);
            self.tell(py, &started.attributes, ended)?;
        }
        Ok(duration_ns)
    }

    /// The same, for a call that returned `result` or an error.
    pub(crate) fn finish_with<T>(
        &self,
        py: Python<'_>,
        started: Started,
        result: &PyResult<T>,
    ) -> PyResult<u64> {
        self.finish(py, started, Went::of(py, result))
    }

    /// What `before` attaches to a call.
    pub(crate) fn attributes<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Attributes> {
        let Some(before) = &self.before else { return Ok(Attributes::default()) };
        let given = before.bind(py).call1((args, kwargs)).and_then(|given| {
            if given.is_none() {
                return Ok(Attributes::default());
            }
            packed_dict(given.cast::<PyDict>()?)
        });
        match given {
            Ok(attributes) => Ok(attributes),
            Err(error) => {
                let which =
                    if self.is_signal() { "extra_factory" } else { "the callback `before`" };
                self.forgive(py, which, Err(error)).map(|()| Attributes::default())
            }
        }
    }

    #[inline]
    pub(super) fn meter_for(&self, call: Call, key: &'static Key) -> Option<&spans::Meter> {
        match call {
            Call::Unseen | Call::Watched | Call::Recorded => None,
            Call::Metered if self.meter.is_none() && self.always => None,
            _ => Some(self.meter.as_ref().unwrap_or_else(|| key.meter())),
        }
    }

    #[inline]
    pub(super) fn timing_for(&self, call: Call) -> Option<&Timing> {
        self.timing.as_ref().filter(|_| call == Call::Reported)
    }

    /// A callback that failed must not break the call: the first time it is
    /// told by a warning. What is no `Exception`, such as Ctrl-C, passes.
    pub(super) fn forgive(
        &self,
        py: Python<'_>,
        which: &str,
        result: PyResult<()>,
    ) -> PyResult<()> {
        let Err(error) = result else { return Ok(()) };
        if !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        if !self.warned.swap(true, Ordering::Relaxed) {
            let name = self.name().text();
            let text = format!("{which} failed for {name}: {error}; the call goes on");
            if let Ok(text) = std::ffi::CString::new(text.replace('\0', "")) {
                let kind = py.get_type::<PyRuntimeWarning>();
                // A program may turn warnings into errors; not this one.
                drop(PyErr::warn(py, &kind, &text, 1));
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Whether anybody would hear of a call now.
    fn is_wanted(&self) -> bool {
        if self.is_signal() {
            return Signal::is_enabled();
        }
        self.always || spans::is_profiling() || spans::is_recording()
    }

    /// A call that goes step by step.
    fn run<'py>(
        slf: Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Run> {
        let plan = slf.get();
        let attributes = if plan.is_wanted() {
            plan.attributes(slf.py(), args, kwargs)?
        } else {
            Attributes::default()
        };
        let key = plan.key_of_call(|| args.get_borrowed_item(0).ok());
        Ok(Run::new(slf.unbind(), key, attributes))
    }
}

#[pymethods]
impl Plan {
    /// `function`, each call of it measured.
    fn around(slf: Bound<'_, Self>, function: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        raw::wrap(function, slf)
    }

    /// The steps of a coroutine or generator, measured; itself if nobody wants
    /// to know. Nothing begins before the first step.
    fn steps<'py>(
        slf: Bound<'py, Self>,
        inner: Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        is_task: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !slf.get().is_wanted() {
            return Ok(inner);
        }
        let py = slf.py();
        let run = Self::run(slf, args, kwargs)?;
        Ok(Bound::new(py, Steps::new(run, inner.unbind(), is_task))?.into_any())
    }

    /// The turns of an asynchronous generator. Nothing begins before the first.
    fn turns<'py>(
        slf: Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Turns> {
        Ok(Turns { run: Self::run(slf, args, kwargs)? })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.before)?;
        visit.call(&self.after)?;
        self.signal.as_ref().map_or(Ok(()), |signal| signal.traverse(&visit))
    }
}

/// Words for the timeline, as the engine keeps them.
pub(super) fn tags(words: &[String]) -> Option<Arc<[Name]>> {
    (!words.is_empty()).then(|| words.iter().map(|word| Name::of(word)).collect())
}
