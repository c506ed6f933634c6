//! All series of this process, the machine and its devices.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_profile::{SeriesKind, Unit};

use super::machine::MachineFigures;
use super::process::ProcessFigures;
use super::series::{Key, Range, Ring, Scope};

/// Series that are kept; a driver that makes up names without end does not
/// fill memory.
const MOST_SERIES: usize = 512;

/// The series by number, and the numbers by key.
#[derive(Debug, Default)]
pub(super) struct History {
    keys: Vec<Arc<Key>>,
    rings: Vec<Ring>,
    numbers: HashMap<Arc<Key>, usize>,
    process: Vec<usize>,
    machine: Vec<usize>,
    disks: HashMap<Box<str>, usize>,
}

/// Names and units of the process's series, in the order of its values.
const PROCESS: [(&str, Unit, SeriesKind); 8] = [
    ("cpu time", Unit::Nanoseconds, SeriesKind::Total),
    ("memory", Unit::Bytes, SeriesKind::Gauge),
    ("threads", Unit::Count, SeriesKind::Gauge),
    ("read", Unit::Bytes, SeriesKind::Total),
    ("written", Unit::Bytes, SeriesKind::Total),
    ("read from disk", Unit::Bytes, SeriesKind::Total),
    ("written to disk", Unit::Bytes, SeriesKind::Total),
    ("descriptors", Unit::Count, SeriesKind::Gauge),
];

/// Names and units of the machine's series, in the order of its values.
const MACHINE: [(&str, Unit, SeriesKind); 10] = [
    ("cpu busy", Unit::Nanoseconds, SeriesKind::Total),
    ("cpu available", Unit::Nanoseconds, SeriesKind::Total),
    ("waiting for disks", Unit::Nanoseconds, SeriesKind::Total),
    ("memory used", Unit::Bytes, SeriesKind::Gauge),
    ("memory share", Unit::Ratio, SeriesKind::Gauge),
    ("swap used", Unit::Bytes, SeriesKind::Gauge),
    ("received", Unit::Bytes, SeriesKind::Total),
    ("sent", Unit::Bytes, SeriesKind::Total),
    ("read from disks", Unit::Bytes, SeriesKind::Total),
    ("written to disks", Unit::Bytes, SeriesKind::Total),
];

/// How long a disk had something to do; one series a disk.
pub(super) const DISK_BUSY: &str = "disk busy ";

impl History {
    /// The number of the series `key`; `None` when there are too many.
    pub(super) fn series(&mut self, key: Key) -> Option<usize> {
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let number = self.keys.len();
        if number == MOST_SERIES {
            return None;
        }
        let key = Arc::new(key);
        self.keys.push(Arc::clone(&key));
        self.rings.push(Ring::default());
        self.numbers.insert(key, number);
        Some(number)
    }

    /// Adds a point to a series.
    pub(super) fn push(&mut self, number: usize, time: u64, value: f64) {
        if let Some(ring) = self.rings.get_mut(number) {
            ring.push(time, value);
        }
    }

    /// Adds a reading of the process.
    pub(super) fn push_process(&mut self, time: u64, now: &ProcessFigures) {
        if self.process.is_empty() {
            self.process = self.number_all(&Scope::Process, &PROCESS);
        }
        let values = [
            now.cpu_ns,
            now.resident_bytes,
            now.threads,
            now.read_bytes,
            now.written_bytes,
            now.disk_read_bytes,
            now.disk_written_bytes,
            now.descriptors,
        ];
        for (place, value) in values.into_iter().enumerate() {
            if let Some(ring) = self.process.get(place).and_then(|n| self.rings.get_mut(*n)) {
                ring.push(time, value as f64);
            }
        }
    }

