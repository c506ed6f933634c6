//! The collector thread: owns every table, so nothing here needs a lock.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use tachograph_profile::{Interner, Sample, Time};

use super::cpu_source::CpuSource;
use super::door::{Door, Live, Totals};
use super::facts;
use super::frames::Frames;
use super::sources::own_sources;
use super::span_source::SpanSource;
use super::tracks::Tracks;
use crate::error::Error;
use crate::options::{Host, Options};
use crate::python::Interpreter;
use crate::session::Finished;
use crate::sys::clock;
use crate::waker::Waker;

/// Longest pause between two batches of the recording: a killed program loses
/// at most this much, and each batch costs one compression.
const BATCH_NS: u64 = 1_000_000_000;

/// Spans and values that wait for a batch; more are written at once.
const MOST_WAITING: usize = 1 << 16;

/// What the doors ask of the collector.
pub(crate) enum Command {
    /// Open a window; answers with its number.
    Open {
        /// What it wants.
        options: Box<Options>,
        /// Facts only the host knows.
        host: Box<Host>,
        /// Its live figures.
        live: Arc<Live>,
        /// Where the answer goes.
        reply: Sender<Result<u64, Error>>,
    },
    /// Close a window; answers with its recording and whether it was the last.
    Finish {
        /// The window.
        id: u64,
        /// Thread names known now.
        names: Vec<(u64, String)>,
        /// Where the answer goes, with whether this was the last window.
        reply: Sender<(Finished, bool)>,
    },
}

/// Everything the collector thread owns.
struct Collector {
    start: u64,
    tables: Interner,
    tracks: Tracks,
    frames: Frames,
    cpu: CpuSource,
    spans: SpanSource,
    doors: Vec<Door>,
    next_id: u64,
    last_batch: u64,
    waker: Waker,
}

/// The collector's thread: serves doors until none is open.
pub(crate) fn run(commands: &Receiver<Command>, waker: Waker, interpreter: Option<Interpreter>) {
    let mut tables = Interner::default();
    let tracks = Tracks::new(&mut tables, &program_name());
    let start = clock::monotonic();
    let mut collector = Collector {
        start,
        tables,
        tracks,
        frames: Frames::new(interpreter),
        cpu: CpuSource::new(start),
        spans: SpanSource::new(start, waker.clone()),
        doors: Vec::new(),
        next_id: 1,
        last_batch: start,
        waker,
    };
    let mut served = false;
    loop {
        while let Ok(command) = commands.try_recv() {
            collector.serve(command);
            served = true;
        }
        if served && collector.doors.is_empty() {
            break;
        }
        collector.waker.wait(Duration::from_nanos(collector.cpu.drain_every_ns()));
        collector.gather();
    }
}

impl Collector {
    fn serve(&mut self, command: Command) {
        match command {
            Command::Open { options, host, live, reply } => {
                let opened = self.open(*options, &host, live);
                let _ = reply.send(opened);
            }
            Command::Finish { id, names, reply } => {
                if let Some(finished) = self.finish(id, &names) {
                    let _ = reply.send((finished, self.doors.is_empty()));
                }
            }
        }
    }

    fn open(&mut self, options: Options, host: &Host, live: Arc<Live>) -> Result<u64, Error> {
        // What was seen so far belongs to the doors that are open now.
        self.gather();
        self.write_batch();
        self.tracks.name_threads(&mut self.tables, &host.thread_names);
        let id = self.next_id;
        self.next_id += 1;
        let wish = options.cpu;
        let mut meta = facts::at_start(host);
        let before = self.totals();
        // Sampling comes first: where it cannot be had, a file that is there stays whole.
        meta.settings.cpu = wish.map(|wish| self.cpu.join(id, wish, &self.waker)).transpose()?;
        match Door::open(id, options, meta, before, live) {
            Ok(door) => self.doors.push(door),
            Err(error) => {
                self.cpu.leave(id, &self.waker);
                return Err(error);
            }
        }
        Ok(id)
    }

    fn finish(&mut self, id: u64, names: &[(u64, String)]) -> Option<Finished> {
        let at = self.doors.iter().position(|door| door.id == id)?;
        if self.doors.len() == 1 {
            self.cpu.stop();
        }
        self.gather_all();
        self.tracks.name_threads(&mut self.tables, names);
        self.write_batch();
        let (now, mut totals) = (clock::monotonic(), self.totals());
        totals.median_lateness_ns = self.cpu.median_lateness_ns();
        let mut door = self.doors.remove(at);
        if let Some(chosen) = self.cpu.chosen() {
            door.set_trigger(chosen);
        }
        let sources = if door.options.source {
            own_sources(self.tables.tables(), door.roots())
        } else {
            Vec::new()
        };
        let finished = door.finish(&mut self.tables, sources, self.start, now, &totals);
        let was_sampled = self.cpu.chosen().is_some();
        self.cpu.leave(id, &self.waker);
        if was_sampled && self.cpu.chosen().is_none() {
            self.tracks.forget_threads();
        }
        Some(finished)
    }

    /// Empties the rings and lanes, and writes a batch when it is time.
    fn gather(&mut self) {
        self.gather_spans(false);
        self.gather_samples();
    }

    /// The same for a door that closes: nothing waits for the next time.
    fn gather_all(&mut self) {
        self.gather_spans(true);
        self.gather_samples();
    }

    fn gather_spans(&mut self, all: bool) {
        for door in &mut self.doors {
            door.make_room();
        }
        self.spans.drain(&mut self.tables, &mut self.tracks, &mut self.doors, all);
        let totals = self.totals();
        let crowded = self.doors.iter_mut().filter(|door| door.spans.waiting() > MOST_WAITING);
        for door in crowded {
            door.append_spans(&mut self.tables, self.start, &totals);
        }
    }

    fn gather_samples(&mut self) {
        self.cpu.drain(&mut self.frames, &mut self.tables, &mut self.tracks);
        for text in self.cpu.take_notes() {
            let process = self.tracks.process();
            for door in &mut self.doors {
                door.note(&mut self.tables, process, &text);
            }
        }
        if clock::monotonic().saturating_sub(self.last_batch) >= BATCH_NS {
            self.write_batch();
            self.cpu.mind_the_budget(self.last_batch, &self.waker);
            self.cpu.revive(&self.waker);
        }
        let (totals, waiting) = (self.totals(), self.cpu.waiting_looks());
        self.doors.iter().for_each(|door| door.publish(&totals, waiting));
    }

    /// Shares out the clocks and hands every door its part.
    fn write_batch(&mut self) {
        let now = clock::monotonic();
        self.last_batch = now;
        let mut samples: Vec<Sample> = Vec::new();
        self.cpu.share_out(now, &mut samples, &mut self.tables);
        samples.sort_by_key(|sample: &Sample| sample.time);
        let totals = self.totals();
        for door in &mut self.doors {
            door.append(&mut self.tables, &samples, self.start, now, &totals);
        }
    }

    fn totals(&self) -> Totals {
        let mut totals = self.cpu.totals();
        totals.loss.unnamed_frames = self.frames.unnamed;
        totals.loss.dropped_spans = self.spans.dropped;
        totals.own_cpu_ns += clock::own_thread_cpu();
        totals.process_cpu_ns = clock::process_cpu();
        totals
    }
}

/// What the process is called.
fn program_name() -> String {
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    name.trim_end().to_owned()
}

/// A time of the session as the tables keep it.
pub(crate) fn session_time(start: u64, at: u64) -> Time {
    Time(at.saturating_sub(start))
}
