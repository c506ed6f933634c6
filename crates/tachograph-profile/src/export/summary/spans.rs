//! The spans of a recording as a tree.

use super::ink::{Ink, Line, Style, text_width};
use crate::Profile;
use crate::analyze::{SpanRow, spans};
use crate::export::format::{bytes, count, short_duration};

/// Rows of the tree; the rest is one line.
const MOST_ROWS: usize = 10;
/// Columns of the count, of each time, and the shortest a name is cut to.
const COUNT: usize = 8;
const TIME: usize = 8;
const MEMORY: usize = 11;
const SHORTEST_NAME: usize = 10;

/// The spans with most time and those around them, in `columns`; nothing when
/// there are none.
pub(super) fn spans_table(profile: &Profile, columns: usize, style: Style) -> Vec<Line> {
    let rows = spans(profile);
    if rows.is_empty() {
        return Vec::new();
    }
    let shown = heaviest(&rows);
    let labels = labels(&rows, &shown, style);
    // The CPU time is the first to go when room is short, then the memory.
    let fits = |more: usize| columns >= SHORTEST_NAME + COUNT + 3 * TIME + more + 2;
    let has_memory = !profile.allocations.is_empty() && fits(MEMORY);
    let memory = if has_memory { MEMORY } else { 0 };
    let has_cpu = !profile.samples.is_empty() && fits(memory + TIME);
    let times = COUNT + if has_cpu { 4 } else { 3 } * TIME + memory;
    let room = columns.saturating_sub(times + 2).max(SHORTEST_NAME);
    let name = labels.iter().map(|label| text_width(label)).max().unwrap_or(0).min(room);
    let name = name.max(SHORTEST_NAME);

    let mut title = Line::indented(2)
        .left(Ink::Strong, "SPANS", name)
        .right(Ink::Faint, "count", COUNT)
        .right(Ink::Faint, "total", TIME)
        .right(Ink::Faint, "p50", TIME)
        .right(Ink::Faint, "p95", TIME);
    if has_cpu {
        title = title.right(Ink::Faint, "CPU", TIME);
    }
    if has_memory {
        title = title.right(Ink::Faint, "peak heap", MEMORY);
    }
    let mut lines = vec![title];
    for (label, row) in labels.iter().zip(shown.iter().map(|row| &rows[*row])) {
        let mut line = Line::indented(2)
            .left(Ink::Plain, label, name)
            .right(Ink::Plain, &count(row.count), COUNT)
            .right(Ink::Plain, &short_duration(row.total_ns), TIME)
            .right(Ink::Plain, &short_duration(row.p50_ns), TIME)
            .right(Ink::Plain, &short_duration(row.p95_ns), TIME);
        if has_cpu {
            line = line.right(Ink::Plain, &short_duration(row.cpu_ns), TIME);
        }
        if has_memory {
            line = line.right(Ink::Plain, &bytes(row.peak_bytes), MEMORY);
        }
        if row.failed > 0 {
            let text = format!("  {} failed", count(row.failed));
            if line.width() + text_width(&text) <= columns + 2 {
                line = line.put(Ink::Doubt, text);
            }
        }
        lines.push(line);
    }
    let rest = rows.len() - shown.len();
    if rest > 0 {
        let text = format!("and {} more: recording.spans()", count(rest as u64));
        lines.push(Line::indented(2).put(Ink::Faint, text));
    }
    if let Some(text) = hint(profile, &rows).filter(|text| text_width(text) <= columns) {
        lines.push(Line::indented(2).put(Ink::Faint, text));
    }
    lines
}

/// How to see one span alone: the one that did most itself.
fn hint(profile: &Profile, rows: &[SpanRow]) -> Option<String> {
    let has_samples = !profile.samples.is_empty() && profile.meta.within.is_empty();
    let most = rows.iter().rev().max_by_key(|row| row.self_ns)?;
    has_samples.then(|| format!("recording.within({:?}) shows one alone", most.path))
}

