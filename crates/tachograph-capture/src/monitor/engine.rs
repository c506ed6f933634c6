//! The one engine behind every monitor of a process: its readers, its series,
//! and the background sampler.
//!
//! The sampler is a thread of ours that lives while somebody wants series, and
//! a little longer: a function that is called again and again does not start
//! it again and again. A forked child has an engine of its own.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::Places;
use super::energy::{Joules, Meter};
use super::history::History;
use super::machine::{MachineFigures, MachineReader};
use super::mark::{Held, Marks};
use super::process::{ProcessFigures, ProcessReader};
use super::series::Key;
use crate::own;
use crate::sys::{clock, fork, leaked, usage};
use crate::waker::Waker;

/// How long the sampler goes on after the last one who wanted it.
const LINGER_NS: u64 = 3_000_000_000;

/// How often it reads meanwhile.
const IDLE_INTERVAL_NS: u64 = 100_000_000;

/// A window takes a reading of the machine itself when the last one is older
/// than this, and than two hundred times what a reading takes: at most half a
/// percent of the time goes into that. One that lasted two hundred readings
/// takes one at its end when the last is older than a twentieth of it.
const STALE_NS: u64 = 20_000_000;

/// Something else that is read at each tick, such as an accelerator's driver.
pub trait Source: Send {
    /// Reads now and hands every value to `tell`. Runs on the sampler's thread
    /// alone, so it may take its time; it must not wait for the interpreter.
    fn read(&mut self, tell: &mut dyn FnMut(&Key, f64));
}

/// What the process owns for its monitors.
pub(super) struct Engine {
    pub(super) generation: u32,
    /// The process's files and the mark; locked for microseconds.
    pub(super) own: Mutex<Own>,
    machine: Mutex<MachineReader>,
    pub(super) history: Mutex<History>,
    meter: OnceLock<Mutex<Meter>>,
    sources: Mutex<Vec<Box<dyn Source>>>,
    wishes: Mutex<Wishes>,
    bell: Waker,
    /// What a reading of the machine takes, in nanoseconds.
    machine_cost: AtomicU64,
    /// How often the sampler reads now: one who wants it less often need not
    /// wake it up.
    pace: AtomicU64,
}

/// What is read of this process.
pub(super) struct Own {
    pub(super) reader: ProcessReader,
    pub(super) marks: Marks,
}

/// Who wants series, and how often.
#[derive(Debug, Default)]
struct Wishes {
    intervals: Vec<(u64, u64)>,
    next: u64,
    /// How many of them want a series of peaks.
    peaks: usize,
    is_running: bool,
    /// When the last one left.
    since: u64,
}

/// Somebody wants the series; dropping it ends that.
#[derive(Debug)]
pub struct Demand {
    id: u64,
    generation: u32,
    peaks: bool,
}

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

