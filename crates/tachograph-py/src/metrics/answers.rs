//! Reports in, answers out, both as JSON; and their tables as text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use tachograph_profile::analyze::{self, RunReport};
use tachograph_profile::export::{self, Style};

use crate::errors::guarded;
use crate::recording::Recording;

/// JSON that was written, for Python.
pub(crate) fn written(json: serde_json::Result<String>) -> PyResult<String> {
    json.map_err(|error| PyValueError::new_err(error.to_string()))
}

fn report_in(text: &str) -> PyResult<RunReport> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("not a metrics report: {error}")))
}

/// The phase that holds a run up.
#[pyfunction]
pub(crate) fn find_bottlenecks(py: Python<'_>, report: &str) -> PyResult<String> {
    guarded(|| {
        let report = report_in(report)?;
        written(py.detach(|| serde_json::to_string(&analyze::bottlenecks(&report))))
    })
}

/// Run `b` beside run `a`.
#[pyfunction]
pub(crate) fn run_comparison(py: Python<'_>, a: &str, b: &str) -> PyResult<String> {
    guarded(|| {
        let (a, b) = (report_in(a)?, report_in(b)?);
        written(py.detach(|| serde_json::to_string(&analyze::compare(&a, &b))))
    })
}

/// What the spans and values of a recording say.
#[pyfunction]
pub(crate) fn run_report_of(py: Python<'_>, recording: &Bound<'_, Recording>) -> PyResult<String> {
    let report = recording.get().with(py, |profile| Ok(analyze::run_report(profile)))?;
    written(serde_json::to_string(&report))
}

/// A report as text.
#[pyfunction]
#[pyo3(signature = (report, *, color, width, unicode))]
pub(crate) fn run_table(
    report: &str,
    color: bool,
    width: usize,
    unicode: bool,
) -> PyResult<String> {
    guarded(|| Ok(export::run_table(&report_in(report)?, &Style { color, width, unicode })))
}

/// The bottleneck of a report as text.
#[pyfunction]
#[pyo3(signature = (report, *, color, width, unicode))]
pub(crate) fn bottleneck_table(
    report: &str,
    color: bool,
    width: usize,
    unicode: bool,
) -> PyResult<String> {
    guarded(|| {
        let found = analyze::bottlenecks(&report_in(report)?);
        Ok(export::bottleneck_table(&found, &Style { color, width, unicode }))
    })
}

/// Two reports beside each other as text.
#[pyfunction]
#[pyo3(signature = (a, b, *, color, width, unicode))]
pub(crate) fn comparison_table(
    a: &str,
    b: &str,
    color: bool,
    width: usize,
    unicode: bool,
) -> PyResult<String> {
    guarded(|| {
        let comparison = analyze::compare(&report_in(a)?, &report_in(b)?);
        Ok(export::comparison_table(&comparison, &Style { color, width, unicode }))
    })
}