/// The positions of the rows with most time, together with those around them.
fn heaviest(rows: &[SpanRow]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|row| std::cmp::Reverse(rows[*row].total_ns));
    let mut is_shown = vec![false; rows.len()];
    let mut shown = 0;
    for row in order {
        let chain: Vec<usize> = std::iter::successors(Some(row), |row| rows[*row].parent)
            .take_while(|row| !is_shown[*row])
            .collect();
        if shown + chain.len() <= MOST_ROWS {
            shown += chain.len();
            chain.into_iter().for_each(|row| is_shown[row] = true);
        }
    }
    (0..rows.len()).filter(|row| is_shown[*row]).collect()
}

/// The names with the branches of the tree before them.
fn labels(rows: &[SpanRow], shown: &[usize], style: Style) -> Vec<String> {
    let [branch, corner, line] =
        if style.unicode { ["├ ", "└ ", "│ "] } else { ["+ ", "+ ", "| "] };
    // From below: whether another row of the same parent follows.
    let mut followed: Vec<bool> = Vec::new();
    let mut labels = Vec::new();
    for row in shown.iter().rev().map(|row| &rows[*row]) {
        followed.resize(row.depth + 1, false);
        let mut label = String::new();
        for is_followed in followed.iter().take(row.depth).skip(1) {
            label.push_str(if *is_followed { line } else { "  " });
        }
        if row.depth > 0 {
            label.push_str(if followed[row.depth] { branch } else { corner });
        }
        label.push_str(&row.name);
        labels.push(label);
        followed[row.depth] = true;
    }
    labels.reverse();
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interner, Span, SpanId, Time, TrackId};

    /// Spans of one microsecond each, by name and parent.
    fn profile(rows: &[(&str, Option<u32>)]) -> Profile {
        let mut profile = Profile::from_stacks(&[(0, 1, &[("main", "a.py", 1)])]);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        for (i, (name, parent)) in rows.iter().enumerate() {
            let start = i as u64 * 1000;
            profile.spans.push(Span {
                parent: parent.map(SpanId),
                track: TrackId(1),
                name: tables.string(name),
                start: Time(start),
                end: Some(Time(start + 1000)),
                suspended_ns: 0,
                failed: i == 1,
                attributes: Vec::new(),
            });
        }
        profile.tables = tables.into_tables();
        profile
    }

    fn text(profile: &Profile, style: Style) -> Vec<String> {
        spans_table(profile, 70, style).iter().map(|line| line.render(style)).collect()
    }

    #[test]
    fn branches_show_what_is_inside_what() {
        let tree = [
            ("epoch", None),
            ("batch", Some(0)),
            ("forward", Some(1)),
            ("save", Some(0)),
            ("write", Some(3)),
        ];
        let profile = profile(&tree);

        let unicode = text(&profile, Style::default());
        let names: Vec<_> = unicode.iter().skip(1).map(|line| line.get(..16)).collect();
        assert!(unicode[0].starts_with("  SPANS") && unicode[0].ends_with("CPU"), "{unicode:?}");
        assert!(unicode[1].starts_with("  epoch  "), "{names:?}");
        assert!(unicode[2].starts_with("  ├ batch  "), "{names:?}");
        assert!(unicode[2].ends_with("1 failed"), "{unicode:?}");
        assert!(unicode[3].starts_with("  │ └ forward  "), "{names:?}");
        assert!(unicode[4].starts_with("  └ save  "), "{names:?}");
        assert!(unicode[5].starts_with("    └ write  "), "{names:?}");
        assert!(unicode[6].contains("recording.within(\"epoch"), "{unicode:?}");

        let ascii = text(&profile, Style { unicode: false, ..Style::default() });
        assert!(ascii.iter().all(|line| line.is_ascii()), "{ascii:?}");
        assert!(ascii[3].starts_with("  | + forward"), "{ascii:?}");
    }

    #[test]
    fn many_names_leave_the_heaviest_and_those_around_them() {
        let names: Vec<String> = (0..40).map(|i| format!("name {i}")).collect();
        let rows: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
        let mut profile = profile(&rows);
        profile.spans[39].parent = Some(SpanId(20));
        profile.spans[39].end = Some(Time(90_000));

        let lines = text(&profile, Style::default());

        assert!(lines.iter().any(|line| line.contains("name 20")), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("└ name 39")), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("and 30 more")), "{lines:?}");
    }

    #[test]
    fn without_spans_there_is_no_table() {
        assert!(spans_table(&profile(&[]), 70, Style::default()).is_empty());
    }
}
