//! One door's window on the session: its own clock zero, file and losses.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tachograph_profile::{
    Batch, Interner, Loss, Meta, Mode, Note, Point, Profile, Roots, Sample, Source, Tables,
    ThreadState, Time, file,
};

use super::heap_log::HeapLog;
use super::heap_source::since;
use super::sink::Sink;
use super::span_log::SpanLog;
use crate::cpu::Chosen;
use crate::error::Error;
use crate::heap::{HeapPicture, HeapStats};
use crate::options::Options;
use crate::session::{Finished, Stats};
use crate::sys::clock;

/// Room for a recording in memory unless the caller says otherwise.
pub(crate) const DEFAULT_MEMORY_BYTES: u64 = 100 << 20;

/// Figures of a door that can be read while it records.
#[derive(Debug, Default)]
pub(crate) struct Live {
    start: AtomicU64,
    collected: AtomicU64,
    dropped: AtomicU64,
    cost_ppm: AtomicU64,
    memory: AtomicU64,
}

impl Live {
    /// How it goes so far.
    pub(crate) fn stats(&self) -> Stats {
        let duration_ns = clock::monotonic().saturating_sub(self.start.load(Ordering::Relaxed));
        Stats {
            collected_samples: self.collected.load(Ordering::Relaxed),
            dropped_samples: self.dropped.load(Ordering::Relaxed),
            duration_ns,
            cost: self.cost_ppm.load(Ordering::Relaxed) as f64 / 1e6,
            memory_bytes: self.memory.load(Ordering::Relaxed),
        }
    }
}

/// Totals of the session at one moment; a door shows the difference of two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// What was lost.
    pub(crate) loss: Loss,
    /// CPU time of all watched threads.
    pub(crate) watched_cpu_ns: u64,
    /// CPU time of our own threads.
    pub(crate) own_cpu_ns: u64,
    /// CPU time of the process.
    pub(crate) process_cpu_ns: u64,
    /// Wake-ups of the sampler.
    pub(crate) ticks: u64,
    /// Signals that were answered.
    pub(crate) answered: u64,
    /// CPU time that came from the repair tick.
    pub(crate) repaired_ns: u64,
    /// Samples left out because the thread stood in a finished wait.
    pub(crate) waiting: u64,
    /// Half of the wake-ups came later than this.
    pub(crate) median_lateness_ns: u64,
}

/// What one answered signal costs the program's thread, on the kind of virtual
/// machine it was measured on (13 to 15 µs, of which the handler is 1).
const SIGNAL_COST_NS: u64 = 13_000;

/// One open window.
pub(crate) struct Door {
    /// Names the door in commands.
    pub(crate) id: u64,
    /// What it asked for.
    pub(crate) options: Options,
    /// Its spans and values.
    pub(crate) spans: SpanLog,
    /// Its sampled blocks, if it asked for them.
    pub(crate) heap: Option<HeapLog>,
    /// Values of the process on their way into the next batch.
    pub(crate) points: Vec<Point>,
    /// When the resident size was last looked into.
    pub(crate) last_memory: Option<u64>,
    start: u64,
    at_start: Totals,
    meta: Meta,
    writer: file::Writer<Sink>,
    live: Arc<Live>,
    samples: u64,
    dropped: u64,
    notes: Vec<Note>,
}

impl Door {
    /// Opens the window now.
    pub(crate) fn open(
        id: u64,
        options: Options,
        mut meta: Meta,
        at_start: Totals,
        live: Arc<Live>,
    ) -> Result<Self, Error> {
        let sink = Sink::new(
            usize::try_from(memory_limit(&options)).unwrap_or(usize::MAX),
            options.path.as_deref(),
        )?;
        if let Some(cpu) = &mut meta.settings.cpu {
            cpu.memory_limit_bytes = memory_limit(&options);
        }
        let internal = |error: std::io::Error| Error::Internal { reason: error.to_string() };
        let writer = file::Writer::new(sink, &meta).map_err(internal)?;
        let start = clock::monotonic();
        live.start.store(start, Ordering::Relaxed);
        let (samples, dropped, notes) = (0, 0, Vec::new());
        let spans =
            if options.without_spans { SpanLog::without_any() } else { SpanLog::new(start) };
        let heap = options.heap.map(|_| HeapLog::new(start));
        Ok(Self {
            id,
            options,
            spans,
            heap,
            points: Vec::new(),
            last_memory: None,
            start,
            at_start,
            meta,
            writer,
            live,
            samples,
            dropped,
            notes,
        })
    }

    /// The trigger may have changed since the door was opened.
    pub(crate) fn set_trigger(&mut self, chosen: &Chosen) {
        if let Some(cpu) = &mut self.meta.settings.cpu {
            cpu.trigger = chosen.trigger;
            cpu.trigger_reason.clone_from(&chosen.reason);
        }
    }

