//! One entry of the timeline as the dictionary a report shows.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use tachograph_capture::spans::{AttributeValue, Attributes, Entry};

/// The dictionary of `entry`; `to_unix` turns its times into nanoseconds since 1970.
pub(super) fn entry_dict<'py>(
    py: Python<'py>,
    entry: &Entry,
    to_unix: i64,
) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("key", entry.name.text())?;
    told.set_item("duration_ms", duration_ms(entry.duration_ns))?;
    told.set_item("timestamp", timestamp(unix_ns(entry, to_unix)))?;
    if entry.timing.is_block {
        told.set_item("span", true)?;
    }
    if entry.failed {
        told.set_item("failed", true)?;
    }
    if !entry.attributes.is_empty() {
        told.set_item("meta", meta_dict(py, &entry.attributes)?)?;
    }
    if let Some(tags) = &entry.timing.tags {
        told.set_item("tags", PyList::new(py, tags.iter().map(|tag| tag.text()))?)?;
    }
    Ok(told)
}

/// What was attached to a call, as a dictionary.
pub(super) fn meta_dict<'py>(
    py: Python<'py>,
    attributes: &Attributes,
) -> PyResult<Bound<'py, PyDict>> {
    let meta = PyDict::new(py);
    for (name, value) in attributes.iter() {
        set(&meta, name.text(), value)?;
    }
    Ok(meta)
}

fn set(meta: &Bound<'_, PyDict>, name: &str, value: AttributeValue<'_>) -> PyResult<()> {
    match value {
        AttributeValue::None => meta.set_item(name, meta.py().None()),
        AttributeValue::Bool(value) => meta.set_item(name, value),
        AttributeValue::Int(value) => meta.set_item(name, value),
        AttributeValue::Float(value) => meta.set_item(name, value),
        AttributeValue::Text(value) => meta.set_item(name, value),
    }
}

/// When `entry` ended, in nanoseconds since 1970.
pub(super) fn unix_ns(entry: &Entry, to_unix: i64) -> u64 {
    entry.end_ns.saturating_add_signed(to_unix)
}

/// Nanoseconds as milliseconds.
pub(super) fn duration_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// A moment as ISO 8601 has it, in UTC, to the microsecond.
pub(super) fn timestamp(unix_ns: u64) -> String {
    let mut text = String::with_capacity(32);
    push_timestamp(&mut text, unix_ns);
    text
}

/// Appends the moment to `text`.
pub(super) fn push_timestamp(text: &mut String, unix_ns: u64) {
    let seconds = unix_ns / 1_000_000_000;
    let (year, month, day) = date(seconds / 86_400);
    let second = seconds % 86_400;
    push_digits(text, year, 4);
    for (mark, number) in [
        ('-', month),
        ('-', day),
        ('T', second / 3600),
        (':', second / 60 % 60),
        (':', second % 60),
    ] {
        text.push(mark);
        push_digits(text, number, 2);
    }
    text.push('.');
    push_digits(text, unix_ns % 1_000_000_000 / 1000, 6);
    text.push_str("+00:00");
}

/// Appends the last `width` digits of `number`.
pub(super) fn push_digits(text: &mut String, number: u64, width: u32) {
    for place in (0..width).rev() {
        let digit = number / 10_u64.pow(place) % 10;
        text.push(char::from(b'0' + digit as u8));
    }
}

/// Year, month and day of a day counted from 1970.
///
/// Counts in eras of 400 years that begin in March: leap days come last.
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, of_month)
}
