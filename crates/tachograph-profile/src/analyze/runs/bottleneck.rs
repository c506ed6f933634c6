//! Which phase holds a run up, and why.
//!
//! A phase that contains others is judged by the time that is its own, so an
//! `iteration` around everything is not the bottleneck of itself.

use serde::Serialize;

use super::named::Named;
use super::report::{RunReport, Timing};
use crate::export::format::{counted, duration};

/// Blocks that a trend needs.
const FEWEST_BLOCKS: usize = 8;

/// How many standard deviations away from no order at all is a trend.
const TREND_DEVIATIONS: f64 = 3.0;

/// A smaller change from the first quarter of the calls to the last is none.
const TREND_CHANGE: f64 = 0.05;

/// A standard deviation of this part of the mean is worth telling.
const NOTABLE_VARIANCE: f64 = 0.25;

/// Where the time of a run went, and what stands out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bottlenecks {
    /// The phase with most time of its own; `None` when nothing was measured.
    pub bottleneck: Option<String>,
    /// Its part of the time of all phases, 0 to 1.
    pub share: f64,
    /// Why, in one sentence.
    pub why: String,
    /// Why, one fact at a time: `share`, `trend`, `variance`.
    pub reasons: Vec<Reason>,
    /// Every phase, the one with most time of its own first.
    pub phases: Named<PhaseShare>,
}

/// One fact about the bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// `share`, `trend` or `variance`.
    pub kind: &'static str,
    /// The number behind it; `None` when there is too little data for one.
    pub value: Option<f64>,
    /// Whether it stands out.
    pub notable: bool,
    /// In words.
    pub text: String,
}

/// One phase; times are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseShare {
    /// Its part of the time of all phases, 0 to 1.
    pub share: f64,
    /// Time that no phase inside it took.
    pub self_ms: f64,
    /// All its time.
    pub total_ms: f64,
    /// Mean time of a call.
    pub mean_ms: f64,
    /// How many calls.
    pub count: u64,
    /// The phase it mostly happens inside of.
    pub inside: Option<String>,
    /// How much slower the last calls were than the first: 0.1 is 10 %;
    /// 0 when there is no trend, `None` when there are too few calls to tell.
    pub trend: Option<f64>,
    /// Standard deviation as a part of the mean; `None` for fewer than two calls.
    pub variance: Option<f64>,
}

/// The phase with most time of its own, and what is known about every phase.
///
/// ```
/// use tachograph_profile::analyze::{RunReport, bottlenecks};
///
/// let report: RunReport = serde_json::from_str(
///     r#"{"timing": {
///         "iteration": {"mean": 10, "count": 4, "total": 40, "self": 4},
///         "forward": {"mean": 6, "count": 4, "total": 24, "inside": "iteration"},
///         "load": {"mean": 3, "count": 4, "total": 12, "inside": "iteration"}}}"#,
/// )
/// .unwrap();
///
/// let found = bottlenecks(&report);
///
/// assert_eq!(found.bottleneck.as_deref(), Some("forward"));
/// assert_eq!(found.share, 0.6);
/// ```
#[must_use]
pub fn bottlenecks(report: &RunReport) -> Bottlenecks {
    let whole: f64 = report.timing.iter().map(|(_, phase)| phase.own_ms().max(0.0)).sum();
    let mut phases: Vec<(String, PhaseShare)> = report
        .timing
        .iter()
        .map(|(name, phase)| (name.to_owned(), phase_share(phase, whole)))
        .collect();
    phases.sort_by(|(_, a), (_, b)| b.self_ms.total_cmp(&a.self_ms));
    let first = phases.first().filter(|_| whole > 0.0);
    let Some((name, phase)) = first.cloned() else {
        let why = "nothing was measured; put the phases into `with collector.measure_time(name):`";
        return Bottlenecks { why: why.to_owned(), phases: Named(phases), ..Default::default() };
    };
    let contains = phases.iter().any(|(_, one)| one.inside.as_ref() == Some(&name));
    let timing = report.timing.get(&name);
    let reasons = vec![
        share_reason(&name, &phase, contains),
        trend_reason(&phase),
        variance_reason(&phase, timing),
    ];
    let told: Vec<&str> =
        reasons.iter().filter(|reason| reason.notable).map(|reason| reason.text.as_str()).collect();
    Bottlenecks {
        share: phase.share,
        why: told.join("; "),
        bottleneck: Some(name),
        reasons,
        phases: Named(phases),
    }
}

fn phase_share(phase: &Timing, whole: f64) -> PhaseShare {
    let own = phase.own_ms().max(0.0);
    PhaseShare {
        share: if whole > 0.0 { own / whole } else { 0.0 },
        self_ms: own,
        total_ms: phase.total_ms(),
        mean_ms: phase.mean,
        count: phase.count,
        inside: phase.inside.clone(),
        trend: trend(&phase.blocks),
        variance: (phase.count > 1 && phase.mean > 0.0).then(|| phase.std / phase.mean),
    }
}

fn share_reason(name: &str, phase: &PhaseShare, contains: bool) -> Reason {
    let whose = if contains {
        format!("{name} itself, outside of the phases inside it, takes")
    } else {
        format!("{name} takes")
    };
    let calls = counted(phase.count.max(1), "call");
    let text = format!(
        "{whose} {:.0} % of the measured time ({} in {calls})",
        phase.share * 100.0,
        duration((phase.self_ms * 1e6) as u64)
    );
    Reason { kind: "share", value: Some(phase.share), notable: true, text }
}

