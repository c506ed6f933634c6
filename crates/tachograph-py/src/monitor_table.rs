//! What a monitor saw, as text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use tachograph_profile::export::{self, MonitorReport, Style};

use crate::errors::guarded;

/// A monitor's summary, given as JSON, as a table.
#[pyfunction]
#[pyo3(signature = (summary, *, color, width, unicode))]
pub(crate) fn monitor_table(
    summary: &str,
    color: bool,
    width: usize,
    unicode: bool,
) -> PyResult<String> {
    guarded(|| {
        let report: MonitorReport = serde_json::from_str(summary).map_err(|error| {
            PyValueError::new_err(format!("not the summary of a monitor: {error}"))
        })?;
        Ok(export::monitor_table(&report, &Style { color, width, unicode }))
    })
}
