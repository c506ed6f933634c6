//! A phase: a block of code that a collector times.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use tachograph_capture::spans::{self, Attributes, Ended, Meter, Name, Open, Parent, now_ns};

use super::nesting;
use crate::spans::Begun;

/// What a collector knows of one phase.
pub(super) struct Timed {
    pub(super) name: Name,
    pub(super) times: Meter,
    /// Time that no phase inside it took, in nanoseconds.
    own_ns: AtomicU64,
    /// Time spent inside of each other phase, in nanoseconds.
    inside: Mutex<HashMap<Name, u64>>,
}

impl Timed {
    /// A phase that never ran.
    pub(super) fn new(name: Name) -> Self {
        let inside = Mutex::default();
        Self { name, times: Meter::new(), own_ns: AtomicU64::new(0), inside }
    }

    /// Adds what is known about one run beside its duration.
    pub(super) fn add_own(&self, took_ns: u64, own_ns: u64, inside: Option<Name>) {
        self.own_ns.fetch_add(own_ns, Ordering::Relaxed);
        if let Some(around) = inside {
            *self.around().entry(around).or_default() += took_ns;
        }
    }

    /// Time of its own.
    pub(super) fn own_ns(&self) -> u64 {
        self.own_ns.load(Ordering::Relaxed)
    }

    /// The phase in which it spent more than half of `total_ns`.
    pub(super) fn mostly_inside(&self, total_ns: f64) -> Option<Name> {
        let around = self.around();
        let most = around.iter().max_by_key(|(name, took)| (**took, **name))?;
        (*most.1 as f64 * 2.0 > total_ns).then_some(*most.0)
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.times.clear();
        self.own_ns.store(0, Ordering::Relaxed);
        self.around().clear();
    }

    fn around(&self) -> MutexGuard<'_, HashMap<Name, u64>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A block of code that a collector times: enter it with ``with``.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Phase {
    /// Which collector it belongs to.
    of: u64,
    timed: Arc<Timed>,
    /// Time of the phases inside of it so far.
    within_ns: AtomicU64,
    took_ns: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// The phase around it, of whichever collector.
    outer: Option<Py<Phase>>,
}

enum Running {
    /// Entered by `with`: others can be inside of it.
    Block(Begun),
    /// Started and stopped wherever the caller likes.
    Loose(Open),
}

impl Running {
    fn start_ns(&self) -> u64 {
        match self {
            Self::Block(begun) => begun.start_ns(),
            Self::Loose(open) => open.start_ns(),
        }
    }

    fn end(self, py: Python<'_>, ended: &Ended<'_>) -> u64 {
        match self {
            Self::Block(begun) => begun.end(py, ended),
            Self::Loose(open) => spans::end(open, ended),
        }
    }
}

impl Phase {
    /// A phase of the collector `of` that has not begun.
    pub(super) fn new(of: u64, timed: Arc<Timed>) -> Self {
        let (within_ns, took_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { of, timed, within_ns, took_ns, state: Mutex::default() }
    }

    /// A phase that runs from now on until it is stopped, beside all others.
    pub(super) fn started(py: Python<'_>, of: u64, timed: Arc<Timed>) -> Self {
        let phase = Self::new(of, timed);
        let outer = nesting::innermost(py).map(Bound::unbind);
        let parent = Parent::Is(spans::current());
        let open = spans::begin(phase.timed.name, Attributes::default(), parent, None);
        *phase.state() = State { running: Some(Running::Loose(open)), outer };
        phase
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn not_running(&self) -> PyErr {
        let name = self.timed.name.text();
        PyRuntimeError::new_err(format!("phase {name:?} is not running; enter it first"))
    }

    /// Ends it and tells the phases around it.
    fn finish(&self, py: Python<'_>, failed: bool) -> PyResult<u64> {
        let state = std::mem::take(&mut *self.state());
        let running = state.running.ok_or_else(|| self.not_running())?;
        let ended = Ended { failed, meter: Some(&self.timed.times), ..Ended::default() };
        let took_ns = running.end(py, &ended);
        self.took_ns.store(took_ns, Ordering::Relaxed);
        // Phases inside may have run at the same time and add up to more.
        let own_ns = took_ns.saturating_sub(self.within_ns.swap(0, Ordering::Relaxed));
        let around = state.outer.as_ref().and_then(|outer| self.tell(py, outer, took_ns));
        self.timed.add_own(took_ns, own_ns, around);
        Ok(took_ns)
    }

    /// Tells the nearest phase of this collector that `took_ns` were spent
    /// inside of it; returns the nearest one with another name.
    fn tell(&self, py: Python<'_>, outer: &Py<Self>, took_ns: u64) -> Option<Name> {
        let mut is_told = false;
        let mut next = Some(outer.clone_ref(py));
        while let Some(phase) = next {
            let phase = phase.get();
            if phase.of == self.of {
                if !is_told {
                    phase.within_ns.fetch_add(took_ns, Ordering::Relaxed);
                    is_told = true;
                }
                if phase.timed.name != self.timed.name {
                    return Some(phase.timed.name);
                }
            }
            next = phase.state().outer.as_ref().map(|outer| outer.clone_ref(py));
        }
        None
    }
}

#[pymethods]
impl Phase {
    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let (py, phase) = (slf.py(), slf.get());
        let outer = nesting::innermost(py);
        let mut state = phase.state();
        if state.running.is_some() {
            let name = phase.timed.name.text();
            return Err(PyRuntimeError::new_err(format!(
                "phase {name:?} is already running; make another one for each block"
            )));
        }
        state.outer = outer.map(Bound::unbind);
        nesting::enter(py, Some(slf));
        let begun = Begun::now(py, phase.timed.name, Attributes::default());
        state.running = Some(Running::Block(begun));
        drop(state);
        Ok(slf.clone())
    }

    #[pyo3(signature = (kind, error, traceback, /))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let _ = (error, traceback);
        let (py, phase) = (slf.py(), slf.get());
        let outer = phase.state().outer.as_ref().map(|outer| outer.clone_ref(py));
        phase.finish(py, !kind.is_none())?;
        // A generator may be left in another context than it was entered in.
        if nesting::innermost(py).is_some_and(|innermost| innermost.is(slf)) {
            nesting::enter(py, outer.as_ref().map(|outer| outer.bind(py)));
        }
        Ok(false)
    }

    /// Ends a started phase; returns how long it took, in nanoseconds.
    fn stop(&self, py: Python<'_>) -> PyResult<u64> {
        self.finish(py, false)
    }

    /// Ends it without counting it.
    fn give_up(&self, py: Python<'_>) {
        let state = std::mem::take(&mut *self.state());
        if let Some(running) = state.running {
            running.end(py, &Ended { failed: true, ..Ended::default() });
        }
    }

    /// How long it took, or has been running, in nanoseconds.
    #[getter]
    fn elapsed_ns(&self) -> u64 {
        let start = self.state().running.as_ref().map(Running::start_ns);
        start.map_or_else(
            || self.took_ns.load(Ordering::Relaxed),
            |start| now_ns().saturating_sub(start),
        )
    }

    /// How long it took, or has been running, in milliseconds.
    #[getter]
    fn elapsed_ms(&self) -> f64 {
        self.elapsed_ns() as f64 / 1e6
    }
}
