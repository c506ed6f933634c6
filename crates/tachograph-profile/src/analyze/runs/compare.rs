//! Whether one run is faster than another, and how sure that is.
//!
//! All intervals of one comparison hold together: the more phases are
//! compared, the wider each gets, so that comparing a program with itself
//! raises a false alarm in at most one of twenty comparisons, however many
//! phases it has.

use serde::Serialize;

use super::interval::{Estimate, estimate, ratio};
use super::named::Named;
use super::report::{RunReport, Timing};

/// Calls each side needs before anything is said about a phase.
pub const ENOUGH: u64 = 10;

/// Chance that all intervals of a comparison hold.
const CONFIDENCE: f64 = 0.95;

/// Chance of a false alarm that is spent when intervals are made. Less than
/// the 5 % that are promised: the spread of a few blocks is itself a guess.
/// `a_run_compared_with_itself_is_rarely_called_different` measures what comes
/// of it.
const SPENT: f64 = 0.02;

/// Intervals that contain 1 and stay this close to it mean "the same".
const CLOSE: f64 = 0.05;

/// The outcome of comparing two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The second is faster.
    Faster,
    /// The second is slower.
    Slower,
    /// Any difference is less than 5 %.
    Same,
    /// There may be a difference; more calls would tell.
    Unclear,
    /// Too few calls to say anything.
    NotEnoughData,
}

impl Verdict {
    /// As a person says it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Unclear => "unclear",
            Self::NotEnoughData => "not enough data",
        }
    }

    fn of((low, high): (f64, f64)) -> Self {
        if low > 1.0 {
            Self::Faster
        } else if high < 1.0 {
            Self::Slower
        } else if high <= 1.0 + CLOSE && low >= 1.0 / (1.0 + CLOSE) {
            Self::Same
        } else {
            Self::Unclear
        }
    }
}

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Mean time of a call, in milliseconds.
    pub mean: f64,
    /// How many calls; 0 when that was not saved.
    pub count: u64,
}

/// One phase in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Time in the first run over time in the second; more than 1 is faster.
    pub speedup: f64,
    /// Where the speedup lies with the confidence of the comparison.
    pub interval: Option<(f64, f64)>,
    /// What that means.
    pub verdict: Verdict,
    /// The first run.
    pub a: Side,
    /// The second run.
    pub b: Side,
}

/// Two runs beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The time that the first run's calls of the outermost common phases took
    /// over what they would take at the second run's means.
    pub speedup: Option<f64>,
    /// Where it lies.
    pub interval: Option<(f64, f64)>,
    /// What that means.
    pub verdict: Verdict,
    /// Chance that all intervals hold together.
    pub confidence: f64,
    /// Phases of both runs, in the order of the first.
    pub phases: Named<Change>,
    /// Phases that `speedup` is made of.
    pub over: Vec<String>,
    /// Phases that only the first run has.
    pub only_a: Vec<String>,
    /// Phases that only the second run has.
    pub only_b: Vec<String>,
    /// Calls that a phase needs in each run.
    pub needs: u64,
}

