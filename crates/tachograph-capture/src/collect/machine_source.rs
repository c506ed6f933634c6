//! Series of the process, the machine and its devices, for every door that
//! wants them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tachograph_profile::{Interner, MachineSettings, Series, SeriesId, TrackId};

use super::collector::session_time;
use super::door::Door;
use super::tracks::Tracks;
use crate::gpu;
use crate::monitor::{self, Demand, Key, Scope};
use crate::options::MachineOptions;
use crate::sys::clock;

/// What the shared sampler has told, and to whom it goes.
#[derive(Debug)]
pub(crate) struct MachineSource {
    start: u64,
    demands: BTreeMap<u64, Demand>,
    seen: HashMap<Arc<Key>, u64>,
    series: HashMap<Arc<Key>, SeriesId>,
    machine: Option<TrackId>,
    /// Readings before this belong to no door.
    since: u64,
}

impl MachineSource {
    /// Nobody wants it yet.
    pub(crate) fn new(start: u64) -> Self {
        let (demands, since) = (BTreeMap::new(), start);
        let (seen, series, machine) = (HashMap::new(), HashMap::new(), None);
        Self { start, demands, seen, series, machine, since }
    }

    /// Adds a door's wish; says how it will be served.
    ///
    /// What was held so far is told first, so that the peak of before is not
    /// the new door's.
    pub(crate) fn join(&mut self, id: u64, wish: MachineOptions) -> MachineSettings {
        if self.demands.is_empty() {
            self.seen.clear();
            self.since = clock::monotonic();
        }
        gpu::watch();
        self.demands.insert(id, monitor::want(wish.interval_ns, true));
        monitor::sample_now(true);
        let energy = monitor::energy_source();
        MachineSettings {
            interval_ns: wish.interval_ns,
            energy_measured: energy.measured,
            energy_source: energy.text,
        }
    }

    /// Takes a door's wish back.
    pub(crate) fn leave(&mut self, id: u64) {
        if let Some(demand) = self.demands.remove(&id) {
            demand.end_at_once();
        }
    }

    /// Reads at the beginning or at the end of a door, so that it has an edge.
    pub(crate) fn edge(&self, id: u64, is_end: bool) {
        if self.demands.contains_key(&id) {
            monitor::sample_now(is_end);
        }
    }

    /// Hands every new reading to the doors that want it.
    pub(crate) fn drain(&mut self, tables: &mut Interner, tracks: &mut Tracks, doors: &mut [Door]) {
        if self.demands.is_empty() {
            return;
        }
        let mut told: Vec<(Arc<Key>, u64, f64)> = Vec::new();
        let tell = |key: &Arc<Key>, time, value| told.push((Arc::clone(key), time, value));
        monitor::new_points(&mut self.seen, self.since, tell);
        told.sort_by_key(|(_, time, _)| *time);
        for (key, time, value) in told {
            let series = self.series(tables, tracks, &key, time);
            // The reading that ends what was before stands microseconds before the door.
            let wants = |door: &&mut Door| door.options.machine.is_some() && door.has_begun(time);
            for door in doors.iter_mut().filter(wants) {
                door.spans.point(series, time, value);
            }
        }
    }

    fn series(
        &mut self,
        tables: &mut Interner,
        tracks: &mut Tracks,
        key: &Arc<Key>,
        time: u64,
    ) -> SeriesId {
        if let Some(known) = self.series.get(key) {
            return *known;
        }
        let track = match &key.scope {
            Scope::Process => tracks.process(),
            Scope::Machine => *self.machine.get_or_insert_with(|| tracks.machine(tables)),
            Scope::Device { index, name } => {
                let now = session_time(self.start, time);
                tracks.device(tables, u64::from(*index), name, now)
            }
        };
        let name = tables.string(&key.name);
        let rows = &mut tables.tables_mut().series;
        rows.push(Series { name, track, unit: key.unit, kind: key.kind });
        let id = SeriesId::from(rows.len() - 1);
        self.series.insert(Arc::clone(key), id);
        id
    }
}
