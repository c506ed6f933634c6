//! What the series of a profile amount to, by name.

use rustc_hash::FxHashMap;

use super::is_reading;
use crate::{Profile, SeriesId, StringId, Unit};

/// All values of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRow {
    /// What was measured.
    pub name: String,
    /// What the numbers mean.
    pub unit: Unit,
    /// How many values there are.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The latest.
    pub last: f64,
}

/// The values of `profile` by name, whichever thread recorded them, in the
/// order in which names first had one. Readings of the machine are not among
/// them: see [`series`](super::series).
///
/// ```
/// use tachograph_profile::{Point, Profile, Series, SeriesId, Time, analyze::metrics};
///
/// let mut profile = Profile::from_stacks(&[]);
/// profile.tables.strings.push("loss".into());
/// let name = (profile.tables.strings.len() - 1).into();
/// let (track, unit, kind) = Default::default();
/// profile.tables.series.push(Series { name, track, unit, kind });
/// for (time, value) in [(10, 0.75), (20, 0.25)] {
///     profile.points.push(Point { time: Time(time), series: SeriesId(0), value });
/// }
///
/// let rows = metrics(&profile);
///
/// assert_eq!((rows[0].name.as_str(), rows[0].mean, rows[0].last), ("loss", 0.5, 0.25));
/// ```
#[must_use]
pub fn metrics(profile: &Profile) -> Vec<MetricRow> {
    let mut rows: Vec<MetricRow> = Vec::new();
    let mut known: FxHashMap<(StringId, Unit), usize> = FxHashMap::default();
    let mut readings: FxHashMap<SeriesId, bool> = FxHashMap::default();
    for point in &profile.points {
        let Some(series) = profile.tables.series.get(point.series.index()) else { continue };
        if *readings.entry(point.series).or_insert_with(|| is_reading(profile, point.series)) {
            continue;
        }
        let value = point.value;
        let row = *known.entry((series.name, series.unit)).or_insert_with(|| {
            let (name, unit) = (profile.text(series.name).to_owned(), series.unit);
            rows.push(MetricRow {
                name,
                unit,
                count: 0,
                mean: 0.0,
                min: value,
                max: value,
                last: value,
            });
            rows.len() - 1
        });
        let row = &mut rows[row];
        row.count += 1;
        // Shares of the mean, because a sum of large values may be infinite.
        row.mean += value / row.count as f64 - row.mean / row.count as f64;
        (row.min, row.max, row.last) = (row.min.min(value), row.max.max(value), value);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Point, Series, SeriesKind, Time, TrackId};

    #[test]
    fn values_of_one_name_are_one_row_whichever_thread_wrote_them() {
        let mut profile = Profile::from_stacks(&[]);
        profile.tables.strings.extend(["rate".into(), "size".into()]);
        let (rate, size) = (
            StringId::from(profile.tables.strings.len() - 2),
            StringId::from(profile.tables.strings.len() - 1),
        );
        for (name, track) in [(rate, 0), (size, 0), (rate, 1)] {
            let (track, unit, kind) = (TrackId(track), Unit::Count, SeriesKind::Gauge);
            profile.tables.series.push(Series { name, track, unit, kind });
        }
        for (time, series, value) in [(1, 0, 4.0), (2, 1, f64::MAX), (3, 2, 2.0), (4, 1, f64::MAX)]
        {
            profile.points.push(Point { time: Time(time), series: SeriesId(series), value });
        }

        let rows = metrics(&profile);

        let row = &rows[0];
        assert_eq!((row.name.as_str(), row.count, row.mean), ("rate", 2, 3.0));
        assert_eq!((row.min, row.max, row.last), (2.0, 4.0, 2.0));
        assert_eq!(rows[1].mean, f64::MAX);
    }
}
