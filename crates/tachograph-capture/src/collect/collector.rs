//! The collector thread: owns every table, so nothing here needs a lock.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use tachograph_profile::{Interner, Sample, Time};

use super::cpu_source::CpuSource;
use super::door::{Door, Live, Totals};
use super::facts;
use super::frames::Frames;
use super::heap_source::HeapSource;
use super::machine_source::MachineSource;
use super::memory_points;
use super::sources::own_sources;
use super::span_source::SpanSource;
use super::stream_source::StreamSource;
use super::tracks::Tracks;
use crate::error::Error;
use crate::heap::HeapPicture;
use crate::options::{Host, Options};
use crate::python::Interpreter;
use crate::session::Finished;
use crate::sys::{clock, farewell};
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
    /// Sample no more blocks for a window; answers when that is so.
    PauseHeap {
        /// The window.
        id: u64,
        /// Where the answer goes.
        reply: Sender<()>,
    },
    /// The heap as a window sees it.
    Picture {
        /// The window.
        id: u64,
        /// Where the answer goes.
        reply: Sender<Option<Box<HeapPicture>>>,
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
    heap: HeapSource,
    spans: SpanSource,
    streams: StreamSource,
    machine: MachineSource,
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
        heap: HeapSource::new(start),
        spans: SpanSource::new(start, waker.clone()),
        streams: StreamSource::new(start),
        machine: MachineSource::new(start),
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
        let pause = collector.cpu.drain_every_ns().min(collector.heap.drain_every_ns());
        collector.waker.wait(Duration::from_nanos(pause));
        collector.gather();
        if let Some(signal) = farewell::told() {
            collector.finish_all();
            farewell::obey(signal);
        }
    }
    farewell::stop();
}

impl Collector {
    fn serve(&mut self, command: Command) {
        match command {
            Command::Open { options, host, live, reply } => {
                let opened = self.open(*options, &host, live);
                let _ = reply.send(opened);
            }
            Command::PauseHeap { id, reply } => {
                self.pause_heap(id);
                let _ = reply.send(());
            }
            Command::Picture { id, reply } => {
                let _ = reply.send(self.picture(id).map(Box::new));
            }
            Command::Finish { id, names, reply } => {
                if let Some(finished) = self.finish(id, &names) {
                    let _ = reply.send((finished, self.doors.is_empty()));
                }
            }
        }
    }

    fn open(&mut self, options: Options, host: &Host, live: Arc<Live>) -> Result<u64, Error> {
        if let Some(path) = &options.path
            && self.doors.iter().any(|door| door.writes_to(path))
        {
            return Err(Error::OutputTaken { path: path.clone() });
        }
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
        meta.settings.heap = options.heap.map(|wish| self.heap.join(id, wish));
        meta.settings.machine = options.machine.map(|wish| self.machine.join(id, wish));
        match Door::open(id, options, meta, before, live) {
            Ok(door) => {
                self.tables.set_closed(false);
                self.doors.push(door);
                self.spans.follow(&self.doors);
                self.machine.edge(id, false);
                self.look_at_memory(None);
            }
            Err(error) => {
                self.cpu.leave(id, &self.waker);
                self.heap.leave(id);
                self.machine.leave(id);
                return Err(error);
            }
        }
        Ok(id)
    }

    fn pause_heap(&mut self, id: u64) {
        self.gather_heap();
        self.heap.pause(id);
        let now = clock::monotonic();
        let door = self.doors.iter_mut().find(|door| door.id == id);
        if let Some(log) = door.and_then(|door| door.heap.as_mut()) {
            log.pause(now);
        }
    }

    fn picture(&mut self, id: u64) -> Option<HeapPicture> {
        self.gather_heap();
        let (stats, totals) = (self.heap.stats(), self.totals());
        let door = self.doors.iter().find(|door| door.id == id)?;
        let mut picture = door.picture(&self.tables, self.start, &totals, stats)?;
        picture.notes = self.heap.notes();
        Some(picture)
    }

