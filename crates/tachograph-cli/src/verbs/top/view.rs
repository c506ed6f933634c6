//! What the screen shows: figures of the last seconds, order, filter.

use std::collections::VecDeque;
use std::time::Duration;

use tachograph_capture::attach::{Progress, Target, resident_bytes, title, uptime_ns};
use tachograph_profile::{Mode, Sample, Tables, ThreadState, TrackKind};

use super::rows::{Order, Row, rows, sort};

/// Points of a curve.
const CURVE: usize = 60;

/// One picture's worth of samples.
#[derive(Debug)]
struct Part {
    elapsed_ns: u64,
    samples: Vec<Sample>,
}

/// What the screen shows.
#[derive(Debug)]
pub(super) struct View {
    pub(super) title: String,
    pub(super) pid: i32,
    pub(super) python: String,
    pub(super) mode: Mode,
    pub(super) has_gil: bool,
    /// CPU in cores, memory in bytes, share of time the lock was held; newest last.
    pub(super) cpu: VecDeque<f64>,
    pub(super) rss: VecDeque<u64>,
    pub(super) gil: VecDeque<f64>,
    pub(super) uptime_ns: u64,
    pub(super) threads: usize,
    pub(super) samples: u64,
    pub(super) unreadable: u64,
    pub(super) order: Order,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) is_typing: bool,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
    /// Rows above the first one shown.
    pub(super) scroll: usize,
    /// All rows, in order.
    rows: Vec<Row>,
    parts: VecDeque<Part>,
    window_ns: u64,
    before: Progress,
}

impl View {
    /// Nothing seen yet of `target`.
    pub(super) fn of(target: &Target, mode: Mode, window: Duration) -> Self {
        let pid = target.pid;
        let mut view = Self::new(title(pid), pid, target.interpreter.version.to_string(), mode);
        view.has_gil = !target.interpreter.free_threaded;
        view.window_ns = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        view
    }

    pub(super) fn new(title: String, pid: i32, python: String, mode: Mode) -> Self {
        Self {
            title,
            pid,
            python,
            mode,
            has_gil: true,
            cpu: VecDeque::new(),
            rss: VecDeque::new(),
            gil: VecDeque::new(),
            uptime_ns: 0,
            threads: 0,
            samples: 0,
            unreadable: 0,
            order: Order::default(),
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            shows_help: false,
            scroll: 0,
            rows: Vec::new(),
            parts: VecDeque::new(),
            window_ns: 10_000_000_000,
            before: Progress::default(),
        }
    }

    /// Takes in what was seen since the last picture.
    pub(super) fn add(&mut self, tables: &Tables, samples: Vec<Sample>, progress: &Progress) {
        let elapsed_ns = progress.elapsed_ns.saturating_sub(self.before.elapsed_ns).max(1);
        let used = progress.program_cpu_ns.saturating_sub(self.before.program_cpu_ns);
        self.before = *progress;
        let holds = |sample: &&Sample| sample.state == ThreadState::RunningWithGil;
        let held: u64 = samples.iter().filter(holds).map(|sample| sample.cpu_ns).sum();
        push(&mut self.cpu, used as f64 / elapsed_ns as f64);
        push(&mut self.gil, (held as f64 / elapsed_ns as f64).min(1.0));
        push(&mut self.rss, resident_bytes(self.pid));
        self.uptime_ns = uptime_ns(self.pid);
        let lives = tables.tracks.iter();
        let lives = lives.filter(|track| track.kind == TrackKind::Thread && track.end.is_none());
        self.threads = lives.count();
        self.samples = progress.samples;
        self.unreadable = progress.unreadable;
        if self.is_paused {
            return;
        }
        self.parts.push_back(Part { elapsed_ns, samples });
        let mut covered: u64 = self.parts.iter().map(|part| part.elapsed_ns).sum();
        while covered > self.window_ns && self.parts.len() > 1 {
            covered -= self.parts.pop_front().map_or(0, |part| part.elapsed_ns);
        }
        let all = self.parts.iter().flat_map(|part| &part.samples);
        self.set_rows(rows(tables, all, self.mode));
    }

    pub(super) fn set_rows(&mut self, rows: Vec<Row>) {
        self.rows = rows;
        sort(&mut self.rows, self.order);
    }

    /// Sorts by `order`.
    pub(super) fn sort(&mut self, order: Order) {
        self.order = order;
        self.scroll = 0;
        sort(&mut self.rows, order);
    }

    /// Forgets all figures.
    pub(super) fn reset(&mut self) {
        self.parts.clear();
        self.rows.clear();
        self.scroll = 0;
    }

    /// The rows that pass the filter, in order.
    pub(super) fn shown(&self) -> Vec<&Row> {
        let wanted = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let passes = |row: &&Row| {
            wanted.is_empty() || has(&row.function) || has(&row.place) || has(&row.thread)
        };
        self.rows.iter().filter(passes).collect()
    }
}

fn push<T>(curve: &mut VecDeque<T>, value: T) {
    curve.push_back(value);
    if curve.len() > CURVE {
        curve.pop_front();
    }
}
