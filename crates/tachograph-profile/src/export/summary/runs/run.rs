//! What one run measured: its phases as a tree, and its other numbers.

use super::super::ink::{Ink, Line, Style, wrap};
use super::table::{
    Column, NUMBER, SHARE, fitting, joined, milliseconds, name_columns, number, with_share,
};
use crate::analyze::{Named, RunReport, Timing, Values};
use crate::export::format::{bytes, count, counted};

/// A run's report as a table.
#[must_use]
pub fn run_table(report: &RunReport, style: &Style) -> String {
    let mut sections = vec![heading(report, *style)];
    if report.timing.is_empty() && report.metrics.is_empty() {
        let what = "nothing was measured: use `record(name, value)` and `measure_time(name)`";
        sections.push(vec![Line::indented(2).put(Ink::Doubt, what)]);
    }
    sections.push(timing_section(&report.timing, *style));
    sections.push(metrics_section(&report.metrics, *style));
    sections.push(data_section(report, *style));
    joined(sections, *style)
}

/// Wide enough for all of it on most terminals, on two lines otherwise.
fn heading(report: &RunReport, style: Style) -> Vec<Line> {
    let mut facts = vec!["tachograph".to_owned(), "metrics".to_owned()];
    if let Some(iteration) = report.timing.get("iteration") {
        facts.push(counted(iteration.count, "iteration"));
    }
    let throughput = &report.throughput;
    if throughput.iterations_per_sec > 0.0 {
        facts.push(format!("{} iterations/s", number(throughput.iterations_per_sec)));
    }
    if throughput.samples_per_sec > 0.0 {
        facts.push(format!("{} samples/s", number(throughput.samples_per_sec)));
    }
    let lines = wrap(&facts, style.columns()).into_iter();
    lines.map(|line| Line::default().put(Ink::Strong, line)).collect()
}

fn timing_section(timing: &Named<Timing>, style: Style) -> Vec<Line> {
    const COLUMNS: [Column<'_, Timing>; 8] = [
        Column { title: "calls", worth: 8, cell: |phase| count(phase.count) },
        Column { title: "total", worth: 7, cell: |phase| milliseconds(phase.total_ms()) },
        Column { title: "mean", worth: 9, cell: |phase| milliseconds(phase.mean) },
        Column { title: "std", worth: 4, cell: |phase| milliseconds(phase.std) },
        Column { title: "min", worth: 3, cell: |phase| milliseconds(phase.min) },
        Column { title: "p50", worth: 2, cell: |phase| milliseconds(phase.p50) },
        Column { title: "p95", worth: 5, cell: |phase| milliseconds(phase.p95) },
        Column { title: "max", worth: 6, cell: |phase| milliseconds(phase.max) },
    ];
    if timing.is_empty() {
        return Vec::new();
    }
    let rows = as_tree(timing, style);
    let name = name_columns(rows.iter().map(|row| row.0.as_str()), "TIMING", style);
    let columns = fitting(&COLUMNS, style.columns().saturating_sub(2 + name + SHARE));
    let mut title = Line::indented(2).left(Ink::Strong, "TIMING", name);
    for column in &columns {
        title = title.right(Ink::Faint, column.title, NUMBER);
    }
    let mut lines = vec![title.put(Ink::Faint, "  self")];
    let whole: f64 = timing.iter().map(|(_, phase)| phase.own_ms().max(0.0)).sum();
    for (label, phase) in rows {
        let mut line = Line::indented(2).left(Ink::Plain, &label, name);
        for column in &columns {
            line = line.right(Ink::Plain, &(column.cell)(phase), NUMBER);
        }
        let share = if whole > 0.0 { phase.own_ms().max(0.0) / whole } else { 0.0 };
        lines.push(with_share(line, share, style));
    }
    lines
}

/// Every phase under the one it happens inside of, with its place in the tree.
fn as_tree(timing: &Named<Timing>, style: Style) -> Vec<(String, &Timing)> {
    let mut tree = Branches { timing, style, seen: vec![false; timing.len()], rows: Vec::new() };
    let is_root =
        |phase: &Timing| phase.inside.as_deref().is_none_or(|around| timing.get(around).is_none());
    for (at, (_, phase)) in timing.iter().enumerate() {
        if is_root(phase) {
            tree.add(at, String::new(), String::new());
        }
    }
    // Phases that are inside of each other have no root.
    for at in 0..timing.len() {
        tree.add(at, String::new(), String::new());
    }
    tree.rows
}

struct Branches<'a> {
    timing: &'a Named<Timing>,
    style: Style,
    seen: Vec<bool>,
    rows: Vec<(String, &'a Timing)>,
}

