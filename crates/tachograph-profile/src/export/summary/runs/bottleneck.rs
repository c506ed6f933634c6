//! The phase that holds a run up.

use super::super::ink::{Ink, Line, Style};
use super::table::{
    Column, NUMBER, SHARE, fitting, joined, milliseconds, name_columns, paragraph, with_share,
};
use crate::analyze::{Bottlenecks, Named, PhaseShare};
use crate::export::format::count;

/// The bottleneck of a run as a sentence and a table.
#[must_use]
pub fn bottleneck_table(found: &Bottlenecks, style: &Style) -> String {
    let name = found.bottleneck.as_deref().unwrap_or("none");
    let heading = Line::default()
        .put(Ink::Faint, "tachograph · ")
        .put(Ink::Plain, "bottleneck · ")
        .put(Ink::Strong, name);
    let why = paragraph(std::slice::from_ref(&found.why), *style);
    joined(vec![vec![heading], why, phases_section(&found.phases, *style)], *style)
}

fn phases_section(phases: &Named<PhaseShare>, style: Style) -> Vec<Line> {
    const COLUMNS: [Column<'_, PhaseShare>; 5] = [
        Column { title: "self", worth: 8, cell: |phase| milliseconds(phase.self_ms) },
        Column { title: "calls", worth: 6, cell: |phase| count(phase.count) },
        Column { title: "mean", worth: 7, cell: |phase| milliseconds(phase.mean_ms) },
        Column { title: "trend", worth: 5, cell: |phase| signed(phase.trend) },
        Column { title: "variance", worth: 4, cell: |phase| part(phase.variance) },
    ];
    if phases.is_empty() {
        return Vec::new();
    }
    let name = name_columns(phases.iter().map(|row| row.0), "PHASES", style);
    let columns = fitting(&COLUMNS, style.columns().saturating_sub(2 + name + SHARE));
    let mut title =
        Line::indented(2).left(Ink::Strong, "PHASES", name).put(Ink::Plain, " ".repeat(SHARE));
    for column in &columns {
        title = title.right(Ink::Faint, column.title, NUMBER);
    }
    let mut lines = vec![title];
    for (label, phase) in phases.iter() {
        let mut line =
            with_share(Line::indented(2).left(Ink::Plain, label, name), phase.share, style);
        for column in &columns {
            line = line.right(Ink::Plain, &(column.cell)(phase), NUMBER);
        }
        lines.push(line);
    }
    lines
}

fn signed(change: Option<f64>) -> String {
    match change {
        None => "-".to_owned(),
        Some(0.0) => "steady".to_owned(),
        Some(change) => format!("{:+.0} %", change * 100.0),
    }
}

fn part(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.0} %", value * 100.0))
}

#[cfg(test)]
mod tests {
    use super::super::example::training;
    use super::*;
    use crate::analyze::bottlenecks;

    #[test]
    fn a_bottleneck_is_told_by_name_first() {
        let text = bottleneck_table(&bottlenecks(&training(1.0)), &Style::default());

        assert!(text.starts_with("tachograph · bottleneck · backward"), "{text}");
        assert!(text.contains("44 %"), "{text}");
    }
}
