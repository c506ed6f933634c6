//! The series of a profile, one by one.

use crate::{Profile, SeriesId, SeriesKind, StringId, TrackKind, Unit};

/// One series and what it amounts to.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRow {
    /// Which one.
    pub id: SeriesId,
    /// What it is called.
    pub name: String,
    /// Whose it is: the machine, the process, a thread, a device.
    pub scope: TrackKind,
    /// What that is called.
    pub track: String,
    /// The number the system gives it: process, thread or device.
    pub os_id: u64,
    /// What the numbers mean.
    pub unit: Unit,
    /// It only grows; the difference of two points means something.
    pub is_total: bool,
    /// How many points there are.
    pub count: u64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The mean of the points.
    pub mean: f64,
    /// The latest value.
    pub last: f64,
    /// How much it grew from the first point to the last.
    pub growth: f64,
}

/// Every series that has a point, in the order of the tables.
#[must_use]
pub fn series(profile: &Profile) -> Vec<SeriesRow> {
    let mut rows: Vec<Option<SeriesRow>> = vec![None; profile.tables.series.len()];
    for point in &profile.points {
        let Some(place) = rows.get_mut(point.series.index()) else { continue };
        let Some(row) = place else {
            *place = first(profile, point.series, point.value);
            continue;
        };
        row.count += 1;
        (row.min, row.max) = (row.min.min(point.value), row.max.max(point.value));
        row.mean += (point.value - row.mean) / row.count as f64;
        row.growth += point.value - row.last;
        row.last = point.value;
    }
    rows.into_iter().flatten().collect()
}

fn first(profile: &Profile, id: SeriesId, value: f64) -> Option<SeriesRow> {
    let series = profile.tables.series.get(id.index())?;
    let track = profile.tables.tracks.get(series.track.index());
    let text = |id: StringId| profile.text(id).to_owned();
    Some(SeriesRow {
        id,
        name: text(series.name),
        scope: track.map_or(TrackKind::Process, |track| track.kind),
        track: track.map_or_else(String::new, |track| text(track.name)),
        os_id: track.map_or(0, |track| track.os_id),
        unit: series.unit,
        is_total: series.kind == SeriesKind::Total,
        count: 1,
        min: value,
        max: value,
        mean: value,
        last: value,
        growth: 0.0,
    })
}

/// Readings of the process that are plain numbers.
const COUNTED: [&str; 2] = ["threads", "descriptors"];

/// Whether a series is of the machine's readings, and not a value that the
/// program recorded itself.
pub(crate) fn is_reading(profile: &Profile, id: SeriesId) -> bool {
    let Some(series) = profile.tables.series.get(id.index()) else { return false };
    let track = profile.tables.tracks.get(series.track.index());
    match track.map(|track| track.kind) {
        Some(TrackKind::Machine | TrackKind::Device | TrackKind::Stream) => true,
        // Programs record plain numbers; few readings are of that kind.
        Some(TrackKind::Process) => {
            series.unit != Unit::Count || COUNTED.contains(&profile.text(series.name))
        }
        _ => false,
    }
}
