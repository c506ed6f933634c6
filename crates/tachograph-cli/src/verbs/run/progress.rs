//! The line that shows a recording is being made: only on a terminal, redrawn
//! twice a second, gone at the end.
//!
//! The program owns the screen. Its lowest row is taken out of the part that
//! scrolls, so what the program prints never mixes with our line; every redraw
//! is one write that leaves the cursor where the program had it.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::termios::tcgetwinsize;

use tachograph_profile::export::format::bytes;

use crate::console::{Console, Stream};

/// How often the line is drawn; a program shorter than this never sees it.
pub(super) const REDRAW: Duration = Duration::from_millis(500);

/// A screen with fewer rows is too small to give one away.
const FEWEST_ROWS: u16 = 4;

/// The line, and what it needs to know.
pub(super) struct Progress {
    is_on: bool,
    color: bool,
    unicode: bool,
    name: String,
    process: PathBuf,
    watched: PathBuf,
    /// Rows of the screen whose last one is ours now.
    taken: Option<u16>,
    last: Option<Seen>,
}

/// What the process had used at some moment.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Instant,
    cpu: Duration,
    resident: u64,
}

impl Progress {
    /// The line for the program `name` in process `pid`, whose recording is `watched`.
    pub(super) fn new(name: &str, pid: i32, watched: &Path, console: &Console) -> Self {
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        let is_on = !console.quiet
            && !is_dumb
            && env::var_os("CI").is_none()
            && Stream::Error.is_terminal();
        let style = console.style(Stream::Error);
        Self {
            is_on,
            color: style.color,
            unicode: style.unicode,
            name: name.to_owned(),
            process: PathBuf::from(format!("/proc/{pid}")),
            watched: watched.to_owned(),
            taken: None,
            last: None,
        }
    }

    /// Draws the line.
    pub(super) fn draw(&mut self, elapsed: Duration) {
        let Some((rows, columns)) = screen().filter(|_| self.is_on) else { return };
        if rows < FEWEST_ROWS {
            return self.erase();
        }
        let mut text = String::new();
        if self.taken != Some(rows) {
            self.erase();
            text.push_str(&take_row(rows));
            self.taken = Some(rows);
        }
        let line = self.line(elapsed, usize::from(columns));
        text.push_str(&format!("\x1b7\x1b[{rows};1H\x1b[2K{line}\x1b8"));
        write(&text);
    }

    /// Gives the row back, blank.
    pub(super) fn erase(&mut self) {
        if let Some(rows) = self.taken.take() {
            write(&format!("\x1b7\x1b[{rows};1H\x1b[2K\x1b[r\x1b8"));
        }
    }

    /// `● recording train.py  00:12  cpu 1.46 cores  rss 398 MB ↑  612 KB`
    fn line(&mut self, elapsed: Duration, columns: usize) -> String {
        let mut facts = vec![clock(elapsed)];
        let now = seen(&self.process);
        if let (Some(now), Some(last)) = (now, self.last) {
            let passed = now.at.duration_since(last.at).as_secs_f64();
            let used = now.cpu.saturating_sub(last.cpu).as_secs_f64();
            facts.push(format!("cpu {:.2} cores", if passed > 0.0 { used / passed } else { 0.0 }));
        }
        if let Some(now) = now {
            let before = self.last.map_or(now.resident, |last| last.resident);
            facts.push(format!("rss {}{}", bytes(now.resident), self.arrow(before, now.resident)));
        }
        self.last = now;
        facts.extend(fs::metadata(&self.watched).ok().map(|file| bytes(file.len())));
        let dot = if self.unicode { "●" } else { "*" };
        let text = format!(" recording {}  {}", self.name, facts.join("  "));
        let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
        let text: String = text.chars().take(columns.saturating_sub(2)).collect();
        if self.color { format!("\x1b[31m{dot}\x1b[0m{text}") } else { format!("{dot}{text}") }
    }

    fn arrow(&self, before: u64, now: u64) -> &'static str {
        // A change of less than 1 % is no change.
        let step = before / 100;
        match (self.unicode, now > before + step, now + step < before) {
            (true, true, _) => " ↑",
            (true, _, true) => " ↓",
            (false, true, _) => " +",
            (false, _, true) => " -",
            _ => "",
        }
    }
}

/// Makes room for the cursor above the last row, then keeps that row from scrolling.
fn take_row(rows: u16) -> String {
    format!("\x1bD\x1b[1A\x1b7\x1b[1;{}r\x1b8", rows - 1)
}

/// `00:12`, `1:02:03`.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

fn screen() -> Option<(u16, u16)> {
    let size = tcgetwinsize(io::stderr()).ok()?;
    Some((size.ws_row, size.ws_col))
}

/// What the process under `folder` of the kernel's process list has used.
fn seen(folder: &Path) -> Option<Seen> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let pages = fs::read_to_string(folder.join("statm")).ok()?;
    let cpu = cpu_time(&stat, clock_ticks_per_second())?;
    let pages: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(Seen { at: Instant::now(), cpu, resident: pages * page_size() as u64 })
}

/// User and system time in a line of `/proc/<pid>/stat`. The name of the
/// program in it may hold blanks and parentheses.
fn cpu_time(stat: &str, ticks_per_second: u64) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_secs_f64((user + system) as f64 / ticks_per_second.max(1) as f64))
}

/// Nobody can be told if the terminal is gone.
fn write(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_shows_hours_when_there_are_some() {
        assert_eq!(clock(Duration::from_secs(12)), "00:12");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        let stat = "42 (a) b c) S 1 42 42 0 -1 4194304 1 0 0 0 150 50 0 0 20 0 1 0 1 1 1";

        assert_eq!(cpu_time(stat, 100), Some(Duration::from_secs(2)));
        assert_eq!(cpu_time("42 (a", 100), None);
    }

    #[test]
    fn our_own_process_is_seen() {
        let found = seen(Path::new("/proc/self")).unwrap();

        assert!(found.resident > 1_000_000, "{found:?}");
    }

    #[test]
    fn the_line_says_what_grows_and_fits_the_screen() {
        let mut progress = Progress {
            is_on: true,
            color: false,
            unicode: true,
            name: "train.py".to_owned(),
            process: PathBuf::from("/proc/self"),
            watched: PathBuf::from("/proc/self/nothing"),
            taken: None,
            last: Some(Seen { at: Instant::now(), cpu: Duration::ZERO, resident: 1 }),
        };

        let line = progress.line(Duration::from_secs(12), 200);

        assert!(line.starts_with("● recording train.py  00:12  cpu "), "{line}");
        assert!(line.ends_with(" ↑"), "{line}");
        assert_eq!(progress.line(Duration::from_secs(12), 20).chars().count(), 19);
    }
}
