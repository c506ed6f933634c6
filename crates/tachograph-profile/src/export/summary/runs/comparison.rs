//! Two runs beside each other.

use super::super::ink::{Ink, Line, Style};
use super::table::{NUMBER, joined, milliseconds, name_columns, paragraph};
use crate::analyze::{Change, Comparison, Verdict};

/// Columns of the speedup, its interval and the verdict.
const FIXED: usize = 9 + 17 + 17;

/// Two runs beside each other as a table.
#[must_use]
pub fn comparison_table(comparison: &Comparison, style: &Style) -> String {
    let heading = Line::default()
        .put(Ink::Faint, "tachograph · ")
        .put(Ink::Plain, "comparison · ")
        .put(Ink::Strong, outcome(comparison));
    let sections =
        vec![vec![heading], changes_section(comparison, *style), doubts(comparison, *style)];
    joined(sections, *style)
}

/// What came out, in one line.
fn outcome(comparison: &Comparison) -> String {
    let times = comparison.speedup.map_or_else(|| "no common phase".to_owned(), speed);
    match (comparison.verdict, comparison.interval) {
        (Verdict::NotEnoughData, _) | (_, None) => format!("{times} · not enough data"),
        (verdict, Some(interval)) => {
            format!("{times} · {} · {}", between(interval), verdict.word())
        }
    }
}

fn changes_section(comparison: &Comparison, style: Style) -> Vec<Line> {
    let phases = &comparison.phases;
    if phases.is_empty() {
        return Vec::new();
    }
    let name = name_columns(phases.iter().map(|row| row.0), "PHASE", style);
    let percent = format!("{:.0} % interval", comparison.confidence * 100.0);
    let has_room = style.columns() >= 2 + name + 2 * NUMBER + FIXED;
    let row = |label: Line, cells: [&str; 4], ink: Ink, verdict: &str| {
        let [a, b, speedup, interval] = cells;
        let label =
            if has_room { label.right(ink, a, NUMBER).right(ink, b, NUMBER) } else { label };
        label.right(ink, speedup, 9).right(ink, interval, 17).put(ink, format!("  {verdict}"))
    };
    let title = Line::indented(2).left(Ink::Strong, "PHASE", name);
    let cells = ["a", "b", "speedup", percent.as_str()];
    let mut lines = vec![row(title, cells, Ink::Faint, "verdict")];
    for (label, change) in phases.iter() {
        let interval = change.interval.map_or_else(|| "-".to_owned(), between);
        let (a, b) = (milliseconds(change.a.mean), milliseconds(change.b.mean));
        let speedup = speed(change.speedup);
        let cells = [a.as_str(), b.as_str(), speedup.as_str(), interval.as_str()];
        let label = Line::indented(2).left(Ink::Plain, label, name);
        lines.push(row(label, cells, Ink::Plain, change.verdict.word()));
    }
    lines
}

fn doubts(comparison: &Comparison, style: Style) -> Vec<Line> {
    let mut phrases = Vec::new();
    let calls = |change: &Change| {
        let told = |count: u64| if count == 0 { "unknown".to_owned() } else { count.to_string() };
        format!("{} and {} calls", told(change.a.count), told(change.b.count))
    };
    let mut short: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, change) in comparison.phases.iter() {
        if change.verdict == Verdict::NotEnoughData {
            let told = calls(change);
            match short.iter_mut().find(|(same, _)| *same == told) {
                Some((_, names)) => names.push(name),
                None => short.push((told, vec![name])),
            }
        }
    }
    for (calls, names) in short {
        let needs = comparison.needs;
        phrases.push(format!("{}: {calls}, each run needs {needs}", names.join(", ")));
    }
    for (run, names) in [("a", &comparison.only_a), ("b", &comparison.only_b)] {
        if !names.is_empty() {
            phrases.push(format!("only in {run}: {}", names.join(", ")));
        }
    }
    if phrases.is_empty() { Vec::new() } else { paragraph(&phrases, style) }
}

fn speed(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

/// An interval that leaves 1 out does not read as if it reached it.
fn between((low, high): (f64, f64)) -> String {
    let nearest = if low > 1.0 { low } else { high };
    let reaches = |decimals: i32| (nearest - 1.0).abs() * 10_f64.powi(decimals) < 0.5;
    let leaves_out = low > 1.0 || high < 1.0;
    let decimals = (2..4).find(|&decimals| !leaves_out || !reaches(decimals)).unwrap_or(4);
    let places = decimals.unsigned_abs() as usize;
    format!("{low:.places$} … {high:.places$}x")
}

#[cfg(test)]
mod tests {
    use super::super::example::training;
    use super::super::{bottleneck_table, run_table};
    use super::*;
    use crate::analyze::{bottlenecks, compare};
    use crate::export::summary::ink::text_width;

    #[test]
    fn a_comparison_tells_each_phase_and_what_it_lacks() {
        let comparison = compare(&training(1.0), &training(1.25));

        let text = comparison_table(&comparison, &Style::default());

        assert!(text.contains("backward"), "{text}");
        assert!(text.contains("1.25x"), "{text}");
        assert!(text.contains("validate: 2 and 2 calls, each run needs 10"), "{text}");
    }

    #[test]
    fn an_interval_reads_as_it_was_judged() {
        assert_eq!(between((0.97, 1.02)), "0.97 … 1.02x");
        assert_eq!(between((0.97, 0.99)), "0.97 … 0.99x");
        assert_eq!(between((0.968, 0.9981)), "0.968 … 0.998x");
        assert_eq!(between((1.0003, 1.2)), "1.0003 … 1.2000x");
        assert_eq!(between((1.0, 1.0)), "1.00 … 1.00x");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_names_stay_readable() {
        let report = training(1.0);
        let comparison = compare(&report, &training(1.1));
        for width in [60, 80, 100, 160] {
            let style = Style { width, ..Style::default() };
            let texts = [
                run_table(&report, &style),
                bottleneck_table(&bottlenecks(&report), &style),
                comparison_table(&comparison, &style),
            ];
            for line in texts.iter().flat_map(|text| text.lines()) {
                assert!(text_width(line) <= width, "{width}: {line:?}");
                assert!(!line.contains("…") || line.contains("x"), "{width}: {line:?}");
            }
        }
    }
}
