//! Source text with what each line cost beside it.

use super::ink::{Ink, Line, Style, bar, text_width};
use crate::export::format::{count, counted, duration, percent, share};

/// Columns of a number and the gap before it.
const NUMBER: usize = 11;
/// Columns of the bar.
const BAR: usize = 6;
/// A line with this share of its function's time stands out.
const HOT: f64 = 0.1;

/// What the interpreter calls the code of a whole file.
const MODULE: &str = "<module>";

/// A function whose lines were counted exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedFunction {
    /// Qualified name.
    pub name: String,
    /// Source file.
    pub file: String,
    /// The line of the first text.
    pub first_line: u32,
    /// Its source, line by line; empty when it could not be read.
    pub source: Vec<String>,
    /// The lines that ran, in their order.
    pub lines: Vec<ListedLine>,
}

/// How often a line began, and how long it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedLine {
    /// The line's number.
    pub number: u32,
    /// Times it began.
    pub hits: u64,
    /// Nanoseconds, what it called included.
    pub time_ns: u64,
}

impl ListedFunction {
    /// The time of all lines, in nanoseconds.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.lines.iter().fold(0, |sum, line| sum.saturating_add(line.time_ns))
    }
}

/// The source of `functions` with hits, time, time per hit and share beside
/// each line; `how` says by which means they were counted.
#[must_use]
pub fn line_listing(functions: &[ListedFunction], how: &str, style: &Style) -> String {
    let style = *style;
    let mut parts = Vec::new();
    for function in functions.iter().filter(|function| !function.lines.is_empty()) {
        let mut lines = heading(function, how);
        lines.push(titles());
        lines.extend(body(function, style));
        parts.push(lines);
    }
    if parts.is_empty() {
        let what = "no line ran: call a watched function while the table is open";
        let title = Line::default().put(Ink::Strong, "tachograph · lines");
        parts.push(vec![title, Line::default(), Line::indented(2).put(Ink::Doubt, what)]);
    }
    let texts = parts.iter().map(|lines| {
        let lines: Vec<_> = lines.iter().map(|line| line.render(style)).collect();
        lines.join("\n")
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn heading(function: &ListedFunction, how: &str) -> Vec<Line> {
    let file = function.file.rsplit('/').next().unwrap_or(&function.file);
    let hits = function.lines.iter().map(|line| line.hits).sum();
    let title = format!("tachograph · lines · {}", function.name);
    let facts = format!(
        " · {file}:{} · {} · {} · {how}",
        function.first_line,
        duration(function.time_ns()),
        counted(hits, "line hit"),
    );
    vec![Line::default().put(Ink::Strong, title).put(Ink::Plain, facts), Line::default()]
}

fn titles() -> Line {
    let line = Line::indented(1).right(Ink::Faint, "line", 6);
    let line = ["hits", "time", "per hit", "share"]
        .iter()
        .fold(line, |line, title| line.right(Ink::Faint, title, NUMBER));
    line.put(Ink::Plain, " ".repeat(2 + BAR + 2)).put(Ink::Faint, "source")
}

fn body(function: &ListedFunction, style: Style) -> Vec<Line> {
    let whole = function.time_ns();
    let texts = shortened(&function.source);
    if texts.is_empty() {
        let known =
            function.lines.iter().map(|line| row(line.number, Some(line), whole, "", style));
        return known.collect();
    }
    let numbered = (function.first_line..).zip(texts);
    let mut ran = function.lines.iter().peekable();
    let mut rows = Vec::new();
    for (number, text) in numbered {
        let mut counted = None;
        while let Some(line) = ran.next_if(|line| line.number <= number) {
            counted = (line.number == number).then_some(line).or(counted);
        }
        // A module's listing would be the whole file.
        if counted.is_some() || function.name != MODULE {
            rows.push(row(number, counted, whole, text, style));
        }
    }
    rows.extend(ran.map(|line| row(line.number, Some(line), whole, "", style)));
    rows
}

fn row(number: u32, counted: Option<&ListedLine>, whole: u64, text: &str, style: Style) -> Line {
    let line = Line::indented(1).right(Ink::Faint, &number.to_string(), 6);
    let Some(ListedLine { hits, time_ns, .. }) = counted else {
        let gap = " ".repeat(4 * NUMBER + 2 + BAR + 2);
        return line.put(Ink::Plain, gap).put(Ink::Faint, text);
    };
    let part = share(*time_ns, whole);
    let ink = if part >= HOT { Ink::Strong } else { Ink::Plain };
    let per_hit = if *hits > 0 { duration(time_ns / hits) } else { String::new() };
    line.right(Ink::Plain, &count(*hits), NUMBER)
        .right(ink, &duration(*time_ns), NUMBER)
        .right(Ink::Plain, &per_hit, NUMBER)
        .right(ink, &percent(*time_ns, whole), NUMBER)
        .put(Ink::Plain, "  ")
        .put(Ink::Bar, bar(part, BAR, style))
        .put(Ink::Plain, "  ")
        .put(ink, text)
}

/// The texts without the indentation they share.
fn shortened(source: &[String]) -> Vec<&str> {
    let indent = |text: &String| text.len() - text.trim_start().len();
    let shared = source.iter().filter(|text| !text.trim().is_empty()).map(indent).min();
    let texts = source.iter().map(|text| text.get(shared.unwrap_or(0)..).unwrap_or("").trim_end());
    let mut texts: Vec<_> = texts.collect();
    while texts.last().is_some_and(|text| text_width(text) == 0) {
        texts.pop();
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function() -> ListedFunction {
        let source = "    def work(n):\n        total = 0\n        for i in range(n):\n            total += i\n        return total\n";
        let line = |number, hits, time_ns| ListedLine { number, hits, time_ns };
        ListedFunction {
            name: "Model.work".to_owned(),
            file: "/home/ada/model.py".to_owned(),
            first_line: 7,
            source: source.lines().map(str::to_owned).collect(),
            lines: vec![line(8, 1, 1_000), line(9, 101, 19_000), line(10, 100, 80_000)],
        }
    }

    #[test]
    fn a_listing_has_the_source_with_hits_time_and_share() {
        let text = line_listing(&[function()], "sys.monitoring", &Style::default());

        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "tachograph · lines · Model.work · model.py:7 · 100 µs · 202 line hits · sys.monitoring"
        );
        assert_eq!(lines.len(), 3 + 5, "{text}");
        assert!(lines[3].ends_with("  def work(n):"), "{text}");
        assert!(lines[6].contains("100      80 µs     800 ns     80.0 %"), "{text}");
        assert!(lines[6].ends_with("          total += i"), "{text}");
        assert!(lines[7].trim().starts_with("11 "), "{text}");
    }

    #[test]
    fn without_its_source_a_function_still_shows_its_numbers() {
        let listed = ListedFunction { source: Vec::new(), ..function() };

        let text = line_listing(&[listed], "sys.monitoring", &Style::default());

        assert_eq!(text.lines().count(), 3 + 3, "{text}");
    }

    #[test]
    fn an_empty_table_says_what_to_do() {
        let text = line_listing(&[ListedFunction::default()], "", &Style::default());

        assert!(text.contains("call a watched function while the table is open"), "{text}");
    }

    #[test]
    fn colour_is_added_only_when_asked_for_and_ascii_stays_ascii() {
        let ascii = Style { color: false, width: 80, unicode: false };
        let colour = Style { color: true, ..Style::default() };

        assert!(line_listing(&[function()], "inserted calls", &ascii).is_ascii());
        assert!(line_listing(&[function()], "inserted calls", &colour).contains("\x1b[1m"));
        assert!(!line_listing(&[function()], "x", &Style::default()).contains('\x1b'));
    }
}
