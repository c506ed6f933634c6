//! What one event costs on this machine and interpreter, measured once.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, TryLockError};

use pyo3::prelude::*;
use pyo3::types::PyInt;

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
/// How often each is run after the other, and how often they take turns; the
/// fastest run of each counts. A machine that is slow for a moment would make
/// the difference a wrong one if each was measured in one go.
const ROUNDS: usize = 5;
const TURNS: usize = 4;

/// Numbers that the interpreter keeps an object of, and does not make one each
/// time: up to 256 everywhere, up to 1024 from 3.15 on.
const KEPT: [u16; 2] = [1024, 256];

/// Whether the costs are known.
static KNOWN: AtomicBool = AtomicBool::new(false);

/// Held by whoever measures.
static TURN: Mutex<()> = Mutex::new(());

/// Finds out what events cost, so that it can be left out of the lines' times.
///
/// A measurement that fails, for want of a place in `sys.monitoring` say, is
/// made again the next time. Whoever comes while another thread measures does
/// without for that moment.
pub(super) fn measure(py: Python<'_>) -> PyResult<()> {
    if KNOWN.load(Ordering::Acquire) {
        return Ok(());
    }
    let turn = match TURN.try_lock() {
        Ok(turn) => turn,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Ok(()),
    };
    py.detach(settle);
    set_costs(measured(py)?);
    KNOWN.store(true, Ordering::Release);
    drop(turn);
    Ok(())
}

fn measured(py: Python<'_>) -> PyResult<Costs> {
    let program = program(py, 0)?;
    let line_ns = per_line(&program)?;
    let calls = program.getattr("calls")?;
    // A call that does nothing is a beginning, a line and an end.
    let per_call = difference(&calls, &program.getattr("nothing")?)?;
    let last_near_line = last_kept(py);
    Ok(Costs {
        line_ns,
        last_near_line: u32::from(last_near_line),
        far_line_ns: per_line(&self::program(py, usize::from(last_near_line))?)?,
        call_ns: (per_call - line_ns).max(0.0) / 2.0,
    })
}

/// The programs, `below` so many empty lines.
fn program(py: Python<'_>, below: usize) -> PyResult<Bound<'_, PyModule>> {
    let text = CString::new([&vec![b'\n'; below], PROGRAM.to_bytes()].concat())?;
    PyModule::from_code(py, &text, c"<tachograph costs>", c"_tachograph_costs")
}

fn per_line(program: &Bound<'_, PyModule>) -> PyResult<f64> {
    let lines = program.getattr("lines")?;
    Ok(difference(&lines, &lines)? / LINES)
}

/// The largest number that the interpreter does not make an object for.
fn last_kept(py: Python<'_>) -> u16 {
    let is_kept = |number: &u16| PyInt::new(py, *number).is(PyInt::new(py, *number));
    KEPT.into_iter().find(is_kept).unwrap_or(0)
}

/// Nanoseconds per repeat that `work` takes more while `watched` is watched.
fn difference(work: &Bound<'_, PyAny>, watched: &Bound<'_, PyAny>) -> PyResult<f64> {
    let py = work.py();
    let watch = LineWatch::of(vec![watched.clone().unbind()]);
    let (mut without, mut with) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..TURNS {
        without = without.min(fastest(work)?);
        watch.open(py)?;
        let took = fastest(work);
        watch.shut(py)?;
        with = with.min(took?);
    }
    Ok((with - without).max(0.0))
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
