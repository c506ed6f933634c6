//! A series in bounded memory: recent points as they were, older ones merged.

use std::collections::VecDeque;

use tachograph_profile::{SeriesKind, Unit};

/// Stretches kept per series. At ten readings a second the last one and a half
/// minutes are as they were read; a series takes at most 64 KB, however long.
const ROOM: usize = 1024;

/// Whose series it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// This process.
    Process,
    /// The whole machine.
    Machine,
    /// An accelerator or other device, by the number its driver gives it.
    Device {
        /// The driver's number.
        index: u32,
        /// What people call it.
        name: Box<str>,
    },
}

impl Scope {
    /// Whether both mean the same; of a device only the number counts.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device { index: one, .. }, Self::Device { index: two, .. }) => one == two,
            _ => self == other,
        }
    }
}

/// What a series is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Whose it is.
    pub scope: Scope,
    /// What it is called.
    pub name: Box<str>,
    /// What its numbers mean.
    pub unit: Unit,
    /// Whether it goes up and down or only grows.
    pub kind: SeriesKind,
}

/// One point, or several that were merged.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: u64,
    to: u64,
    min: f64,
    max: f64,
    sum: f64,
    count: u32,
    last: f64,
}

/// What a series was between two times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Points in the range; 0 when the values are those of the last one before it.
    pub count: u64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The mean of the points.
    pub mean: f64,
    /// The latest value.
    pub last: f64,
    /// How much an ever-growing total grew in the range; for a gauge, how much
    /// its end is above its beginning. A share of the growth between two points
    /// counts where an end of the range lies between them.
    pub growth: f64,
    /// How much of the range lies between points, in nanoseconds.
    pub covered_ns: u64,
    /// How old the latest value was at the end of the range.
    pub age_ns: u64,
}

/// The points of one series.
#[derive(Debug, Default)]
pub(super) struct Ring {
    stretches: VecDeque<Stretch>,
}

impl Ring {
    /// Adds a point; one that is not newer than the last is left out.
    pub(super) fn push(&mut self, time: u64, value: f64) {
        if !value.is_finite() || self.stretches.back().is_some_and(|last| last.to >= time) {
            return;
        }
        if self.stretches.len() == ROOM {
            self.merge_the_older_half();
        }
        let (from, to, count) = (time, time, 1);
        let (min, max, sum, last) = (value, value, value, value);
        self.stretches.push_back(Stretch { from, to, min, max, sum, count, last });
    }

    /// When the last point was.
    pub(super) fn latest(&self) -> Option<u64> {
        self.stretches.back().map(|last| last.to)
    }

    /// The points after `time`, oldest first; merged ones as their last value.
    pub(super) fn after(&self, time: u64) -> impl Iterator<Item = (u64, f64)> {
        let first = self.stretches.partition_point(|stretch| stretch.to <= time);
        self.stretches.range(first..).map(|stretch| (stretch.to, stretch.last))
    }

    /// What the series was from `start` to `end`; `None` before its first point.
    pub(super) fn range(&self, start: u64, end: u64) -> Option<Range> {
        let first = self.stretches.partition_point(|stretch| stretch.to < start);
        let past = self.stretches.partition_point(|stretch| stretch.from <= end);
        let latest = self.stretches.get(past.checked_sub(1)?)?;
        let mut range = Range {
            count: 0,
            min: latest.last,
            max: latest.last,
            mean: latest.last,
            last: latest.last,
            growth: 0.0,
            covered_ns: 0,
            age_ns: end.saturating_sub(latest.to),
        };
        let mut sum = 0.0;
        for stretch in self.stretches.range(first..past.max(first)) {
            if range.count == 0 {
                (range.min, range.max) = (stretch.min, stretch.max);
            }
            (range.min, range.max) = (range.min.min(stretch.min), range.max.max(stretch.max));
            sum += stretch.sum;
            range.count += u64::from(stretch.count);
        }
        if range.count > 0 {
            range.mean = sum / range.count as f64;
        }
        if let (Some((from, low)), Some((to, high))) = (self.at(start), self.at(end)) {
            range.growth = high - low;
            range.covered_ns = to.saturating_sub(from);
        }
        Some(range)
    }

    /// The largest part of the growth of `whole` that this series had, between
    /// two points that touch the range. Both have their points at the same times.
    pub(super) fn steepest_share(&self, whole: &Self, start: u64, end: u64) -> Option<f64> {
        let first = self.stretches.partition_point(|stretch| stretch.to < start).saturating_sub(1);
        let past = self.stretches.partition_point(|stretch| stretch.to < end) + 1;
        let past = past.min(self.stretches.len()).min(whole.stretches.len());
        let pairs = self.stretches.range(first.min(past)..past);
        let pairs = pairs.zip(whole.stretches.range(first.min(past)..past));
        let shares = pairs.clone().zip(pairs.skip(1)).filter_map(|((one, all), (next, more))| {
            let grown = more.last - all.last;
            (grown > 0.0).then(|| ((next.last - one.last) / grown).clamp(0.0, 1.0))
        });
        shares.reduce(f64::max)
    }

    /// The same between the last two points up to `end`.
    pub(super) fn latest_share(&self, whole: &Self, end: u64) -> Option<f64> {
        let past = self.stretches.partition_point(|stretch| stretch.to <= end);
        let step = |ring: &Self| {
            let next = ring.stretches.get(past.checked_sub(1)?)?;
            Some(next.last - ring.stretches.get(past.checked_sub(2)?)?.last)
        };
        let (part, all) = (step(self)?, step(whole)?);
        (all > 0.0).then(|| (part / all).clamp(0.0, 1.0))
    }

