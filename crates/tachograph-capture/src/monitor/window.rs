//! A stretch of time that a monitor watches: cheap to open, cheap to close.

use std::sync::Arc;

use super::engine::{Demand, Engine, HeldBy, Own, energy_name, engine, lock};
use super::process::Io;
use super::series::{Key, Range, Ring, Scope};
use crate::sys::usage::{self, Usage};
use crate::sys::{clock, fork};

/// What a window is to find out, beyond time and memory at its two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The most memory held, from the kernel's high-water mark.
    pub peak: bool,
    /// Bytes read and written.
    pub io: bool,
    /// Shared series of the process, the machine and its devices, read at
    /// least this often; `None` for none.
    pub series_interval_ns: Option<u64>,
    /// Keep the points of the process's memory, for a verdict on its growth.
    pub memory_points: bool,
}

/// A reading that comes this soon after a window counts as its last.
const EDGE_NS: u64 = 5_000_000;

/// An open stretch of time. Dropping it closes it.
#[derive(Debug)]
pub struct Window {
    watch: Watch,
    generation: u32,
    start: Edge,
    io: Io,
    place: Option<usize>,
    demand: Option<Demand>,
}

/// The process at one end of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    time: u64,
    cpu: u64,
    usage: Usage,
    resident: u64,
    address_space: u64,
}

/// What a window found out.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// When it began, on the monotonic clock.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// CPU time of the whole process before it.
    pub cpu_before_ns: u64,
    /// CPU time of the whole process in it.
    pub cpu_ns: u64,
    /// The part of it in the program.
    pub user_ns: u64,
    /// The part of it in the kernel.
    pub system_ns: u64,
    /// Memory held at its beginning, in bytes.
    pub resident_start: u64,
    /// Memory held at its end.
    pub resident_end: u64,
    /// The most memory held in it, as far as is known.
    pub resident_peak: u64,
    /// The kernel's mark was followed, so no peak was too short to be seen.
    pub peak_is_exact: bool,
    /// Address space used at its beginning, in bytes.
    pub virtual_start: u64,
    /// Address space used at its end.
    pub virtual_end: u64,
    /// Bytes read and written in it; none unless asked for.
    pub io: Option<Io>,
    /// Bytes read and written before it; zeroes unless asked for.
    pub io_before: Io,
    /// Pages that came without reading a disk.
    pub minor_faults: u64,
    /// Pages that had to be read.
    pub major_faults: u64,
    /// Context switches because the process waited.
    pub voluntary_switches: u64,
    /// Context switches because its turn was over.
    pub involuntary_switches: u64,
    /// The shared series in the window; empty unless asked for.
    pub series: Vec<(Arc<Key>, Range)>,
    /// Joules this process used, and whether they were measured; none unless
    /// series were asked for.
    pub energy: Option<(f64, bool)>,
    /// Which share of its time the busiest disk was busy, 0 to 1.
    pub busiest_disk: Option<f64>,
    /// The share of the machine's processors in use, 0 to 1: in the window, or
    /// between the last two readings before its end when it is shorter than
    /// they are apart.
    pub machine_cpu: Option<f64>,
    /// Largest share of the machine's processors in use between two readings.
    pub machine_cpu_peak: Option<f64>,
    /// Memory of the process in the window, by time on the monotonic clock; empty
    /// unless asked for.
    pub memory_points: Vec<(u64, f64)>,
}

impl Measured {
    /// How long the window was, in nanoseconds.
    #[must_use]
    pub fn wall_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// CPU time per elapsed time: 1 is one core, used all the time.
    #[must_use]
    pub fn cores(&self) -> f64 {
        self.cpu_ns as f64 / self.wall_ns().max(1) as f64
    }

    /// What the series called `name` was in the window.
    #[must_use]
    pub fn series(&self, scope: &Scope, name: &str) -> Option<&Range> {
        let found = self.series.iter().find(|(key, _)| key.scope == *scope && *key.name == *name);
        found.map(|(_, range)| range)
    }
}