    fn finish(&mut self, id: u64, names: &[(u64, String)]) -> Option<Finished> {
        let at = self.doors.iter().position(|door| door.id == id)?;
        if self.doors.len() == 1 {
            self.cpu.stop();
        }
        self.machine.edge(id, true);
        self.gather_all();
        self.tracks.name_threads(&mut self.tables, names);
        self.look_at_memory(Some(id));
        self.write_batch();
        let (now, mut totals) = (clock::monotonic(), self.totals());
        totals.median_lateness_ns = self.cpu.median_lateness_ns();
        let heap = self.heap.stats();
        let mut door = self.doors.remove(at);
        self.spans.follow(&self.doors);
        door.set_heap(&heap);
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
        self.heap.leave(id);
        self.machine.leave(id);
        if was_sampled && self.cpu.chosen().is_none() {
            self.tracks.forget_threads();
        }
        Some(finished)
    }

    /// Finishes every recording, because the program is about to end.
    fn finish_all(&mut self) {
        while let Some(door) = self.doors.first() {
            let id = door.id;
            if self.finish(id, &[]).is_none() {
                return;
            }
        }
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
            door.make_room(&self.tables);
        }
        self.spans.drain(&mut self.tables, &mut self.tracks, &mut self.doors, all);
        self.streams.drain(&mut self.tables, &mut self.tracks, &mut self.doors);
        self.machine.drain(&mut self.tables, &mut self.tracks, &mut self.doors);
        let totals = self.totals();
        let crowded = self.doors.iter_mut().filter(|door| door.spans.waiting() > MOST_WAITING);
        for door in crowded {
            door.append_spans(&mut self.tables, self.start, &totals);
        }
    }

    fn gather_heap(&mut self) {
        let (tables, tracks) = (&mut self.tables, &mut self.tracks);
        self.heap.drain(&mut self.frames, tables, tracks, &mut self.doors);
    }

    /// Looks into the resident size for the doors that are due, and for the one
    /// that closes.
    fn look_at_memory(&mut self, closing: Option<u64>) {
        let now = clock::monotonic();
        let process = self.tracks.process();
        for door in &mut self.doors {
            let closes = closing == Some(door.id) && door.last_memory.is_some();
            if closes || memory_points::is_due(door, now) {
                let own_bytes = self.heap.stats().profiler_bytes;
                memory_points::take(door, &mut self.tables, process, own_bytes);
            }
        }
    }

    fn gather_samples(&mut self) {
        self.gather_heap();
        self.cpu.drain(&mut self.frames, &mut self.tables, &mut self.tracks);
        let mut notes = self.cpu.take_notes();
        notes.extend(self.heap.take_notes());
        for text in notes {
            let process = self.tracks.process();
            for door in &mut self.doors {
                door.note(&mut self.tables, process, &text);
            }
        }
        if clock::monotonic().saturating_sub(self.last_batch) >= BATCH_NS {
            self.look_at_memory(None);
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
        let process = self.tracks.process();
        if let Some((series, value)) = self.heap.arenas(&mut self.tables, process) {
            for log in self.doors.iter_mut().filter_map(|door| door.heap.as_mut()) {
                log.point(now, series, value);
            }
        }
        let totals = self.totals();
        for door in &mut self.doors {
            door.append(&mut self.tables, &samples, self.start, now, &totals);
        }
        // Nobody has room for a sample with a new stack, so none is kept.
        let all_full =
            !self.doors.is_empty() && self.doors.iter().all(|door| door.is_full(&self.tables));
        self.tables.set_closed(all_full);
    }

    fn totals(&self) -> Totals {
        let mut totals = self.cpu.totals();
        self.heap.add_losses(&mut totals);
        totals.loss.unnamed_frames = self.frames.unnamed;
        totals.loss.dropped_spans = self.spans.dropped + self.streams.dropped;
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
