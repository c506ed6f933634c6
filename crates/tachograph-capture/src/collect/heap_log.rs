//! One door's part of the heap: the blocks sampled in its window, what is live
//! of them, and what was live when most was.

use rustc_hash::FxHashMap;
use tachograph_profile::{
    Allocation, Batch, Free, HeapReport, Point, SeriesId, StackId, Time, TrackId,
};

use crate::heap::{HeapStats, PeakRow};
use crate::sys::heap::Event;

/// What one stack holds, and held at the peak.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    bytes: u64,
    blocks: f64,
    peak_bytes: u64,
    peak_blocks: f64,
    /// The peak that the last two belong to.
    peak: u64,
}

impl Held {
    /// Brings what was held at the peak up to date before a change: since the
    /// last change of this stack there may have been a new peak.
    fn settle(&mut self, peak: u64) {
        if self.peak != peak {
            (self.peak_bytes, self.peak_blocks) = (self.bytes, self.blocks);
            self.peak = peak;
        }
    }
}

/// A door's blocks.
#[derive(Debug)]
pub(crate) struct HeapLog {
    start: u64,
    /// No block that came later belongs to the window.
    paused_at: Option<u64>,
    /// Live blocks by their number, with their position in the recording.
    live: FxHashMap<u32, (u32, Allocation)>,
    held: FxHashMap<StackId, Held>,
    allocations: Vec<Allocation>,
    frees: Vec<Free>,
    points: Vec<Point>,
    /// Position of the first of `allocations`.
    first: u32,
    bytes: u64,
    /// How many peaks there were; each new one counts.
    peaks: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) peak_time: Time,
    pub(crate) total: u64,
    pub(crate) freed: u64,
    pub(crate) dropped: u64,
}

impl HeapLog {
    /// A window that begins at `start` on the monotonic clock.
    pub(crate) fn new(start: u64) -> Self {
        Self {
            start,
            paused_at: None,
            live: FxHashMap::default(),
            held: FxHashMap::default(),
            allocations: Vec::new(),
            frees: Vec::new(),
            points: Vec::new(),
            first: 0,
            bytes: 0,
            peaks: 0,
            peak_bytes: 0,
            peak_time: Time(0),
            total: 0,
            freed: 0,
            dropped: 0,
        }
    }

    /// No block that comes after `now` belongs to the window.
    pub(crate) fn pause(&mut self, now: u64) {
        self.paused_at.get_or_insert(now);
    }

    /// New blocks still belong to the window.
    pub(crate) fn is_sampling(&self) -> bool {
        self.paused_at.is_none()
    }

