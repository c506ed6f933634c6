//! What the resident size of the process is made of, as points of a recording:
//! once when a door opens, every ten seconds, and when it closes.

use tachograph_profile::analyze::heap::{SiteMemory, fact_values};
use tachograph_profile::{
    Interner, Point, Profile, Series, SeriesId, SeriesKind, Time, TrackId, Unit,
};

use super::door::Door;
use crate::memory_facts::{memory_facts, resident_share};
use crate::sys::clock;

/// The kernel takes a millisecond or more to tell, so it is not asked often.
const EVERY_NS: u64 = 10_000_000_000;

/// Whether it is time to look again for `door`. A door that takes pictures of
/// the heap alone asks for itself.
pub(super) fn is_due(door: &Door, now: u64) -> bool {
    let wants = door.options.heap.is_some() && door.options.cpu.is_some();
    wants && door.last_memory.is_none_or(|last| now.saturating_sub(last) >= EVERY_NS)
}

/// Adds the facts of this moment to `door`.
pub(super) fn take(door: &mut Door, tables: &mut Interner, process: TrackId, profiler_bytes: u64) {
    let now = clock::monotonic();
    let is_first = door.last_memory.is_none();
    door.last_memory = Some(now);
    let Some(facts) = memory_facts() else { return };
    let mut sites = SiteMemory::default();
    // At the beginning nothing was sampled yet.
    if let Some(log) = door.heap.as_ref().filter(|_| !is_first) {
        let live = Profile { allocations: log.live(), ..Profile::default() };
        sites = SiteMemory::of(&live, resident_share);
        sites.profiler_bytes = profiler_bytes;
    }
    let time = Time(door.since_start(now));
    for (name, value) in fact_values(&facts, &sites) {
        let series = series_named(tables, name, process);
        door.points.push(Point { time, series, value: value as f64 });
    }
}

fn series_named(tables: &mut Interner, name: &str, track: TrackId) -> SeriesId {
    let name = tables.string(name);
    let rows = &mut tables.tables_mut().series;
    let known = rows.iter().position(|row| row.name == name && row.track == track);
    SeriesId::from(known.unwrap_or_else(|| {
        rows.push(Series { name, track, unit: Unit::Bytes, kind: SeriesKind::Gauge });
        rows.len() - 1
    }))
}
