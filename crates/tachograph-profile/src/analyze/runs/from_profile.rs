//! A recording's spans and series as the report of a run.

use rustc_hash::FxHashMap;

use super::named::Named;
use super::report::{RunReport, Timing, Values};
use crate::stats::Summary;
use crate::{Profile, Span, StringId};

/// What the spans and values of `profile` say, by name, in the order they began.
///
/// A span without an end is left out: how long it takes is not known. Spans
/// that ran inside another at the same time can add up to more than it took;
/// then nothing of its time is its own.
#[must_use]
pub fn run_report(profile: &Profile) -> RunReport {
    RunReport::of(timing(profile), metrics(profile))
}

#[derive(Default)]
struct Phase {
    times: Summary,
    own_ns: f64,
    /// Time spent inside of each other phase.
    inside: FxHashMap<StringId, u64>,
}

fn timing(profile: &Profile) -> Named<Timing> {
    let mut within = vec![0_u64; profile.spans.len()];
    for span in &profile.spans {
        if let (Some(parent), Some(took)) = (span.parent, took(span))
            && let Some(sum) = within.get_mut(parent.index())
        {
            *sum += took;
        }
    }
    let mut order = Vec::new();
    let mut phases: FxHashMap<StringId, Phase> = FxHashMap::default();
    for (span, within) in profile.spans.iter().zip(within) {
        let Some(took) = took(span) else { continue };
        let phase = phases.entry(span.name).or_insert_with(|| {
            order.push(span.name);
            Phase::default()
        });
        phase.times.add(took as f64, span.start.0);
        phase.own_ns += took.saturating_sub(within) as f64;
        if let Some(other) = around(profile, span) {
            *phase.inside.entry(other).or_default() += took;
        }
    }
    let told = order.into_iter().filter_map(|name| {
        let phase = phases.get(&name)?;
        let most = phase.inside.iter().max_by_key(|(other, took)| (**took, other.0));
        // Mostly inside of another one, not now and then.
        let inside = most
            .filter(|(_, took)| **took as f64 * 2.0 > phase.times.sum())
            .map(|(other, _)| profile.text(*other).to_owned());
        Some((profile.text(name).to_owned(), Timing::of(&phase.times, phase.own_ns, inside)))
    });
    told.collect()
}

fn took(span: &Span) -> Option<u64> {
    Some(span.end?.0.saturating_sub(span.start.0))
}

/// The nearest span around `span` that has another name.
fn around(profile: &Profile, span: &Span) -> Option<StringId> {
    let mut next = span.parent;
    // A parent's position is smaller than its child's (`check`), so this ends.
    let mut steps = profile.spans.len();
    while let Some(id) = next.filter(|_| steps > 0) {
        let parent = profile.spans.get(id.index())?;
        if parent.name != span.name {
            return Some(parent.name);
        }
        next = parent.parent;
        steps -= 1;
    }
    None
}

fn metrics(profile: &Profile) -> Named<Values> {
    let mut order = Vec::new();
    let mut series: FxHashMap<StringId, Summary> = FxHashMap::default();
    for point in &profile.points {
        let Some(row) = profile.tables.series.get(point.series.index()) else { continue };
        let values = series.entry(row.name).or_insert_with(|| {
            order.push(row.name);
            Summary::default()
        });
        values.add(point.value, point.time.0);
    }
    let told = order.into_iter().filter_map(|name| {
        Some((profile.text(name).to_owned(), Values::of(series.get(&name)?, 0)))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interner, SpanId, Time, TrackKind};

    /// Two iterations of 10 ms, each with a `forward` of 6 ms; then one left open.
    fn training() -> Profile {
        let mut tables = Interner::default();
        let track = tables.track(TrackKind::Thread, None, 1, "MainThread", Time(0));
        let (iteration, forward) = (tables.string("iteration"), tables.string("forward"));
        let mut spans = Vec::new();
        let mut add = |parent, name, start: u64, end: Option<u64>| {
            let (start, end) = (Time(start * 1_000_000), end.map(|end| Time(end * 1_000_000)));
            let attributes = Vec::new();
            let (failed, suspended_ns) = (false, 0);
            spans.push(Span { parent, track, name, start, end, suspended_ns, failed, attributes });
        };
        add(None, iteration, 0, Some(10));
        add(Some(SpanId(0)), forward, 1, Some(7));
        add(None, iteration, 10, Some(20));
        add(Some(SpanId(2)), forward, 11, Some(17));
        add(None, iteration, 20, None);
        Profile { tables: tables.into_tables(), spans, ..Profile::default() }
    }

    #[test]
    fn spans_become_phases_with_time_of_their_own() {
        let report = run_report(&training());

        let iteration = report.timing.get("iteration").unwrap();
        assert_eq!((iteration.count, iteration.mean, iteration.own), (2, 10.0, Some(8.0)));
        assert_eq!(iteration.inside, None);
        let forward = report.timing.get("forward").unwrap();
        assert_eq!((forward.total, forward.own), (12.0, Some(12.0)));
        assert_eq!(forward.inside.as_deref(), Some("iteration"));
        assert_eq!(report.throughput.iterations_per_sec, 100.0);
    }

    #[test]
    fn recursion_counts_all_calls_and_own_time_once() {
        let mut profile = training();
        let name = profile.spans[0].name;
        profile.spans[1].name = name;
        profile.spans.truncate(2);

        let report = run_report(&profile);

        let phase = report.timing.get("iteration").unwrap();
        assert_eq!((phase.count, phase.own), (2, Some(10.0)));
        assert_eq!(phase.inside, None);
    }
}
