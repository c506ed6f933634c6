//! Rows of answers as tuples; Python gives their fields names.

use pyo3::prelude::*;

use tachograph_profile::analyze;
use tachograph_profile::{FrameKind, Profile, Span, TrackId, TrackKind, Value};

/// `(function, file, line, kind, own, self_weight, total_weight)`.
pub(crate) type FunctionRow = (String, String, u32, &'static str, bool, u64, u64);

/// `(file, line, function, self_weight, total_weight, text)`.
pub(crate) type LineRow = (String, u32, String, u64, u64, Option<String>);

/// `(thread_id, name, samples, cpu_ns, wall_ns, running_ns, gil_wait_ns, idle_ns, waiting_at)`.
pub(crate) type ThreadRow = (u64, String, u64, u64, u64, u64, u64, u64, Option<PlaceRow>);

/// `(name, samples, cpu_ns, wall_ns)`.
pub(crate) type TaskRow = (String, u64, u64, u64);

/// `(function, file, line)`.
pub(crate) type PlaceRow = (String, String, u32);

/// `(time_ns, warning, text)`.
pub(crate) type NoteRow = (u64, bool, String);

/// `((name, path, parent, depth), (count, failed, open), (total_ns, self_ns, mean_ns,
/// p50_ns, p95_ns, max_ns, suspended_ns, cpu_ns), (allocated_bytes, live_bytes, peak_bytes),
/// functions)`.
pub(crate) type SpanRow = (
    (String, String, Option<usize>, usize),
    (u64, u64, u64),
    (u64, u64, u64, u64, u64, u64, u64, u64),
    (u64, u64, u64),
    Vec<FunctionRow>,
);

/// `(name, start_ns, end_ns, thread, task, parent, failed, suspended_ns, attributes)`;
/// the parent is a position among all spans.
pub(crate) type TimelineRow =
    (String, u64, Option<u64>, String, Option<String>, Option<usize>, bool, u64, Vec<Attribute>);

/// `(name, count, mean, min, max, last)`.
pub(crate) type MetricRow = (String, u64, f64, f64, f64, f64);

/// `((id, name, scope, track, os_id, unit, is_total), count, (min, max, mean, last, growth))`.
pub(crate) type SeriesRow =
    ((u32, String, &'static str, String, u64, &'static str, bool), u64, (f64, f64, f64, f64, f64));

/// One series.
pub(crate) fn series(row: analyze::SeriesRow) -> SeriesRow {
    let scope = match row.scope {
        TrackKind::Machine => "machine",
        TrackKind::Process => "process",
        TrackKind::Thread => "thread",
        TrackKind::Task => "task",
        TrackKind::Device => "device",
        TrackKind::Stream => "stream",
    };
    let unit = crate::monitor::unit_name(row.unit);
    let names = (row.id.0, row.name, scope, row.track, row.os_id, unit, row.is_total);
    (names, row.count, (row.min, row.max, row.mean, row.last, row.growth))
}

/// `(name, value)`.
type Attribute = (String, Option<Scalar>);

/// A value that Python has a type of its own for.
#[derive(IntoPyObject)]
pub(crate) enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// One function.
pub(crate) fn function(row: analyze::FunctionRow) -> FunctionRow {
    (
        row.function,
        row.file,
        row.first_line,
        kind_name(row.kind),
        row.own,
        row.self_weight,
        row.total_weight,
    )
}

/// One line.
pub(crate) fn line(row: analyze::LineRow) -> LineRow {
    (row.file, row.line, row.function, row.self_weight, row.total_weight, row.text)
}

/// One thread.
pub(crate) fn thread(row: analyze::ThreadRow) -> ThreadRow {
    let place = row.waiting_at.map(|place| (place.function, place.file, place.line));
    (
        row.os_id,
        row.name,
        row.samples,
        row.cpu_ns,
        row.wall_ns,
        row.running_ns,
        row.gil_wait_ns,
        row.idle_ns,
        place,
    )
}

/// One task.
pub(crate) fn task(row: analyze::TaskRow) -> TaskRow {
    (row.name, row.samples, row.cpu_ns, row.wall_ns)
}

/// Everything a reader should know, in order of time.
pub(crate) fn notes(profile: &Profile) -> Vec<NoteRow> {
    profile
        .notes
        .iter()
        .map(|note| (note.time.0, note.warning, profile.text(note.text).to_owned()))
        .collect()
}

fn kind_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Python => "python",
        FrameKind::Native => "native",
        FrameKind::Kernel => "kernel",
        FrameKind::Label => "label",
    }
}

/// All spans of one name.
pub(crate) fn span(row: analyze::SpanRow) -> SpanRow {
    (
        (row.name, row.path, row.parent, row.depth),
        (row.count, row.failed, row.open),
        (
            row.total_ns,
            row.self_ns,
            row.mean_ns,
            row.p50_ns,
            row.p95_ns,
            row.max_ns,
            row.suspended_ns,
            row.cpu_ns,
        ),
        (row.allocated_bytes, row.live_bytes, row.peak_bytes),
        row.functions.into_iter().map(function).collect(),
    )
}

/// All values of one metric.
pub(crate) fn metric(row: analyze::MetricRow) -> MetricRow {
    (row.name, row.count, row.mean, row.min, row.max, row.last)
}

/// Every span, in the order they began.
pub(crate) fn timeline(profile: &Profile) -> Vec<TimelineRow> {
    profile.spans.iter().map(|span| timeline_row(profile, span)).collect()
}

fn timeline_row(profile: &Profile, span: &Span) -> TimelineRow {
    let track = profile.tables.tracks.get(span.track.index());
    let is_task = track.is_some_and(|track| track.kind == TrackKind::Task);
    let task = is_task.then(|| track_name(profile, span.track));
    let thread = track.filter(|_| is_task).and_then(|track| track.parent).unwrap_or(span.track);
    (
        profile.text(span.name).to_owned(),
        span.start.0,
        span.end.map(|end| end.0),
        track_name(profile, thread),
        task,
        span.parent.map(|parent| parent.index()),
        span.failed,
        span.suspended_ns,
        span.attributes
            .iter()
            .map(|(name, value)| (profile.text(*name).to_owned(), scalar(profile, value)))
            .collect(),
    )
}

fn scalar(profile: &Profile, value: &Value) -> Option<Scalar> {
    Some(match value {
        Value::None => return None,
        Value::Bool(value) => Scalar::Bool(*value),
        Value::Int(value) => Scalar::Int(*value),
        Value::Float(value) => Scalar::Float(*value),
        Value::Text(text) => Scalar::Text(profile.text(*text).to_owned()),
    })
}

fn track_name(profile: &Profile, track: TrackId) -> String {
    let Some(row) = profile.tables.tracks.get(track.index()) else { return String::new() };
    match profile.text(row.name) {
        "" => format!("Thread-{}", row.os_id),
        name => name.to_owned(),
    }
}
