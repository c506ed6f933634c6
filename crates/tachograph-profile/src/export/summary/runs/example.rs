//! A made run for the tests of these tables.

use crate::analyze::{Named, RunReport, Timing, Values};

pub(super) fn phase(mean: f64, count: u64, own: f64, inside: Option<&str>) -> Timing {
    Timing {
        mean,
        std: mean / 10.0,
        min: mean * 0.9,
        p50: mean,
        p95: mean * 1.1,
        max: mean * 1.2,
        count,
        total: mean * count as f64,
        own: Some(own),
        inside: inside.map(str::to_owned),
        blocks: (0..count).map(|at| (1, mean + (at * 7 % 5) as f64 / 100.0)).collect(),
        ..Timing::default()
    }
}

pub(super) fn training(speed: f64) -> RunReport {
    let timing: Named<Timing> = [
        ("iteration", phase(25.0 / speed, 40, 100.0, None)),
        ("forward", phase(9.0, 40, 360.0, Some("iteration"))),
        ("backward", phase(13.5 / speed, 40, 540.0, Some("iteration"))),
        ("validate", phase(120.0, 2, 240.0, None)),
    ]
    .into_iter()
    .map(|(name, phase)| (name.to_owned(), phase))
    .collect();
    let loss = Values { mean: 0.4271, count: 40, last: 0.31, not_finite: 2, ..Values::default() };
    let batch = Values { mean: 32.0, min: 32.0, max: 32.0, count: 40, ..Values::default() };
    RunReport::of(timing, Named(vec![("batch_size".to_owned(), batch), ("loss".to_owned(), loss)]))
}
