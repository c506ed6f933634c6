//! A call that goes step by step: of a coroutine or a generator.
//!
//! It is measured from its first step to its last. What passes between two
//! steps is told apart as suspended. Spans that begin in a step are inside of
//! it; those that its caller begins meanwhile are not.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use tachograph_capture::spans::{self, Attributes, SpanRef};

use super::clock::Clock;
use super::key::Key;
use super::plan::{Call, Plan, Started, Went};
use super::tasks;

/// A call that goes step by step.
pub(super) struct Run {
    pub(super) plan: Py<Plan>,
    key: &'static Key,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    attributes: Attributes,
    started: Option<Started>,
    /// The innermost span inside, when the last step ended.
    inside: SpanRef,
    /// Steps that were followed by others took so long.
    running_ns: u64,
    counted_ns: u64,
    was_paused: bool,
    is_over: bool,
}

/// A step that has begun.
pub(super) struct Step {
    start_ns: u64,
    reading: u64,
    /// The innermost span outside.
    outside: SpanRef,
    is_in_context: bool,
    is_nested: bool,
}

impl Step {
    /// The innermost span outside is the innermost one again; returns the one
    /// that was.
    fn leave(&self, py: Python<'_>) -> SpanRef {
        match (self.is_nested, self.is_in_context) {
            (false, _) => SpanRef::default(),
            (true, false) => spans::enter(self.outside),
            (true, true) => {
                let inside = tasks::current(py);
                tasks::set_current(py, self.outside);
                inside
            }
        }
    }
}

impl Run {
    pub(super) fn new(plan: Py<Plan>, key: &'static Key, attributes: Attributes) -> Self {
        Self { plan, key, state: Mutex::new(State { attributes, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a step; the call itself if it is the first. `None` when the call
    /// is over or not wanted.
    pub(super) fn step(&self, py: Python<'_>, is_task: bool) -> Option<Step> {
        let plan = self.plan.get();
        let mut state = self.state();
        if state.is_over {
            return None;
        }
        let Some(started) = &state.started else {
            let attributes = std::mem::take(&mut state.attributes);
            drop(state);
            return self.first_step(py, plan, attributes, is_task);
        };
        let (is_in_context, inside) = (started.begun.is_in_context(), state.inside);
        drop(state);
        // A task has its context to itself, so nobody came between.
        let is_nested = !(is_task && is_in_context);
        let outside = match (is_nested, is_in_context) {
            (false, _) => SpanRef::default(),
            (true, false) => spans::enter(inside),
            (true, true) => {
                let outside = tasks::current(py);
                tasks::set_current(py, inside);
                outside
            }
        };
        let (start_ns, reading) = (spans::now_ns(), plan.clock.reading());
        Some(Step { start_ns, reading, outside, is_in_context, is_nested })
    }

    fn first_step(
        &self,
        py: Python<'_>,
        plan: &Plan,
        attributes: Attributes,
        is_task: bool,
    ) -> Option<Step> {
        let call = match plan.call() {
            Call::Unseen => {
                self.state().is_over = true;
                return None;
            }
            // Whether it fails is known at its last step.
            Call::Watched => Call::Recorded,
            wanted => wanted,
        };
        let on_thread = spans::current();
        let in_context =
            if !is_task && tasks::may_run(py) { tasks::current(py) } else { SpanRef::default() };
        let started = plan.begin(py, call, self.key, attributes);
        let is_in_context = started.begun.is_in_context();
        let step = Step {
            start_ns: started.begun.start_ns(),
            reading: started.reading,
            outside: if is_in_context { in_context } else { on_thread },
            is_in_context,
            is_nested: !(is_task && is_in_context),
        };
        self.state().started = Some(started);
        Some(step)
    }

    /// Ends a step that is followed by others.
    pub(super) fn pause(&self, py: Python<'_>, step: &Step) {
        let (ran, counted) = self.counted(step);
        let inside = step.leave(py);
        let mut state = self.state();
        state.running_ns += ran;
        state.counted_ns += counted;
        state.was_paused = true;
        state.inside = inside;
    }

    /// Ends the last step, and the call; `step` is `None` when it ends between two.
    pub(super) fn finish(
        &self,
        py: Python<'_>,
        step: Option<&Step>,
        error: Option<&PyErr>,
    ) -> PyResult<()> {
        let (started, running_ns, counted_ns, was_paused) = {
            let mut state = self.state();
            state.is_over = true;
            (state.started.take(), state.running_ns, state.counted_ns, state.was_paused)
        };
        // The caller of the last step may be inside of another span than that
        // of the first.
        if let Some(step) = step {
            step.leave(py);
        }
        let Some(started) = started else { return Ok(()) };
        let plan = self.plan.get();
        let mut went = Went {
            failed: error.is_some(),
            error: error.map(|error| error.value(py).clone().into_any().unbind()),
            ..Went::default()
        };
        if was_paused {
            let (ran, counted) = step.map_or((0, 0), |step| self.counted(step));
            let wall_ns = spans::now_ns().saturating_sub(started.begun.start_ns());
            went.suspended_ns = wall_ns.saturating_sub(running_ns + ran);
            // Another thread may take the last step: only steps can be counted.
            went.counted_ns = (plan.clock == Clock::Thread).then_some(counted_ns + counted);
        }
        plan.finish(py, started, went).map(drop)
    }

    /// How long a step took, on the wall and on the chosen clock.
    fn counted(&self, step: &Step) -> (u64, u64) {
        let ran = spans::now_ns().saturating_sub(step.start_ns);
        (ran, self.plan.get().clock.since(step.reading).unwrap_or(0))
    }
}
