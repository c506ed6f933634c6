//! The one order events come in.

use super::ids::SpanId;
use super::profile::Profile;

impl Profile {
    /// Sorts all events by time; ties are in order of thread or series, then
    /// as they were. Spans keep their parents.
    pub(crate) fn sort_events(&mut self) {
        self.samples.sort_by_key(|sample| (sample.time, sample.track));
        self.allocations.sort_by_key(|block| block.time);
        self.points.sort_by_key(|point| (point.time, point.series));
        self.notes.sort_by_key(|note| note.time);
        self.sort_spans();
    }

    fn sort_spans(&mut self) {
        if self.spans.is_sorted_by_key(|span| span.start) {
            return;
        }
        let mut order: Vec<usize> = (0..self.spans.len()).collect();
        order.sort_by_key(|&i| self.spans[i].start);
        let mut places = vec![SpanId(0); order.len()];
        for (place, &i) in order.iter().enumerate() {
            places[i] = place.into();
        }
        let mut sorted = Vec::with_capacity(order.len());
        for i in order {
            let mut span = self.spans[i].clone();
            span.parent = span.parent.and_then(|parent| places.get(parent.index()).copied());
            sorted.push(span);
        }
        self.spans = sorted;
    }
}