    /// Adds a reading of the machine.
    pub(super) fn push_machine(&mut self, time: u64, now: &MachineFigures) {
        if self.machine.is_empty() {
            self.machine = self.number_all(&Scope::Machine, &MACHINE);
        }
        let sum = |part: fn(&super::machine::Disk) -> u64| -> f64 {
            now.disks.iter().map(part).fold(0, u64::saturating_add) as f64
        };
        let values = [
            now.busy_ns as f64,
            now.cpu_ns as f64,
            now.io_wait_ns as f64,
            now.used_bytes() as f64,
            now.memory_share(),
            now.swap_used_bytes as f64,
            now.received_bytes as f64,
            now.sent_bytes as f64,
            sum(|disk| disk.read_bytes),
            sum(|disk| disk.written_bytes),
        ];
        for (place, value) in values.into_iter().enumerate() {
            if let Some(ring) = self.machine.get(place).and_then(|n| self.rings.get_mut(*n)) {
                ring.push(time, value);
            }
        }
        for disk in &now.disks {
            let number = self.disks.get(&disk.name).copied().or_else(|| {
                let name = format!("{DISK_BUSY}{}", disk.name).into();
                let (unit, kind) = (Unit::Nanoseconds, SeriesKind::Total);
                let number = self.series(Key { scope: Scope::Machine, name, unit, kind })?;
                self.disks.insert(disk.name.clone(), number);
                Some(number)
            });
            if let Some(number) = number {
                self.push(number, time, disk.busy_ns as f64);
            }
        }
    }

    fn number_all(&mut self, scope: &Scope, of: &[(&str, Unit, SeriesKind)]) -> Vec<usize> {
        let keys = of.iter().map(|(name, unit, kind)| Key {
            scope: scope.clone(),
            name: (*name).into(),
            unit: *unit,
            kind: *kind,
        });
        keys.filter_map(|key| self.series(key)).collect()
    }

    /// When the machine was last read.
    pub(super) fn machine_read_at(&self) -> Option<u64> {
        self.machine.first().and_then(|number| self.rings.get(*number)?.latest())
    }

    /// Every series that has a value at or before `end`, as it was from `start` on.
    pub(super) fn ranges(&self, start: u64, end: u64) -> Vec<(Arc<Key>, Range)> {
        let rows = self.keys.iter().zip(&self.rings);
        rows.filter_map(|(key, ring)| Some((Arc::clone(key), ring.range(start, end)?))).collect()
    }

    /// One series by its name.
    pub(super) fn ring(&self, scope: &Scope, name: &str) -> Option<&Ring> {
        let is_it = |key: &Arc<Key>| key.scope.is_same(scope) && *key.name == *name;
        let place = self.keys.iter().position(is_it)?;
        self.rings.get(place)
    }

    /// Tells every point that is newer than `seen` says, and notes it there.
    pub(super) fn new_points(
        &self,
        seen: &mut HashMap<Arc<Key>, u64>,
        start: u64,
        tell: &mut dyn FnMut(&Arc<Key>, u64, f64),
    ) {
        for (key, ring) in self.keys.iter().zip(&self.rings) {
            let since = seen.get(key).copied().unwrap_or(start);
            if ring.latest().is_none_or(|latest| latest <= since) {
                continue;
            }
            ring.after(since).for_each(|(time, value)| tell(key, time, value));
            seen.insert(Arc::clone(key), ring.latest().unwrap_or(since));
        }
    }

    /// Which share of its time the busiest disk was busy, from 0 to 1.
    pub(super) fn busiest_disk(&self, start: u64, end: u64) -> Option<f64> {
        let shares = self.disks.values().filter_map(|number| {
            let range = self.rings.get(*number)?.range(start, end)?;
            Some((range.growth / range.covered_ns.max(1) as f64).clamp(0.0, 1.0))
        });
        shares.reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::machine::Disk;

    fn disk(name: &str, busy_ns: u64) -> Disk {
        Disk { name: name.into(), busy_ns, ..Disk::default() }
    }

    #[test]
    fn the_busiest_disk_is_not_the_sum_of_all() {
        let mut history = History::default();
        let at = |a, b| MachineFigures {
            disks: vec![disk("sda", a), disk("sdb", b)],
            ..MachineFigures::default()
        };
        history.push_machine(1_000, &at(0, 0));
        history.push_machine(2_000, &at(600, 500));

        let share = history.busiest_disk(1_000, 2_000).unwrap();

        assert!((share - 0.6).abs() < 1e-9);
    }

    #[test]
    fn names_without_end_do_not_fill_memory() {
        let mut history = History::default();
        for number in 0..MOST_SERIES + 10 {
            let (unit, kind) = (Unit::Count, SeriesKind::Gauge);
            let name = number.to_string().into();
            history.series(Key { scope: Scope::Machine, name, unit, kind });
        }

        assert_eq!(history.keys.len(), MOST_SERIES);
    }
}
