//! The facts around a recording, as JSON that Python reads on demand.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use serde_json::{Value, json};
use tachograph_profile::{Loss, Meta, Profile};

/// `(started_unix_ns, duration_ns, interval_ns, missing_samples, python_version, platform)`.
pub(crate) type FactsRow = (i64, u64, u64, u64, String, String);

/// The few facts that every profile shows, without the way through JSON.
pub(crate) fn facts(profile: &Profile) -> FactsRow {
    let meta = &profile.meta;
    let cpu = meta.settings.cpu.as_ref();
    let python = meta.python.as_ref();
    let machine = &meta.machine;
    let words = machine
        .system
        .split_whitespace()
        .chain((!machine.architecture.is_empty()).then_some(machine.architecture.as_str()));
    (
        meta.started_unix_ns,
        meta.duration_ns,
        cpu.map_or(0, |cpu| cpu.interval_ns),
        profile.loss.missing_samples(),
        python.map_or_else(String::new, |python| python.version.clone()),
        words.collect::<Vec<_>>().join("-"),
    )
}

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
