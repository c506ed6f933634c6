//! Metrics: named numbers that change while the program runs.

use tachograph_capture::spans::{self, Meter, Name};
use tachograph_profile::stats::Summary;

use crate::live::metrics;

/// A named number. Keep it where it is recorded often: looking it up costs
/// more than recording.
#[derive(Clone, Debug)]
pub struct Metric {
    name: Name,
    meter: Meter,
}

/// The metric called `name`.
///
/// ```
/// let loss = tachograph::metric("loss");
/// loss.record(0.5);
/// loss.record(0.25);
///
/// assert_eq!(loss.summary().mean(), 0.375);
/// ```
#[must_use]
pub fn metric(name: &str) -> Metric {
    let name = Name::of(name);
    Metric { name, meter: metrics().meter(name) }
}

impl Metric {
    /// Adds a value to the live report, and to the recording if one is open.
    /// What is no number is left out.
    pub fn record(&self, value: f64) {
        self.meter.add(value);
        spans::point(self.name, value);
    }

    /// What came so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.meter.summary()
    }
}