impl Branches<'_> {
    fn add(&mut self, at: usize, lead: String, below: String) {
        let timing = self.timing;
        let Some((name, phase)) = timing.0.get(at) else { return };
        match self.seen.get_mut(at) {
            Some(seen) if !*seen => *seen = true,
            _ => return,
        }
        self.rows.push((format!("{lead}{name}"), phase));
        let inside: Vec<usize> = (0..timing.len())
            .filter(|child| {
                let around = timing.0.get(*child).and_then(|(_, phase)| phase.inside.as_ref());
                around == Some(name) && self.seen.get(*child) == Some(&false)
            })
            .collect();
        let signs = if self.style.unicode {
            [("├ ", "│ "), ("└ ", "  ")]
        } else {
            [("| ", "| "), ("` ", "  ")]
        };
        for (nth, child) in inside.iter().enumerate() {
            let (sign, rest) = signs[usize::from(nth + 1 == inside.len())];
            self.add(*child, format!("{below}{sign}"), format!("{below}{rest}"));
        }
    }
}

fn metrics_section(metrics: &Named<Values>, style: Style) -> Vec<Line> {
    const COLUMNS: [Column<'_, Values>; 6] = [
        Column { title: "count", worth: 7, cell: |values| count(values.count) },
        Column { title: "mean", worth: 9, cell: |values| number(values.mean) },
        Column { title: "std", worth: 5, cell: |values| number(values.std) },
        Column { title: "min", worth: 4, cell: |values| number(values.min) },
        Column { title: "max", worth: 6, cell: |values| number(values.max) },
        Column { title: "last", worth: 8, cell: |values| number(values.last) },
    ];
    if metrics.is_empty() {
        return Vec::new();
    }
    let name = name_columns(metrics.iter().map(|row| row.0), "METRICS", style);
    let columns = fitting(&COLUMNS, style.columns().saturating_sub(2 + name));
    let mut title = Line::indented(2).left(Ink::Strong, "METRICS", name);
    for column in &columns {
        title = title.right(Ink::Faint, column.title, NUMBER);
    }
    let mut lines = vec![title];
    for (label, values) in metrics.iter() {
        let mut line = Line::indented(2).left(Ink::Plain, label, name);
        for column in &columns {
            line = line.right(Ink::Plain, &(column.cell)(values), NUMBER);
        }
        lines.push(line);
    }
    lines
}

/// What a reader should know about the numbers.
fn data_section(report: &RunReport, style: Style) -> Vec<Line> {
    let memory = &report.memory;
    let mut phrases = Vec::new();
    if memory.peak_allocated > 0 || memory.peak_reserved > 0 {
        phrases.push(format!(
            "device memory: peak {} allocated, {} reserved",
            bytes(memory.peak_allocated),
            bytes(memory.peak_reserved)
        ));
    } else {
        phrases.push("no device memory was seen".to_owned());
    }
    for (name, values) in report.metrics.iter().filter(|(_, values)| values.not_finite > 0) {
        let many = counted(values.not_finite, "value");
        phrases.push(format!("{name}: {many} left out, nan or infinite"));
    }
    let lines = wrap(&phrases, style.columns().saturating_sub(12)).into_iter().enumerate();
    lines
        .map(|(nth, text)| {
            let title = if nth == 0 { "DATA" } else { "" };
            Line::indented(2).left(Ink::Strong, title, 8).put(Ink::Plain, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::{phase, training};
    use super::*;

    #[test]
    fn a_report_shows_phases_as_a_tree_with_units() {
        let text = run_table(&training(1.0), &Style::default());

        assert!(text.starts_with(
            "tachograph · metrics · 40 iterations · 40 iterations/s · 1,280 samples/s"
        ));
        assert!(text.contains("├ forward"), "{text}");
        assert!(text.contains("└ backward"), "{text}");
        assert!(text.contains("25 ms"), "{text}");
        assert!(text.contains("loss: 2 values left out, nan or infinite"), "{text}");
    }

    #[test]
    fn phases_inside_of_each_other_are_shown_once() {
        let timing: Named<Timing> = [("a", "b"), ("b", "a")]
            .into_iter()
            .map(|(name, inside)| (name.to_owned(), phase(1.0, 10, 5.0, Some(inside))))
            .collect();

        let text = run_table(&RunReport::of(timing, Named::default()), &Style::default());

        assert_eq!(text.lines().filter(|line| line.contains("10 ms")).count(), 2, "{text}");
    }

    #[test]
    fn without_unicode_everything_is_ascii() {
        let style = Style { color: false, width: 80, unicode: false };
        assert!(run_table(&training(1.0), &style).is_ascii());
    }
}