/// Compares run `b` with run `a`.
///
/// ```
/// use tachograph_profile::analyze::{RunReport, Verdict, compare};
///
/// let run = |ms: f64| {
///     let blocks: Vec<_> = (0..20).map(|at| (1, ms + f64::from(at * 7 % 5) / 10.0)).collect();
///     let step = serde_json::json!({"mean": ms + 0.2, "count": 20, "blocks": blocks});
///     serde_json::from_value::<RunReport>(serde_json::json!({"timing": {"step": step}})).unwrap()
/// };
///
/// let comparison = compare(&run(20.0), &run(10.0));
///
/// assert_eq!(comparison.verdict, Verdict::Faster);
/// let (low, high) = comparison.interval.unwrap();
/// assert!(1.9 < low && low < comparison.speedup.unwrap() && high < 2.1);
/// ```
#[must_use]
pub fn compare(a: &RunReport, b: &RunReport) -> Comparison {
    let common: Vec<Pair<'_>> = a
        .timing
        .iter()
        .filter_map(|(name, a)| Some(Pair { name, a, b: b.timing.get(name)? }))
        .filter(|pair| pair.a.mean > 0.0 && pair.b.mean > 0.0)
        .collect();
    let is_common = |name: &str| common.iter().any(|pair| pair.name == name);
    let measured = common.iter().filter(|pair| pair.estimates().is_some()).count();
    let family = if measured > 1 { measured + 1 } else { 1 };
    let confidence = 1.0 - SPENT / family as f64;
    let outermost: Vec<&Pair<'_>> =
        common.iter().filter(|pair| !pair.a.inside.as_deref().is_some_and(is_common)).collect();
    let (speedup, interval) = overall(&outermost, confidence);
    let only = |one: &RunReport| -> Vec<String> {
        let names = one.timing.iter().map(|(name, _)| name);
        names.filter(|name| !is_common(name)).map(str::to_owned).collect()
    };
    Comparison {
        speedup,
        interval,
        verdict: interval.map_or(Verdict::NotEnoughData, Verdict::of),
        confidence: CONFIDENCE,
        over: outermost.iter().map(|pair| pair.name.to_owned()).collect(),
        only_a: only(a),
        only_b: only(b),
        needs: ENOUGH,
        phases: common.iter().map(|pair| (pair.name.to_owned(), pair.change(confidence))).collect(),
    }
}

/// One phase of both runs.
struct Pair<'a> {
    name: &'a str,
    a: &'a Timing,
    b: &'a Timing,
}

impl Pair<'_> {
    fn estimates(&self) -> Option<(Estimate, Estimate)> {
        let of = |side: &Timing| {
            let calls: u64 = side.blocks.iter().map(|block| block.0).sum();
            let enough = calls >= ENOUGH && side.blocks.len() as u64 >= ENOUGH;
            enough.then(|| estimate(&side.blocks)).flatten().filter(|one| one.mean > 0.0)
        };
        Some((of(self.a)?, of(self.b)?))
    }

    fn change(&self, confidence: f64) -> Change {
        let told = self.estimates().map(|(a, b)| ratio(&a, &b, confidence));
        let side = |one: &Timing| Side { mean: one.mean, count: one.count };
        Change {
            speedup: self.a.mean / self.b.mean,
            interval: told.map(|told| told.1),
            verdict: told.map_or(Verdict::NotEnoughData, |told| Verdict::of(told.1)),
            a: side(self.a),
            b: side(self.b),
        }
    }
}

/// The speedup of all `pairs` together, each with the calls it has in the first run.
///
/// Phases of one iteration are slow together and fast together, so their
/// errors are added as if they always went the same way.
fn overall(pairs: &[&Pair<'_>], confidence: f64) -> (Option<f64>, Option<(f64, f64)>) {
    let counted = pairs.iter().all(|pair| pair.a.count > 0);
    let weight = |pair: &Pair<'_>| if counted { pair.a.count as f64 } else { 1.0 };
    let sum = |mean: fn(&Pair<'_>) -> f64| -> f64 {
        pairs.iter().map(|pair| weight(pair) * mean(pair)).sum()
    };
    let (whole_a, whole_b) = (sum(|pair| pair.a.mean), sum(|pair| pair.b.mean));
    let speedup = (whole_a > 0.0 && whole_b > 0.0).then(|| whole_a / whole_b);
    let mut together: Option<(Estimate, Estimate)> = None;
    for pair in pairs {
        let Some((a, b)) = pair.estimates() else { return (speedup, None) };
        let nothing = Estimate { mean: 0.0, error: 0.0, freedom: f64::INFINITY };
        let (mut all_a, mut all_b) = together.unwrap_or((nothing, nothing));
        for (all, one) in [(&mut all_a, a), (&mut all_b, b)] {
            all.mean += weight(pair) * one.mean;
            all.error += weight(pair) * one.error;
            all.freedom = all.freedom.min(one.freedom);
        }
        together = Some((all_a, all_b));
    }
    (speedup, together.map(|(a, b)| ratio(&a, &b, confidence).1))
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
