//! Which samples were taken inside which spans.

use rustc_hash::FxHashMap;

use super::span_names::NameTree;
use super::spans::end_of;
use crate::{Measure, Profile, StackId, Time, TrackId};

/// What was sampled inside the spans of one node.
#[derive(Clone, Default)]
pub(super) struct Inside {
    pub(super) cpu_ns: u64,
    /// What each stack weighs there.
    pub(super) weights: FxHashMap<StackId, u64>,
}

/// What was sampled inside the spans of each node of `names`.
///
/// A sample counts for the spans that are open on its thread or in its task,
/// and for those around them; once for each node, however many of its spans
/// are open. One sweep over spans and samples, both in order of time.
pub(super) fn sampled_inside(profile: &Profile, names: &NameTree, measure: Measure) -> Vec<Inside> {
    let mut inside = vec![Inside::default(); names.nodes.len()];
    let mut ends: Vec<(Time, TrackId, usize)> = profile
        .spans
        .iter()
        .zip(&names.of_span)
        .map(|(span, node)| (end_of(profile, span), span.track, *node))
        .collect();
    ends.sort_unstable();
    let mut begins = profile.spans.iter().zip(&names.of_span).peekable();
    let mut ends = ends.into_iter().peekable();
    let mut open = OpenNodes::default();
    // The last sample that was counted for a node.
    let mut counted = vec![usize::MAX; names.nodes.len()];
    for (number, sample) in profile.samples.iter().enumerate() {
        while let Some((span, node)) = begins.next_if(|(span, _)| span.start <= sample.time) {
            open.begin(span.track, *node);
        }
        while let Some((_, track, node)) = ends.next_if(|(end, ..)| *end <= sample.time) {
            open.end(track, node);
        }
        let weight = match measure {
            Measure::WallTime => sample.wall_ns,
            Measure::CpuTime => sample.cpu_ns,
            _ => 1,
        };
        for track in [Some(sample.track), sample.task].into_iter().flatten() {
            for node in open.of(track) {
                let mut around = Some(node);
                while let Some(node) = around.filter(|node| counted[*node] != number) {
                    counted[node] = number;
                    let found = &mut inside[node];
                    found.cpu_ns = found.cpu_ns.saturating_add(sample.cpu_ns);
                    let sum = found.weights.entry(sample.stack).or_default();
                    *sum = sum.saturating_add(weight);
                    around = names.nodes[node].parent;
                }
            }
        }
    }
    inside
}

/// The nodes that have open spans, by track, with how many.
#[derive(Default)]
struct OpenNodes(FxHashMap<TrackId, Vec<(usize, u32)>>);

impl OpenNodes {
    fn begin(&mut self, track: TrackId, node: usize) {
        let open = self.0.entry(track).or_default();
        match open.iter_mut().find(|(other, _)| *other == node) {
            Some((_, count)) => *count += 1,
            None => open.push((node, 1)),
        }
    }

    fn end(&mut self, track: TrackId, node: usize) {
        let Some(open) = self.0.get_mut(&track) else { return };
        let Some(place) = open.iter().position(|(other, _)| *other == node) else { return };
        open[place].1 -= 1;
        if open[place].1 == 0 {
            open.swap_remove(place);
        }
    }

    fn of(&self, track: TrackId) -> impl Iterator<Item = usize> + '_ {
        self.0.get(&track).into_iter().flatten().map(|(node, _)| *node)
    }
}

#[cfg(test)]
mod tests {
    use crate::analyze::spans;
    use crate::{Interner, Profile, Span, SpanId, Time, TrackId, TrackKind};

    #[test]
    fn samples_count_for_their_thread_or_task_and_for_the_spans_around() {
        let mut profile = Profile::from_stacks(&[
            (5, 1, &[("read", "a.py", 1)]),
            (15, 2, &[("read", "a.py", 1)]),
            (25, 4, &[("parse", "a.py", 9)]),
            (35, 8, &[("parse", "a.py", 9)]),
        ]);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let task = tables.track(TrackKind::Task, Some(TrackId(1)), 7, "Task-1", Time(0));
        let rows = [
            ("serve", TrackId(1), 0, 30, None),
            ("request", task, 10, 40, Some(0)),
            ("request", task, 12, 30, Some(1)),
            ("nothing", task, 15, 15, Some(1)),
        ];
        for (name, track, start, end, parent) in rows {
            profile.spans.push(Span {
                parent: parent.map(SpanId),
                track,
                name: tables.string(name),
                start: Time(start),
                end: Some(Time(end)),
                suspended_ns: 0,
                failed: false,
                attributes: Vec::new(),
            });
        }
        profile.tables = tables.into_tables();
        for sample in [1, 3] {
            profile.samples[sample].task = Some(task);
        }

        let rows = spans(&profile);

        let cpu: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.cpu_ns)).collect();
        // The last sample is inside the request, which began inside `serve`.
        assert_eq!(cpu, [("serve", 15), ("request", 10), ("nothing", 0)]);
        for row in rows.iter().take(2) {
            let part = profile.within(&row.path).unwrap();
            let within: u64 = part.samples.iter().map(|sample| sample.cpu_ns).sum();
            assert_eq!(within, row.cpu_ns, "{}", row.path);
        }
        assert_eq!(rows[1].functions[0].function, "parse");
    }
}
