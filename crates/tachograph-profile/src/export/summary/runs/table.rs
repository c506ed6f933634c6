//! What the tables of runs are made of: columns that give way when room is
//! short, and numbers as people read them.

use super::super::ink::{Ink, Line, Style, bar, text_width, wrap};
use crate::export::format::{count, duration};

/// Columns of a share with its bar.
const BAR: usize = 8;
pub(super) const SHARE: usize = 2 + BAR + 6;
/// Columns of a number and the gap before it.
pub(super) const NUMBER: usize = 11;
/// A name gets at least this many columns.
const SHORTEST_NAME: usize = 12;

/// The sections as one text, an empty line between two.
pub(super) fn joined(sections: Vec<Vec<Line>>, style: Style) -> String {
    let texts = sections.into_iter().filter(|lines| !lines.is_empty()).map(|lines| {
        let lines: Vec<_> = lines.iter().map(|line| line.render(style)).collect();
        lines.join("\n")
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// `phrases` below each other, broken where the terminal ends.
pub(super) fn paragraph(phrases: &[String], style: Style) -> Vec<Line> {
    let lines = wrap(phrases, style.columns() - 2).into_iter();
    lines.map(|line| Line::indented(2).put(Ink::Plain, line)).collect()
}

/// One column of numbers: its heading, and how much it is worth when room is short.
pub(super) struct Column<'a, T> {
    pub(super) title: &'a str,
    pub(super) worth: u8,
    pub(super) cell: fn(&T) -> String,
}

/// The columns that fit beside names of `name` columns, in their order.
pub(super) fn fitting<'a, T>(columns: &'a [Column<'a, T>], room: usize) -> Vec<&'a Column<'a, T>> {
    let many = room / NUMBER;
    let mut worth: Vec<u8> = columns.iter().map(|column| column.worth).collect();
    worth.sort_unstable_by(|a, b| b.cmp(a));
    let least = many.checked_sub(1).and_then(|last| worth.get(last).or(worth.last())).copied();
    columns.iter().filter(|column| least.is_some_and(|least| column.worth >= least)).collect()
}

/// Columns for the names of a table.
pub(super) fn name_columns<'a>(
    names: impl Iterator<Item = &'a str>,
    title: &str,
    style: Style,
) -> usize {
    let longest = names.map(text_width).max().unwrap_or(0).max(text_width(title));
    longest.clamp(SHORTEST_NAME, (style.columns() / 3).max(SHORTEST_NAME))
}

/// `line` with a bar and a share.
pub(super) fn with_share(line: Line, share: f64, style: Style) -> Line {
    line.put(Ink::Plain, "  ").put(Ink::Bar, bar(share, BAR, style)).right(
        Ink::Plain,
        &format!("{:.0} %", share * 100.0),
        6,
    )
}

/// Milliseconds with the unit that suits them.
pub(super) fn milliseconds(ms: f64) -> String {
    duration((ms * 1e6).round() as u64)
}

/// A number without a unit, with four digits that count.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size < 1e15 && value.fract() == 0.0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(size as u64));
    }
    if !(1e-3..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(size.round() as u64));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts = [32.0, 0.4271, 1245.63, 41.237, 1e-9, -2.5, 123_456.7, 2.5e12].map(number);
        assert_eq!(
            texts,
            ["32", "0.4271", "1,246", "41.24", "1.00e-9", "-2.500", "123,457", "2,500,000,000,000"]
        );
    }
}