/// This process's engine; another one in a forked child.
pub(super) fn engine() -> &'static Engine {
    let generation = fork::generation();
    let known = leaked::get(&ENGINE);
    if let Some(known) = known.filter(|known| known.generation == generation) {
        return known;
    }
    fork::watch();
    leaked::replace(&ENGINE, known, Engine::new(generation))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    fn new(generation: u32) -> Self {
        let places = Places::default();
        let mut reader = ProcessReader::new(&places);
        let marks = Marks::new(places.proc.join("self/clear_refs"), &mut HeldBy(&mut reader));
        Self {
            generation,
            own: Mutex::new(Own { reader, marks }),
            machine: Mutex::new(MachineReader::new(&places)),
            history: Mutex::default(),
            meter: OnceLock::new(),
            sources: Mutex::default(),
            wishes: Mutex::default(),
            bell: Waker::default(),
            machine_cost: AtomicU64::new(0),
            pace: AtomicU64::new(u64::MAX),
        }
    }

    /// The process and the machine now.
    pub(super) fn read(&self) -> (ProcessFigures, MachineFigures) {
        let process = lock(&self.own).reader.figures();
        let machine = self.time_machine(&mut lock(&self.machine));
        (process, machine)
    }

    /// Reads process and machine into the series.
    pub(super) fn sample(&self) {
        let process = lock(&self.own).reader.figures();
        let process_time = clock::monotonic();
        let machine = self.time_machine(&mut lock(&self.machine));
        let machine_time = clock::monotonic();
        let mut meter = lock(self.meter());
        let joules = meter.read(process.cpu_ns, machine.busy_ns);
        let measured = meter.source().measured;
        let mut history = lock(&self.history);
        history.push_process(process_time, &process);
        history.push_machine(machine_time, &machine);
        push_energy(&mut history, machine_time, &joules, measured);
    }

    /// What turns readings into energy; found out on first use.
    pub(super) fn meter(&self) -> &Mutex<Meter> {
        self.meter.get_or_init(|| Mutex::new(Meter::new(&Places::default())))
    }

    fn time_machine(&self, reader: &mut MachineReader) -> MachineFigures {
        // By the thread's clock: waiting for a processor is no work of ours.
        let before = clock::own_thread_cpu();
        let figures = reader.figures();
        let took = clock::own_thread_cpu().saturating_sub(before);
        // Half the old and half the new: a slow one is soon forgotten.
        let mean = u64::midpoint(self.machine_cost.load(Ordering::Relaxed), took);
        self.machine_cost.store(mean, Ordering::Relaxed);
        figures
    }

    /// Reads now if the last reading is stale, so that what begins now, or ends
    /// after `lasted`, has an edge. Whoever finds a reading under way can do
    /// without.
    pub(super) fn freshen(&self, lasted: u64) {
        let last = lock(&self.history).machine_read_at();
        let age = last.map_or(u64::MAX, |last| clock::monotonic().saturating_sub(last));
        let affordable = 200 * self.machine_cost.load(Ordering::Relaxed);
        // What lasted long enough to pay for a reading is not to miss its end.
        let stale =
            if lasted < affordable { STALE_NS.max(affordable) } else { STALE_NS.min(lasted / 20) };
        if age < stale {
            return;
        }
        if self.machine.try_lock().is_ok() {
            self.sample();
        }
    }

    /// Asks for series at least every `interval_ns`, with peaks of the memory
    /// between readings if `peaks`. Starts the sampler unless it runs.
    pub(super) fn want(&'static self, interval_ns: u64, peaks: bool) -> Demand {
        let mut wishes = lock(&self.wishes);
        let id = wishes.next;
        wishes.next += 1;
        wishes.intervals.push((id, interval_ns.max(1_000_000)));
        wishes.peaks += usize::from(peaks);
        if !wishes.is_running {
            // Without a thread there are still the readings of windows.
            wishes.is_running = own::spawn("tacho-monitor", || {
                let _guard = IfItFails(self);
                self.run();
            })
            .is_ok();
        } else if interval_ns < self.pace.load(Ordering::Relaxed) {
            self.bell.wake();
        }
        Demand { id, generation: self.generation, peaks }
    }

    fn no_longer(&self, demand: &Demand) {
        let mut wishes = lock(&self.wishes);
        wishes.intervals.retain(|(id, _)| *id != demand.id);
        wishes.peaks -= usize::from(demand.peaks);
        if wishes.intervals.is_empty() {
            wishes.since = clock::monotonic();
        }
    }

    /// The sampler's thread.
    fn run(&self) {
        let mut due = clock::monotonic();
        while let Some(interval) = self.interval() {
            let now = clock::monotonic();
            if now >= due {
                self.tick();
                due = (due + interval).max(now + interval / 2);
            }
            due = due.min(clock::monotonic() + interval);
            let pause = due.saturating_sub(clock::monotonic());
            self.bell.wait(Duration::from_nanos(pause));
        }
    }

    /// How often to read now; `None` when the sampler is to end.
    fn interval(&self) -> Option<u64> {
        let mut wishes = lock(&self.wishes);
        let idle = clock::monotonic().saturating_sub(wishes.since);
        let interval = wishes.finest().or((idle < LINGER_NS).then_some(IDLE_INTERVAL_NS));
        self.pace.store(interval.unwrap_or(u64::MAX), Ordering::Relaxed);
        if interval.is_none() {
            wishes.is_running = false;
            *lock(&self.history) = History::default();
        }
        interval
    }

    fn tick(&self) {
        self.sample();
        if lock(&self.wishes).peaks > 0 {
            self.sample_peak();
        }
        let mut sources = lock(&self.sources);
        for source in sources.iter_mut() {
            let time = clock::monotonic();
            let mut told: Vec<(Key, f64)> = Vec::new();
            source.read(&mut |key, value| told.push((key.clone(), value)));
            let mut history = lock(&self.history);
            for (key, value) in told {
                if let Some(number) = history.series(key) {
                    history.push(number, time, value);
                }
            }
        }
    }

    /// Adds the most memory held since the last time.
    pub(super) fn sample_peak(&self) {
        // Held until the point is there, so that points are in order.
        let own = &mut *lock(&self.own);
        let time = clock::monotonic();
        let peak = own.marks.take(&mut HeldBy(&mut own.reader));
        let mut history = lock(&self.history);
        if let Some(number) = history.series(peak_key()) {
            history.push(number, time, peak as f64);
        }
    }

    /// Adds something that is read at each tick.
    pub(super) fn add_source(&self, source: Box<dyn Source>) {
        lock(&self.sources).push(source);
    }
}