    /// Estimated bytes live now.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.bytes
    }

    /// Samples live now.
    pub(crate) fn live_samples(&self) -> u64 {
        self.live.len() as u64
    }

    /// Stacks that ever held something.
    pub(crate) fn stacks(&self) -> u64 {
        self.held.len() as u64
    }

    /// Takes the beginning of a block.
    pub(crate) fn allocated(&mut self, event: &Event, stack: StackId, track: TrackId) {
        let is_inside = event.time >= self.start && self.paused_at.is_none_or(|at| event.time < at);
        if !is_inside {
            return;
        }
        let time = Time(event.time - self.start);
        let row = Allocation {
            time,
            freed: None,
            track,
            stack,
            address: event.address,
            size_bytes: event.size,
            weight_bytes: event.weight,
            allocator: event.allocator,
        };
        let position = self.first.saturating_add(self.allocations.len() as u32);
        self.allocations.push(row);
        if let Some((position, row)) = self.live.insert(event.number, (position, row)) {
            // Its number was used again, so it has ended, if only a moment before.
            self.end(position, &row, event.time);
        }
        self.total += 1;
        let held = self.held.entry(stack).or_default();
        held.settle(self.peaks);
        held.bytes = held.bytes.saturating_add(event.weight);
        held.blocks += blocks(&row);
        self.bytes = self.bytes.saturating_add(event.weight);
        if self.bytes > self.peak_bytes {
            self.peak_bytes = self.bytes;
            self.peak_time = time;
            self.peaks += 1;
        }
    }

    /// Takes the end of a block.
    pub(crate) fn ended(&mut self, event: &Event) {
        let begun = Time(event.time.saturating_sub(self.start));
        // Another block may have got its number before its end was told.
        let is_it = |(_, row): &(u32, Allocation)| row.time == begun;
        if self.live.get(&event.number).is_some_and(is_it)
            && let Some((position, row)) = self.live.remove(&event.number)
        {
            self.end(position, &row, event.freed);
        }
    }

    /// Ends the block `row`, which is at `position`, at `freed` on the monotonic clock.
    fn end(&mut self, position: u32, row: &Allocation, freed: u64) {
        let time = Time(freed.saturating_sub(self.start)).max(row.time);
        self.freed += 1;
        if let Some(held) = self.held.get_mut(&row.stack) {
            held.settle(self.peaks);
            held.bytes = held.bytes.saturating_sub(row.weight_bytes);
            held.blocks = (held.blocks - blocks(row)).max(0.0);
        }
        self.bytes = self.bytes.saturating_sub(row.weight_bytes);
        match position.checked_sub(self.first) {
            Some(waiting) => {
                if let Some(row) = self.allocations.get_mut(waiting as usize) {
                    row.freed = Some(time);
                }
            }
            None if position != DROPPED => self.frees.push(Free { allocation: position, time }),
            None => {}
        }
    }

    /// Takes a value of a series at `now` on the monotonic clock.
    pub(crate) fn point(&mut self, now: u64, series: SeriesId, value: f64) {
        let time = Time(now.saturating_sub(self.start));
        self.points.push(Point { time, series, value });
    }

    /// Moves what waits into `batch`. Without room new blocks are left out of the
    /// recording and counted; ends of earlier ones always go in.
    pub(crate) fn fill(&mut self, batch: &mut Batch, has_room: bool) {
        batch.frees.append(&mut self.frees);
        batch.points.append(&mut self.points);
        batch.points.sort_by_key(|point| point.time);
        if has_room {
            self.first = self.first.saturating_add(self.allocations.len() as u32);
            batch.allocations.append(&mut self.allocations);
            return;
        }
        self.dropped += self.allocations.len() as u64;
        self.allocations.clear();
        let first = self.first;
        for (position, _) in self.live.values_mut().filter(|(position, _)| *position >= first) {
            *position = DROPPED;
        }
    }

    /// What came of sampling, for the recording.
    pub(crate) fn report(&self, stats: &HeapStats) -> HeapReport {
        HeapReport {
            total_samples: self.total,
            freed_samples: self.freed,
            effective_rate_bytes: stats.effective_rate_bytes,
            unique_stacks: self.stacks(),
            table_load: stats.table_load,
            collisions: stats.collisions,
            native_stacks: stats.native_stacks,
            native_frames: stats.native_frames,
            min_native_depth: stats.min_native_depth,
            shallow_stacks: stats.partial_native_stacks,
            own_bytes: stats.profiler_bytes,
        }
    }

    /// The live blocks, by time.
    pub(crate) fn live(&self) -> Vec<Allocation> {
        let mut rows: Vec<Allocation> = self.live.values().map(|(_, row)| *row).collect();
        rows.sort_by_key(|row| (row.time, row.address));
        rows
    }

    /// What each stack held at the peak, the largest first.
    pub(crate) fn at_peak(&self) -> Vec<PeakRow> {
        let row = |(stack, held): (&StackId, &Held)| {
            let mut held = *held;
            held.settle(self.peaks);
            let blocks = held.peak_blocks.round() as u64;
            PeakRow { stack: *stack, bytes: held.peak_bytes, blocks }
        };
        let mut rows: Vec<PeakRow> =
            self.held.iter().map(row).filter(|row| row.bytes > 0).collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.bytes), row.stack));
        rows
    }
}

