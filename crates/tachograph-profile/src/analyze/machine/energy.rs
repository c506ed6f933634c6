//! Energy, peak memory and growth of memory of a recording.

use super::carbon::{Intensity, JOULES_PER_KWH, grams};
use super::leak::{Growth, growth};
use super::series::{SeriesRow, series};
use crate::{Profile, TrackKind, Unit};

/// Energy of the recorded processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Joules, devices included.
    pub joules: f64,
    /// The part that devices counted themselves.
    pub device_joules: f64,
    /// The processor counted it; otherwise it is modelled.
    pub measured: bool,
    /// How it is known.
    pub source: String,
}

impl Energy {
    /// Kilowatt-hours.
    #[must_use]
    pub fn kwh(&self) -> f64 {
        self.joules / JOULES_PER_KWH
    }

    /// Grams of CO₂ equivalents, from this grid.
    #[must_use]
    pub fn grams(&self, intensity: Intensity) -> f64 {
        grams(self.joules, intensity)
    }
}

/// The energy of `profile`, or of the part it is; `None` without readings.
#[must_use]
pub fn energy(profile: &Profile) -> Option<Energy> {
    let rows = series(profile);
    let of_process = |name: &str| {
        let mut found = rows.iter().filter(|row| is_energy(row, TrackKind::Process, name));
        found.clone().next()?;
        Some(found.by_ref().map(|row| row.growth.max(0.0)).sum::<f64>())
    };
    let (processes, measured) = of_process("energy, measured")
        .map(|joules| (joules, true))
        .or_else(|| of_process("energy, modelled").map(|joules| (joules, false)))?;
    let devices = rows.iter().filter(|row| is_energy(row, TrackKind::Device, "energy"));
    let device_joules = devices.map(|row| row.growth.max(0.0)).fold(0.0, |sum, of| sum + of);
    let settings = profile.meta.settings.machine.as_ref();
    let source = settings.map_or_else(String::new, |settings| settings.energy_source.clone());
    Some(Energy { joules: processes + device_joules, device_joules, measured, source })
}

fn is_energy(row: &SeriesRow, scope: TrackKind, name: &str) -> bool {
    row.scope == scope && row.unit == Unit::Joules && row.name == name
}

/// The most memory that a recorded process held, in bytes; `None` without readings.
#[must_use]
pub fn peak_memory(profile: &Profile) -> Option<u64> {
    let rows = series(profile);
    let memory = rows.iter().filter(|row| {
        row.scope == TrackKind::Process
            && row.unit == Unit::Bytes
            && (row.name == "memory" || row.name == "memory peak")
    });
    memory.map(|row| row.max as u64).max()
}

/// Whether the memory that the process held grew without end; `None` without readings.
#[must_use]
pub fn memory_growth(profile: &Profile) -> Option<Growth> {
    let rows = series(profile);
    let row = rows.iter().find(|row| {
        row.scope == TrackKind::Process && row.unit == Unit::Bytes && row.name == "memory"
    })?;
    let points = profile.points.iter().filter(|point| point.series == row.id);
    let points: Vec<_> = points.map(|point| (point.time.seconds(), point.value)).collect();
    Some(growth(&points))
}

/// The same for the sampled blocks that were live; `None` without blocks.
#[must_use]
pub fn live_growth(profile: &Profile) -> Option<Growth> {
    /// Times at which the live blocks are added up.
    const TIMES: usize = 200;
    let last = profile.allocations.last()?.time.0.max(profile.meta.duration_ns);
    let first = profile.meta.from_ns;
    let mut changes: Vec<(u64, f64)> = Vec::with_capacity(profile.allocations.len() * 2);
    for block in &profile.allocations {
        changes.push((block.time.0, block.weight_bytes as f64));
        if let Some(freed) = block.freed {
            changes.push((freed.0, -(block.weight_bytes as f64)));
        }
    }
    changes.sort_by_key(|(time, _)| *time);
    let mut points = Vec::with_capacity(TIMES);
    let (mut place, mut live) = (0, 0.0);
    for step in 0..TIMES {
        let time = first + (last - first.min(last)) / (TIMES as u64 - 1) * step as u64;
        while let Some((_, bytes)) = changes.get(place).filter(|(at, _)| *at <= time) {
            live += bytes;
            place += 1;
        }
        points.push((time as f64 / 1e9, live));
    }
    Some(growth(&points))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::intensity_of;
    use crate::{
        Interner, MachineSettings, Point, Series, SeriesId, SeriesKind, Span, Time, TrackId,
    };

    /// Two watts for ten seconds, a peak of 500 MB, and a span in the middle.
    fn recorded() -> Profile {
        let mut profile = Profile::from_stacks(&[]);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let process = tables.track(TrackKind::Process, None, 7, "job", Time(0));
        let job = tables.string("job");
        let mut add = |name: &str, unit, kind| {
            let name = tables.string(name);
            tables.tables_mut().series.push(Series { name, track: process, unit, kind });
        };
        add("energy, modelled", Unit::Joules, SeriesKind::Total);
        add("memory", Unit::Bytes, SeriesKind::Gauge);
        add("memory peak", Unit::Bytes, SeriesKind::Gauge);
        profile.tables = tables.into_tables();
        for tenth in 0..=100_u32 {
            let time = Time(u64::from(tenth) * 100_000_000);
            let peak = if tenth == 50 { 500e6 } else { 100e6 };
            let values = [f64::from(tenth) * 0.2, 100e6, peak];
            for (series, value) in values.into_iter().enumerate() {
                profile.points.push(Point { time, series: SeriesId::from(series), value });
            }
        }
        profile.meta.duration_ns = 10_000_000_000;
        let source = "modelled from CPU time".to_owned();
        profile.meta.settings.machine =
            Some(MachineSettings { energy_source: source, ..MachineSettings::default() });
        profile.spans.push(Span {
            parent: None,
            track: TrackId(0),
            name: job,
            start: Time(2_050_000_000),
            end: Some(Time(4_550_000_000)),
            suspended_ns: 0,
            failed: false,
            attributes: Vec::new(),
        });
        profile
    }

    #[test]
    fn power_times_time_is_energy() {
        let found = energy(&recorded()).unwrap();

        assert!((found.joules - 20.0).abs() < 1e-9 && !found.measured);
        let france = intensity_of("FR").unwrap();
        assert!((found.grams(france) - 20.0 / 3.6e6 * 56.0).abs() < 1e-12);
        assert_eq!(found.source, "modelled from CPU time");
    }

    #[test]
    fn a_span_has_its_part_to_the_tenth_of_a_reading() {
        let profile = recorded();

        let part = profile.within("job").unwrap();

        assert!((energy(&part).unwrap().joules - 5.0).abs() < 1e-6);
        let rest = profile.between(Time(4_550_000_000), Time(u64::MAX));
        assert!((energy(&rest).unwrap().joules - 10.9).abs() < 1e-6);
    }

    #[test]
    fn the_peak_between_two_readings_counts() {
        assert_eq!(peak_memory(&recorded()), Some(500_000_000));
        assert!(!memory_growth(&recorded()).unwrap().leaking);
    }

    #[test]
    fn without_readings_nothing_is_known() {
        let profile = Profile::from_stacks(&[]);

        assert_eq!((energy(&profile), peak_memory(&profile)), (None, None));
        assert_eq!((memory_growth(&profile), live_growth(&profile)), (None, None));
    }
}
