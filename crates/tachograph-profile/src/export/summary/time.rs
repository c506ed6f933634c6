//! How the program's threads spent their time.

use super::ink::{Ink, Line, Style, bar, cut_start, text_width};
use super::tables::short_name;
use crate::analyze::{ThreadRow, WaitingAt, gil_holder, place_name};
use crate::export::format::{share, short_duration, short_percent};
use crate::{FrameKind, Mode, Profile, TrackId, TrackKind};

/// Threads that are listed; the rest is one line.
const MOST_THREADS: usize = 8;

/// A name that is cut further says nothing.
const SHORTEST_NAME: usize = 8;

/// Columns of a state of the main thread: title, name, share, amount and a gap.
const STATES: usize = 2 + 14 + 9 + 7 + 9 + 3;

/// Columns of a bar.
fn bar_columns(style: Style) -> usize {
    if style.columns() < 100 { 12 } else { 20 }
}

/// How long the recording, or the part of it that is shown, took.
pub(super) fn elapsed_ns(profile: &Profile) -> u64 {
    profile.meta.elapsed_ns()
}

/// The thread the program started on.
pub(super) fn main_thread<'a>(profile: &Profile, rows: &'a [ThreadRow]) -> Option<&'a ThreadRow> {
    let pid = u64::from(profile.meta.pid);
    rows.iter()
        .find(|row| pid != 0 && row.os_id == pid)
        .or_else(|| rows.iter().find(|row| row.name == "MainThread"))
        .or_else(|| rows.iter().min_by_key(|row| row.track))
}

/// Elapsed time was sampled, so waiting is known and not only inferred.
pub(super) fn is_wall(profile: &Profile) -> bool {
    let cpu = profile.meta.settings.cpu.as_ref();
    cpu.is_some_and(|cpu| cpu.mode == Mode::Wall)
}

/// What the main thread did: on CPU, waiting for the GIL, waiting.
pub(super) fn main_thread_section(profile: &Profile, row: &ThreadRow, style: Style) -> Vec<Line> {
    let mut states = Vec::new();
    let whole;
    if is_wall(profile) {
        whole = row.wall_ns;
        states.push(("on CPU", row.running_ns, String::new()));
        if row.gil_wait_ns > 0 {
            states.push(("GIL", row.gil_wait_ns, held_by(profile, row.track)));
        }
        let place = row.waiting_at.as_ref();
        let place = place.map_or_else(String::new, |at| {
            let room = style.columns().saturating_sub(STATES + bar_columns(style));
            mostly(profile, at, room)
        });
        states.push(("waiting", row.idle_ns, place));
        let known: u64 = states.iter().map(|(_, ns, _)| *ns).sum();
        let unknown = whole.saturating_sub(known);
        if share(unknown, whole) >= 0.01 {
            states.push(("unknown", unknown, String::new()));
        }
    } else {
        whole = elapsed_ns(profile).max(row.cpu_ns);
        let off = whole - row.cpu_ns;
        states.push(("on CPU", row.cpu_ns, String::new()));
        let hint = "mode=\"wall\" shows what it waited for";
        let room = style.columns().saturating_sub(STATES + bar_columns(style));
        let is_told = share(off, whole) >= 0.25 && hint.len() <= room;
        let hint = if is_told { hint.to_owned() } else { String::new() };
        states.push(("off CPU", off, hint));
    }
    let mut lines = Vec::new();
    for (index, (name, ns, more)) in states.into_iter().enumerate() {
        let title = if index == 0 { "MAIN THREAD" } else { "" };
        let line = Line::indented(2)
            .left(Ink::Strong, title, 14)
            .left(Ink::Plain, name, 9)
            .put(Ink::Bar, bar(share(ns, whole), bar_columns(style), style))
            .right(Ink::Plain, &short_percent(ns, whole), 7)
            .right(Ink::Plain, &short_duration(ns), 9);
        lines.push(if more.is_empty() { line } else { line.put(Ink::Faint, format!("   {more}")) });
    }
    lines
}

