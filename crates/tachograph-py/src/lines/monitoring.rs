//! `sys.monitoring`, from CPython 3.12 on: our place in it, and what it calls.
//!
//! Lines are asked for in the watched code objects only, so that nothing else
//! becomes slower. An exception that leaves a function can only be asked for
//! everywhere; it costs some fifty nanoseconds where one does.

use pyo3::prelude::*;
use pyo3::types::PyAnyMethods;

use crate::errors;
use crate::raw::line_callbacks;

/// Our name among the tools.
const NAME: &str = "tachograph";

/// Places for tools that we may take: a profiler's, and the two that are nobody's.
const PLACES: [u32; 3] = [2, 3, 4];

/// What we ask for in a watched code object.
const LOCAL: [&str; 5] = ["LINE", "PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD"];
/// What can only be asked for everywhere.
const GLOBAL: [&str; 2] = ["PY_UNWIND", "PY_THROW"];
/// What we ask for everywhere to meet the program's own code.
const MEETING: &str = "PY_START";

/// Our place among the tools of `sys.monitoring`.
#[derive(Clone, Copy)]
pub(super) struct Tool(u32);

/// The module; `None` before 3.12.
fn module(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    py.import("sys")?.getattr_opt("monitoring")
}

fn present(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("sys")?.getattr("monitoring")
}

/// Whether this interpreter has it.
pub(super) fn exists(py: Python<'_>) -> PyResult<bool> {
    Ok(module(py)?.is_some())
}

impl Tool {
    /// Takes a place, and lets the interpreter call us.
    pub(super) fn take(py: Python<'_>) -> PyResult<Self> {
        let Some(module) = module(py)? else {
            return Err(errors::failed(
                "cannot count lines: this interpreter has no sys.monitoring; use 3.12 or newer"
                    .to_owned(),
            ));
        };
        let mut taken = Vec::new();
        for place in PLACES {
            let holder = module.call_method1("get_tool", (place,))?;
            if holder.is_none() {
                module.call_method1("use_tool_id", (place, NAME))?;
                let tool = Self(place);
                tool.register(py, true)?;
                tool.everywhere(py, false)?;
                return Ok(tool);
            }
            taken.push(format!("{place}: {}", holder.str()?.to_string_lossy()));
        }
        Err(errors::failed(format!(
            "cannot count lines: every place for a profiler in sys.monitoring is taken ({}); \
             stop one of them first",
            taken.join(", ")
        )))
    }

    /// Gives the place back. Nothing may be watched any more.
    pub(super) fn give_back(self, py: Python<'_>) -> PyResult<()> {
        let module = present(py)?;
        module.call_method1("set_events", (self.0, 0))?;
        self.register(py, false)?;
        module.call_method1("free_tool_id", (self.0,)).map(drop)
    }

    /// Asks for the lines of `code`, or no longer.
    pub(super) fn lines_of(self, code: &Bound<'_, PyAny>, wanted: bool) -> PyResult<()> {
        let py = code.py();
        let events = if wanted { sum(py, &LOCAL)? } else { 0 };
        present(py)?.call_method1("set_local_events", (self.0, code, events)).map(drop)
    }

    /// Asks for what can only be asked for everywhere; `meet` also for the
    /// start of every function.
    pub(super) fn everywhere(self, py: Python<'_>, meet: bool) -> PyResult<()> {
        let module = present(py)?;
        let mut events = sum(py, &GLOBAL)?;
        if meet {
            // Code that was not the program's own in an earlier window may be now.
            module.call_method0("restart_events")?;
            events |= sum(py, &[MEETING])?;
        }
        module.call_method1("set_events", (self.0, events)).map(drop)
    }

    fn register(self, py: Python<'_>, on: bool) -> PyResult<()> {
        let module = present(py)?;
        let calls = line_callbacks(py)?;
        let pairs = [
            ("LINE", &calls.line),
            ("PY_START", &calls.start),
            ("PY_RESUME", &calls.resume),
            ("PY_THROW", &calls.resume),
            ("PY_RETURN", &calls.stop),
            ("PY_YIELD", &calls.stop),
            ("PY_UNWIND", &calls.stop),
        ];
        for (event, call) in pairs {
            let call = on.then_some(call);
            module.call_method1("register_callback", (self.0, sum(py, &[event])?, call))?;
        }
        Ok(())
    }
}

/// What a callback returns so as not to be called again from that place.
pub(super) fn never_again(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    present(py)?.getattr("DISABLE")
}

/// The numbers of events, added up.
fn sum(py: Python<'_>, events: &[&str]) -> PyResult<u32> {
    let numbers = present(py)?.getattr("events")?;
    events.iter().try_fold(0, |sum, event| Ok(sum | numbers.getattr(*event)?.extract::<u32>()?))
}
