//! The heap source on the collector's side: keeps the hooks sampling while a
//! door wants it, names what they saw, and tells every door its part.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use tachograph_probe::record::{self, Message, Received};
use tachograph_probe::walk::{EntryKind, RawFrame};
use tachograph_profile::{
    HeapSettings, Interner, Series, SeriesId, SeriesKind, StackId, Time, TrackId, Unit,
};

use super::collector::session_time;
use super::door::{Door, Totals};
use super::frames::Frames;
use super::heap_notes::HeapNotes;
use super::tracks::Tracks;
use crate::heap::HeapStats;
use crate::options::HeapOptions;
use crate::sys::heap::{self, Counts, Event};
use crate::sys::{guard, linker, own_memory};

/// Libraries that were loaded are looked for this often while blocks are sampled.
const SCAN_NS: u64 = 10_000_000;

/// Bytes between two samples unless the caller says otherwise.
pub(crate) const DEFAULT_RATE: u64 = 512 << 10;
/// Entries kept per stack unless the caller says otherwise.
const DEFAULT_DEPTH: usize = 128;

/// The hooks, and the stacks they told.
pub(crate) struct HeapSource {
    start: u64,
    wishes: BTreeMap<u64, HeapOptions>,
    /// Doors that want no new blocks.
    paused: Vec<u64>,
    stacks: FxHashMap<u64, StackId>,
    events: Vec<Event>,
    moments: Vec<Moment>,
    words: Vec<u64>,
    notes: HeapNotes,
    native: NativeStacks,
    truncated: u64,
    arenas: Option<SeriesId>,
    begun_with: Counts,
}

impl HeapSource {
    /// Nothing watched yet.
    pub(crate) fn new(start: u64) -> Self {
        Self {
            start,
            wishes: BTreeMap::new(),
            paused: Vec::new(),
            stacks: FxHashMap::default(),
            events: Vec::new(),
            moments: Vec::new(),
            words: Vec::new(),
            notes: HeapNotes::default(),
            native: NativeStacks::default(),
            truncated: 0,
            arenas: None,
            begun_with: Counts::default(),
        }
    }

    /// How long news can wait.
    pub(crate) fn drain_every_ns(&self) -> u64 {
        if self.is_sampling() { SCAN_NS } else { u64::MAX }
    }

    fn is_sampling(&self) -> bool {
        self.wishes.keys().any(|id| !self.paused.contains(id))
    }

    /// Adds a door's wish; says how it will be served.
    pub(crate) fn join(&mut self, id: u64, wish: HeapOptions) -> HeapSettings {
        if self.wishes.is_empty() {
            // Nobody samples: what an earlier window left behind is forgotten.
            let _ = heap::stop();
            self.stacks.clear();
            self.notes.clear();
            self.begun_with = heap::counts();
            heap::prepare();
            guard::arm_for(guard::HEAP);
        }
        self.wishes.insert(id, wish);
        self.follow_wishes();
        if let Some(reason) = crate::heap::objects_refusal().filter(|_| wish.python_objects) {
            self.notes.refused(reason);
        }
        HeapSettings {
            rate_bytes: rate(&wish),
            python_objects: wish.python_objects,
            native: wish.native,
            ..HeapSettings::default()
        }
    }

    /// A door wants no new blocks; it still hears of the end of its own.
    pub(crate) fn pause(&mut self, id: u64) {
        if self.wishes.contains_key(&id) && !self.paused.contains(&id) {
            self.paused.push(id);
            self.follow_wishes();
        }
    }

    /// Takes a door's wish back.
    pub(crate) fn leave(&mut self, id: u64) {
        self.paused.retain(|paused| *paused != id);
        if self.wishes.remove(&id).is_some() {
            self.follow_wishes();
        }
    }

    /// The finest rate wins; native frames if anyone wants them.
    fn follow_wishes(&mut self) {
        let active = || self.wishes.iter().filter(|(id, _)| !self.paused.contains(id));
        let wanted = active().map(|(_, wish)| rate(wish)).min();
        match wanted {
            Some(period) => {
                let native = active().any(|(_, wish)| wish.native);
                heap::objects::want(active().any(|(_, wish)| wish.python_objects));
                let depth = active().map(|(_, wish)| depth(wish)).max().unwrap_or(DEFAULT_DEPTH);
                let most = active().map(|(_, wish)| wish.most_live.wrapping_sub(1)).max();
                heap::resume(period, native, depth, most.map_or(0, |most| most.wrapping_add(1)));
            }
            None if self.wishes.is_empty() => {
                // A hook that is stuck keeps the handlers until the next window with a heap ends.
                if heap::stop() {
                    guard::disarm_for(guard::HEAP);
                }
            }
            None => heap::pause(),
        }
    }

