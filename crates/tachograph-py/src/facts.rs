//! The facts around a recording, as JSON that Python reads on demand.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use serde_json::{Value, json};
use tachograph_profile::{Loss, Meta};

/// `Meta` with its derived figures beside the counted ones.
pub(crate) fn meta(meta: &Meta) -> PyResult<String> {
    let mut value = serde_json::to_value(meta).map_err(unwritable)?;
    if let Some(cpu) = &meta.settings.cpu {
        let report = &mut value["settings"]["cpu"]["report"];
        report["rate_hz"] = json!(cpu.report.rate_hz());
        report["cost"] = json!(cpu.report.cost());
    }
    Ok(value.to_string())
}

/// `Loss` with the sum that `dropped_count` shows.
pub(crate) fn loss(loss: &Loss) -> PyResult<String> {
    let mut value: Value = serde_json::to_value(loss).map_err(unwritable)?;
    value["missing_samples"] = json!(loss.missing_samples());
    Ok(value.to_string())
}

fn unwritable(error: serde_json::Error) -> PyErr {
    PyRuntimeError::new_err(format!("cannot turn the facts into JSON: {error}"))
}
