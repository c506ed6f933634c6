//! One line that says how a recording goes, on a terminal only, gone at the end.

use std::io::{self, Write};

use tachograph_capture::attach::{Progress, resident_bytes, title};

use crate::console::{Console, Stream};

/// The progress line of one recording.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    pid: i32,
    title: String,
    unicode: bool,
    is_shown: bool,
    before: Progress,
}

impl ProgressLine {
    /// For process `pid`.
    pub(crate) fn new(pid: i32, console: &Console) -> Self {
        let is_shown = !console.quiet && Stream::Error.is_terminal();
        let unicode = console.style(Stream::Error).unicode;
        Self { pid, title: title(pid), unicode, is_shown, before: Progress::default() }
    }

    /// Draws the line anew.
    pub(crate) fn draw(&mut self, progress: &Progress) {
        if !self.is_shown {
            return;
        }
        let text = self.text(progress);
        self.before = *progress;
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
