//! One door's spans and values, numbered as its recording numbers them.
//!
//! A door sees the spans that begin in its window. One that was open before
//! is not in its recording, and the spans inside it have no parent there.

use rustc_hash::FxHashMap;
use tachograph_profile::{
    Batch, Point, SeriesId, Span, SpanEnd, SpanId, StringId, Time, TrackId, Value,
};

use crate::spans::Over;

/// Spans that may be open at once; a program that never ends its spans does
/// not fill memory.
const MOST_OPEN: usize = 1 << 20;

/// Spans remembered that ended before one inside them.
const MOST_EARLY: usize = 1 << 16;

/// The clock of spans and the one doors use agree this well, in nanoseconds.
const CLOCKS_AGREE_NS: u64 = 50_000;

/// A span that began, with everything but its number in a recording.
pub(crate) struct Begun<'a> {
    /// Its number in the process.
    pub(crate) span: u64,
    /// The one it is inside of; 0 for none.
    pub(crate) parent: u64,
    /// The thread or task it runs on.
    pub(crate) track: TrackId,
    /// What it is called.
    pub(crate) name: StringId,
    /// When, on the monotonic clock.
    pub(crate) time: u64,
    /// What the caller attached.
    pub(crate) attributes: &'a [(StringId, Value)],
}

/// A span that has not ended.
#[derive(Debug)]
struct StillOpen {
    id: SpanId,
    start: Time,
    /// The open span it began in; 0 for none.
    around: u64,
    /// How many that began in it are open.
    inside: u32,
}

/// Spans and values that wait for the next batch, and the spans still open.
#[derive(Debug)]
pub(crate) struct SpanLog {
    start: u64,
    /// Spans that earlier batches brought.
    written: usize,
    open: FxHashMap<u64, StillOpen>,
    /// Spans that ended before one inside them, and what was around them. A
    /// program goes on to name them as parents: of two that ended in the wrong
    /// order, the outer stays behind as its thread's innermost one.
    early: FxHashMap<u64, u64>,
    begun: Vec<Span>,
    ended: Vec<SpanEnd>,
    points: Vec<Point>,
    /// The recording has room for more.
    pub(crate) has_room: bool,
    /// Spans and values for which there was no room.
    pub(crate) dropped: u64,
}

impl SpanLog {
    /// For a window that begins at `start`, on the monotonic clock.
    pub(crate) fn new(start: u64) -> Self {
        Self {
            start,
            written: 0,
            open: FxHashMap::default(),
            early: FxHashMap::default(),
            begun: Vec::new(),
            ended: Vec::new(),
            points: Vec::new(),
            has_room: true,
            dropped: 0,
        }
    }

    /// One that takes nothing: its window never begins.
    pub(crate) fn without_any() -> Self {
        Self::new(u64::MAX)
    }

    /// Whether `span` is open and in this recording.
    pub(crate) fn knows(&self, span: u64) -> bool {
        self.open.contains_key(&span)
    }

    /// Rows that wait for a batch.
    pub(crate) fn waiting(&self) -> usize {
        self.begun.len() + self.ended.len() + self.points.len()
    }

    /// A span began.
    pub(crate) fn begin(&mut self, begun: &Begun<'_>) {
        let Some(time) = self.own_time(begun.time) else { return };
        let number = self.written + self.begun.len();
        if !self.has_room || self.open.len() >= MOST_OPEN || u32::try_from(number).is_err() {
            self.dropped += 1;
            return;
        }
        // One that has ended, or began before the window, is no parent.
        let around = self.nearest_open(begun.parent);
        let parent = self.open.get_mut(&around);
        let (parent, start) = parent.map_or((None, time), |parent| {
            parent.inside = parent.inside.saturating_add(1);
            (Some(parent.id), time.max(parent.start))
        });
        let row = Span {
            parent,
            track: begun.track,
            name: begun.name,
            start,
            end: None,
            suspended_ns: 0,
            failed: false,
            attributes: begun.attributes.to_vec(),
        };
        let open = StillOpen { id: number.into(), start, around, inside: 0 };
        self.open.insert(begun.span, open);
        self.begun.push(row);
    }

    /// `span`, or the nearest one around it that is open; 0 for none.
    fn nearest_open(&self, mut span: u64) -> u64 {
        while span != 0 && !self.open.contains_key(&span) {
            span = self.early.get(&span).copied().unwrap_or(0);
        }
        span
    }

    /// A span ended; false when it is not one of this recording's.
    pub(crate) fn end(&mut self, span: u64, over: &Over) -> bool {
        let Some(ended) = self.open.remove(&span) else { return false };
        let StillOpen { id, start, around, inside } = ended;
        if let Some(around) = self.open.get_mut(&around) {
            around.inside = around.inside.saturating_sub(1);
        }
        if inside > 0 && around != 0 {
            if self.early.len() >= MOST_EARLY {
                self.early.clear();
            }
            self.early.insert(span, around);
        }
        let end = Time(over.time.saturating_sub(self.start)).max(start);
        let suspended_ns = over.suspended_ns.min(end.0 - start.0);
        let waiting = id.index().checked_sub(self.written);
        match waiting.and_then(|place| self.begun.get_mut(place)) {
            Some(row) => {
                (row.end, row.suspended_ns, row.failed) = (Some(end), suspended_ns, over.failed);
            }
            None => self.ended.push(SpanEnd {
                span: id,
                end,
                suspended_ns,
                failed: over.failed,
                attributes: Vec::new(),
            }),
        }
        true
    }