/// A sampler that fails can be started again.
struct IfItFails<'a>(&'a Engine);

impl Drop for IfItFails<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.wishes).is_running = false;
        }
    }
}

impl Demand {
    /// Ends it, and the sampler at once if nobody else wants it.
    pub fn end_at_once(self) {
        let (engine, generation) = (engine(), self.generation);
        drop(self);
        if engine.generation == generation {
            let mut wishes = lock(&engine.wishes);
            if wishes.intervals.is_empty() {
                wishes.since = 0;
                engine.bell.wake();
            }
        }
    }
}

impl Wishes {
    fn finest(&self) -> Option<u64> {
        self.intervals.iter().map(|(_, interval)| *interval).min()
    }
}

impl Drop for Demand {
    fn drop(&mut self) {
        // What a parent wanted is nothing to a forked child.
        let engine = engine();
        if engine.generation == self.generation {
            engine.no_longer(self);
        }
    }
}

/// What the process's energy is called; its name says where it comes from.
pub(super) fn energy_name(measured: bool) -> &'static str {
    if measured { "energy, measured" } else { "energy, modelled" }
}

fn push_energy(history: &mut History, time: u64, joules: &Joules, measured: bool) {
    let key = |scope, name: &str| Key {
        scope,
        name: name.into(),
        unit: tachograph_profile::Unit::Joules,
        kind: tachograph_profile::SeriesKind::Total,
    };
    if let Some(number) = history.series(key(super::Scope::Process, energy_name(measured))) {
        history.push(number, time, joules.process);
    }
    if let Some(packages) = joules.packages
        && let Some(number) = history.series(key(super::Scope::Machine, "package energy"))
    {
        history.push(number, time, packages);
    }
}

/// The most memory the process held between two readings.
fn peak_key() -> Key {
    Key {
        scope: super::Scope::Process,
        name: "memory peak".into(),
        unit: tachograph_profile::Unit::Bytes,
        kind: tachograph_profile::SeriesKind::Gauge,
    }
}

/// The memory of the real process.
pub(super) struct HeldBy<'a>(pub(super) &'a mut ProcessReader);

impl Held for HeldBy<'_> {
    fn usage_mark(&mut self) -> u64 {
        usage::read().most_resident
    }
    fn named_mark(&mut self) -> Option<u64> {
        self.0.mark()
    }
    fn now(&mut self) -> u64 {
        self.0.resident_bytes()
    }
}