/// All threads that were seen, when there are several.
pub(super) fn threads_section(profile: &Profile, rows: &[ThreadRow], style: Style) -> Vec<Line> {
    let seen: Vec<_> = rows.iter().filter(|row| row.samples > 0).collect();
    if seen.len() < 2 {
        return Vec::new();
    }
    let (shown, rest) = seen.split_at(seen.len().min(MOST_THREADS));
    let names: Vec<_> = shown.iter().map(|row| thread_name(profile, row)).collect();
    let name = names.iter().map(|name| name.chars().count()).max();
    let name = name.unwrap_or(0).clamp(12, 28);
    let wall = is_wall(profile);
    let heading = Line::indented(2).left(Ink::Strong, "THREADS", name + 2);
    let mut lines = vec![if wall {
        heading.right(Ink::Faint, "on CPU", 8).right(Ink::Faint, "GIL", 8).right(
            Ink::Faint,
            "waiting",
            9,
        )
    } else {
        heading.put(Ink::Faint, "share of CPU time")
    }];
    let cpu: u64 = rows.iter().map(|row| row.cpu_ns).sum();
    for (row, text) in shown.iter().zip(&names) {
        let line = Line::indented(3).left(Ink::Plain, text, name + 1);
        lines.push(if wall {
            wall_row(profile, row, line, style)
        } else {
            line.put(Ink::Bar, bar(share(row.cpu_ns, cpu), bar_columns(style), style))
                .right(Ink::Plain, &short_percent(row.cpu_ns, cpu), 7)
                .right(Ink::Plain, &short_duration(row.cpu_ns), 9)
        });
    }
    if !rest.is_empty() {
        let used = rest.iter().map(|row| row.cpu_ns).sum();
        let text = format!("and {} more, {} CPU", rest.len(), short_duration(used));
        lines.push(Line::indented(3).put(Ink::Faint, text));
    }
    lines
}

fn wall_row(profile: &Profile, row: &ThreadRow, line: Line, style: Style) -> Line {
    let line = line
        .right(Ink::Plain, &short_percent(row.running_ns, row.wall_ns), 8)
        .right(Ink::Plain, &short_percent(row.gil_wait_ns, row.wall_ns), 8)
        .right(Ink::Plain, &short_percent(row.idle_ns, row.wall_ns), 9);
    match &row.waiting_at {
        Some(at) => {
            let room = style.columns().saturating_sub(line.width() + 3);
            line.put(Ink::Faint, format!("   {}", mostly(profile, at, room)))
        }
        None => line,
    }
}

/// The name of a thread; with that of its process where there are several,
/// because each has a main thread.
fn thread_name(profile: &Profile, row: &ThreadRow) -> String {
    let tracks = &profile.tables.tracks;
    let processes = tracks.iter().filter(|track| track.kind == TrackKind::Process).count();
    let process = tracks.get(row.track.index()).and_then(|track| track.parent);
    match process.and_then(|process| tracks.get(process.index())) {
        Some(process) if processes > 1 => format!("{} {}", process.os_id, row.name),
        _ => row.name.clone(),
    }
}

/// Where a thread mostly waited; when room is short, the name gives way to the place.
fn mostly(profile: &Profile, at: &WaitingAt, room: usize) -> String {
    let file = place_name(&profile.meta.roots, FrameKind::Python, &at.file);
    let place = match (file, at.line) {
        ("", _) => String::new(),
        (file, 0) => format!("  {file}"),
        (file, line) => format!("  {file}:{line}"),
    };
    let name = short_name(&at.function);
    let room = room.saturating_sub("mostly ".len() + text_width(&place));
    format!("mostly {}{place}", cut_start(&name, room.max(SHORTEST_NAME)))
}

fn held_by(profile: &Profile, track: TrackId) -> String {
    let Some(holder) = gil_holder(profile, track) else {
        return String::new();
    };
    let part = short_percent(holder.held_ns, holder.waited_ns);
    format!("held by {} ({part})", holder.name)
}
