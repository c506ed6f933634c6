//! The numbers and phases that one collector is told.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use tachograph_capture::spans::{self, Meter, Name};
use tachograph_profile::analyze::{Memory, RunReport, Timing, Values};

use super::answers::written;
use super::names::Names;
use super::phase::{Phase, Timed};
use crate::text::Text;

/// Tells phases of one collector from those of another.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// What a collector knows of one number.
struct Recorded {
    name: Name,
    values: Meter,
    /// Infinities and NaN.
    not_finite: AtomicU64,
}

impl Recorded {
    fn new(name: Name) -> Self {
        Self { name, values: Meter::new(), not_finite: AtomicU64::new(0) }
    }

    #[inline]
    fn add(&self, value: f64) {
        if !value.is_finite() {
            self.not_finite.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.values.add(value);
        if spans::is_recording() {
            spans::point(self.name, value);
        }
    }
}

/// Named numbers and phases. Any thread may add to them.
#[pyclass(frozen, subclass, module = "tachograph._native")]
pub(crate) struct Collector {
    id: u64,
    phases: Names<Timed>,
    numbers: Names<Recorded>,
    /// Most that torch held on a device, and most that it had set aside.
    memory: [AtomicU64; 2],
}

#[pymethods]
impl Collector {
    #[new]
    fn new() -> Self {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let memory = Default::default();
        Self { id, phases: Names::default(), numbers: Names::default(), memory }
    }

    /// Record one value of the metric `name`.
    ///
    /// Anything with ``__float__`` is a value. NaN and infinities are counted
    /// and left out of the statistics. While a recording is open, the value is
    /// a point in it.
    ///
    /// Raises:
    ///     TypeError: ``name`` is no string, or ``value`` no number.
    ///     ValueError: ``value`` is too large for a float.
    #[pyo3(signature = (name, value))]
    fn record(&self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let number = match value.extract::<f64>() {
            Ok(number) => number,
            Err(error) => return Err(no_number(name, value, &error)),
        };
        self.numbers.with(name, Recorded::new, |recorded| recorded.add(number))
    }

    /// Return a block to enter with ``with``: its time counts for the phase `name`.
    ///
    /// The block is a span in an open recording. Phases inside of each other
    /// are known as such, in threads and tasks too. The block has
    /// ``elapsed_ms``, which grows until it is left.
    #[pyo3(signature = (name))]
    fn measure_time(&self, name: &Bound<'_, PyAny>) -> PyResult<Phase> {
        self.phases.with(name, Timed::new, |timed| Phase::new(self.id, timed.clone()))
    }

    /// A phase that runs from now on until it is stopped.
    #[pyo3(name = "_start_phase")]
    fn start_phase(&self, name: &Bound<'_, PyAny>) -> PyResult<Phase> {
        let py = name.py();
        self.phases.with(name, Timed::new, |timed| Phase::started(py, self.id, timed.clone()))
    }

    /// Adds a phase that was timed elsewhere, in milliseconds.
    #[pyo3(name = "_add_time", signature = (name, took_ms, own_ms, inside))]
    fn add_time(
        &self,
        name: &Bound<'_, PyAny>,
        took_ms: f64,
        own_ms: f64,
        inside: Option<Text>,
    ) -> PyResult<()> {
        let ns = |ms: f64| (ms.max(0.0) * 1e6).round();
        let inside = inside.map(|inside| Name::of(&inside.0));
        self.phases.with(name, Timed::new, |timed| {
            timed.times.add(ns(took_ms));
            timed.add_own(ns(took_ms) as u64, ns(own_ms) as u64, inside);
        })
    }

    /// How often the phase `name` ran, and how long the last time, in milliseconds.
    #[pyo3(name = "_last")]
    fn last(&self, name: Text) -> (u64, f64) {
        let timed = self.phases.find(Name::of(&name.0));
        let summary = timed.map(|timed| timed.times.summary()).unwrap_or_default();
        (summary.count(), summary.last() / 1e6)
    }

    /// Peaks of a device's memory, in bytes; the largest count.
    #[pyo3(name = "_tell_memory")]
    fn tell_memory(&self, peak_allocated: u64, peak_reserved: u64) {
        self.memory[0].fetch_max(peak_allocated, Ordering::Relaxed);
        self.memory[1].fetch_max(peak_reserved, Ordering::Relaxed);
    }

    /// Everything so far, as the JSON of a report.
    #[pyo3(name = "_report")]
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let report = py.detach(|| {
            let phases = self.phases.all().into_iter().filter_map(|timed| {
                let times = timed.times.summary();
                let inside = timed.mostly_inside(times.sum()).map(|name| name.text().to_owned());
                let timing = Timing::of(&times, timed.own_ns() as f64, inside);
                (timing.count > 0).then(|| (timed.name.text().to_owned(), timing))
            });
            let numbers = self.numbers.all().into_iter().filter_map(|recorded| {
                let not_finite = recorded.not_finite.load(Ordering::Relaxed);
                let values = Values::of(&recorded.values.summary(), not_finite);
                (values.count + not_finite > 0).then(|| (recorded.name.text().to_owned(), values))
            });
            let [peak_allocated, peak_reserved] =
                [0, 1].map(|at: usize| self.memory[at].load(Ordering::Relaxed));
            let memory = Memory { peak_allocated, peak_reserved };
            RunReport { memory, ..RunReport::of(phases.collect(), numbers.collect()) }
        });
        written(serde_json::to_string(&report))
    }

    /// Forgets everything.
    #[pyo3(name = "_forget")]
    fn forget(&self) {
        self.phases.all().iter().for_each(|timed| timed.clear());
        self.memory.iter().for_each(|peak| peak.store(0, Ordering::Relaxed));
        for recorded in self.numbers.all() {
            recorded.values.clear();
            recorded.not_finite.store(0, Ordering::Relaxed);
        }
    }
}

/// The exception for a value that is no number, naming it.
#[cold]
fn no_number(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    let py = value.py();
    let told = value.repr().map_or_else(|_| "<unprintable>".to_owned(), |text| text.to_string());
    let told: String = told.chars().take(80).collect();
    let kind = value.get_type();
    let kind = kind.name().map_or_else(|_| "object".to_owned(), |kind| kind.to_string());
    let name = name.to_string();
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(format!("record({name:?}) needs a number, not {told} ({kind})"))
    } else if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py) {
        PyValueError::new_err(format!("record({name:?}): {told} ({kind}) is too large for a float"))
    } else {
        error.clone_ref(py)
    }
}
