//! The functions and lines where the weight fell.

use super::ink::{Ink, Line, Style, cut_end, cut_start, side_by_side, text_width};
use super::memory::memory_table;
use super::spans::spans_table;
use crate::analyze::{FunctionRow, LineRow, functions, lines, place_name};
use crate::export::format::{short_duration, short_percent, weight};
use crate::{FrameKind, Measure, Profile};

/// Rows of each table.
const MOST_ROWS: usize = 8;
/// Columns of the share, the amount and the gap after them.
const AMOUNTS: usize = 6 + 8 + 2;
/// What marks machine code; the first to go when room is short.
const NATIVE: &str = "  native";
/// Terminals with this many columns show two tables side by side.
const WIDE: usize = 124;

/// Functions and lines by self weight, and the spans, next to each other if
/// there is room.
pub(super) fn code_section(profile: &Profile, measure: Measure, style: Style) -> Vec<Line> {
    let columns = style.columns() - 2;
    let whole = profile.weights(measure).map(|w| w.weight).sum();
    let table = Table { profile, measure, whole };
    if columns + 2 >= WIDE {
        let left = (columns - 3) / 2;
        let right = columns - 3 - left;
        let spans = spans_table(profile, right - 2, style);
        let memory = memory_table(profile, right - 2);
        if spans.is_empty() {
            let code = side_by_side(table.functions(left), table.lines(right), left + 5);
            return below(vec![code, memory_table(profile, columns)]);
        }
        let beside = side_by_side(table.functions(left), spans, left + 5);
        if memory.is_empty() {
            return below(vec![beside, table.lines(columns)]);
        }
        return below(vec![beside, side_by_side(table.lines(left), memory, left + 5)]);
    }
    below(vec![
        table.functions(columns),
        spans_table(profile, columns, style),
        table.lines(columns),
        memory_table(profile, columns),
    ])
}

/// Tables one below the other; those that are empty are left out.
fn below(tables: Vec<Vec<Line>>) -> Vec<Line> {
    let mut lines = Vec::new();
    for table in tables.into_iter().filter(|table| !table.is_empty()) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(table);
    }
    lines
}

/// A function inside another one is known by both names alone.
pub(super) fn short_name(function: &str) -> String {
    function.replace(".<locals>", "")
}

struct Table<'a> {
    profile: &'a Profile,
    measure: Measure,
    whole: u64,
}

impl Table<'_> {
    fn functions(&self, columns: usize) -> Vec<Line> {
        let rows: Vec<_> = functions(self.profile, self.measure)
            .into_iter()
            .filter(|row| row.self_weight > 0)
            .take(MOST_ROWS)
            .collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let places: Vec<_> = rows.iter().map(|row| self.place(row)).collect();
        let what = match self.measure {
            Measure::WallTime => "wall time",
            Measure::CpuTime => "CPU",
            _ => "samples",
        };
        let title = Line::indented(2)
            .put(Ink::Strong, "FUNCTIONS ")
            .put(Ink::Faint, format!("({what}, self)"));
        let mut lines = vec![title];
        let fixed = AMOUNTS;
        let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let wanted = longest(&mut rows.iter().map(|row| text_width(&short_name(&row.function))));
        let room = columns.saturating_sub(fixed);
        let place_wanted = longest(&mut places.iter().map(|place| text_width(place)));
        let name = wanted.min(room.saturating_sub((place_wanted + 2).min(room * 2 / 5)));
        let place_room = room.saturating_sub(name + 2);
        for (row, place) in rows.iter().zip(&places) {
            let place = match place.strip_suffix(NATIVE) {
                Some(file) if text_width(place) > place_room => cut_end(file, place_room),
                Some(_) => place.clone(),
                None => cut_start(place, place_room),
            };
            lines.push(
                self.amounts(row.self_weight)
                    .left(Ink::Plain, &short_name(&row.function), name)
                    .put(Ink::Faint, format!("  {place}")),
            );
        }
        lines
    }

    fn lines(&self, columns: usize) -> Vec<Line> {
        let rows: Vec<_> = lines(self.profile, self.measure)
            .into_iter()
            .filter(|row| row.self_weight > 0)
            .take(MOST_ROWS)
            .collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let places: Vec<_> = rows.iter().map(|row| self.line_place(row)).collect();
        let title = Line::indented(2).put(Ink::Strong, "LINES ");
        let mut lines = vec![title.put(Ink::Faint, "(native code counts where it is called)")];
        let room = columns.saturating_sub(AMOUNTS);
        let wanted = places.iter().map(|place| text_width(place)).max();
        let place_room = wanted.unwrap_or(0).min(room / 2);
        for (row, place) in rows.iter().zip(&places) {
            let rest = room.saturating_sub(place_room + 2);
            let line = self
                .amounts(row.self_weight)
                .left(Ink::Plain, &cut_start(place, place_room), place_room)
                .put(Ink::Plain, "  ");
            lines.push(match &row.text {
                Some(text) if !text.is_empty() => line.put(Ink::Plain, cut_end(text, rest)),
                _ => line
                    .put(Ink::Faint, cut_end(&format!("in {}", short_name(&row.function)), rest)),
            });
        }
        lines
    }

    fn amounts(&self, part: u64) -> Line {
        let amount = match self.measure {
            Measure::WallTime | Measure::CpuTime => short_duration(part),
            measure => weight(measure, part),
        };
        Line::indented(2)
            .right(Ink::Plain, &short_percent(part, self.whole), 6)
            .right(Ink::Plain, &amount, 8)
            .put(Ink::Plain, "  ")
    }

    fn place(&self, row: &FunctionRow) -> String {
        let file = place_name(&self.profile.meta.roots, row.kind, &row.file);
        match (row.kind, file, row.first_line) {
            (FrameKind::Python, "", _) | (FrameKind::Label, _, _) => String::new(),
            (FrameKind::Python, file, 0) => file.to_owned(),
            (FrameKind::Python, file, line) => format!("{file}:{line}"),
            (FrameKind::Kernel, _, _) => "kernel".to_owned(),
            (FrameKind::Native, "", _) => "native".to_owned(),
            // A function without a symbol has its file in its name already.
            (FrameKind::Native, file, _) if row.function.starts_with(file) => "native".to_owned(),
            (FrameKind::Native, file, _) => format!("{file}{NATIVE}"),
        }
    }

    fn line_place(&self, row: &LineRow) -> String {
        let file = place_name(&self.profile.meta.roots, FrameKind::Python, &row.file);
        format!("{file}:{}", row.line)
    }
}
