//! Parts of a recording: a stretch of time, or the samples that matter.
//!
//! A part is a profile like any other. Tables and ids stay as they are, and
//! times keep counting from the start of the whole recording.

use super::events::{Sample, Span, Time};
use super::ids::SpanId;
use super::profile::Profile;
use super::stretches::Stretches;

impl Profile {
    /// What happened from `from` until just before `to`.
    ///
    /// Samples keep their whole weight. A span that reaches over an edge is
    /// cut there; a block that is freed at `to` or later is live, because at
    /// the end of this stretch it was. The part says where it begins and lasts
    /// until `to`. What was lost is known only for the whole recording, and is
    /// kept.
    ///
    /// ```
    /// use tachograph_profile::{Profile, Time};
    ///
    /// let main: &[_] = &[("main", "train.py", 1)];
    /// let profile = Profile::from_stacks(&[(0, 10, main), (10, 10, main), (20, 10, main)]);
    ///
    /// let middle = profile.between(Time(10), Time(20));
    ///
    /// assert_eq!(middle.samples.len(), 1);
    /// assert_eq!(middle.samples[0].time, Time(10));
    /// assert_eq!((middle.meta.from_ns, middle.meta.duration_ns), (10, 20));
    /// ```
    #[must_use]
    pub fn between(&self, from: Time, to: Time) -> Self {
        let inside = |time: Time| from <= time && time < to;
        let mut part = self.without_events();
        part.meta.duration_ns = self.meta.duration_ns.min(to.0);
        part.meta.from_ns =
            from.0.clamp(self.meta.from_ns, part.meta.duration_ns.max(self.meta.from_ns));
        if part.meta.from_ns != self.meta.from_ns || part.meta.duration_ns != self.meta.duration_ns
        {
            part.meta.process_cpu_ns = 0;
        }
        part.samples.extend(self.samples.iter().filter(|sample| inside(sample.time)));
        for block in self.allocations.iter().filter(|block| inside(block.time)) {
            let mut block = *block;
            block.freed = block.freed.filter(|freed| *freed < to);
            part.allocations.push(block);
        }
        part.spans = spans_between(&self.spans, from, to);
        if !part.meta.within.is_empty() {
            part.meta.covered_ns = covered_ns(&part.spans, Time(part.meta.duration_ns));
        }
        let gauges = self.points.iter().filter(|point| !self.is_total(point.series));
        part.points.extend(gauges.filter(|point| inside(point.time)));
        if part.meta.from_ns < part.meta.duration_ns {
            let stretch = (Time(part.meta.from_ns), Time(part.meta.duration_ns));
            part.points.extend(self.totals_inside(&[stretch], |_| true));
            part.points.sort_by_key(|point| (point.time, point.series));
        }
        part.notes.extend(self.notes.iter().filter(|note| inside(note.time)));
        part
    }

    /// The same recording with only the samples that `keep` wants.
    #[must_use]
    pub fn retain_samples(&self, keep: impl Fn(&Sample) -> bool) -> Self {
        let mut part = self.without_events();
        part.samples.extend(self.samples.iter().filter(|sample| keep(sample)));
        part.allocations.clone_from(&self.allocations);
        part.spans.clone_from(&self.spans);
        part.points.clone_from(&self.points);
        part.notes.clone_from(&self.notes);
        part
    }

    fn without_events(&self) -> Self {
        Self {
            meta: self.meta.clone(),
            loss: self.loss,
            tables: self.tables.clone(),
            ..Self::default()
        }
    }
}

/// How long at least one of `spans` is open; those without an end until `ends`.
pub(super) fn covered_ns(spans: &[Span], ends: Time) -> u64 {
    let mut all = Stretches::default();
    for span in spans {
        all.add(span.start, span.end.unwrap_or(ends.max(span.start)));
    }
    all.length()
}

/// The spans that share some time with `from..to`, cut to it.
fn spans_between(spans: &[Span], from: Time, to: Time) -> Vec<Span> {
    let mut kept = Vec::new();
    let mut places: Vec<Option<SpanId>> = Vec::with_capacity(spans.len());
    for span in spans {
        let begun = span.start < to && from < to;
        let over = span.end.is_some_and(|end| end <= from) && span.start < from;
        if !begun || over {
            places.push(None);
            continue;
        }
        places.push(Some(kept.len().into()));
        let mut span = span.clone();
        // A parent that is not in this stretch is no parent here.
        span.parent = span.parent.and_then(|parent| places.get(parent.index()).copied().flatten());
        span.start = span.start.max(from);
        span.end = span.end.map(|end| end.min(to));
        // Which part of it was suspended is not known; it is not more than this.
        span.suspended_ns = span.suspended_ns.min(span.end.map_or(0, |end| end.0 - span.start.0));
        kept.push(span);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Allocation, Allocator, StackId, StringId, TrackId};

    fn span(start: u64, end: Option<u64>, parent: Option<u32>) -> Span {
        Span {
            parent: parent.map(SpanId),
            track: TrackId(1),
            name: StringId(0),
            start: Time(start),
            end: end.map(Time),
            suspended_ns: 0,
            failed: false,
            attributes: Vec::new(),
        }
    }

    fn example() -> Profile {
        let mut profile = Profile::from_stacks(&[(0, 100, &[("main", "train.py", 1)])]);
        profile.spans = vec![
            span(0, Some(100), None),
            span(10, Some(20), Some(0)),
            span(15, Some(60), Some(1)),
            span(30, None, Some(0)),
        ];
        profile.allocations = vec![Allocation {
            time: Time(30),
            freed: Some(Time(90)),
            track: TrackId(1),
            stack: StackId(0),
            address: 0x1000,
            size_bytes: 8,
            weight_bytes: 8,
            allocator: Allocator::Malloc,
        }];
        profile
    }

    #[test]
    fn a_span_over_an_edge_is_cut_there() {
        let part = example().between(Time(25), Time(50));

        assert_eq!(part.check(), Ok(()));
        let times: Vec<_> = part.spans.iter().map(|s| (s.start.0, s.end)).collect();
        assert_eq!(times, [(25, Some(Time(50))), (25, Some(Time(50))), (30, None)]);
    }

    #[test]
    fn a_span_whose_parent_is_over_stands_alone() {
        let part = example().between(Time(25), Time(50));

        let parents: Vec<_> = part.spans.iter().map(|s| s.parent).collect();
        assert_eq!(parents, [None, None, Some(SpanId(0))]);
    }

    #[test]
    fn a_block_freed_later_is_live_at_the_end() {
        let profile = example();
        assert_eq!(profile.between(Time(0), Time(50)).allocations[0].freed, None);
        assert_eq!(profile.between(Time(0), Time(91)).allocations[0].freed, Some(Time(90)));
    }

    #[test]
    fn an_empty_stretch_holds_nothing() {
        let part = example().between(Time(50), Time(50));
        assert_eq!(part.check(), Ok(()));
        assert_eq!((part.samples.len(), part.spans.len()), (0, 0));
    }

    #[test]
    fn retained_samples_leave_the_rest_alone() {
        let profile = example();
        let part = profile.retain_samples(|_| false);
        assert_eq!(part.samples, []);
        assert_eq!(part.spans, profile.spans);
    }
}
