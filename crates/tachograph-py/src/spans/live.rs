//! The live report's switches and answers.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use tachograph_capture::spans::{self, Name};

use super::entry::entry_dict;
use super::key::LEDGER;
use super::meter::Summary;
use super::timeline_file::{Format, write};
use crate::errors::{guarded, unknown_word};
use crate::text::Text;

/// Turns the live report on or off; it keeps this share of the calls.
#[pyfunction]
pub(crate) fn profiling(on: bool, sample_rate: f64) -> PyResult<()> {
    if !(0.0..=1.0).contains(&sample_rate) {
        let text = format!("sample_rate must be between 0 and 1, not {sample_rate}");
        return Err(PyValueError::new_err(text));
    }
    spans::set_sample_rate(sample_rate);
    spans::set_profiling(on);
    Ok(())
}

/// Tells an open recording a value of a metric.
#[pyfunction]
#[pyo3(signature = (name, value, /))]
pub(crate) fn point(name: Text, value: f64) {
    if spans::is_recording() {
        spans::point(Name::of(&name.0), value);
    }
}

/// What the live report knows of every name.
#[pyfunction]
pub(crate) fn meters(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    for (name, summary) in py.detach(|| LEDGER.summaries()) {
        told.set_item(name.text(), Bound::new(py, Summary(summary))?)?;
    }
    Ok(told)
}

/// Forgets what the live report knows.
#[pyfunction]
pub(crate) fn meters_clear(py: Python<'_>) {
    py.detach(|| LEDGER.clear());
}

/// The latest entries, the newest last.
#[pyfunction]
pub(crate) fn timeline(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let (entries, to_unix) = py.detach(spans::timeline);
    let told = PyList::empty(py);
    for entry in &entries {
        told.append(entry_dict(py, entry, to_unix)?)?;
    }
    Ok(told)
}

/// How many entries the timeline keeps.
#[pyfunction]
pub(crate) fn timeline_capacity(py: Python<'_>, entries: usize) {
    py.detach(|| spans::set_timeline_capacity(entries));
}

/// Forgets all entries.
#[pyfunction]
pub(crate) fn timeline_clear(py: Python<'_>) {
    py.detach(spans::clear_timeline);
}

/// Writes the timeline to a file.
#[pyfunction]
pub(crate) fn export_timeline(py: Python<'_>, path: PathBuf, format: &str) -> PyResult<()> {
    let format = match format {
        "json" => Format::Json,
        "csv" => Format::Csv,
        _ => return Err(unknown_word("format", format, "'json' or 'csv'")),
    };
    guarded(|| py.detach(|| Ok(write(&path, format)?)))
}
