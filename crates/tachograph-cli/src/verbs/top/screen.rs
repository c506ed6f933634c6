//! Draws the screen.

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Sparkline, Wrap};

use tachograph_profile::Mode;
use tachograph_profile::export::Style;

use super::rows::{Order, Row};
use super::view::View;

/// Bars for screens that show ASCII only.
const ASCII_BARS: bar::Set<'_> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "=",
    five_eighths: "=",
    half: "-",
    three_eighths: "-",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

const HELP: &str = "\
q, Esc    quit                      /      filter by function, file or thread
s         sort by self time         Enter  keep the filter
t         sort by total time        Esc    drop the filter
f         sort by file              space  pause; the program runs on
n         sort by thread            r      forget the figures so far
arrows    scroll                    ?      this help

self: time in the function itself. total: with what it called.
Shares are of the sampled time of all threads in the last seconds.";

/// Draws `view`.
pub(super) fn draw(frame: &mut Frame<'_>, view: &mut View, style: &Style) {
    let [head, curves, titles, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let ink = Ink { color: style.color };
    frame.render_widget(Line::styled(heading(view), ink.bold()), head);
    draw_curves(frame, view, style, curves);
    frame.render_widget(Line::styled(columns(view), ink.reversed()), titles);
    draw_rows(frame, view, ink, body);
    frame.render_widget(Line::from(footer(view)), foot);
    if view.shows_help {
        let area = centered(frame.area(), 84, 13);
        let block = Block::new().borders(Borders::ALL).title(" keys ");
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(HELP).wrap(Wrap { trim: false }).block(block), area);
    }
}

#[derive(Clone, Copy)]
struct Ink {
    color: bool,
}

impl Ink {
    fn bold(self) -> Look {
        Look::new().add_modifier(Modifier::BOLD)
    }

    fn reversed(self) -> Look {
        Look::new().add_modifier(Modifier::REVERSED)
    }

    fn dim(self) -> Look {
        Look::new().add_modifier(Modifier::DIM)
    }

    fn warm(self, share: f64) -> Look {
        match share {
            _ if !self.color => Look::new(),
            0.2.. => Look::new().fg(Color::Red),
            0.05.. => Look::new().fg(Color::Yellow),
            _ => Look::new(),
        }
    }
}

fn heading(view: &View) -> String {
    let seconds = view.uptime_ns / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let threads = view.threads;
    format!(
        " {} ({})  CPython {}  up {hours:02}:{minutes:02}:{seconds:02}   threads {threads}   {}",
        view.title,
        view.pid,
        view.python,
        if view.is_paused { "PAUSED" } else { "" },
    )
}

fn draw_curves(frame: &mut Frame<'_>, view: &View, style: &Style, area: Rect) {
    let last = |curve: &VecDeque<f64>| curve.back().copied().unwrap_or(0.0);
    let scaled = |curve: &VecDeque<f64>| -> Vec<u64> {
        curve.iter().map(|value| (value * 1000.0).round() as u64).collect()
    };
    let rss: Vec<u64> = view.rss.iter().copied().collect();
    // A curve of memory begins at its lowest point, or growth would not show.
    let floor = rss.iter().min().copied().unwrap_or(0) / 10 * 9;
    let rss_curve: Vec<u64> = rss.iter().map(|bytes| bytes - floor).collect();
    let megabytes = rss.last().copied().unwrap_or(0) / 1_000_000;
    let mut curves = vec![
        (format!(" cpu {:.0} % ", last(&view.cpu) * 100.0), scaled(&view.cpu), None),
        (format!(" rss {megabytes} MB "), rss_curve, None),
    ];
    if view.has_gil {
        curves.push((
            format!(" GIL held {:.0} % ", last(&view.gil) * 100.0),
            scaled(&view.gil),
            Some(1000),
        ));
    }
    let areas = Layout::horizontal(vec![Constraint::Fill(1); curves.len()]).split(area);
    for ((title, points, max), area) in curves.into_iter().zip(areas.iter()) {
        let keep = usize::from(area.width.saturating_sub(1));
        let begin = points.len().saturating_sub(keep);
        let points = points.get(begin..).unwrap_or_default();
        let block = Block::new().borders(Borders::TOP).title(title);
        let mut curve = Sparkline::default().block(block).data(points);
        if let Some(max) = max {
            curve = curve.max(max);
        }
        if !style.unicode {
            curve = curve.bar_set(ASCII_BARS);
        }
        frame.render_widget(curve, *area);
    }
}

