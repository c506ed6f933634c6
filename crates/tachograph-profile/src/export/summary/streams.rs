//! The streams of an accelerator: how busy each was, and a picture of when.

use super::ink::{Ink, Line, Style, bar, wrap};
use crate::analyze::{StreamUse, StreamsUse};
use crate::export::format::{count, duration};

/// Columns of a stream's name, its share, its busy time, its number of pieces.
const NAME: usize = 16;
const SHARE_BAR: usize = 10;
const NUMBER: usize = 11;

/// The use of streams called `names` as a table with a picture. `clock` says
/// how it was measured; `doubts` are said at the end.
#[must_use]
pub fn stream_table(
    used: &StreamsUse,
    names: &[String],
    clock: &str,
    doubts: &[String],
    style: &Style,
) -> String {
    let style = *style;
    let mut lines = vec![
        Line::default()
            .put(Ink::Faint, "tachograph · ")
            .put(Ink::Strong, "streams")
            .put(Ink::Plain, format!(" · {} · {clock}", duration(used.window_ns))),
        Line::default(),
        columns(["time", "idle gaps", "pieces", "longest"].map(str::to_owned), Ink::Faint, style)(
            Line::indented(2).left(Ink::Strong, "STREAMS", NAME).left(
                Ink::Faint,
                "busy",
                SHARE_BAR + 6,
            ),
        ),
    ];
    let name_of = |place: usize| names.get(place).map_or("", String::as_str);
    lines.extend(used.streams.iter().enumerate().map(|(at, one)| row(one, name_of(at), style)));
    lines.push(Line::default());
    lines.extend(picture(used, &name_of, style));
    lines.push(Line::default());
    lines.extend(sentences(used, style));
    for doubt in doubts {
        let wrapped = wrap(std::slice::from_ref(doubt), style.columns().saturating_sub(2));
        lines.extend(wrapped.into_iter().map(|text| Line::indented(2).put(Ink::Doubt, text)));
    }
    let lines: Vec<String> = lines.iter().map(|line| line.render(style)).collect();
    lines.join("\n")
}

fn row(one: &StreamUse, name: &str, style: Style) -> Line {
    let longest = one.gaps.first().map_or(0, |(from, to)| to - from);
    let time = |ns| if ns == 0 { "-".to_owned() } else { duration(ns) };
    let numbers = [time(one.busy_ns), time(one.idle_between_ns), count(one.pieces), time(longest)];
    columns(numbers, Ink::Plain, style)(
        Line::indented(2)
            .left(Ink::Plain, name, NAME)
            .put(Ink::Bar, bar(one.busy, SHARE_BAR, style))
            .right(Ink::Plain, &format!("{:.0} %", one.busy * 100.0), 6),
    )
}

/// Adds the numbers of a row; a narrow terminal has room for two of them.
fn columns(numbers: [String; 4], ink: Ink, style: Style) -> impl FnOnce(Line) -> Line {
    let many = if style.columns() < 80 { 2 } else { 4 };
    move |line| numbers.iter().take(many).fold(line, |line, number| line.right(ink, number, NUMBER))
}

/// One line a stream: dark where it worked, light where it did not.
fn picture<'a>(used: &StreamsUse, name_of: &impl Fn(usize) -> &'a str, style: Style) -> Vec<Line> {
    let columns = style.columns().saturating_sub(2 + NAME + 2);
    let mut lines =
        vec![Line::indented(2).left(Ink::Strong, "WHEN", NAME).put(Ink::Faint, "0").right(
            Ink::Faint,
            &duration(used.window_ns),
            columns - 1,
        )];
    for (at, one) in used.streams.iter().enumerate() {
        let cells = shares(&one.work, used.window_ns, columns);
        let drawn: String = cells.into_iter().map(|share| shade(share, style)).collect();
        lines.push(Line::indented(2).left(Ink::Plain, name_of(at), NAME).put(Ink::Bar, drawn));
    }
    lines
}

/// The busy share of each of `columns` equal parts of the window.
fn shares(work: &[(u64, u64)], window_ns: u64, columns: usize) -> Vec<f64> {
    let width = window_ns as f64 / columns.max(1) as f64;
    let mut cells = vec![0.0; columns];
    if width <= 0.0 {
        return cells;
    }
    for (from, to) in work {
        let (from, to) = (*from as f64 / width, *to as f64 / width);
        let first = (from as usize).min(columns.saturating_sub(1));
        let last = (to.ceil() as usize).min(columns);
        for (at, cell) in cells.iter_mut().enumerate().take(last).skip(first) {
            *cell += (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0);
        }
    }
    cells
}

fn shade(share: f64, style: Style) -> char {
    let shades =
        if style.unicode { ['·', '░', '▒', '▓', '█'] } else { ['.', ':', '+', '*', '#'] };
    match share {
        share if share <= 0.0 => shades[0],
        share if share < 0.25 => shades[1],
        share if share < 0.5 => shades[2],
        share if share < 0.95 => shades[3],
        _ => shades[4],
    }
}

fn sentences(used: &StreamsUse, style: Style) -> Vec<Line> {
    let share = |part: u64| {
        if used.any_busy_ns == 0 { 0.0 } else { part as f64 * 100.0 / used.any_busy_ns as f64 }
    };
    let idle = used.window_ns.saturating_sub(used.any_busy_ns);
    let phrases = [
        format!("efficiency {:.0} %", used.efficiency * 100.0),
        format!(
            "two or more at work {:.0} % of the busy time ({})",
            share(used.overlap_ns),
            duration(used.overlap_ns)
        ),
        format!("{:.2} at once on average", used.concurrency),
        format!("all idle {}", duration(idle)),
    ];
    let wrapped = wrap(&phrases, style.columns().saturating_sub(2));
    wrapped.into_iter().map(|text| Line::indented(2).put(Ink::Plain, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::{Stretch, streams};

    fn example(style: Style) -> String {
        let stretch = |stream, from: u64, to: u64| Stretch {
            stream,
            start_ns: from * 1_000_000,
            end_ns: to * 1_000_000,
        };
        let work = [stretch(0, 0, 50), stretch(0, 75, 100), stretch(1, 25, 50)];
        let names: Vec<String> = ["stream 0", "stream 1", "stream 2"].map(str::to_owned).into();
        let used = streams(&work, 3, 0, 100_000_000);
        stream_table(&used, &names, "CUDA events", &["nothing real".to_owned()], &style)
    }

    #[test]
    fn a_table_tells_shares_overlap_and_gaps_and_shows_when() {
        let text = example(Style { width: 60, ..Style::default() });

        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "tachograph · streams · 100 ms · CUDA events");
        assert!(lines[3].contains("stream 0") && lines[3].contains("75 %"), "{text}");
        assert!(lines[3].contains("25 ms"), "{text}");
        assert!(lines[5].contains("stream 2") && lines[5].contains("0 %"), "{text}");
        // 40 columns for 100 ms: a quarter is ten of them.
        let dark = |line: &str| line.chars().filter(|letter| *letter == '█').count();
        assert_eq!((dark(lines[8]), dark(lines[9]), dark(lines[10])), (30, 10, 0), "{text}");
        assert!(text.contains("efficiency 33 %"), "{text}");
        assert!(text.contains("at work 33 % of the busy"), "{text}");
        assert!(text.ends_with("nothing real"), "{text}");
    }

    #[test]
    fn plain_terminals_get_plain_letters() {
        let text = example(Style { unicode: false, ..Style::default() });

        assert!(text.is_ascii(), "{text}");
    }
}
