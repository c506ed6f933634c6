//! What fits into a box: text, its width, and its escape into XML.

/// Room on both sides of a label.
const PADDING: f64 = 5.0;
/// Boxes narrower than this carry no text.
const NARROWEST: f64 = 24.0;

/// The text of a box: the name, and the file after it when there is room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) file: String,
}

/// The most that fits into `width` pixels; the file goes first when room is short.
pub(super) fn fit(name: &str, file: &str, width: f64) -> Label {
    let room = width - 2.0 * PADDING;
    if width < NARROWEST {
        return Label::default();
    }
    let name_width = text_width(name);
    if name_width > room {
        return Label { name: shorten(name, room), file: String::new() };
    }
    let rest = room - name_width - 8.0;
    let file =
        if file.is_empty() || rest < NARROWEST { String::new() } else { shorten(file, rest) };
    Label { name: name.to_owned(), file }
}

/// `text`, or its beginning and `…`; empty when not even two letters fit.
fn shorten(text: &str, room: f64) -> String {
    if text_width(text) <= room {
        return text.to_owned();
    }
    let mut used = char_width('…');
    let mut short = String::new();
    for letter in text.chars() {
        used += char_width(letter);
        if used > room {
            break;
        }
        short.push(letter);
    }
    if short.chars().count() < 2 {
        return String::new();
    }
    short + "…"
}

/// About how wide `text` is at 12 pixels in a system font; the box clips what
/// is wider on the reader's machine. `flame.js` uses the same table.
fn text_width(text: &str) -> f64 {
    text.chars().map(char_width).sum()
}

fn char_width(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'f' | 't' | 'r' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!'
        | '(' | ')' | '[' | ']' | ' ' | '/' => 4.2,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 10.6,
        'A'..='Z' | '<' | '>' | '+' | '=' | '~' => 8.2,
        letter if letter.is_ascii() => 7.0,
        letter if (letter as u32) < 0x2e80 => 8.0,
        _ => 12.5,
    }
}

/// `text` inside an XML element. Characters XML has no way to write become `�`,
/// and those that turn the direction of text around become visible escapes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' | '\r' | '\u{2028}' | '\u{2029}' => safe.push(' '),
            '\u{61c}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{200e}'
            | '\u{200f}' => {
                safe.push_str(&format!("\\u{{{:x}}}", letter as u32));
            }
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_goes_first_when_room_is_short() {
        let wide = fit("decode", "data.py", 200.0);
        assert_eq!((wide.name.as_str(), wide.file.as_str()), ("decode", "data.py"));

        let narrow = fit("decode", "data.py", 60.0);
        assert_eq!((narrow.name.as_str(), narrow.file.as_str()), ("decode", ""));

        let short = fit("decode", "data.py", 40.0);
        assert_eq!(short.name, "de…");
        assert_eq!(fit("decode", "data.py", 20.0), Label::default());
    }

    #[test]
    fn hostile_names_cannot_leave_their_element() {
        let name = "</text><script>alert(\"1\")</script>&\u{202e}\u{1}\n";

        assert_eq!(
            escape(name),
            "&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;\\u{202e}\u{fffd} "
        );
    }
}
