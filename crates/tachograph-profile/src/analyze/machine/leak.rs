//! Whether memory grows without end.

use super::slope::robust_slope;

/// The first part of a window does not count: programs warm up.
const WARM_UP: f64 = 0.25;

/// Growth below this is noise of allocators, in bytes.
const LEAST_BYTES: f64 = 10.0 * 1024.0 * 1024.0;

/// So is growth below this share of the memory held.
const LEAST_SHARE: f64 = 0.05;

/// Points that must be left after the warm-up.
const LEAST_POINTS: usize = 6;

/// Each third of the time must have at least this part of what an even growth
/// would give it: a step, a warm-up that ends late and a single tooth of a saw
/// do not.
const LEAST_OF_A_THIRD: f64 = 0.25;

/// How memory grew, with the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// It grows, surely, evenly, and by enough to matter.
    pub leaking: bool,
    /// Bytes a second, as far as known.
    pub bytes_per_second: f64,
    /// 95 of 100 times it grows by more than this.
    pub lower_bytes_per_second: f64,
    /// What it grew for sure: the lower bound times the time.
    pub grown_bytes: f64,
    /// What it would have had to grow to count.
    pub threshold_bytes: f64,
    /// Seconds that were judged, the warm-up left out.
    pub seconds: f64,
    /// Points that were judged.
    pub points: usize,
    /// Why the verdict is what it is, as a sentence.
    pub reason: String,
}

/// Judges memory by `points`, each seconds and bytes, in order of time.
///
/// What is given back later does not count as growth, so a saw has none; the
/// first quarter of the time is left out. Memory leaks when the lower bound of
/// its slope, times the duration, is above 10 MB and above 5 % of what is held,
/// and every third of the time has its part in it.
///
/// ```
/// use tachograph_profile::analyze::growth;
///
/// let mb = 1024.0 * 1024.0;
/// let leak: Vec<_> = (0..40).map(|i| (f64::from(i), (100.0 + 2.0 * f64::from(i)) * mb)).collect();
/// let saw: Vec<_> = (0..40).map(|i| (f64::from(i), (100.0 + 9.0 * f64::from(i % 8)) * mb)).collect();
///
/// assert!(growth(&leak).leaking);
/// assert!(!growth(&saw).leaking);
/// ```
#[must_use]
pub fn growth(points: &[(f64, f64)]) -> Growth {
    growth_beyond(points, LEAST_BYTES)
}

/// The same with another least growth than 10 MB.
#[must_use]
pub fn growth_beyond(points: &[(f64, f64)], least_bytes: f64) -> Growth {
    let mut verdict = Growth {
        leaking: false,
        bytes_per_second: 0.0,
        lower_bytes_per_second: 0.0,
        grown_bytes: 0.0,
        threshold_bytes: least_bytes,
        seconds: 0.0,
        points: 0,
        reason: String::new(),
    };
    let judged = after_warm_up(points);
    verdict.points = judged.len();
    if judged.len() < LEAST_POINTS {
        verdict.reason = format!(
            "{} readings are too few to judge; watch for longer, or read more often",
            points.len()
        );
        return verdict;
    }
    let kept = never_given_back(judged);
    let (first, last) = (kept[0], kept[kept.len() - 1]);
    verdict.seconds = last.0 - first.0;
    verdict.threshold_bytes = least_bytes.max(LEAST_SHARE * first.1);
    let Some(slope) = robust_slope(&kept) else {
        verdict.reason = "all readings are of one moment".to_owned();
        return verdict;
    };
    verdict.bytes_per_second = slope.median;
    verdict.lower_bytes_per_second = slope.lower;
    verdict.grown_bytes = slope.lower.max(0.0) * verdict.seconds;
    let mb = |bytes: f64| bytes / (1024.0 * 1024.0);
    let threshold = mb(verdict.threshold_bytes);
    if verdict.grown_bytes <= verdict.threshold_bytes {
        verdict.reason = format!(
            "it grew by {:.1} MB for sure, which is not more than {threshold:.1} MB",
            mb(verdict.grown_bytes)
        );
        return verdict;
    }
    if let Some(third) = a_third_without_growth(&kept) {
        verdict.reason = format!("it did not grow in the {third} third of the time");
        return verdict;
    }
    verdict.leaking = true;
    verdict.reason = format!(
        "it grew evenly, by {:.1} MB for sure, which is more than {threshold:.1} MB",
        mb(verdict.grown_bytes)
    );
    verdict
}