/// The position of a block that is not in the recording.
const DROPPED: u32 = u32::MAX;

/// How many blocks a sample stands for.
fn blocks(row: &Allocation) -> f64 {
    row.weight_bytes as f64 / row.size_bytes.max(1) as f64
}

#[cfg(test)]
mod tests {
    use tachograph_profile::Allocator;

    use super::*;

    fn event(number: u32, time: u64, freed: u64, weight: u64) -> Event {
        Event {
            number,
            is_new: true,
            address: u64::from(number) << 12,
            size: weight,
            weight,
            time,
            freed,
            stack: 1,
            tid: 1,
            allocator: Allocator::Malloc,
        }
    }

    fn allocate(log: &mut HeapLog, number: u32, time: u64, weight: u64, stack: u32) {
        log.allocated(&event(number, time, 0, weight), StackId(stack), TrackId(0));
    }

    #[test]
    fn the_peak_keeps_what_was_live_then_and_not_what_came_later() {
        let mut log = HeapLog::new(100);
        allocate(&mut log, 1, 110, 50, 7);
        allocate(&mut log, 2, 120, 100, 8);
        log.ended(&event(2, 120, 130, 100));
        allocate(&mut log, 3, 140, 90, 9);

        assert_eq!((log.peak_bytes, log.peak_time, log.live_bytes()), (150, Time(20), 140));
        let rows: Vec<_> = log.at_peak().iter().map(|row| (row.stack.0, row.bytes)).collect();
        assert_eq!(rows, [(8, 100), (7, 50)]);
    }

    #[test]
    fn a_number_that_is_used_again_before_its_end_is_told_is_two_blocks() {
        let mut log = HeapLog::new(0);
        allocate(&mut log, 1, 10, 50, 7);
        allocate(&mut log, 1, 20, 30, 8);
        log.ended(&event(1, 10, 21, 50));

        assert_eq!((log.total, log.freed, log.live_bytes()), (2, 1, 30));
        log.ended(&event(1, 20, 25, 30));

        assert_eq!((log.freed, log.live_bytes(), log.live_samples()), (2, 0, 0));
    }

    #[test]
    fn blocks_outside_the_window_are_left_out() {
        let mut log = HeapLog::new(100);
        allocate(&mut log, 1, 99, 50, 7);
        log.pause(200);
        allocate(&mut log, 2, 200, 50, 7);
        allocate(&mut log, 3, 199, 50, 7);

        assert_eq!((log.total, log.live_bytes()), (1, 50));
        assert!(!log.is_sampling());
    }

    #[test]
    fn a_free_names_the_block_of_an_earlier_batch_by_position() {
        let mut log = HeapLog::new(0);
        let mut batch = Batch::default();
        allocate(&mut log, 5, 10, 1, 1);
        allocate(&mut log, 6, 11, 1, 1);
        log.ended(&event(5, 10, 12, 1));
        log.fill(&mut batch, true);
        assert_eq!(batch.allocations[0].freed, Some(Time(12)));

        log.ended(&event(6, 11, 30, 1));
        log.fill(&mut batch, true);

        assert_eq!(batch.frees, [Free { allocation: 1, time: Time(30) }]);
        assert!(log.live().is_empty());
    }

    #[test]
    fn without_room_blocks_are_counted_and_their_ends_are_not_told() {
        let mut log = HeapLog::new(0);
        let mut batch = Batch::default();
        allocate(&mut log, 5, 10, 1, 1);
        log.fill(&mut batch, false);
        log.ended(&event(5, 10, 12, 1));
        allocate(&mut log, 6, 13, 1, 1);
        log.fill(&mut batch, true);

        assert_eq!((log.dropped, batch.allocations.len(), batch.frees.len()), (1, 1, 0));
    }
}