    /// What came of heap sampling.
    pub(crate) fn set_heap(&mut self, stats: &HeapStats) {
        if let (Some(heap), Some(log)) = (&mut self.meta.settings.heap, &self.heap) {
            heap.report = log.report(stats);
        }
    }

    /// The heap as this door sees it now; `None` for a door without heap.
    pub(crate) fn picture(
        &self,
        tables: &Interner,
        session_start: u64,
        totals: &Totals,
        stats: HeapStats,
    ) -> Option<HeapPicture> {
        let log = self.heap.as_ref()?;
        let mut tables = tables.tables().clone();
        shift(&mut tables, self.start.saturating_sub(session_start));
        let mut meta = self.meta.clone();
        meta.duration_ns = since(self.start, clock::monotonic()).0;
        if let Some(heap) = &mut meta.settings.heap {
            heap.report = log.report(&stats);
        }
        let stats = HeapStats {
            total_samples: log.total,
            live_samples: log.live_samples(),
            freed_samples: log.freed,
            unique_stacks: log.stacks(),
            estimated_heap_bytes: log.live_bytes(),
            sampling: log.is_sampling(),
            ..stats
        };
        let (loss, allocations) = (self.loss(totals), log.live());
        Some(HeapPicture {
            profile: Profile { meta, loss, tables, allocations, ..Profile::default() },
            at_peak: log.at_peak(),
            peak_bytes: log.peak_bytes,
            peak_time: log.peak_time,
            stats,
            notes: Vec::new(),
        })
    }

    /// Whether the file at `path` is this door's.
    pub(crate) fn writes_to(&self, path: &Path) -> bool {
        self.writer.get_ref().writes_to(path)
    }

    /// Whether `time`, on the monotonic clock, is not before the window.
    pub(crate) fn has_begun(&self, time: u64) -> bool {
        time >= self.start
    }

    /// How long the window has been open at `now`.
    pub(crate) fn since_start(&self, now: u64) -> u64 {
        now.saturating_sub(self.start)
    }

    /// What tells own code from libraries.
    pub(crate) fn roots(&self) -> &Roots {
        &self.meta.roots
    }

    /// Whether the door wants to see `sample`: one that asked for CPU time has
    /// no use for waiting threads that another door looks at.
    fn wants(&self, sample: &Sample) -> bool {
        let waits = matches!(sample.state, ThreadState::Idle | ThreadState::WaitingForGil);
        !waits || self.options.cpu.is_some_and(|cpu| cpu.mode == Mode::Wall)
    }

    /// Adds a note to the next batch.
    pub(crate) fn note(
        &mut self,
        tables: &mut Interner,
        track: tachograph_profile::TrackId,
        text: &str,
    ) {
        let time = Time(clock::monotonic().saturating_sub(self.start));
        let text = tables.string(text);
        self.notes.push(Note { time, track, warning: true, text });
    }

    /// Appends the part of `samples` that lies in this window. Times are
    /// relative to `session_start`.
    pub(crate) fn append(
        &mut self,
        tables: &mut Interner,
        samples: &[Sample],
        session_start: u64,
        now: u64,
        totals: &Totals,
    ) {
        let offset = self.start.saturating_sub(session_start);
        let inside = samples.iter().filter(|sample| sample.time.0 >= offset && self.wants(sample));
        let mut samples: Vec<Sample> = inside.copied().collect();
        for sample in &mut samples {
            sample.time = Time(sample.time.0 - offset);
        }
        if self.is_full(tables) {
            self.dropped += samples.len() as u64;
            samples.clear();
        }
        self.samples += samples.len() as u64;
        let mut batch = Batch {
            samples,
            notes: std::mem::take(&mut self.notes),
            loss: self.loss(totals),
            until: Time(now.saturating_sub(self.start)),
            ..Batch::default()
        };
        self.spans.fill(&mut batch);
        batch.points.append(&mut self.points);
        let has_room = !self.is_full(tables);
        if let Some(log) = &mut self.heap {
            log.fill(&mut batch, has_room);
        }
        self.with_own_times(tables, offset, |writer, tables| {
            let _ = writer.append(tables, &batch);
        });
        self.publish(totals, 0);
    }

    /// Spans have room as long as they leave half of it to samples: a program
    /// with very many of them is still sampled to its end.
    pub(crate) fn make_room(&mut self, tables: &Interner) {
        self.spans.has_room = !self.writer.get_ref().is_half_full(tables.bytes());
    }

    /// No more samples fit. The tables that all doors share count for each.
    pub(crate) fn is_full(&self, tables: &Interner) -> bool {
        self.writer.get_ref().is_full(tables.bytes())
    }

