//! What one run measured, in the schema that reports are saved in.
//!
//! Times are milliseconds and sizes bytes, as the schema has them. Beside what
//! people read there is what a comparison needs: counts and blocks of means.

use serde::{Deserialize, Serialize};

use super::named::Named;
use crate::stats::{Rule, Summary};

const NS_PER_MS: f64 = 1e6;

/// What one run measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunReport {
    /// Phases, in the order they were first met.
    pub timing: Named<Timing>,
    /// Memory of the accelerator.
    pub memory: Memory,
    /// How much was done per second.
    pub throughput: Throughput,
    /// Other numbers, in the order they were first met.
    pub metrics: Named<Values>,
}

/// One phase; times are milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Mean time of a call.
    pub mean: f64,
    /// Standard deviation (n - 1); 0 for one call.
    #[serde(default)]
    pub std: f64,
    /// The fastest call.
    #[serde(default)]
    pub min: f64,
    /// The slowest call.
    #[serde(default)]
    pub max: f64,
    /// How many calls; 0 when that was not saved.
    #[serde(default)]
    pub count: u64,
    /// All calls together.
    #[serde(default)]
    pub total: f64,
    /// The part of `total` that no phase inside it took.
    #[serde(default, rename = "self")]
    pub own: Option<f64>,
    /// Median.
    #[serde(default)]
    pub p50: f64,
    /// 95 of 100 calls were not slower.
    #[serde(default)]
    pub p95: f64,
    /// 99 of 100 calls were not slower.
    #[serde(default)]
    pub p99: f64,
    /// The phase it mostly happens inside of.
    #[serde(default)]
    pub inside: Option<String>,
    /// Its course: consecutive calls and their mean, the oldest first.
    #[serde(default)]
    pub blocks: Vec<(u64, f64)>,
}

/// A number that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Values {
    /// Mean.
    pub mean: f64,
    /// Standard deviation (n - 1); 0 for one value.
    pub std: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many.
    pub count: u64,
    /// The one that came last.
    pub last: f64,
    /// Median.
    pub p50: f64,
    /// 95 of 100 are not larger.
    pub p95: f64,
    /// Infinities and NaN, which are counted and otherwise left out.
    pub not_finite: u64,
    /// Their course: consecutive values and their mean, the oldest first.
    pub blocks: Vec<(u64, f64)>,
}

/// Memory of the accelerator in bytes; 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Most that was in use at once.
    pub peak_allocated: u64,
    /// Most that was set aside at once.
    pub peak_reserved: u64,
}

/// How much was done per second; 0 where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Throughput {
    /// Mean of the metric `batch_size` over the mean time of the phase `iteration`.
    pub samples_per_sec: f64,
    /// One over the mean time of the phase `iteration`.
    pub iterations_per_sec: f64,
}

impl Timing {
    /// A phase whose `times` are nanoseconds.
    #[must_use]
    pub fn of(times: &Summary, own_ns: f64, inside: Option<String>) -> Self {
        let ms = |ns: f64| finite(ns / NS_PER_MS);
        Self {
            mean: ms(times.mean()),
            std: ms(times.std()),
            min: ms(times.min()),
            max: ms(times.max()),
            count: times.count(),
            total: ms(times.sum()),
            own: Some(ms(own_ns)),
            p50: ms(times.quantile(0.50, Rule::Linear)),
            p95: ms(times.quantile(0.95, Rule::Linear)),
            p99: ms(times.quantile(0.99, Rule::Linear)),
            inside,
            blocks: times.blocks().iter().map(|block| (block.count, ms(block.mean()))).collect(),
        }
    }

    /// Time that is its own, in milliseconds.
    #[must_use]
    pub fn own_ms(&self) -> f64 {
        self.own.unwrap_or_else(|| self.total_ms())
    }

    /// Time of all calls, in milliseconds; one call's when their number was not saved.
    #[must_use]
    pub fn total_ms(&self) -> f64 {
        if self.total > 0.0 { self.total } else { self.mean * self.count.max(1) as f64 }
    }
}