    /// How much a total grew from `start` to `end`; where no point is between,
    /// at the rate of the last two before.
    pub(super) fn grown(&self, start: u64, end: u64) -> Option<f64> {
        let range = self.range(start, end)?;
        if range.covered_ns > 0 {
            return Some(range.growth.max(0.0));
        }
        let past = self.stretches.partition_point(|stretch| stretch.to <= end);
        let next = self.stretches.get(past.checked_sub(1)?)?;
        let one = self.stretches.get(past.checked_sub(2)?)?;
        let rate = (next.last - one.last) / next.to.saturating_sub(one.to).max(1) as f64;
        Some((rate * end.saturating_sub(start) as f64).max(0.0))
    }

    /// The points from `start` to `end`.
    pub(super) fn between(&self, start: u64, end: u64) -> Vec<(u64, f64)> {
        self.after(start.saturating_sub(1)).take_while(|(time, _)| *time <= end).collect()
    }

    /// The value at `time` and the nearest time for which it is known: between
    /// two points it lies between their values, outside of all it is the nearest.
    fn at(&self, time: u64) -> Option<(u64, f64)> {
        let next = self.stretches.partition_point(|stretch| stretch.to < time);
        let after = self.stretches.get(next);
        let before = next.checked_sub(1).and_then(|place| self.stretches.get(place));
        Some(match (before, after) {
            (Some(before), Some(after)) => {
                let share = (time - before.to) as f64 / (after.to - before.to).max(1) as f64;
                (time, before.last + (after.last - before.last) * share)
            }
            (Some(only), None) | (None, Some(only)) => (only.to, only.last),
            (None, None) => return None,
        })
    }

    /// Makes room: of the older half, each two become one.
    fn merge_the_older_half(&mut self) {
        let mut older: Vec<Stretch> = self.stretches.drain(..ROOM / 2).collect();
        for pair in older.chunks_exact_mut(2).rev() {
            let [one, two] = pair else { continue };
            self.stretches.push_front(Stretch {
                from: one.from,
                to: two.to,
                min: one.min.min(two.min),
                max: one.max.max(two.max),
                sum: one.sum + two.sum,
                count: one.count.saturating_add(two.count),
                last: two.last,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(points: &[(u64, f64)]) -> Ring {
        let mut ring = Ring::default();
        points.iter().for_each(|(time, value)| ring.push(*time, *value));
        ring
    }

    #[test]
    fn a_range_has_the_points_between_its_ends() {
        let ring = ring(&[(10, 5.0), (20, 1.0), (30, 9.0), (40, 2.0)]);

        let range = ring.range(20, 35).unwrap();

        assert_eq!((range.count, range.min, range.max, range.mean), (2, 1.0, 9.0, 5.0));
        assert_eq!((range.last, range.age_ns), (9.0, 5));
    }

    #[test]
    fn a_range_without_a_point_has_the_last_one_before_it() {
        let ring = ring(&[(10, 5.0), (20, 7.0)]);

        let range = ring.range(25, 26).unwrap();

        assert_eq!((range.count, range.mean, range.max, range.age_ns), (0, 7.0, 7.0, 6));
        assert_eq!(ring.range(5, 6), None);
        assert_eq!(Ring::default().range(0, u64::MAX), None);
    }

    #[test]
    fn growth_between_points_is_shared_by_time() {
        let ring = ring(&[(100, 0.0), (200, 50.0), (300, 50.0)]);

        let range = ring.range(150, 250).unwrap();

        assert_eq!((range.growth, range.covered_ns), (25.0, 100));
        // What came after the last point is not known.
        let range = ring.range(150, 400).unwrap();
        assert_eq!((range.growth, range.covered_ns), (25.0, 150));
    }

    #[test]
    fn a_short_time_grows_at_the_last_known_rate() {
        let ring = ring(&[(100, 0.0), (200, 50.0)]);

        assert_eq!(ring.grown(100, 200), Some(50.0));
        assert_eq!(ring.grown(300, 310), Some(5.0));
        assert_eq!(ring.grown(50, 60), None);
    }

    #[test]
    fn the_steepest_share_is_that_of_one_step() {
        let busy = ring(&[(100, 0.0), (200, 50.0), (300, 60.0), (400, 160.0)]);
        let all = ring(&[(100, 0.0), (200, 200.0), (300, 400.0), (400, 600.0)]);

        assert_eq!(busy.steepest_share(&all, 100, 290), Some(0.25));
        assert_eq!(busy.steepest_share(&all, 100, 310), Some(0.5));
        assert_eq!(busy.steepest_share(&all, 500, 600), None);
    }

    #[test]
    fn a_long_series_stays_small_and_keeps_its_peak_and_mean() {
        let mut ring = Ring::default();
        for time in 0..100_000_u64 {
            ring.push(time * 10, if time == 500 { 1000.0 } else { 1.0 });
        }

        let range = ring.range(0, u64::MAX).unwrap();

        assert!(ring.stretches.len() <= ROOM);
        assert_eq!((range.count, range.max, range.min), (100_000, 1000.0, 1.0));
        assert!((range.mean - (100_000.0 - 1.0 + 1000.0) / 100_000.0).abs() < 1e-9);
        assert_eq!(ring.after(999_970).collect::<Vec<_>>(), [(999_980, 1.0), (999_990, 1.0)]);
    }

    #[test]
    fn a_point_that_is_no_number_or_not_newer_is_left_out() {
        let ring = ring(&[(10, 1.0), (10, 2.0), (9, 3.0), (11, f64::NAN)]);

        assert_eq!(ring.latest(), Some(10));
        assert_eq!(ring.range(0, 20).unwrap().max, 1.0);
    }
}
