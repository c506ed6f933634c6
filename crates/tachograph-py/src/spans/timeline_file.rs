//! The timeline as a file: JSON, or CSV with one column per key.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tachograph_capture::spans::{self, AttributeValue, Attributes, Entry};

use super::entry::{push_digits, push_timestamp, unix_ns};

/// What a timeline is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// An array of objects.
    Json,
    /// A header, and a line per entry.
    Csv,
}

/// Text that is collected before it is written.
const CHUNK: usize = 1 << 16;

/// Writes the whole timeline to `path`. An empty one makes no CSV file: there
/// would be no header to write.
pub(super) fn write(path: &Path, format: Format) -> io::Result<()> {
    let (entries, to_unix) = spans::timeline();
    match format {
        Format::Json => json(&mut File::create(path)?, &entries, to_unix),
        Format::Csv if entries.is_empty() => Ok(()),
        Format::Csv => csv(&mut File::create(path)?, &entries, to_unix),
    }
}

fn json(file: &mut File, entries: &[Entry], to_unix: i64) -> io::Result<()> {
    let mut text = String::with_capacity(2 * CHUNK);
    text.push('[');
    for (at, entry) in entries.iter().enumerate() {
        text.push_str(if at == 0 { "\n{\"key\": " } else { ",\n{\"key\": " });
        push_quoted(&mut text, entry.name.text());
        text.push_str(", \"duration_ms\": ");
        push_ms(&mut text, entry.duration_ns);
        text.push_str(", \"timestamp\": \"");
        push_timestamp(&mut text, unix_ns(entry, to_unix));
        text.push('"');
        push_json_rest(&mut text, entry);
        text.push('}');
        if text.len() >= CHUNK {
            file.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    text.push_str("\n]\n");
    file.write_all(text.as_bytes())
}

fn push_json_rest(text: &mut String, entry: &Entry) {
    if entry.timing.is_block {
        text.push_str(", \"span\": true");
    }
    if entry.failed {
        text.push_str(", \"failed\": true");
    }
    if !entry.attributes.is_empty() {
        text.push_str(", \"meta\": {");
        for (at, (name, value)) in entry.attributes.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            push_quoted(text, name.text());
            text.push_str(": ");
            push_json_value(text, value);
        }
        text.push('}');
    }
    if let Some(tags) = &entry.timing.tags {
        text.push_str(", \"tags\": [");
        for (at, tag) in tags.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            push_quoted(text, tag.text());
        }
        text.push(']');
    }
}

/// Milliseconds with as many digits as nanoseconds have.
fn push_ms(text: &mut String, ns: u64) {
    let mut whole = [0_u8; 20];
    let mut at = whole.len();
    let mut rest = ns / 1_000_000;
    loop {
        at -= 1;
        whole[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend(whole[at..].iter().map(|digit| char::from(*digit)));
    text.push('.');
    push_digits(text, ns % 1_000_000, 6);
}

fn push_json_value(text: &mut String, value: AttributeValue<'_>) {
    match value {
        AttributeValue::None => text.push_str("null"),
        AttributeValue::Bool(value) => text.push_str(if value { "true" } else { "false" }),
        AttributeValue::Int(value) => drop(write!(text, "{value}")),
        // As Python's `json` writes them, and reads them back.
        AttributeValue::Float(value) if value.is_nan() => text.push_str("NaN"),
        AttributeValue::Float(value) if value.is_infinite() => {
            text.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
        }
        AttributeValue::Float(value) => drop(write!(text, "{value:?}")),
        AttributeValue::Text(value) => push_quoted(text, value),
    }
}

/// Appends a JSON string.
fn push_quoted(text: &mut String, value: &str) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if value.bytes().all(is_plain) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&serde_json::Value::from(value).to_string());
    }
}

fn csv(file: &mut File, entries: &[Entry], to_unix: i64) -> io::Result<()> {
    let columns: BTreeSet<&str> = entries.iter().flat_map(columns).collect();
    let header: Vec<&str> = columns.iter().copied().collect();
    let mut text = header.join(",");
    text.push_str("\r\n");
    for entry in entries {
        for (at, column) in columns.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { "," });
            push_cell(&mut text, &cell(entry, column, to_unix));
        }
        text.push_str("\r\n");
        if text.len() >= CHUNK {
            file.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    file.write_all(text.as_bytes())
}

/// The keys that `entry` has.
fn columns(entry: &Entry) -> impl Iterator<Item = &'static str> + use<> {
    [
        Some("key"),
        Some("duration_ms"),
        Some("timestamp"),
        entry.timing.is_block.then_some("span"),
        entry.failed.then_some("failed"),
        (!entry.attributes.is_empty()).then_some("meta"),
        entry.timing.tags.as_ref().map(|_| "tags"),
    ]
    .into_iter()
    .flatten()
}

fn cell(entry: &Entry, column: &str, to_unix: i64) -> String {
    let mut text = String::new();
    match column {
        "key" => text.push_str(entry.name.text()),
        "duration_ms" => push_ms(&mut text, entry.duration_ns),
        "timestamp" => push_timestamp(&mut text, unix_ns(entry, to_unix)),
        "span" if entry.timing.is_block => text.push_str("True"),
        "failed" if entry.failed => text.push_str("True"),
        "meta" if !entry.attributes.is_empty() => push_dict(&mut text, &entry.attributes),
        "tags" => {
            let tags = entry.timing.tags.as_deref().unwrap_or_default().iter();
            let shown: Vec<String> = tags.map(|tag| python_text(tag.text())).collect();
            if !shown.is_empty() {
                let _ = write!(text, "[{}]", shown.join(", "));
            }
        }
        _ => {}
    }
    text
}

/// Appends a cell, in quotes where it needs them.
fn push_cell(text: &mut String, value: &str) {
    if value.contains([',', '"', '\r', '\n']) {
        text.push('"');
        text.push_str(&value.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(value);
    }
}

/// Attributes as Python shows a dictionary.
fn push_dict(text: &mut String, attributes: &Attributes) {
    text.push('{');
    for (at, (name, value)) in attributes.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { ", " });
        text.push_str(&python_text(name.text()));
        text.push_str(": ");
        match value {
            AttributeValue::None => text.push_str("None"),
            AttributeValue::Bool(value) => text.push_str(if value { "True" } else { "False" }),
            AttributeValue::Int(value) => drop(write!(text, "{value}")),
            AttributeValue::Float(value) if value.is_nan() => text.push_str("nan"),
            AttributeValue::Float(value) => drop(write!(text, "{value:?}")),
            AttributeValue::Text(value) => text.push_str(&python_text(value)),
        }
    }
    text.push('}');
}

/// A text as Python shows it.
fn python_text(value: &str) -> String {
    let quote = if value.contains('\'') && !value.contains('"') { '"' } else { '\'' };
    let mut text = String::with_capacity(value.len() + 2);
    text.push(quote);
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            _ if character == quote => text.extend(['\\', quote]),
            _ if character.is_control() => drop(write!(text, "\\x{:02x}", character as u32)),
            _ => text.push(character),
        }
    }
    text.push(quote);
    text
}