/// The points after the first quarter of the time.
fn after_warm_up(points: &[(f64, f64)]) -> &[(f64, f64)] {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return points };
    let from = first.0 + (last.0 - first.0) * WARM_UP;
    points.get(points.partition_point(|point| point.0 < from)..).unwrap_or_default()
}

/// At each time the memory that was not given back later.
fn never_given_back(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = points.to_vec();
    let mut least = f64::INFINITY;
    for point in kept.iter_mut().rev() {
        least = least.min(point.1);
        point.1 = least;
    }
    kept
}

/// Which third of the time has too little of the growth, if any.
fn a_third_without_growth(kept: &[(f64, f64)]) -> Option<&'static str> {
    let (first, last) = (kept.first()?, kept.last()?);
    let length = last.0 - first.0;
    let value_at = |share: f64| {
        let place = kept.partition_point(|point| point.0 < first.0 + length * share);
        kept.get(place).map_or(last.1, |point| point.1)
    };
    let marks = [first.1, value_at(1.0 / 3.0), value_at(2.0 / 3.0), last.1];
    let least = (last.1 - first.1) / 3.0 * LEAST_OF_A_THIRD;
    let names = ["first", "second", "last"];
    let thirds = marks.windows(2).zip(names);
    thirds.filter(|(ends, _)| ends[1] - ends[0] < least).map(|(_, name)| name).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1024.0 * 1024.0;

    fn judge(megabytes: impl Fn(f64) -> f64) -> Growth {
        let points: Vec<_> = (0..100)
            .map(|i| {
                let time = f64::from(i) * 0.1;
                // A little noise that is the same every time.
                let noise = f64::from(i * 7919 % 13) * 0.02;
                (time, (200.0 + megabytes(time) + noise) * MB)
            })
            .collect();
        growth(&points)
    }

    #[test]
    fn a_steady_leak_is_found_with_its_rate() {
        let verdict = judge(|time| 5.0 * time);

        assert!(verdict.leaking, "{verdict:?}");
        assert!((verdict.bytes_per_second / MB - 5.0).abs() < 0.3);
        assert!(verdict.grown_bytes > 30.0 * MB && verdict.grown_bytes < 40.0 * MB);
    }

    #[test]
    fn a_leak_under_a_saw_is_found() {
        assert!(judge(|time| 5.0 * time + 30.0 * (time * 1.3).fract()).leaking);
    }

    #[test]
    fn a_leak_in_steps_is_found() {
        assert!(judge(|time| 5.0 * time.floor()).leaking);
    }

    #[test]
    fn a_leak_after_a_large_warm_up_is_found() {
        assert!(judge(|time| 500.0 * (time / 2.0).min(1.0) + 5.0 * time).leaking);
    }

    #[test]
    fn a_saw_is_no_leak_wherever_it_ends() {
        for teeth in 20..120 {
            let period = 100.0 / f64::from(teeth);
            let verdict = judge(|time| 80.0 * (time / period).fract());
            assert!(!verdict.leaking, "{period}: {verdict:?}");
        }
    }

    #[test]
    fn a_warm_up_is_no_leak_however_long() {
        for lasts in [1.0, 2.0, 4.0, 5.0, 6.0, 7.0] {
            let verdict = judge(|time| 300.0 * (time / lasts).min(1.0));
            assert!(!verdict.leaking, "{lasts}: {verdict:?}");
        }
        assert!(!judge(|time| 300.0 * (1.0 - (-time * 0.7).exp())).leaking);
    }

    #[test]
    fn a_step_is_no_leak_wherever_it_is() {
        for at in 0..10 {
            assert!(!judge(|time| if time > f64::from(at) { 500.0 } else { 0.0 }).leaking);
        }
    }

    #[test]
    fn growth_that_does_not_matter_is_no_leak() {
        let verdict = judge(|time| 0.5 * time);

        assert!(!verdict.leaking);
        assert!(verdict.reason.contains("not more than 10"), "{}", verdict.reason);
    }

    #[test]
    fn a_large_program_must_leak_more() {
        let points: Vec<_> =
            (0..50).map(|i| (f64::from(i), (4000.0 + f64::from(i)) * MB)).collect();

        let verdict = growth(&points);

        assert!(!verdict.leaking && verdict.threshold_bytes > 190.0 * MB);
    }

    #[test]
    fn few_readings_are_no_verdict() {
        let verdict = growth(&[(0.0, 0.0), (1.0, 1e9), (2.0, 2e9)]);

        assert!(!verdict.leaking && verdict.reason.contains("too few"));
        assert!(!growth(&[]).leaking);
    }
}
