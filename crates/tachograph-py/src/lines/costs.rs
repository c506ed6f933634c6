//! What one event costs on this machine and interpreter, measured once.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

use tachograph_capture::lines::{Costs, set_costs};
use tachograph_capture::spans::{now_ns, settle};

use super::watch::LineWatch;

/// Two programs whose numbers of events are known.
const PROGRAM: &std::ffi::CStr = c"
def lines(n):
    for _ in range(n):
        a = 1
        a = 2
        a = 3
        a = 4
        a = 5
        a = 6
        a = 7

def nothing(): pass

def calls(n, nothing=nothing):
    for _ in range(n):
        nothing()
";

/// Line events per round of `lines`.
const LINES: f64 = 8.0;
const REPEATS: usize = 300;
/// How often each is measured; the fastest counts.
const ROUNDS: usize = 9;

/// Finds out what events cost, so that it can be left out of the lines' times.
pub(super) fn measure(py: Python<'_>) -> PyResult<()> {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    py.detach(settle);
    let program = PyModule::from_code(py, PROGRAM, c"<tachograph costs>", c"_tachograph_costs")?;
    let (lines, calls) = (program.getattr("lines")?, program.getattr("calls")?);
    let per_line = difference(&lines, &lines)? / LINES;
    // A call that does nothing is a beginning, a line and an end.
    let per_call = difference(&calls, &program.getattr("nothing")?)?;
    set_costs(Costs { line_ns: per_line, call_ns: (per_call - per_line).max(0.0) / 2.0 });
    Ok(())
}

/// Nanoseconds per repeat that `work` takes more while `watched` is watched.
fn difference(work: &Bound<'_, PyAny>, watched: &Bound<'_, PyAny>) -> PyResult<f64> {
    let py = work.py();
    let without = fastest(work)?;
    let watch = LineWatch::of(vec![watched.clone().unbind()]);
    watch.open(py)?;
    let with = fastest(work);
    watch.shut(py)?;
    Ok((with? - without).max(0.0))
}

fn fastest(work: &Bound<'_, PyAny>) -> PyResult<f64> {
    let mut best = u64::MAX;
    for _ in 0..ROUNDS {
        let begin = now_ns();
        work.call1((REPEATS,))?;
        best = best.min(now_ns() - begin);
    }
    Ok(best as f64 / REPEATS as f64)
}