fn trend_reason(phase: &PhaseShare) -> Reason {
    let text = match phase.trend {
        None => format!("too few calls for a trend ({})", phase.count),
        Some(0.0) => "its calls take as long at the end as at the beginning".to_owned(),
        Some(change) => format!(
            "its last calls took {:.0} % {} than its first",
            change.abs() * 100.0,
            if change > 0.0 { "longer" } else { "less" }
        ),
    };
    let notable = phase.trend.is_some_and(|change| change != 0.0);
    Reason { kind: "trend", value: phase.trend, notable, text }
}

fn variance_reason(phase: &PhaseShare, timing: Option<&Timing>) -> Reason {
    let Some(part) = phase.variance else {
        let text = "one call tells no variance".to_owned();
        return Reason { kind: "variance", value: None, notable: false, text };
    };
    let slowest = timing
        .filter(|timing| timing.p50 > 0.0)
        .map(|timing| format!(", the slowest took {:.1} times the median", timing.max / timing.p50))
        .unwrap_or_default();
    let text = format!("its calls differ by {:.0} % of their mean{slowest}", part * 100.0);
    Reason { kind: "variance", value: Some(part), notable: part >= NOTABLE_VARIANCE, text }
}

/// The change from the first quarter of the calls to the last, 0 unless the
/// calls are in order beyond chance (by Mann's and Kendall's test).
fn trend(blocks: &[(u64, f64)]) -> Option<f64> {
    let count = blocks.len();
    if count < FEWEST_BLOCKS {
        return None;
    }
    let mut order = 0_i64;
    for (at, (_, early)) in blocks.iter().enumerate() {
        for (_, late) in blocks.iter().skip(at + 1) {
            order += i64::from(late > early) - i64::from(late < early);
        }
    }
    let n = count as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let mean = |part: &[(u64, f64)]| {
        let calls: u64 = part.iter().map(|block| block.0).sum();
        part.iter().map(|(count, mean)| *count as f64 * mean).sum::<f64>() / calls.max(1) as f64
    };
    let quarter = count.div_ceil(4);
    let (first, last) = (mean(&blocks[..quarter]), mean(&blocks[count - quarter..]));
    if first <= 0.0 {
        return Some(0.0);
    }
    let change = last / first - 1.0;
    let is_trend =
        order.unsigned_abs() as f64 > TREND_DEVIATIONS * deviation && change.abs() >= TREND_CHANGE;
    Some(if is_trend { change } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(mean: f64, count: u64, own: f64, inside: Option<&str>) -> Timing {
        Timing {
            mean,
            count,
            total: mean * count as f64,
            own: Some(own),
            inside: inside.map(str::to_owned),
            ..Timing::default()
        }
    }

    fn report(phases: Vec<(&str, Timing)>) -> RunReport {
        let timing = phases.into_iter().map(|(name, phase)| (name.to_owned(), phase)).collect();
        RunReport { timing, ..RunReport::default() }
    }

    #[test]
    fn a_phase_around_others_is_judged_by_its_own_time() {
        let found = bottlenecks(&report(vec![
            ("iteration", phase(100.0, 10, 50.0, None)),
            ("backward", phase(60.0, 10, 600.0, Some("iteration"))),
            ("forward", phase(35.0, 10, 350.0, Some("iteration"))),
        ]));

        assert_eq!(found.bottleneck.as_deref(), Some("backward"));
        assert_eq!(found.share, 0.6);
        assert_eq!(found.why, "backward takes 60 % of the measured time (600 ms in 10 calls)");
        let shares: f64 = found.phases.iter().map(|(_, phase)| phase.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn time_between_the_phases_is_named_as_such() {
        let found = bottlenecks(&report(vec![
            ("iteration", phase(100.0, 10, 900.0, None)),
            ("forward", phase(10.0, 10, 100.0, Some("iteration"))),
        ]));

        assert_eq!(found.bottleneck.as_deref(), Some("iteration"));
        assert!(found.why.starts_with("iteration itself, outside of the phases inside it"));
    }

    #[test]
    fn a_phase_that_gets_slower_is_said_to() {
        let mut slow = phase(15.0, 40, 600.0, None);
        slow.blocks =
            (0..40).map(|at| (1, 10.0 + f64::from(at) * 0.25 + f64::from(at % 3))).collect();

        let found = bottlenecks(&report(vec![("cache", slow)]));

        let trend = found.phases.get("cache").unwrap().trend.unwrap();
        assert!(0.4 < trend && trend < 1.0, "{trend}");
        assert!(found.why.contains("longer than its first"), "{}", found.why);
    }

    #[test]
    fn noise_is_no_trend() {
        let mut steady = phase(10.0, 64, 640.0, None);
        steady.blocks = (0..64).map(|at| (1, 10.0 + f64::from(at * 37 % 64) / 10.0)).collect();

        let found = bottlenecks(&report(vec![("steady", steady)]));

        assert_eq!(found.phases.get("steady").unwrap().trend, Some(0.0));
        assert!(!found.reasons[1].notable);
    }

    #[test]
    fn calls_that_differ_much_are_named() {
        let uneven = Timing { std: 8.0, p50: 9.0, max: 90.0, ..phase(10.0, 40, 400.0, None) };

        let found = bottlenecks(&report(vec![("io", uneven)]));

        assert_eq!(found.reasons[2].value, Some(0.8));
        assert!(found.why.ends_with(
            "its calls differ by 80 % of their mean, the slowest took 10.0 times the median"
        ));
    }

    #[test]
    fn nothing_measured_has_no_bottleneck_and_says_what_to_do() {
        let found = bottlenecks(&RunReport::default());

        assert_eq!((found.bottleneck, found.share), (None, 0.0));
        assert!(found.why.contains("measure_time"));
    }
}
