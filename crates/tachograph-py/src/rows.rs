//! Rows of answers as tuples; Python gives their fields names.

use tachograph_profile::analyze;
use tachograph_profile::{FrameKind, Profile};

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
