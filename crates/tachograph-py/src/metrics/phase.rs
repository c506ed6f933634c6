//! A phase: a block of code that a collector times.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use tachograph_capture::spans::{self, Attributes, Ended, Meter, Name, Open, Parent, now_ns};

use super::nesting::{self, Node};
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
    took_ns: AtomicU64,
    /// Never held while Python runs: another thread may ask for the time.
    running: Mutex<Option<Running>>,
}

struct Running {
    span: Span,
    node: Arc<Node>,
    /// In a task: the phase that the context knew before.
    outer: Option<Py<Phase>>,
}

enum Span {
    /// Entered by `with`: others can be inside of it.
    Block(Begun),
    /// Started and stopped wherever the caller likes.
    Loose(Open),
}

impl Span {
    fn start_ns(&self) -> u64 {
        match self {
            Self::Block(begun) => begun.start_ns(),
            Self::Loose(open) => open.start_ns(),
        }
    }

    fn is_in_task(&self) -> bool {
        matches!(self, Self::Block(begun) if begun.is_in_context())
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
        Self { of, timed, took_ns: AtomicU64::new(0), running: Mutex::new(None) }
    }

    /// A phase that runs from now on until it is stopped, beside all others.
    pub(super) fn started(py: Python<'_>, of: u64, timed: Arc<Timed>) -> Self {
        let phase = Self::new(of, timed);
        let outer = nesting::innermost(py, true);
        let node = Node::new(of, Arc::clone(&phase.timed), outer);
        let parent = Parent::Is(spans::current());
        let open = spans::begin(phase.timed.name, Attributes::default(), parent, None);
        *phase.running() = Some(Running { span: Span::Loose(open), node, outer: None });
        phase
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Running> {
        self.running().take()
    }

    /// What is known of it while it runs.
    pub(super) fn node(&self) -> Option<Arc<Node>> {
        self.running().as_ref().map(|running| Arc::clone(&running.node))
    }

    fn name(&self) -> &'static str {
        self.timed.name.text()
    }

    /// Ends it without its time: the device tells that one, perhaps later. The
    /// phases around it are told what passed here.
    fn leave(&self, py: Python<'_>, span: Span, node: &Node, failed: bool) -> u64 {
        let took_ns = span.end(py, &Ended { failed, ..Ended::default() });
        self.took_ns.store(took_ns, Ordering::Relaxed);
        node.end();
        if let Some(nearest) = node.around().find(|outer| outer.of == self.of) {
            nearest.within_ns.fetch_add(took_ns, Ordering::Relaxed);
        }
        took_ns
    }

    /// Ends it and tells the phases around it.
    fn finish(&self, py: Python<'_>, span: Span, node: &Node, failed: bool) -> u64 {
        let ended = Ended { failed, meter: Some(&self.timed.times), ..Ended::default() };
        let took_ns = span.end(py, &ended);
        self.took_ns.store(took_ns, Ordering::Relaxed);
        node.end();
        // Phases inside may have run at the same time and add up to more.
        let own_ns = took_ns.saturating_sub(node.within_ns.load(Ordering::Relaxed));
        let mut around = node.around().filter(|outer| outer.of == self.of).peekable();
        if let Some(nearest) = around.peek() {
            nearest.within_ns.fetch_add(took_ns, Ordering::Relaxed);
        }
        let other = around.map(|outer| outer.timed.name).find(|name| *name != self.timed.name);
        self.timed.add_own(took_ns, own_ns, other);
        took_ns
    }
}

#[pymethods]
impl Phase {
    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let (py, phase) = (slf.py(), slf.get());
        let is_running = phase.running().is_some();
        if is_running {
            let name = phase.name();
            return Err(PyRuntimeError::new_err(format!(
                "phase {name:?} is already running; make another one for each block"
            )));
        }
        let span = Span::Block(Begun::now(py, phase.timed.name, Attributes::default()));
        let in_task = span.is_in_task();
        let node = Node::new(phase.of, Arc::clone(&phase.timed), nesting::innermost(py, in_task));
        let outer = if in_task { nesting::of_context(py).map(Bound::unbind) } else { None };
        nesting::enter(slf, &node, in_task);
        let before = phase.running().replace(Running { span, node, outer });
        drop(before);
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
        let Running { span, node, outer } = phase.take().ok_or_else(|| phase.not_running())?;
        let in_task = span.is_in_task();
        phase.finish(py, span, &node, !kind.is_none());
        nesting::leave(slf, &node, in_task, outer);
        Ok(false)
    }

    /// Ends a started phase; returns how long it took, in nanoseconds.
    fn stop(&self, py: Python<'_>) -> PyResult<u64> {
        let Running { span, node, .. } = self.take().ok_or_else(|| self.not_running())?;
        Ok(self.finish(py, span, &node, false))
    }

    /// Ends an entered or started phase whose time the device tells; returns
    /// how long it took here, in nanoseconds.
    #[pyo3(name = "_leave", signature = (failed))]
    fn leave_to_device(slf: &Bound<'_, Self>, failed: bool) -> PyResult<u64> {
        let (py, phase) = (slf.py(), slf.get());
        let Running { span, node, outer } = phase.take().ok_or_else(|| phase.not_running())?;
        let (in_task, is_block) = (span.is_in_task(), matches!(span, Span::Block(_)));
        let took_ns = phase.leave(py, span, &node, failed);
        if is_block {
            nesting::leave(slf, &node, in_task, outer);
        }
        Ok(took_ns)
    }

    /// Ends it without counting it.
    fn give_up(&self, py: Python<'_>) {
        if let Some(running) = self.take() {
            running.node.end();
            running.span.end(py, &Ended { failed: true, ..Ended::default() });
        }
    }

    /// How long it took, or has been running, in nanoseconds.
    #[getter]
    fn elapsed_ns(&self) -> u64 {
        let start = self.running().as_ref().map(|running| running.span.start_ns());
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

impl Phase {
    #[cold]
    fn not_running(&self) -> PyErr {
        let name = self.name();
        PyRuntimeError::new_err(format!("phase {name:?} is not running; enter it first"))
    }
}
