//! Lines of text with room, colour and plain ASCII as the terminal needs.

/// How a terminal wants its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Add colour.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// The terminal shows more than ASCII.
    pub unicode: bool,
}

impl Default for Style {
    /// Plain text for a file or a log: no colour, 100 columns, Unicode.
    fn default() -> Self {
        Self { color: false, width: 100, unicode: true }
    }
}

impl Style {
    /// The columns that are used: narrow terminals still get whole tables, and
    /// on wide ones a line stays short enough to read.
    pub(super) fn columns(self) -> usize {
        self.width.clamp(60, 160)
    }
}

/// The weight of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Strong,
    Faint,
    Bar,
    Doubt,
}

/// One line, made of pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pieces: Vec<(Ink, String)>,
    width: usize,
}

impl Line {
    /// A line that begins `columns` from the left edge.
    pub(super) fn indented(columns: usize) -> Self {
        Self::default().put(Ink::Plain, " ".repeat(columns))
    }

    /// Columns it takes so far.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Adds `text`.
    pub(super) fn put(mut self, ink: Ink, text: impl Into<String>) -> Self {
        let text = text.into();
        self.width += text_width(&text);
        self.pieces.push((ink, text));
        self
    }

    /// Adds `text` at the right end of `columns`.
    pub(super) fn right(self, ink: Ink, text: &str, columns: usize) -> Self {
        let gap = columns.saturating_sub(text_width(text));
        self.put(Ink::Plain, " ".repeat(gap)).put(ink, text)
    }

    /// Adds `text`, cut or filled up to `columns`.
    pub(super) fn left(self, ink: Ink, text: &str, columns: usize) -> Self {
        let text = cut_end(text, columns);
        let gap = columns.saturating_sub(text_width(&text));
        self.put(ink, text).put(Ink::Plain, " ".repeat(gap))
    }

    /// Adds all of `other`, beginning at `column`.
    pub(super) fn beside(mut self, column: usize, other: Self) -> Self {
        let gap = column.saturating_sub(self.width);
        self = self.put(Ink::Plain, " ".repeat(gap));
        self.width += other.width;
        self.pieces.extend(other.pieces);
        self
    }