impl Window {
    /// Opens it now.
    #[must_use]
    pub fn open(watch: Watch) -> Self {
        let engine = engine();
        let demand = watch.series_interval_ns.map(|interval| engine.want(interval, false));
        if demand.is_some() {
            engine.freshen(0);
        }
        let mut own = lock(&engine.own);
        let Own { reader, marks } = &mut *own;
        let (resident, address_space) = reader.memory();
        let place = watch.peak.then(|| marks.open(resident, &mut HeldBy(reader)));
        // After the mark, which is put back by writing.
        let io = if watch.io { reader.io() } else { Io::default() };
        drop(own);
        // Last, so that nothing of the above is in the window.
        let (usage, cpu) = (usage::read(), clock::process_cpu());
        let start = Edge { time: clock::monotonic(), cpu, usage, resident, address_space };
        Self { watch, generation: engine.generation, start, io, place, demand }
    }

    /// What it found out so far; it stays open.
    #[must_use]
    pub fn read(&self) -> Measured {
        let (time, cpu, usage) = (clock::monotonic(), clock::process_cpu(), usage::read());
        let engine = engine();
        if self.generation != fork::generation() {
            // A forked child: the clocks are its own and began with it.
            let (resident, address_space) = lock(&engine.own).reader.memory();
            let end = Edge { time, cpu, usage, resident, address_space };
            let (cpu, usage) = Default::default();
            let start = Edge { time: self.start.time, cpu, usage, ..end };
            return between(&start, &end);
        }
        let mut own = lock(&engine.own);
        let Own { reader, marks } = &mut *own;
        let (resident, address_space) = reader.memory();
        let io_now = if self.watch.io { reader.io() } else { Io::default() };
        let peak = self.place.map(|place| marks.peak(place, &mut HeldBy(reader)));
        drop(own);
        let mut measured =
            between(&self.start, &Edge { time, cpu, usage, resident, address_space });
        if let Some(peak) = peak {
            measured.resident_peak = measured.resident_peak.max(peak.bytes);
            measured.peak_is_exact = peak.exact;
        }
        measured.io = self.watch.io.then(|| growth(self.io, io_now));
        measured.io_before = self.io;
        if self.demand.is_some() {
            take_series(engine, &mut measured, self.watch.memory_points);
        }
        measured
    }

    /// Closes it and says what it found out.
    #[must_use]
    pub fn close(self) -> Measured {
        self.read()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let engine = engine();
        if let Some(place) = self.place.filter(|_| engine.generation == self.generation) {
            lock(&engine.own).marks.close(place);
        }
    }
}

/// Adds what the shared series say of the window.
fn take_series(engine: &Engine, measured: &mut Measured, keep_points: bool) {
    engine.freshen(measured.wall_ns());
    let (start, end) = (measured.start_ns, measured.end_ns);
    let (is_measured, watts) = {
        let meter = lock(engine.meter());
        (meter.source().measured, meter.source().watts_per_thread)
    };
    let history = lock(&engine.history);
    // The reading that was just taken is the window's end.
    let latest = history.machine_read_at().filter(|latest| latest.saturating_sub(end) < EDGE_NS);
    let end = latest.map_or(end, |latest| latest.max(end));
    measured.series = history.ranges(start, end);
    measured.busiest_disk = history.busiest_disk(start, end);
    measured.energy = if is_measured {
        let ring = history.ring(&Scope::Process, energy_name(true));
        ring.and_then(|ring| Some((ring.grown(start, end)?, true)))
    } else {
        // The model is a factor, so the window's own clock is the better reading.
        Some((measured.cpu_ns as f64 / 1e9 * watts, false))
    };
    let busy = history.ring(&Scope::Machine, "cpu busy");
    let all = history.ring(&Scope::Machine, "cpu available");
    if let (Some(busy), Some(all)) = (busy, all) {
        let grown = |ring: &Ring| ring.range(start, end).map_or(0.0, |range| range.growth);
        let (part, whole) = (grown(busy), grown(all));
        measured.machine_cpu = if whole > 0.0 {
            Some((part / whole).clamp(0.0, 1.0))
        } else {
            busy.latest_share(all, end)
        };
        measured.machine_cpu_peak =
            busy.steepest_share(all, start, end).filter(|_| whole > 0.0).or(measured.machine_cpu);
    }
    if let Some(memory) = history.ring(&Scope::Process, "memory") {
        if keep_points {
            measured.memory_points = memory.between(start, end);
        }
        let seen = memory.range(start, end).filter(|range| range.count > 0);
        let seen = seen.map_or(0, |range| range.max as u64);
        measured.resident_peak = measured.resident_peak.max(seen);
    }
}