    /// Appends the spans and values so far, ahead of the next batch.
    pub(crate) fn append_spans(
        &mut self,
        tables: &mut Interner,
        session_start: u64,
        totals: &Totals,
    ) {
        let offset = self.start.saturating_sub(session_start);
        let mut batch = Batch { loss: self.loss(totals), ..Batch::default() };
        self.spans.fill(&mut batch);
        self.with_own_times(tables, offset, |writer, tables| {
            let _ = writer.append(tables, &batch);
        });
    }

    /// Closes the window. `sources` is the text of own files.
    pub(crate) fn finish(
        mut self,
        tables: &mut Interner,
        sources: Vec<Source>,
        session_start: u64,
        now: u64,
        totals: &Totals,
    ) -> Finished {
        let offset = self.start.saturating_sub(session_start);
        let loss = self.loss(totals);
        let (samples, duration) = (self.samples, now.saturating_sub(self.start));
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let first = self.at_start;
        self.meta.duration_ns = duration;
        self.meta.process_cpu_ns = since(totals.process_cpu_ns, first.process_cpu_ns);
        if let Some(cpu) = &mut self.meta.settings.cpu {
            cpu.report.samples = samples;
            cpu.report.watched_cpu_ns = since(totals.watched_cpu_ns, first.watched_cpu_ns);
            cpu.report.ticks = since(totals.ticks, first.ticks);
            cpu.report.median_lateness_ns = totals.median_lateness_ns;
            cpu.report.own_cpu_ns = since(totals.own_cpu_ns, first.own_cpu_ns);
            cpu.report.sampling_cpu_ns = since(totals.answered, first.answered) * SIGNAL_COST_NS;
            cpu.report.repaired_cpu_ns = since(totals.repaired_ns, first.repaired_ns);
            cpu.report.waiting_samples = since(totals.waiting, first.waiting);
        }
        let meta = std::mem::take(&mut self.meta);
        let kept = std::mem::replace(&mut tables.tables_mut().sources, sources);
        self.with_own_times(tables, offset, |writer, tables| {
            let _ = writer.finish(tables, &meta, &loss);
        });
        tables.tables_mut().sources = kept;
        let (bytes, file, file_error) = self.writer.into_inner().into_parts();
        Finished { bytes, file, file_error }
    }

    /// Runs `work` with tracks that start on this door's clock.
    fn with_own_times(
        &mut self,
        tables: &mut Interner,
        offset: u64,
        work: impl FnOnce(&mut file::Writer<Sink>, &tachograph_profile::Tables),
    ) {
        let tables = tables.tables_mut();
        let session_times = tables.tracks.clone();
        shift(tables, offset);
        work(&mut self.writer, tables);
        tables.tracks = session_times;
    }

    fn loss(&self, totals: &Totals) -> Loss {
        let mut loss = totals.loss.since(&self.at_start.loss);
        loss.dropped_samples += self.dropped;
        loss.dropped_spans += self.spans.dropped;
        loss.dropped_allocations += self.heap.as_ref().map_or(0, |log| log.dropped);
        loss
    }

    /// Makes the live figures current; `waiting` looks are not in a batch yet.
    pub(crate) fn publish(&self, totals: &Totals, waiting: usize) {
        let loss = self.loss(totals);
        // Of a program that sleeps, sampling costs a share of the time that passes.
        let elapsed = clock::monotonic().saturating_sub(self.start);
        let watched = totals.watched_cpu_ns.saturating_sub(self.at_start.watched_cpu_ns);
        let watched = watched.max(elapsed).max(1);
        let answered = totals.answered.saturating_sub(self.at_start.answered);
        let cost =
            totals.own_cpu_ns.saturating_sub(self.at_start.own_cpu_ns) + answered * SIGNAL_COST_NS;
        self.live.collected.store(self.samples + waiting as u64, Ordering::Relaxed);
        self.live.dropped.store(loss.missing_samples(), Ordering::Relaxed);
        self.live.cost_ppm.store(cost.saturating_mul(1_000_000) / watched, Ordering::Relaxed);
        self.live.memory.store(self.writer.get_ref().memory_bytes() as u64, Ordering::Relaxed);
    }
}

/// Makes tracks start on a clock that begins `offset` later.
fn shift(tables: &mut Tables, offset: u64) {
    for track in &mut tables.tracks {
        track.start = Time(track.start.0.saturating_sub(offset));
        track.end = track.end.map(|end| Time(end.0.saturating_sub(offset)));
    }
}

fn memory_limit(options: &Options) -> u64 {
    match options.memory_limit_bytes {
        0 => DEFAULT_MEMORY_BYTES,
        bytes => bytes,
    }
}
