//! What the spans of each name did to memory.

use rustc_hash::FxHashMap;

use crate::analyze::span_names::NameTree;
use crate::analyze::spans::end_of;
use crate::{Profile, Time, TrackId};

/// How many sampled bytes were live from each moment at which that changed, as
/// pairs of nanoseconds and bytes.
///
/// ```
/// use tachograph_profile::analyze::heap::{from_rows, live_over_time};
///
/// let load: &[_] = &[("load", "data.py", 77)];
/// let profile = from_rows(&[(0, Some(20), 100, load), (10, None, 50, load)]);
/// assert_eq!(live_over_time(&profile), [(0, 100), (10, 150), (20, 50)]);
/// ```
#[must_use]
pub fn live_over_time(profile: &Profile) -> Vec<(u64, u64)> {
    let mut steps = Vec::new();
    profile.sweep_live(|time, bytes| steps.push((time.0, bytes)));
    steps
}

/// What the spans of one node did to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::analyze) struct MemoryInside {
    /// Bytes allocated on a span's thread while it was open.
    pub(in crate::analyze) allocated_bytes: u64,
    /// Those that were never freed.
    pub(in crate::analyze) live_bytes: u64,
    /// The most that was live in the whole program while one was open.
    pub(in crate::analyze) peak_bytes: u64,
}

/// What the spans of each node of `names` did to memory.
pub(in crate::analyze) fn memory_inside(profile: &Profile, names: &NameTree) -> Vec<MemoryInside> {
    let mut found = vec![MemoryInside::default(); names.nodes.len()];
    if profile.allocations.is_empty() {
        return found;
    }
    let peaks = Peaks::new(profile);
    for (span, node) in profile.spans.iter().zip(&names.of_span) {
        let peak = peaks.between(span.start, end_of(profile, span));
        let mut around = Some(*node);
        while let Some(node) = around {
            found[node].peak_bytes = found[node].peak_bytes.max(peak);
            around = names.nodes[node].parent;
        }
    }
    allocated_inside(profile, names, &mut found);
    found
}

/// Adds each block to the nodes that are open on its thread, and those around.
fn allocated_inside(profile: &Profile, names: &NameTree, found: &mut [MemoryInside]) {
    let mut ends: Vec<(Time, usize)> = profile
        .spans
        .iter()
        .enumerate()
        .map(|(number, span)| (end_of(profile, span), number))
        .collect();
    ends.sort_unstable();
    let mut begins = profile.spans.iter().enumerate().peekable();
    let mut ends = ends.into_iter().peekable();
    let mut open: FxHashMap<TrackId, Vec<usize>> = FxHashMap::default();
    // The last block that was counted for a node.
    let mut counted = vec![usize::MAX; names.nodes.len()];
    for (number, block) in profile.allocations.iter().enumerate() {
        while let Some((span, row)) = begins.next_if(|(_, span)| span.start <= block.time) {
            open.entry(row.track).or_default().push(span);
        }
        while let Some((_, span)) = ends.next_if(|(end, _)| *end <= block.time) {
            if let Some(spans) = open.get_mut(&profile.spans[span].track) {
                spans.retain(|other| *other != span);
            }
        }
        for span in open.get(&block.track).into_iter().flatten() {
            let mut around = Some(names.of_span[*span]);
            while let Some(node) = around.filter(|node| counted[*node] != number) {
                counted[node] = number;
                let sum = &mut found[node];
                sum.allocated_bytes = sum.allocated_bytes.saturating_add(block.weight_bytes);
                if block.freed.is_none() {
                    sum.live_bytes = sum.live_bytes.saturating_add(block.weight_bytes);
                }
                around = names.nodes[node].parent;
            }
        }
    }
}

/// Answers how much was live at most in any stretch of time.
struct Peaks {
    times: Vec<Time>,
    /// Row 0 holds what is live from each time on, row k the most of 2^k of them.
    most: Vec<Vec<u64>>,
}

impl Peaks {
    fn new(profile: &Profile) -> Self {
        let mut times = Vec::new();
        let mut row = Vec::new();
        profile.sweep_live(|time, bytes| {
            times.push(time);
            row.push(bytes);
        });
        let mut most = vec![row];
        let mut width = 1;
        while width * 2 <= times.len() {
            let last = &most[most.len() - 1];
            let next = last.iter().zip(&last[width..]).map(|(a, b)| *a.max(b)).collect();
            most.push(next);
            width *= 2;
        }
        Self { times, most }
    }

    /// The most that was live from `from` until just before `to`.
    fn between(&self, from: Time, to: Time) -> u64 {
        // What is live at `from` has been so since the step before it.
        let first = self.times.partition_point(|time| *time <= from).saturating_sub(1);
        let end = self.times.partition_point(|time| *time < to);
        let begun = self.times.get(first).is_some_and(|time| *time < to);
        let Some(count) = end.checked_sub(first).filter(|count| *count > 0 && begun) else {
            return 0;
        };
        let row = count.ilog2() as usize;
        let steps = &self.most[row];
        steps[first].max(steps[end - (1 << row)])
    }
}

#[cfg(test)]
mod tests {
    use crate::analyze::heap::from_rows;
    use crate::analyze::spans;
    use crate::{Interner, Profile, Span, SpanId, Time, TrackId};

    fn add(profile: &mut Profile, name: &str, start: u64, end: u64, parent: Option<u32>) {
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let name = tables.string(name);
        profile.tables = tables.into_tables();
        profile.spans.push(Span {
            parent: parent.map(SpanId),
            track: TrackId(1),
            name,
            start: Time(start),
            end: Some(Time(end)),
            suspended_ns: 0,
            failed: false,
            attributes: Vec::new(),
        });
    }

    #[test]
    fn a_span_has_what_was_allocated_in_it_and_the_peak_it_saw() {
        let main: &[_] = &[("main", "a.py", 1)];
        let mut profile = from_rows(&[
            (5, Some(15), 1000, main),
            (20, None, 100, main),
            (30, Some(35), 10, main),
            (60, None, 1, main),
        ]);
        add(&mut profile, "epoch", 10, 50, None);
        add(&mut profile, "forward", 25, 32, Some(0));
        add(&mut profile, "idle", 55, 58, None);

        let rows = spans(&profile);

        let found: Vec<_> =
            rows.iter().map(|row| (row.allocated_bytes, row.live_bytes, row.peak_bytes)).collect();
        // `epoch` begins while the large block of before is still live.
        assert_eq!(found, [(110, 100, 1000), (10, 0, 110), (0, 0, 100)]);
        for row in &rows {
            let part = profile.within(&row.path).unwrap();
            let bytes: u64 = part.allocations.iter().map(|block| block.weight_bytes).sum();
            assert_eq!(bytes, row.allocated_bytes, "{}", row.path);
        }
    }
}