    /// The line as the terminal wants it, cut at its edge, without blanks at
    /// its end.
    pub(super) fn render(&self, style: Style) -> String {
        let mut text = String::new();
        let mut room = style.columns();
        for (ink, piece) in &self.pieces {
            let piece = cut_end(piece, room);
            room -= text_width(&piece).min(room);
            let piece: String = if style.unicode {
                piece.chars().map(without_control).collect()
            } else {
                piece.chars().map(plain).collect()
            };
            let code = match ink {
                Ink::Plain => "",
                Ink::Strong => "1",
                Ink::Faint => "2",
                Ink::Bar => "34",
                Ink::Doubt => "33",
            };
            if style.color && !code.is_empty() && !piece.trim().is_empty() {
                text.push_str(&format!("\x1b[{code}m{piece}\x1b[0m"));
            } else {
                text.push_str(&piece);
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Two blocks of lines next to each other; the second begins at `column`.
pub(super) fn side_by_side(left: Vec<Line>, right: Vec<Line>, column: usize) -> Vec<Line> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let next = |lines: &mut std::vec::IntoIter<Line>| lines.next().unwrap_or_default();
    (0..rows).map(|_| next(&mut left).beside(column, next(&mut right))).collect()
}

/// A bar of `columns` for a share between 0 and 1, filled up with blanks.
pub(super) fn bar(share: f64, columns: usize, style: Style) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let steps = if style.unicode { 8 } else { 1 };
    let most = columns * steps;
    let filled = ((share.clamp(0.0, 1.0) * most as f64).round() as usize).min(most);
    // What is there at all is seen.
    let filled = if share > 0.0 { filled.max(1) } else { filled };
    let full = if style.unicode { '█' } else { '#' };
    let mut text: String = std::iter::repeat_n(full, filled / steps).collect();
    if !filled.is_multiple_of(steps) {
        text.push(EIGHTHS[filled % steps]);
    }
    let gap = columns.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n(' ', gap));
    text
}

/// Breaks `phrases` into lines of `columns`, after a ` · ` if possible.
pub(super) fn wrap(phrases: &[String], columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (index, phrase) in phrases.iter().enumerate() {
        for (position, word) in phrase.split_whitespace().enumerate() {
            let glue = match (index, position) {
                (0, 0) => "",
                (_, 0) => " · ",
                _ => " ",
            };
            let line = lines.last_mut().map(std::mem::take).unwrap_or_default();
            let together = format!("{line}{glue}{word}");
            lines.pop();
            if text_width(&together) <= columns || line.is_empty() {
                lines.push(together);
            } else {
                let ends = if position == 0 { " ·" } else { "" };
                lines.push(format!("{line}{ends}"));
                lines.push(word.to_owned());
            }
        }
    }
    lines
}

/// `text`, or its beginning and `…`, in at most `columns`.
pub(super) fn cut_end(text: &str, columns: usize) -> String {
    if text_width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let mut short = take(text.chars(), columns - 1);
    short.push('…');
    short
}

/// `text`, or `…` and its end, in at most `columns`: for paths.
pub(super) fn cut_start(text: &str, columns: usize) -> String {
    if text_width(text) <= columns {
        return text.to_owned();
    }
    let end = take(text.chars().rev(), columns.saturating_sub(1));
    std::iter::once('…').chain(end.chars().rev()).collect()
}

fn take(letters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    letters
        .take_while(|letter| {
            used += letter_width(*letter);
            used <= columns
        })
        .collect()
}

/// Columns that `text` takes in a terminal.
pub(super) fn text_width(text: &str) -> usize {
    text.chars().map(letter_width).sum()
}

/// Wide letters take two columns, combining marks none. The common ranges are
/// enough: a table that is off by one column in a rare script is still read.
fn letter_width(letter: char) -> usize {
    match letter as u32 {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe4f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff => 2,
        0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// A name must not move the cursor or change colours.
fn without_control(letter: char) -> char {
    match letter {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    }
}

/// The nearest ASCII letter.
fn plain(letter: char) -> char {
    match letter {
        '·' => '-',
        '…' => '~',
        'µ' => 'u',
        letter if letter.is_ascii() && !letter.is_control() => letter,
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASCII: Style = Style { color: false, width: 80, unicode: false };

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_hides_a_small_one() {
        let style = Style::default();
        assert_eq!(bar(0.5, 4, style), "██  ");
        assert_eq!(bar(0.28, 4, style), "█▏  ");
        assert_eq!(bar(0.001, 4, style), "▏   ");
        assert_eq!(bar(0.0, 4, style), "    ");
        assert_eq!(bar(7.0, 4, style), "████");
        assert_eq!(bar(0.5, 4, ASCII), "##  ");
    }

    #[test]
    fn colour_is_added_only_when_asked_for() {
        let line = Line::indented(1).put(Ink::Strong, "a").right(Ink::Plain, "b", 3);
        let colour = Style { color: true, ..Style::default() };

        assert_eq!(line.render(Style::default()), " a  b");
        assert_eq!(line.render(colour), " \x1b[1ma\x1b[0m  b");
    }

    #[test]
    fn names_cannot_move_the_cursor() {
        let line = Line::default().put(Ink::Plain, "a\x1b[2Jb\r\n\u{202e}c");

        assert_eq!(line.render(Style::default()), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}c");
        assert!(line.render(ASCII).is_ascii());
    }

    #[test]
    fn long_phrases_break_between_words() {
        let phrases = ["one two".to_owned(), "three four".to_owned()];

        assert_eq!(wrap(&phrases, 40), ["one two · three four"]);
        assert_eq!(wrap(&phrases, 10), ["one two ·", "three four"]);
        assert_eq!(wrap(&phrases, 8), ["one two ·", "three", "four"]);
    }

    #[test]
    fn text_is_cut_by_the_columns_it_takes() {
        assert_eq!(cut_end("matmul", 4), "mat…");
        assert_eq!(cut_start("a/b/data.py:88", 8), "…a.py:88");
        assert_eq!(cut_end("数据数据", 5), "数据…");
        assert_eq!(text_width("数a"), 3);
    }
}
