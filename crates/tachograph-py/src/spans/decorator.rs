//! The decorator behind every timing door.

use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use tachograph_capture::spans::Timing;

use super::clock::Clock;
use super::key::Key;
use super::meter::Meter;
use super::plan::{Plan, tags as kept};
use crate::errors::unknown_word;
use crate::text::Text;

/// `function` with every call measured; its kind and its face do not change.
#[pyfunction]
#[pyo3(signature = (
    function, /, *, name, meter = None, clock = "wall", gate = "always", timeline = false,
    tags = None, before = None, after = None,
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
pub(crate) fn timed<'py>(
    function: Bound<'py, PyAny>,
    name: Text,
    meter: Option<Bound<'py, Meter>>,
    clock: &str,
    gate: &str,
    timeline: bool,
    tags: Option<Bound<'py, PyTuple>>,
    before: Option<Py<PyAny>>,
    after: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let always = match gate {
        "always" => true,
        "profiling" => false,
        _ => return Err(unknown_word("gate", gate, "'always' or 'profiling'")),
    };
    let tags: Vec<Text> = tags.map_or_else(|| Ok(Vec::new()), |tags| tags.extract())?;
    let tags: Vec<String> = crate::text::texts(tags);
    let plan = Plan {
        key: Key::of(&name.0),
        meter: meter.map(|meter| meter.get().live.clone()),
        clock: Clock::named(clock)?,
        always,
        timing: timeline.then(|| Timing { is_block: false, tags: kept(&tags) }),
        before,
        after,
        signal: None,
        warned: AtomicBool::new(false),
    };
    around(function, plan)
}

/// `function`, of whatever kind it is, with every call measured as `plan` says.
pub(super) fn around<'py>(function: Bound<'py, PyAny>, plan: Plan) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let steps = py.import("tachograph._doors.steps")?;
    steps.getattr("timed")?.call1((function, Bound::new(py, plan)?))
}
