//! Ever-growing totals in a part of a recording.
//!
//! Only differences of a total mean something. In a part they have to be those
//! of the part: what a total grew between two of its stretches is left out, and
//! at an edge that lies between two points the total is taken to lie between
//! them too.

use rustc_hash::FxHashMap;

use super::events::{Point, Time};
use super::ids::SeriesId;
use super::profile::Profile;
use super::tables::SeriesKind;

impl Profile {
    /// Whether points of `series` are of a total.
    pub(super) fn is_total(&self, series: SeriesId) -> bool {
        let row = self.tables.series.get(series.index());
        row.is_some_and(|series| series.kind == SeriesKind::Total)
    }

    /// The totals inside `stretches`, which are in order; `wanted` says which.
    pub(super) fn totals_inside(
        &self,
        stretches: &[(Time, Time)],
        wanted: impl Fn(SeriesId) -> bool,
    ) -> Vec<Point> {
        let mut by_series: FxHashMap<SeriesId, Vec<(Time, f64)>> = FxHashMap::default();
        for point in self.points.iter().filter(|p| self.is_total(p.series) && wanted(p.series)) {
            by_series.entry(point.series).or_default().push((point.time, point.value));
        }
        let mut out = Vec::new();
        for (series, points) in by_series {
            let rows = inside(&points, stretches);
            out.extend(rows.into_iter().map(|(time, value)| Point { time, series, value }));
        }
        out
    }
}

/// Edges of up to this many stretches become points, so that a part of a part
/// is exact; a part of more has only points of its own.
const MOST_EDGES: usize = 10_000;

/// `points` of one total, cut to `stretches` and joined.
fn inside(points: &[(Time, f64)], stretches: &[(Time, Time)]) -> Vec<(Time, f64)> {
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else {
        return Vec::new();
    };
    let mut sum = value_at(points, first.0);
    let mut out = vec![(first.0, sum)];
    let with_edges = stretches.len() <= MOST_EDGES;
    for (start, end) in stretches {
        if with_edges && *start > first.0 {
            out.push((*start, sum));
        }
        let base = value_at(points, *start);
        let from = points.partition_point(|point| point.0 <= *start);
        let to = points.partition_point(|point| point.0 < *end).max(from);
        let between = points.get(from..to).unwrap_or_default();
        out.extend(between.iter().map(|(time, value)| (*time, sum + value - base)));
        sum += value_at(points, *end) - base;
        if end > start && (with_edges || end == &last.1) {
            out.push((*end, sum));
        }
    }
    out
}

/// The total at `time`; before the first point and after the last it stands still.
fn value_at(points: &[(Time, f64)], time: Time) -> f64 {
    let next = points.partition_point(|point| point.0 < time);
    let before = next.checked_sub(1).and_then(|place| points.get(place));
    match (before, points.get(next)) {
        (Some(before), Some(after)) => {
            let share = (time.0 - before.0.0) as f64 / (after.0.0 - before.0.0).max(1) as f64;
            before.1 + (after.1 - before.1) * share
        }
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(Time, f64); 3] = [(Time(0), 100.0), (Time(10), 200.0), (Time(20), 600.0)];

    fn grown(stretches: &[(u64, u64)]) -> f64 {
        let stretches: Vec<_> = stretches.iter().map(|(a, b)| (Time(*a), Time(*b))).collect();
        let out = inside(&POINTS, &stretches);
        assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        out.last().map_or(0.0, |last| last.1) - out.first().map_or(0.0, |first| first.1)
    }

    #[test]
    fn a_stretch_has_what_the_total_grew_in_it() {
        assert!((grown(&[(0, 20)]) - 500.0).abs() < 1e-9);
        assert!((grown(&[(5, 15)]) - 250.0).abs() < 1e-9);
        assert!((grown(&[(12, 13)]) - 40.0).abs() < 1e-9);
        assert!(grown(&[(30, 40)]).abs() < 1e-9);
    }

    #[test]
    fn what_grew_between_two_stretches_is_nobodys() {
        assert!((grown(&[(0, 5), (15, 20)]) - 250.0).abs() < 1e-9);
        let joined = inside(&POINTS, &[(Time(0), Time(5)), (Time(15), Time(20))]);
        let again = inside(&joined, &[(Time(0), Time(5)), (Time(15), Time(20))]);
        assert_eq!(again, joined, "a part of a part is the same");
        let halves = grown(&[(0, 7)]) + grown(&[(7, 20)]);
        assert!((halves - 500.0).abs() < 1e-9);
    }
}