fn between(start: &Edge, end: &Edge) -> Measured {
    let since = u64::saturating_sub;
    let (now, then) = (&end.usage, &start.usage);
    Measured {
        start_ns: start.time,
        end_ns: end.time.max(start.time),
        cpu_before_ns: start.cpu,
        cpu_ns: since(end.cpu, start.cpu),
        user_ns: since(now.user_ns, then.user_ns),
        system_ns: since(now.system_ns, then.system_ns),
        resident_start: start.resident,
        resident_end: end.resident,
        resident_peak: start.resident.max(end.resident),
        virtual_start: start.address_space,
        virtual_end: end.address_space,
        minor_faults: since(now.minor_faults, then.minor_faults),
        major_faults: since(now.major_faults, then.major_faults),
        voluntary_switches: since(now.voluntary_switches, then.voluntary_switches),
        involuntary_switches: since(now.involuntary_switches, then.involuntary_switches),
        ..Measured::default()
    }
}

fn growth(then: Io, now: Io) -> Io {
    let since = u64::saturating_sub;
    Io {
        read_bytes: since(now.read_bytes, then.read_bytes),
        written_bytes: since(now.written_bytes, then.written_bytes),
        disk_read_bytes: since(now.disk_read_bytes, then.disk_read_bytes),
        disk_written_bytes: since(now.disk_written_bytes, then.disk_written_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Watch =
        Watch { peak: true, io: true, series_interval_ns: Some(10_000_000), memory_points: true };

    #[test]
    fn time_of_every_thread_counts() {
        let opening = clock::process_cpu();
        let window = Window::open(ALL);
        let before = clock::process_cpu();
        let spin = || {
            let until = clock::own_thread_cpu() + 40_000_000;
            while clock::own_thread_cpu() < until {}
        };
        let other = std::thread::spawn(spin);
        spin();
        other.join().unwrap();
        let cpu = clock::process_cpu() - before;

        let measured = window.close();
        let most = clock::process_cpu() - opening;

        assert!((cpu..=most).contains(&measured.cpu_ns) && cpu >= 80_000_000);
        // The kernel splits the same time, but is asked a moment apart; tests beside this one
        // use some meanwhile.
        let both = measured.user_ns + measured.system_ns;
        assert!((cpu - 2_000_000..most + 2_000_000).contains(&both), "{both} {cpu} {most}");
        assert!(measured.cpu_before_ns <= before);
        assert!(measured.virtual_start >= measured.resident_start && measured.resident_start > 0);
    }

    #[test]
    fn the_first_window_already_knows_the_machine() {
        let window = Window::open(ALL);
        let until = clock::monotonic() + 120_000_000;
        while clock::monotonic() < until {}

        let measured = window.close();

        let share = measured.machine_cpu.unwrap();
        assert!(share > 0.0 && share <= 1.0);
        assert!(measured.machine_cpu_peak.unwrap() >= share * 0.99);
        let memory = measured.series(&Scope::Machine, "memory share").unwrap();
        assert!(memory.mean > 0.0 && memory.mean < 1.0);
        assert!(measured.memory_points.len() >= 2, "{:?}", measured.memory_points);
    }

    #[test]
    fn a_window_that_lasted_has_an_end_of_its_own() {
        let window = Window::open(ALL);
        let until = clock::monotonic() + 250_000_000;
        // Someone else reads until shortly before its end.
        while clock::monotonic() < until {
            engine().sample();
        }
        std::thread::sleep(std::time::Duration::from_millis(15));

        let closing = clock::monotonic();
        let measured = window.close();

        let last = lock(&engine().history).machine_read_at().unwrap();
        // Tests that run beside this one may have read a little before.
        let stale = measured.wall_ns() / 20;
        assert!(last + stale >= closing, "{} ns before", closing - last);
    }

    #[test]
    fn bytes_written_in_the_window_are_its_own() {
        let path = std::env::temp_dir().join(format!("tachograph-io-{}", std::process::id()));
        let window = Window::open(Watch { io: true, ..Watch::default() });
        std::fs::write(&path, vec![7_u8; 3 << 20]).unwrap();

        let io = window.close().io.unwrap();

        assert!(io.written_bytes >= 3 << 20);
        std::fs::remove_file(path).unwrap();
    }
}
