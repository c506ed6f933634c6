//! The live report: what spans and metrics add up to while the program runs.

use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use tachograph_capture::spans::{self, Ledger};
use tachograph_profile::export::format::{count, duration};
use tachograph_profile::stats::{Rule, Summary};

/// Durations of spans, in nanoseconds.
pub(crate) fn timings() -> &'static Ledger {
    static TIMINGS: LazyLock<Ledger> = LazyLock::new(Ledger::new);
    &TIMINGS
}

/// Values of metrics.
pub(crate) fn metrics() -> &'static Ledger {
    static METRICS: LazyLock<Ledger> = LazyLock::new(Ledger::new);
    &METRICS
}

/// Turns the live report of spans on or off. It is off at first; metrics are
/// always counted.
pub fn set_profiling(on: bool) {
    spans::set_profiling(on);
}

/// What is known so far; prints as a table.
///
/// ```
/// tachograph::set_profiling(true);
/// tachograph::timed("load", || ());
///
/// let report = tachograph::report();
///
/// assert_eq!(report.timing("load").map(|row| row.count()), Some(1));
/// println!("{report}");
/// ```
#[must_use]
pub fn report() -> Report {
    let timings = timings().summaries();
    let timings =
        timings.into_iter().map(|(name, summary)| TimingRow { name: name.text(), summary });
    let metrics = metrics().summaries().into_iter().map(|(name, summary)| (name.text(), summary));
    let (entries, to_unix) = spans::timeline();
    let timeline = entries.into_iter().map(|entry| {
        let end_ns = i64::try_from(entry.end_ns).unwrap_or(0) + to_unix;
        let end = SystemTime::UNIX_EPOCH + Duration::from_nanos(end_ns.unsigned_abs());
        let took = Duration::from_nanos(entry.duration_ns);
        TimelineRow { name: entry.name.text(), end, took, failed: entry.failed }
    });
    Report { timings: timings.collect(), metrics: metrics.collect(), timeline: timeline.collect() }
}

/// Forgets what the live report has.
pub fn clear_report() {
    timings().clear();
    metrics().clear();
    spans::clear_timeline();
}

/// What spans and metrics add up to so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Spans by name.
    pub timings: Vec<TimingRow>,
    /// Metrics by name.
    pub metrics: Vec<(&'static str, Summary)>,
    /// The latest spans of all threads, the oldest first.
    pub timeline: Vec<TimelineRow>,
}

/// All spans of one name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TimingRow {
    /// What they are called.
    pub name: &'static str,
    /// Their durations, in nanoseconds.
    pub summary: Summary,
}

/// One span that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineRow {
    /// What it is called.
    pub name: &'static str,
    /// When it ended.
    pub end: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// It ended with a panic.
    pub failed: bool,
}

impl TimingRow {
    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.summary.count()
    }

    /// How long they took together.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.summary.sum() as u64)
    }

    /// How long they took on average.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.summary.mean() as u64)
    }

    /// How long the share `q` (0 to 1) of them took at most.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        Duration::from_nanos(self.summary.quantile(q, Rule::Linear) as u64)
    }
}

impl Report {
    /// The spans called `name`.
    #[must_use]
    pub fn timing(&self, name: &str) -> Option<&TimingRow> {
        self.timings.iter().find(|row| row.name == name)
    }

    /// The metric called `name`.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&Summary> {
        self.metrics.iter().find(|(known, _)| *known == name).map(|(_, summary)| summary)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.timings.iter().map(|row| row.name);
        let names = names.chain(self.metrics.iter().map(|(name, _)| *name));
        let width = names.map(|name| name.chars().count()).max().unwrap_or(0).max(8);
        if !self.timings.is_empty() {
            writeln!(
                out,
                "{:width$}  {:>9}  {:>8}  {:>8}  {:>8}  {:>8}",
                "SPANS", "count", "total", "p50", "p95", "max"
            )?;
        }
        for row in &self.timings {
            let told = |ns: f64| duration(ns as u64);
            let quantile = |q| told(row.summary.quantile(q, Rule::Linear));
            writeln!(
                out,
                "{:width$}  {:>9}  {:>8}  {:>8}  {:>8}  {:>8}",
                row.name,
                count(row.count()),
                told(row.summary.sum()),
                quantile(0.5),
                quantile(0.95),
                told(row.summary.max()),
            )?;
        }
        if !self.metrics.is_empty() {
            writeln!(
                out,
                "{:width$}  {:>9}  {:>8}  {:>8}  {:>8}  {:>8}",
                "METRICS", "count", "mean", "min", "max", "last"
            )?;
        }
        for (name, summary) in &self.metrics {
            writeln!(
                out,
                "{name:width$}  {:>9}  {:>8}  {:>8}  {:>8}  {:>8}",
                count(summary.count()),
                number(summary.mean()),
                number(summary.min()),
                number(summary.max()),
                number(summary.last()),
            )?;
        }
        Ok(())
    }
}

/// A number in eight columns, with as many digits as mean something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e8 || (size > 0.0 && size < 1e-3) => format!("{value:.2e}"),
        size if size >= 1e4 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_of_every_size_fit_a_column() {
        for value in [0.0, 1e-9, 0.0123, 1.5, 123.456, 98765.4, 1.5e7, -4.2e12] {
            assert!(number(value).len() <= 9, "{}", number(value));
        }
    }
}