    /// Takes what happened since the last time to the doors.
    pub(crate) fn drain(
        &mut self,
        frames: &mut Frames,
        tables: &mut Interner,
        tracks: &mut Tracks,
        doors: &mut [Door],
    ) {
        if self.wishes.is_empty() {
            return;
        }
        if self.is_sampling() {
            linker::rescan_if_changed();
            heap::recover();
            self.notes.look();
            if self.wishes.values().any(|wish| wish.native) {
                crate::native::refresh();
            }
            if !guard::is_armed() {
                guard::arm_for(guard::HEAP);
            }
        }
        self.events.clear();
        heap::take_events(&mut self.events);
        self.words.clear();
        heap::drain_stacks(&mut self.words);
        self.name_stacks(frames, tables);
        // The latest news come first. This way round, they are nearly in order of time.
        self.events.reverse();
        self.order_moments();
        for Moment { event: at, begins, .. } in self.moments.drain(..) {
            let Some(event) = self.events.get(at as usize) else { continue };
            if begins {
                let stack = self.stacks.get(&event.stack).copied();
                let stack = stack.unwrap_or_else(|| frames.without_python(tables));
                let now = session_time(self.start, event.time);
                let tid = u64::try_from(event.tid).unwrap_or(0);
                let track = tracks.thread_with_spans(tables, tid, now);
                for log in doors.iter_mut().filter_map(|door| door.heap.as_mut()) {
                    log.allocated(event, stack, track);
                }
            } else {
                for log in doors.iter_mut().filter_map(|door| door.heap.as_mut()) {
                    log.ended(event);
                }
            }
        }
    }

    /// Puts the beginnings and ends of the events in order of time: the end of a block
    /// may be told together with the beginning of the next one in its place.
    fn order_moments(&mut self) {
        self.moments.clear();
        for (at, event) in (0..).zip(&self.events) {
            if event.is_new {
                self.moments.push(Moment { time: event.time, event: at, begins: true });
            }
            if event.freed != 0 {
                self.moments.push(Moment { time: event.freed, event: at, begins: false });
            }
        }
        // Stable, so the beginning of a block stays before its end, also within one
        // nanosecond; and quick with what is nearly in order.
        self.moments.sort_by_key(|moment| moment.time);
    }

    /// Gives stacks that are new their rows in the tables.
    fn name_stacks(&mut self, frames: &mut Frames, tables: &mut Interner) {
        let mut rest = self.words.as_slice();
        while let Some(message) = record::next(&mut rest) {
            match message {
                Message::Code(told) => frames.introduce(tables, &told),
                Message::Sample(told) => {
                    self.native.add(&told);
                    self.truncated += u64::from(told.sample.truncated);
                    let stack = named(&told, &self.stacks, frames, tables);
                    self.stacks.insert(told.sample.time, stack);
                }
            }
        }
    }

    /// Bytes of the interpreter's arenas, as a point of a series; `None` without any.
    pub(crate) fn arenas(
        &mut self,
        tables: &mut Interner,
        process: TrackId,
    ) -> Option<(SeriesId, f64)> {
        let bytes = heap::objects::arena_bytes();
        if self.wishes.is_empty() || bytes == 0 {
            return None;
        }
        let series = *self.arenas.get_or_insert_with(|| {
            let name = tables.string("python arenas");
            let (unit, kind) = (Unit::Bytes, SeriesKind::Gauge);
            let all = &mut tables.tables_mut().series;
            all.push(Series { name, track: process, unit, kind });
            (all.len() - 1).into()
        });
        Some((series, bytes as f64))
    }

