//! Who held memory when most was live, what keeps growing, and what the
//! resident size is made of.

use super::ink::{Ink, Line, cut_end, cut_start, text_width, wrap};
use super::tables::short_name;
use crate::analyze::heap::{LeakRow, Site, SiteRow, leaks, recorded_explanation, sites};
use crate::analyze::place_name;
use crate::export::format::{bytes, duration, percent, short_percent};
use crate::{FrameKind, Measure, Profile, Time};

/// Rows of the table.
const MOST_ROWS: usize = 6;
/// Leaks that are named.
const MOST_LEAKS: usize = 3;
/// Columns of the share, the amount and the gap after them.
const AMOUNTS: usize = 6 + 9 + 2;

/// The sites that held most at the peak, in `columns`; nothing without samples
/// of memory.
pub(super) fn memory_table(profile: &Profile, columns: usize) -> Vec<Line> {
    let peak = profile.peak();
    if peak.bytes == 0 {
        return Vec::new();
    }
    let mut title = format!("{} at its peak, {}", bytes(peak.bytes), duration(peak.time.0));
    if let Some(span) = span_at(profile, peak.time) {
        title.push_str(&format!(", in span {span}"));
    }
    let title = cut_end(&title, columns.saturating_sub(7));
    let mut lines = vec![Line::indented(2).put(Ink::Strong, "MEMORY ").put(Ink::Faint, title)];
    let rows: Vec<_> = sites(profile, Measure::BytesAtPeak).into_iter().take(MOST_ROWS).collect();
    let places: Vec<_> = rows.iter().map(|row| place(profile, row)).collect();
    let room = columns.saturating_sub(AMOUNTS);
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let wanted = widest(&mut rows.iter().map(|row| text_width(&short_name(&row.site.function))));
    let place_wanted = widest(&mut places.iter().map(|place| text_width(place)));
    let name = wanted.min(room.saturating_sub((place_wanted + 2).min(room * 3 / 5)));
    for (row, place) in rows.iter().zip(&places) {
        let place = cut_start(place, room.saturating_sub(name + 2));
        lines.push(
            Line::indented(2)
                .right(Ink::Plain, &short_percent(row.peak_bytes, peak.bytes), 6)
                .right(Ink::Plain, &bytes(row.peak_bytes), 9)
                .put(Ink::Plain, "  ")
                .left(Ink::Plain, &short_name(&row.site.function), name)
                .put(Ink::Faint, format!("  {place}")),
        );
    }
    for leak in leaks(profile).iter().take(MOST_LEAKS) {
        for (index, text) in wrap(&[leak_text(profile, leak)], columns - 3).iter().enumerate() {
            let indent = if index == 0 { 3 } else { 5 };
            lines.push(Line::indented(indent).put(Ink::Doubt, text));
        }
    }
    for text in explanation(profile, columns) {
        lines.push(Line::indented(3).put(Ink::Faint, text));
    }
    lines
}

/// `leaks: cache_put data.py:102 grows 1.2 MB/s (high confidence)`
fn leak_text(profile: &Profile, leak: &LeakRow) -> String {
    format!(
        "leaks: {} {} grows {}/s ({} confidence)",
        short_name(&leak.site.function),
        place_of(profile, &leak.site),
        bytes(leak.bytes_per_second as u64),
        leak.confidence.name(),
    )
}

/// `RSS 412 MB: 300 MB held by sites · 60 MB mapped files · … · 0.4 % unexplained`
fn explanation(profile: &Profile, columns: usize) -> Vec<String> {
    let Some(found) = recorded_explanation(profile) else { return Vec::new() };
    let mut parts: Vec<_> = found.parts.iter().filter(|(_, size)| *size > 0).collect();
    parts.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let mut phrases: Vec<_> =
        parts.iter().map(|(part, size)| format!("{} {}", bytes(*size), part.title())).collect();
    let unexplained = found.unexplained_bytes;
    let share = percent(unexplained.unsigned_abs(), found.resident_bytes);
    phrases.push(if unexplained < 0 {
        // What the sites hold is an estimate, and happens to be too high.
        format!("the samples say {share} too much")
    } else {
        format!("{share} unexplained")
    });
    let first = format!("RSS {} at the end: {}", bytes(found.resident_bytes), phrases[0]);
    phrases[0] = first;
    wrap(&phrases, columns - 3)
}

/// The innermost span that was open at `time`: the one that began last.
fn span_at(profile: &Profile, time: Time) -> Option<&str> {
    let is_open = |end: Option<Time>| end.is_none_or(|end| time < end);
    let mut open = profile.spans.iter().rev().filter(|s| s.start <= time && is_open(s.end));
    open.next().map(|span| profile.text(span.name))
}

fn place(profile: &Profile, row: &SiteRow) -> String {
    let own = place_of(profile, &row.site);
    match &row.caller {
        Some(caller) => {
            let line = place_of(profile, caller);
            format!("{own} from {line}").trim_start().to_owned()
        }
        None => own,
    }
}

fn place_of(profile: &Profile, site: &Site) -> String {
    let file = place_name(&profile.meta.roots, site.kind, &site.file);
    match (site.kind, file, site.line) {
        (FrameKind::Label, _, _) | (FrameKind::Python, "", _) => String::new(),
        (FrameKind::Python, file, line) if line > 0 => format!("{file}:{line}"),
        (FrameKind::Native | FrameKind::Kernel, "", _) => "native".to_owned(),
        (_, file, _) => file.to_owned(),
    }
}