impl Values {
    /// A number, and how many of its values were none.
    #[must_use]
    pub fn of(values: &Summary, not_finite: u64) -> Self {
        Self {
            mean: finite(values.mean()),
            std: finite(values.std()),
            min: values.min(),
            max: values.max(),
            count: values.count(),
            last: values.last(),
            p50: finite(values.quantile(0.50, Rule::Linear)),
            p95: finite(values.quantile(0.95, Rule::Linear)),
            not_finite,
            blocks: values
                .blocks()
                .iter()
                .map(|block| (block.count, finite(block.mean())))
                .collect(),
        }
    }
}

impl RunReport {
    /// A report whose throughput follows from its phases and numbers.
    #[must_use]
    pub fn of(timing: Named<Timing>, metrics: Named<Values>) -> Self {
        let iteration = timing.get("iteration").map_or(0.0, |phase| phase.mean);
        let iterations_per_sec = if iteration > 0.0 { 1e3 / iteration } else { 0.0 };
        let batch = metrics.get("batch_size").map_or(0.0, |values| values.mean);
        let throughput = Throughput {
            samples_per_sec: finite(batch * iterations_per_sec),
            iterations_per_sec: finite(iterations_per_sec),
        };
        Self { timing, memory: Memory::default(), throughput, metrics }
    }
}

/// JSON has no word for infinity; sums of huge numbers stop at the largest one.
fn finite(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(f64::MIN, f64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> Summary {
        let mut summary = Summary::default();
        values.iter().enumerate().for_each(|(at, value)| summary.add(*value, at as u64));
        summary
    }

    #[test]
    fn throughput_is_batch_size_over_iteration() {
        let iteration = Timing::of(&summary(&[20e6, 30e6]), 50e6, None);
        let batch = Values::of(&summary(&[32.0, 32.0]), 0);

        let report = RunReport::of(
            Named(vec![("iteration".to_owned(), iteration)]),
            Named(vec![("batch_size".to_owned(), batch)]),
        );

        assert_eq!(report.throughput.iterations_per_sec, 40.0);
        assert_eq!(report.throughput.samples_per_sec, 1280.0);
        assert_eq!(report.timing.get("iteration").unwrap().mean, 25.0);
    }

    #[test]
    fn the_schema_of_the_document_is_enough_to_be_read() {
        let text = r#"{"timing": {"forward": {"mean": 24.3, "std": 1.2, "min": 22.1, "max": 27.5}},
            "memory": {"peak_allocated": 8589934592, "peak_reserved": 10737418240},
            "throughput": {"samples_per_sec": 1245.6, "iterations_per_sec": 41.2}}"#;

        let report: RunReport = serde_json::from_str(text).unwrap();

        let forward = report.timing.get("forward").unwrap();
        assert_eq!((forward.mean, forward.count, forward.total_ms()), (24.3, 0, 24.3));
        assert_eq!(report.memory.peak_reserved, 10_737_418_240);
    }

    #[test]
    fn a_report_comes_back_from_json_as_it_was() {
        let timing = Timing::of(&summary(&[1e6, 3e6, 2e6]), 4e6, Some("iteration".to_owned()));
        let values = Values::of(&summary(&[f64::MAX, f64::MAX, 0.5]), 2);
        let report = RunReport::of(
            Named(vec![("forward".to_owned(), timing)]),
            Named(vec![("loss".to_owned(), values)]),
        );

        let text = serde_json::to_string(&report).unwrap();

        assert_eq!(serde_json::from_str::<RunReport>(&text).unwrap(), report);
    }

    #[test]
    fn nothing_measured_is_a_valid_report_of_zeros() {
        let report = RunReport::of(Named::default(), Named::default());

        assert_eq!(report.throughput, Throughput::default());
        assert_eq!(report.memory, Memory::default());
    }
}