fn columns(view: &View) -> String {
    let mark = |order| if view.order == order { "*" } else { " " };
    let time = if view.mode == Mode::Wall { "wall" } else { "cpu" };
    format!(
        " {}self   {}total  {}{:14} {:40} {}{:24} {time} time",
        mark(Order::Own),
        mark(Order::Total),
        mark(Order::Thread),
        "thread",
        "function",
        mark(Order::Place),
        "file",
    )
}

fn draw_rows(frame: &mut Frame<'_>, view: &mut View, ink: Ink, area: Rect) {
    let height = usize::from(area.height);
    let count = view.shown().len();
    view.scroll = view.scroll.min(count.saturating_sub(1));
    let shown = view.shown();
    let lines: Vec<Line<'_>> =
        shown.iter().skip(view.scroll).take(height).map(|row| row_line(row, ink)).collect();
    if lines.is_empty() {
        let text = match (view.samples, view.filter.is_empty()) {
            (0, _) => " nothing has run yet; --mode wall shows waiting threads too",
            (_, false) => " no function has that in its name, file or thread; Esc drops the filter",
            _ => " nothing has run in the last seconds; --mode wall shows waiting threads too",
        };
        frame.render_widget(Line::styled(text, ink.dim()), area);
        return;
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn row_line<'a>(row: &Row, ink: Ink) -> Line<'a> {
    let printable = |text: &str, width: usize| -> String {
        let text = text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
        let text: String = text.take(width).collect();
        format!("{text:width$}")
    };
    let function = printable(&row.function, 40);
    let place = printable(&row.place, 24);
    let kind = if row.is_native { " native" } else { "" };
    Line::from(vec![
        Span::styled(format!("{:6.1} %", row.own * 100.0), ink.warm(row.own)),
        Span::raw(format!(" {:6.1} %  ", row.total * 100.0)),
        Span::raw(format!("{} ", printable(&row.thread, 14))),
        Span::styled(format!("{function}  "), ink.bold()),
        Span::raw(place),
        Span::styled(kind, ink.dim()),
    ])
}

fn footer(view: &View) -> String {
    if view.is_typing {
        return format!(" filter: {}_   Enter keeps it, Esc drops it", view.filter);
    }
    let filter = if view.filter.is_empty() {
        String::new()
    } else {
        format!("   filter: {} (Esc drops it)", view.filter)
    };
    let lost = match view.unreadable {
        0 => String::new(),
        count => format!("   {count} unreadable"),
    };
    format!(
        " q quit  ? help  sort: [s]elf [t]otal [f]ile [n]ame of thread  [/] filter   {} samples{lost}{filter}",
        view.samples
    )
}

fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let x = area.x + (area.width - width) / 2;
    Rect { x, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn picture(view: &mut View, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let style = Style { color: false, width: usize::from(width), unicode: false };
        terminal.draw(|frame| draw(frame, view, &style)).unwrap();
        terminal.backend().to_string()
    }

    fn view() -> View {
        let mut view = View::new("train.py".into(), 4242, "3.12.1".into(), Mode::Cpu);
        let row = |own, function: &str, place: &str, thread: &str| Row {
            own,
            total: own,
            thread: thread.into(),
            function: function.into(),
            place: place.into(),
            is_native: false,
        };
        view.cpu.push_back(1.46);
        view.rss.push_back(398_000_000);
        view.gil.push_back(0.71);
        view.samples = 900;
        view.set_rows(vec![
            row(0.124, "augment", "data.py:63", "loader-1"),
            row(0.31, "matmul", "ops.py:41", "MainThread"),
        ]);
        view
    }

    #[test]
    fn the_screen_shows_the_program_its_curves_and_its_functions_in_order() {
        let text = picture(&mut view(), 120, 12);

        assert!(text.contains("train.py (4242)  CPython 3.12.1"), "{text}");
        assert!(text.contains("cpu 146 %") && text.contains("rss 398 MB"), "{text}");
        assert!(text.contains("GIL held 71 %"), "{text}");
        let (matmul, augment) = (text.find("matmul").unwrap(), text.find("augment").unwrap());
        assert!(matmul < augment, "{text}");
        assert!(text.contains("31.0 %"), "{text}");
    }

    #[test]
    fn a_filter_leaves_what_it_names() {
        let mut view = view();
        view.filter = "LOADER".into();

        let text = picture(&mut view, 120, 12);

        assert!(text.contains("augment") && !text.contains("matmul"), "{text}");
    }

    #[test]
    fn a_tiny_screen_is_no_reason_to_panic() {
        for (width, height) in [(1, 1), (10, 3), (20, 5)] {
            let mut view = view();
            view.shows_help = true;
            picture(&mut view, width, height);
        }
    }
}
