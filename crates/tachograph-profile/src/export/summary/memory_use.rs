//! What a program held while somebody looked: figures, a course, places.

use super::ink::{Ink, Line, Style, bar, cut_start, wrap};
use crate::export::format::bytes;

/// Columns of a label.
const LABEL: usize = 18;
const NUMBER: usize = 11;
const BAR: usize = 20;

/// What a tracker of memory found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryUse {
    /// Whose memory, and for how long.
    pub heading: String,
    /// Labelled amounts, in bytes.
    pub figures: Vec<(String, u64)>,
    /// Its course: seconds and bytes, in order of time.
    pub course: Vec<(f64, u64)>,
    /// Named blocks: how much more was held after than before, and the most.
    pub blocks: Vec<(String, i64, u64)>,
    /// Places in code that held most of it at the peak.
    pub places: Vec<(String, u64)>,
    /// What a reader should know.
    pub doubts: Vec<String>,
}

/// The figures as text; bars compare them with the largest.
#[must_use]
pub fn memory_table(used: &MemoryUse, style: &Style) -> String {
    let style = *style;
    let mut lines = vec![
        Line::default()
            .put(Ink::Faint, "tachograph · ")
            .put(Ink::Strong, "memory")
            .put(Ink::Plain, format!(" · {}", used.heading)),
        Line::default(),
    ];
    let most = used.figures.iter().map(|(_, size)| *size).max().unwrap_or(0).max(1);
    for (label, size) in &used.figures {
        let share = *size as f64 / most as f64;
        lines.push(
            Line::indented(2)
                .left(Ink::Plain, label, LABEL)
                .right(Ink::Plain, &bytes(*size), NUMBER)
                .put(Ink::Plain, "  ")
                .put(Ink::Bar, bar(share, BAR, style)),
        );
    }
    lines.extend(course(&used.course, style));
    lines.extend(blocks(&used.blocks, style));
    lines.extend(places(&used.places, style));
    if !used.doubts.is_empty() {
        lines.push(Line::default());
    }
    for doubt in &used.doubts {
        let wrapped = wrap(std::slice::from_ref(doubt), style.columns().saturating_sub(2));
        lines.extend(wrapped.into_iter().map(|text| Line::indented(2).put(Ink::Doubt, text)));
    }
    let lines: Vec<String> = lines.iter().map(|line| line.render(style)).collect();
    lines.join("\n")
}

/// One line: how high each part of the time reached, of the highest.
fn course(points: &[(f64, u64)], style: Style) -> Vec<Line> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let span = last.0 - first.0;
    if points.len() < 3 || span <= 0.0 {
        return Vec::new();
    }
    let columns = style.columns().saturating_sub(2 + LABEL + 2).max(1);
    let highest = points.iter().map(|(_, size)| *size).max().unwrap_or(0).max(1);
    let mut cells: Vec<Option<u64>> = vec![None; columns];
    for (time, size) in points {
        let at = ((time - first.0) / span * columns as f64) as usize;
        let cell = &mut cells[at.min(columns - 1)];
        *cell = Some(cell.unwrap_or(0).max(*size));
    }
    let mut before = first.1;
    let drawn = cells.into_iter().map(|cell| {
        before = cell.unwrap_or(before);
        step(before as f64 / highest as f64, style)
    });
    let drawn: String = drawn.collect();
    let title = format!("{} … {}", seconds(first.0), seconds(last.0));
    vec![
        Line::default(),
        Line::indented(2).left(Ink::Strong, "COURSE", LABEL).put(Ink::Faint, title),
        Line::indented(2 + LABEL).put(Ink::Bar, drawn),
    ]
}

fn step(share: f64, style: Style) -> char {
    let steps = if style.unicode {
        ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        ['_', '.', ':', '-', '=', '+', '*', '#']
    };
    let at = (share.clamp(0.0, 1.0) * 8.0).ceil() as usize;
    steps[at.clamp(1, 8) - 1]
}

fn seconds(time: f64) -> String {
    format!("{time:.2} s")
}

fn blocks(rows: &[(String, i64, u64)], style: Style) -> Vec<Line> {
    if rows.is_empty() {
        return Vec::new();
    }
    let name = style.columns().saturating_sub(2 + 2 * NUMBER).min(40);
    let mut lines = vec![
        Line::default(),
        Line::indented(2)
            .left(Ink::Strong, "BLOCKS", name)
            .right(Ink::Faint, "change", NUMBER)
            .right(Ink::Faint, "peak", NUMBER),
    ];
    for (label, change, peak) in rows {
        let sign = if *change < 0 { "−" } else { "+" };
        lines.push(
            Line::indented(2)
                .left(Ink::Plain, label, name)
                .right(Ink::Plain, &format!("{sign}{}", bytes(change.unsigned_abs())), NUMBER)
                .right(Ink::Plain, &bytes(*peak), NUMBER),
        );
    }
    lines
}

fn places(rows: &[(String, u64)], style: Style) -> Vec<Line> {
    if rows.is_empty() {
        return Vec::new();
    }
    let title = Line::indented(2).put(Ink::Strong, "ALLOCATIONS").put(Ink::Faint, " at their peak");
    let mut lines = vec![Line::default(), title];
    let room = style.columns().saturating_sub(2 + NUMBER + 2);
    for (place, size) in rows {
        lines.push(
            Line::indented(2)
                .right(Ink::Plain, &bytes(*size), NUMBER)
                .put(Ink::Plain, "  ")
                .put(Ink::Plain, cut_start(place, room)),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> MemoryUse {
        MemoryUse {
            heading: "this process · 1.20 s".to_owned(),
            figures: vec![("peak".to_owned(), 200 << 20), ("start".to_owned(), 50 << 20)],
            course: vec![(0.0, 50 << 20), (0.5, 200 << 20), (1.2, 50 << 20)],
            blocks: vec![("forward".to_owned(), -(3 << 20), 90 << 20)],
            places: vec![("load data.py:7".to_owned(), 150 << 20)],
            doubts: vec!["there is no GPU".to_owned()],
        }
    }

    #[test]
    fn a_table_has_figures_their_course_blocks_and_places() {
        let text = memory_table(&example(), &Style::default());

        assert!(text.starts_with("tachograph · memory · this process · 1.20 s"), "{text}");
        assert!(text.contains("peak") && text.contains(&bytes(200 << 20)), "{text}");
        assert!(text.contains('█') && text.contains("0.00 s … 1.20 s"), "{text}");
        assert!(text.contains("−") && text.contains("load data.py:7"), "{text}");
        assert!(text.ends_with("there is no GPU"), "{text}");
    }

    #[test]
    fn the_highest_part_of_a_course_is_the_only_full_one() {
        let lines = course(&example().course, Style::default());

        let drawn = lines[2].render(Style::default());
        assert!(drawn.contains("▂") && drawn.contains('█') && drawn.ends_with('▂'), "{drawn}");
    }

    #[test]
    fn two_points_are_no_course() {
        assert!(course(&[(0.0, 1), (1.0, 2)], Style::default()).is_empty());
    }

    #[test]
    fn plain_terminals_get_plain_letters() {
        let style = Style { unicode: false, ..Style::default() };

        assert!(memory_table(&example(), &style).is_ascii());
    }
}