    /// A metric got a value.
    pub(crate) fn point(&mut self, series: SeriesId, time: u64, value: f64) {
        let Some(time) = self.own_time(time) else { return };
        if self.has_room {
            self.points.push(Point { time, series, value });
        } else {
            self.dropped += 1;
        }
    }

    /// Puts what waits into `batch`.
    pub(crate) fn fill(&mut self, batch: &mut Batch) {
        self.written += self.begun.len();
        batch.spans = std::mem::take(&mut self.begun);
        batch.span_ends = std::mem::take(&mut self.ended);
        batch.points = std::mem::take(&mut self.points);
    }

    /// A time on this door's clock; none before the window.
    fn own_time(&self, time: u64) -> Option<Time> {
        let is_inside = time.saturating_add(CLOCKS_AGREE_NS) >= self.start;
        is_inside.then(|| Time(time.saturating_sub(self.start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000_000_000;

    fn begin(log: &mut SpanLog, span: u64, parent: u64, time: u64) {
        let (track, name) = (TrackId(1), StringId(0));
        log.begin(&Begun { span, parent, track, name, time: START + time, attributes: &[] });
    }

    fn end(log: &mut SpanLog, span: u64, time: u64) {
        log.end(span, &Over { time: START + time, failed: false, suspended_ns: 7 });
    }

    fn batch(log: &mut SpanLog) -> Batch {
        let mut batch = Batch::default();
        log.fill(&mut batch);
        batch
    }

    #[test]
    fn a_span_that_ends_in_a_later_batch_is_ended_by_its_number() {
        let mut log = SpanLog::new(START);
        begin(&mut log, 70, 0, 10);
        begin(&mut log, 71, 70, 20);
        end(&mut log, 71, 30);
        let first = batch(&mut log);
        begin(&mut log, 72, 70, 40);
        end(&mut log, 72, 50);
        end(&mut log, 70, 60);
        let second = batch(&mut log);

        assert_eq!(first.spans[0].end, None);
        assert_eq!((first.spans[1].end, first.spans[1].parent), (Some(Time(30)), Some(SpanId(0))));
        assert_eq!(second.spans[0].parent, Some(SpanId(0)));
        assert_eq!((second.span_ends[0].span, second.span_ends[0].end), (SpanId(0), Time(60)));
        assert_eq!(second.span_ends[0].suspended_ns, 7);
        assert_eq!(log.open.len(), 0);
    }

    #[test]
    fn a_span_of_before_the_window_is_left_out_and_no_parent() {
        let mut log = SpanLog::new(START + 10 * CLOCKS_AGREE_NS);
        begin(&mut log, 1, 0, 0);
        begin(&mut log, 2, 1, 20 * CLOCKS_AGREE_NS);
        end(&mut log, 1, 21 * CLOCKS_AGREE_NS);

        let batch = batch(&mut log);

        assert_eq!((batch.spans.len(), batch.span_ends.len()), (1, 0));
        assert_eq!((batch.spans[0].parent, log.dropped), (None, 0));
    }

    #[test]
    fn a_parent_that_has_ended_is_no_parent() {
        let mut log = SpanLog::new(START);
        begin(&mut log, 1, 0, 0);
        end(&mut log, 1, 5);
        begin(&mut log, 2, 1, 6);

        assert_eq!(batch(&mut log).spans[1].parent, None);
    }

    #[test]
    fn what_follows_spans_that_ended_in_the_wrong_order_is_inside_what_was_around_them() {
        let mut log = SpanLog::new(START);
        begin(&mut log, 1, 0, 0);
        begin(&mut log, 2, 1, 1);
        begin(&mut log, 3, 2, 2);
        end(&mut log, 2, 3);
        end(&mut log, 3, 4);
        begin(&mut log, 4, 2, 5);
        end(&mut log, 4, 6);
        end(&mut log, 1, 7);
        begin(&mut log, 5, 2, 8);

        let spans = batch(&mut log).spans;

        assert_eq!((spans[3].parent, spans[4].parent), (Some(SpanId(0)), None));
    }

    #[test]
    fn a_child_never_starts_before_its_parent() {
        let mut log = SpanLog::new(START);
        begin(&mut log, 1, 0, 100);
        begin(&mut log, 2, 1, 99);
        end(&mut log, 2, 98);

        let batch = batch(&mut log);

        assert_eq!((batch.spans[1].start, batch.spans[1].end), (Time(100), Some(Time(100))));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_its_end_is_nothing() {
        let mut log = SpanLog::new(START);
        log.has_room = false;
        begin(&mut log, 1, 0, 0);
        end(&mut log, 1, 5);
        log.point(SeriesId(0), START, 1.0);

        assert_eq!((log.dropped, log.waiting()), (2, 0));
    }
}
