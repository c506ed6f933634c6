//! The facts about resident memory as a recording keeps them: one series each.

use super::explain::{Explanation, MemoryFacts, SiteMemory, explain};
use crate::{Profile, SeriesId};

/// The series of these facts, in bytes, on the track of the process.
const NAMES: [&str; 11] = [
    "memory.resident",
    "memory.files",
    "memory.stacks",
    "memory.malloc_resident",
    "memory.other_resident",
    "memory.malloc_used",
    "memory.malloc_mapped",
    "memory.sites_resident",
    "memory.sites_slack",
    "memory.sites_python",
    "memory.profiler",
];

/// The values to record for one moment, each with the name of its series.
#[must_use]
pub fn fact_values(facts: &MemoryFacts, sites: &SiteMemory) -> [(&'static str, u64); 11] {
    let values = [
        facts.resident_bytes,
        facts.file_bytes,
        facts.stack_bytes,
        facts.heap_bytes,
        facts.other_bytes,
        facts.malloc_used_bytes,
        facts.malloc_mapped_bytes,
        sites.resident_bytes,
        sites.slack_bytes,
        sites.python_bytes,
        sites.profiler_bytes,
    ];
    std::array::from_fn(|i| (NAMES[i], values[i]))
}

/// What the resident size was made of when it was last looked at; `None` when
/// the recording does not hold both ends.
#[must_use]
pub fn recorded_explanation(profile: &Profile) -> Option<Explanation> {
    let series = NAMES.map(|name| {
        let found = profile.tables.series.iter().position(|row| profile.text(row.name) == name);
        found.map(SeriesId::from)
    });
    let mut first = [None; NAMES.len()];
    let mut last = [0; NAMES.len()];
    for point in &profile.points {
        let Some(place) = series.iter().position(|id| *id == Some(point.series)) else { continue };
        let value = point.value.max(0.0) as u64;
        first[place].get_or_insert(value);
        last[place] = value;
    }
    let start = facts_of(&first.map(Option::unwrap_or_default));
    let now = facts_of(&last);
    if first[0].is_none() || now.resident_bytes == 0 {
        return None;
    }
    let sites = SiteMemory {
        resident_bytes: last[7],
        slack_bytes: last[8],
        python_bytes: last[9],
        profiler_bytes: last[10],
    };
    Some(explain(&start, &now, &sites))
}

fn facts_of(values: &[u64; NAMES.len()]) -> MemoryFacts {
    MemoryFacts {
        resident_bytes: values[0],
        file_bytes: values[1],
        stack_bytes: values[2],
        heap_bytes: values[3],
        other_bytes: values[4],
        malloc_used_bytes: values[5],
        malloc_mapped_bytes: values[6],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interner, Point, Series, SeriesKind, Time, TrackId, Unit};

    #[test]
    fn what_was_recorded_is_explained_again() {
        let start = MemoryFacts { resident_bytes: 30, other_bytes: 30, ..MemoryFacts::default() };
        let now = MemoryFacts {
            resident_bytes: 100,
            file_bytes: 20,
            other_bytes: 80,
            ..MemoryFacts::default()
        };
        let sites = SiteMemory { resident_bytes: 50, ..SiteMemory::default() };
        let mut profile = Profile::from_stacks(&[]);
        assert_eq!(recorded_explanation(&profile), None);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        for (time, facts, sites) in [(1, start, SiteMemory::default()), (2, now, sites)] {
            for (name, value) in fact_values(&facts, &sites) {
                let name = tables.string(name);
                let rows = &mut tables.tables_mut().series;
                let (track, unit, kind) = (TrackId(0), Unit::Bytes, SeriesKind::Gauge);
                let series = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
                    rows.push(Series { name, track, unit, kind });
                    rows.len() - 1
                });
                let series = SeriesId::from(series);
                profile.points.push(Point { time: Time(time), series, value: value as f64 });
            }
        }
        profile.tables = tables.into_tables();

        assert_eq!(recorded_explanation(&profile), Some(explain(&start, &now, &sites)));
    }
}
