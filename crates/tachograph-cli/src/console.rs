//! The two streams of the terminal, and what they can show.

use std::env;
use std::io::{self, IsTerminal, Write};

use rustix::termios::tcgetwinsize;

use tachograph_profile::export::Style;

use crate::failure::Failure;

/// Columns when nothing says how wide the reader's screen is.
const PLAIN_WIDTH: usize = 110;

/// When to use colour. Its words have no explanations: they would make every
/// help text three times as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Where text goes and how it may look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Console {
    /// Say nothing that was not asked for.
    pub quiet: bool,
    /// When to use colour.
    pub color: Color,
}

impl Console {
    /// Writes a result to standard output.
    ///
    /// A reader that went away, as `head` does, is not an error.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written, for instance because a disk is full.
    pub fn result(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => Ok(done?),
        }
    }

    /// Writes a line of our own to standard error, unless `--quiet`.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }

    /// Tells what failed and what to do about it; `--quiet` does not hide it.
    pub fn failure(&self, failure: &Failure) {
        let style = self.style(Stream::Error);
        let name = if style.color { "\x1b[1;31mtachograph:\x1b[0m" } else { "tachograph:" };
        let mut text = format!("{name} {}", printable(&failure.what));
        if let Some(remedy) = &failure.remedy {
            text.push_str(&format!("\n  {}", printable(remedy)));
        }
        say(&text);
    }

    /// How text on `stream` may look.
    #[must_use]
    pub fn style(&self, stream: Stream) -> Style {
        Style {
            color: self.color.is_on(stream),
            width: width(stream),
            unicode: is_unicode(|name| env::var(name).ok()),
        }
    }
}

/// One of our two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Stream {
    /// Whether a person looks at it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        }
    }
}

impl Color {
    fn is_on(self, stream: Stream) -> bool {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if is_set("NO_COLOR") => false,
            Self::Auto if env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Self::Auto => stream.is_terminal() && env::var_os("TERM").is_none_or(|t| t != "dumb"),
        }
    }
}

/// Columns of `stream`: `COLUMNS`, or those of its terminal.
fn width(stream: Stream) -> usize {
    let said = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || {
        let size = match stream {
            Stream::Output => tcgetwinsize(io::stdout()),
            Stream::Error => tcgetwinsize(io::stderr()),
        };
        size.ok().map(|size| usize::from(size.ws_col))
    };
    said.or_else(seen).filter(|columns| *columns > 0).unwrap_or(PLAIN_WIDTH)
}

/// Whether the locale shows more than ASCII. One who says nothing gets UTF-8:
/// that is what terminals are today; one who says `C` wants ASCII.
fn is_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).filter(|text| !text.is_empty());
    let Some(locale) = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")) else {
        return true;
    };
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// A name from a recording or a file must not move the cursor.
fn printable(text: &str) -> String {
    let shown =
        |letter: char| if letter.is_control() && letter != '\n' { '\u{fffd}' } else { letter };
    text.chars().map(shown).collect()
}

/// Writes a line to standard error. Nobody can be told if that fails.
fn say(text: &str) {
    let mut line = text.to_owned();
    line.push('\n');
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unicode(variables: &[(&str, &str)]) -> bool {
        is_unicode(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_locale_decides_whether_bars_are_ascii() {
        assert!(unicode(&[]));
        assert!(unicode(&[("LANG", "de_DE.UTF-8")]));
        assert!(unicode(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!unicode(&[("LANG", "C")]));
        assert!(!unicode(&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")]));
    }

    #[test]
    fn what_failed_cannot_move_the_cursor() {
        assert_eq!(printable("a\x1b[2Jb\nc"), "a\u{fffd}[2Jb\nc");
    }
}