    /// Sentences for the recording since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        self.notes.take_new()
    }

    /// All sentences since the first door opened.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.all()
    }

    /// Adds what was lost so far.
    pub(crate) fn add_losses(&self, totals: &mut Totals) {
        if self.wishes.is_empty() {
            return;
        }
        let dropped = heap::counts().dropped.saturating_sub(self.begun_with.dropped);
        totals.loss.dropped_allocations += dropped;
        totals.loss.truncated_stacks += self.truncated;
        totals.loss.partial_native_stacks += self.native.partial;
    }

    /// How sampling goes, apart from what a door knows itself.
    pub(crate) fn stats(&self) -> HeapStats {
        let (counts, report) = (heap::counts(), linker::report());
        let taken = counts.taken.saturating_sub(self.begun_with.taken);
        let dropped = counts.dropped.saturating_sub(self.begun_with.dropped);
        let rate_bytes = self.wishes.values().map(rate).min().unwrap_or(DEFAULT_RATE);
        let thinning = (taken + dropped) as f64 / taken.max(1) as f64;
        let coarsest = rate_bytes.max(counts.longest_period);
        let effective = if dropped == 0 { coarsest } else { (coarsest as f64 * thinning) as u64 };
        HeapStats {
            dropped_samples: dropped,
            table_load: counts.load,
            collisions: counts.collisions,
            rate_bytes,
            effective_rate_bytes: effective,
            partial_native_stacks: self.native.partial,
            native_stacks: self.native.stacks,
            native_frames: self.native.frames,
            min_native_depth: self.native.shortest,
            pending_objects: report.pending,
            foreign_slots: report.foreign,
            arena_bytes: heap::objects::arena_bytes(),
            profiler_bytes: counts.bytes + own_memory::held_bytes(),
            ..HeapStats::default()
        }
    }
}

impl Drop for HeapSource {
    fn drop(&mut self) {
        if !self.wishes.is_empty() {
            self.wishes.clear();
            self.follow_wishes();
        }
    }
}

fn rate(wish: &HeapOptions) -> u64 {
    if wish.rate_bytes == 0 { DEFAULT_RATE } else { wish.rate_bytes }
}

fn depth(wish: &HeapOptions) -> usize {
    if wish.max_depth == 0 { DEFAULT_DEPTH } else { wish.max_depth as usize }
}

/// A block begins or ends.
struct Moment {
    time: u64,
    /// The event's place among those of this turn.
    event: u32,
    begins: bool,
}

/// Native stacks that were told.
#[derive(Default)]
struct NativeStacks {
    stacks: u64,
    frames: u64,
    shortest: u64,
    /// Those that ended early.
    partial: u64,
}

impl NativeStacks {
    fn add(&mut self, told: &Received<'_>) {
        let depth = told.native.len() as u64;
        if depth == 0 {
            return;
        }
        self.shortest = if self.stacks == 0 { depth } else { self.shortest.min(depth) };
        self.stacks += 1;
        self.frames += depth;
        self.partial += u64::from(told.sample.partial_native);
    }
}

/// The row of a stack that a hook told.
fn named(
    told: &Received<'_>,
    known: &FxHashMap<u64, StackId>,
    frames: &mut Frames,
    tables: &mut Interner,
) -> StackId {
    let entries: Vec<RawFrame> = told
        .new
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [code, place] => Some(RawFrame { code: *code, place: *place }),
            _ => None,
        })
        .collect();
    if let [entry] = entries.as_slice()
        && entry.kind() == EntryKind::Boundary
        && let Some(maker) = known.get(&entry.marker())
    {
        // A thread that Python never saw: its frames stand on its maker's.
        let own = frames.merged(tables, &[], told.native);
        return own.map_or(*maker, |own| on_top(tables, *maker, own));
    }
    let stack = if told.native.is_empty() {
        let mut stack = None;
        for entry in entries {
            if let Some(frame) = frames.python(tables, entry) {
                stack = Some(tables.stack(stack, frame));
            }
        }
        stack
    } else {
        frames.merged(tables, &entries, told.native)
    };
    stack.unwrap_or_else(|| frames.without_python(tables))
}

/// The frames of `stack` on top of those of `base`.
fn on_top(tables: &mut Interner, base: StackId, stack: StackId) -> StackId {
    let mut frames = Vec::new();
    let mut next = Some(stack);
    while let Some(node) = next.and_then(|id| tables.tables().stacks.get(id.index())) {
        frames.push(node.frame);
        next = node.caller;
    }
    frames.into_iter().rev().fold(base, |caller, frame| tables.stack(Some(caller), frame))
}

/// A door's picture has times of its own.
pub(crate) fn since(start: u64, at: u64) -> Time {
    Time(at.saturating_sub(start))
}
