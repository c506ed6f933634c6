//! Signals: functions whose calls are counted and, while profiling is on, timed.
//!
//! Python hears only of calls that failed or took long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::PyException;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{Borrowed, PyTraverseError};

use tachograph_capture::spans::{self, Attributes, Timing};

use super::begun::Begun;
use super::clock::Clock;
use super::decorator::around;
use super::ended::Ended;
use super::entry::meta_dict;
use super::key::Key;
use super::owners::Owners;
use super::plan::{Call, Plan, Went, tags as kept};
use crate::text::{Text, texts};

/// Signals do something at all.
static ENABLED: AtomicBool = AtomicBool::new(true);
/// A call that takes this long is slow; 0 when none is.
static SLOW_NS: AtomicU64 = AtomicU64::new(0);

/// What makes a timed function a signal.
pub(super) struct Signal {
    /// Called with the exception, what was attached, and the key.
    failed: Py<PyAny>,
    /// Called with how it ended, and what was attached.
    slow: Py<PyAny>,
    /// The keys of a method.
    owners: Option<Owners>,
}

impl Signal {
    /// Whether signals do anything.
    #[inline]
    pub(super) fn is_enabled() -> bool {
        ENABLED.load(Ordering::Relaxed)
    }

    /// Counts a call that begins now, and says who hears of it.
    #[inline]
    pub(super) fn call(has_before: bool) -> Call {
        if !Self::is_enabled() {
            return Call::Unseen;
        }
        spans::count_call();
        if spans::is_profiling() && spans::is_sampled() {
            Call::Reported
        } else if has_before || spans::is_recording() || SLOW_NS.load(Ordering::Relaxed) != 0 {
            Call::Recorded
        } else {
            Call::Watched
        }
    }

    #[inline]
    fn is_slow(wall_ns: u64) -> bool {
        let limit = SLOW_NS.load(Ordering::Relaxed);
        limit != 0 && wall_ns >= limit
    }

    /// Shows the garbage collector what is held here.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.failed)?;
        visit.call(&self.slow)?;
        self.owners.as_ref().map_or(Ok(()), |owners| owners.traverse(visit))
    }
}

impl Plan {
    /// Whether it is a signal's.
    pub(crate) fn is_signal(&self) -> bool {
        self.signal.is_some()
    }

    /// The key of a call, which for a method depends on its instance.
    #[inline]
    pub(crate) fn key_of_call<'a, 'py: 'a>(
        &self,
        first: impl FnOnce() -> Option<Borrowed<'a, 'py, PyAny>>,
    ) -> &'static Key {
        match &self.signal {
            // A class without a usable name leaves the method its own.
            Some(Signal { owners: Some(owners), .. }) => {
                first().and_then(|first| owners.key(&first).ok()).unwrap_or(self.key)
            }
            _ => self.key,
        }
    }

    /// Measures `work`, the whole call of a signal without callbacks before it;
    /// returns its result and how long it took.
    #[inline]
    pub(crate) fn measure_as<T>(
        &self,
        py: Python<'_>,
        call: Call,
        key: &'static Key,
        work: impl FnOnce() -> T,
        failed: impl FnOnce(&T) -> bool,
    ) -> (T, u64) {
        let mut begun = Begun::not_yet(key.name());
        begun.begin_here(py);
        let result = work();
        let ended = spans::Ended {
            failed: failed(&result),
            meter: self.meter_for(call, key),
            timing: self.timing_for(call),
            ..spans::Ended::default()
        };
        let wall_ns = begun.end_here(py, &ended);
        (result, wall_ns)
    }

    /// Whether Python is to hear of a call.
    #[inline]
    pub(crate) fn must_tell(&self, failed: bool, wall_ns: u64) -> bool {
        self.is_signal() && (failed || Signal::is_slow(wall_ns))
    }

    /// Tells of a call that returned `result` or an error.
    pub(crate) fn tell_of<T>(
        &self,
        py: Python<'_>,
        key: &'static Key,
        wall_ns: u64,
        result: &PyResult<T>,
    ) -> PyResult<()> {
        let ended = Went::of(py, result).ended(key, wall_ns, wall_ns);
        self.tell(py, &Attributes::default(), ended)
    }

    /// Tells of a call that failed or took long.
    #[cold]
    pub(super) fn tell(
        &self,
        py: Python<'_>,
        attributes: &Attributes,
        ended: Ended,
    ) -> PyResult<()> {
        let Some(signal) = &self.signal else { return Ok(()) };
        let meta = meta_dict(py, attributes)?;
        if let Some(error) = &ended.error
            && error.bind(py).is_instance_of::<PyException>()
        {
            let told = signal.failed.bind(py).call1((error, &meta, ended.name)).map(drop);
            self.forgive(py, "exception emission", told)?;
        }
        if Signal::is_slow(ended.wall_ns) {
            let told = signal.slow.bind(py).call1((ended, meta)).map(drop);
            self.forgive(py, "slow signal emission", told)?;
        }
        Ok(())
    }
}

/// `function` as a signal; its kind and its face do not change.
#[pyfunction]
#[pyo3(signature = (function, /, *, name, tags, before, failed, slow, name_of))]
pub(crate) fn signal<'py>(
    function: Bound<'py, PyAny>,
    name: Text,
    tags: Bound<'py, PyTuple>,
    before: Option<Py<PyAny>>,
    failed: Py<PyAny>,
    slow: Py<PyAny>,
    name_of: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let tags = texts(tags.extract()?);
    let plan = Plan {
        key: Key::of(&name.0),
        meter: None,
        clock: Clock::Wall,
        always: false,
        timing: Some(Timing { is_block: false, tags: kept(&tags) }),
        before,
        after: None,
        signal: Some(Signal { failed, slow, owners: name_of.map(Owners::new) }),
        warned: AtomicBool::new(false),
    };
    around(function, plan)
}

/// Turns signals on or off; a call of `slow_ns` and more is slow, 0 means none.
#[pyfunction]
pub(crate) fn signals(enabled: bool, slow_ns: u64) {
    SLOW_NS.store(slow_ns, Ordering::Relaxed);
    ENABLED.store(enabled, Ordering::Relaxed);
}

/// The calls of all signals, timed or not.
#[pyfunction]
pub(crate) fn calls_total() -> u64 {
    spans::calls()
}

/// Begins to count calls of signals anew.
#[pyfunction]
pub(crate) fn calls_clear() {
    spans::clear_calls();
}
