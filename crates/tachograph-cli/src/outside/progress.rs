//! One line that says how a recording goes, on a terminal only, gone at the end.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use tachograph_capture::attach::{Progress, resident_bytes, title};
use tachograph_profile::export::format::bytes;

use crate::console::{Console, Stream};

/// The progress line of one recording.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    pid: i32,
    title: String,
    unicode: bool,
    columns: usize,
    is_shown: bool,
    before: Progress,
}

impl ProgressLine {
    /// For process `pid`.
    pub(crate) fn new(pid: i32, console: &Console) -> Self {
        let is_shown = !console.quiet && Stream::Error.is_terminal();
        let style = console.style(Stream::Error);
        let (unicode, columns) = (style.unicode, style.width);
        Self { pid, title: title(pid), unicode, columns, is_shown, before: Progress::default() }
    }

    /// Draws the line anew.
    pub(crate) fn draw(&mut self, progress: &Progress) {
        if !self.is_shown {
            return;
        }
        let text = self.text(progress);
        self.before = *progress;
        self.show(&text);
    }

    /// Draws the line anew for a recorder inside of the process, which writes to `path`.
    pub(crate) fn draw_inside(&mut self, elapsed: Duration, path: &Path) {
        if !self.is_shown {
            return;
        }
        let (dot, seconds) = (if self.unicode { "●" } else { "*" }, elapsed.as_secs());
        let written = bytes(fs::metadata(path).map_or(0, |file| file.len()));
        let text = format!(
            "{dot} recording {} ({}) from inside  {:02}:{:02}  rss {}  {written}  Ctrl-C ends",
            self.title,
            self.pid,
            seconds / 60,
            seconds % 60,
            bytes(resident_bytes(self.pid)),
        );
        self.show(&text);
    }

    /// Writes the line over the last one. One that went on in a second row could
    /// not be taken back, so it ends before.
    fn show(&self, text: &str) {
        let text: String = text.chars().take(self.columns.saturating_sub(1)).collect();
        let _ = write!(io::stderr().lock(), "\r\x1b[2K{text}");
    }

    fn text(&self, progress: &Progress) -> String {
        let seconds = progress.elapsed_ns / 1_000_000_000;
        let since = (progress.elapsed_ns - self.before.elapsed_ns).max(1);
        let used = progress.program_cpu_ns.saturating_sub(self.before.program_cpu_ns);
        let megabytes = resident_bytes(self.pid) / 1_000_000;
        format!(
            "{} recording {} ({})  {:02}:{:02}  cpu {:.2} cores  rss {megabytes} MB  {} samples  Ctrl-C ends",
            if self.unicode { "●" } else { "*" },
            self.title,
            self.pid,
            seconds / 60,
            seconds % 60,
            used as f64 / since as f64,
            progress.samples,
        )
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
