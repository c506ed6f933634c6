//! Laws of the recording file, for profiles of every shape.

mod arbitrary;

use arbitrary::{as_kept, profile};
use proptest::prelude::*;
use tachograph_profile::analyze::{metrics, series, spans};
use tachograph_profile::export::{Style, summary};
use tachograph_profile::file::{Writer, encode, read};
use tachograph_profile::{
    Batch, Free, Loss, Point, Profile, SeriesKind, SpanEnd, SpanId, Tables, Time,
};

/// Writes `profile` in batches that end at `cuts`, as a session would:
/// tables grow, tracks and blocks and spans end later than they begin.
fn write_in_batches(profile: &Profile, cuts: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &profile.meta).unwrap();
    let mut from = Time(0);
    let mut ended = vec![false; profile.spans.len()];
    for cut in cuts.iter().copied().chain([u64::MAX]) {
        let to = Time(cut);
        let inside = |time: Time| from <= time && time < to;
        let mut batch = Batch {
            samples: profile.samples.iter().copied().filter(|s| inside(s.time)).collect(),
            points: profile.points.iter().copied().filter(|p| inside(p.time)).collect(),
            notes: profile.notes.iter().copied().filter(|n| inside(n.time)).collect(),
            loss: profile.loss,
            until: to.min(Time(profile.meta.duration_ns)),
            ..Batch::default()
        };
        for (i, block) in profile.allocations.iter().enumerate() {
            if inside(block.time) {
                let freed = block.freed.filter(|freed| *freed < to);
                batch.allocations.push(tachograph_profile::Allocation { freed, ..*block });
            } else if let Some(time) =
                block.freed.filter(|_| block.time < from).filter(|t| inside(*t))
            {
                batch.frees.push(Free { allocation: i as u32, time });
            }
        }
        for (i, span) in profile.spans.iter().enumerate() {
            if inside(span.start) {
                let mut begun = span.clone();
                if span.end.is_some_and(|end| end >= to) {
                    (begun.end, begun.suspended_ns) = (None, 0);
                    (begun.failed, begun.attributes) = (false, Vec::new());
                } else {
                    ended[i] = true;
                }
                batch.spans.push(begun);
            } else if let Some(end) = span.end.filter(|end| !ended[i] && inside(*end)) {
                ended[i] = true;
                batch.span_ends.push(SpanEnd {
                    span: SpanId(i as u32),
                    end,
                    suspended_ns: span.suspended_ns,
                    failed: span.failed,
                    attributes: span.attributes.clone(),
                });
            }
        }
        writer.append(&tables_at(&profile.tables, to), &batch).unwrap();
        from = to;
    }
    writer.finish(&profile.tables, &profile.meta, &profile.loss).unwrap();
    writer.into_inner()
}

/// The tables as a session has them at `time`: ends and native names come later.
fn tables_at(tables: &Tables, time: Time) -> Tables {
    let mut early = tables.clone();
    for track in &mut early.tracks {
        track.end = track.end.filter(|end| *end < time);
    }
    if time < Time(u64::MAX) {
        for frame in early.frames.iter_mut().filter(|frame| frame.mapping.is_some()) {
            frame.line = 0;
        }
    }
    early
}

/// The points that are not of an ever-growing total.
fn gauges(profile: &Profile) -> Vec<Point> {
    let is_gauge =
        |point: &&Point| profile.tables.series[point.series.index()].kind == SeriesKind::Gauge;
    profile.points.iter().filter(is_gauge).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_written_is_read(profile in profile()) {
        prop_assert_eq!(profile.check(), Ok(()));

        let read = read(&encode(&profile), "law").unwrap();

        prop_assert_eq!(read, as_kept(&profile));
    }

    #[test]
    fn many_batches_are_as_good_as_one(
        profile in profile(),
        mut cuts in prop::collection::vec(0..5_000_000_u64, 0..5),
    ) {
        cuts.sort_unstable();
        let cuts: Vec<u64> = cuts.into_iter().map(|cut| cut * 1000).collect();

        let bytes = write_in_batches(&profile, &cuts);

        prop_assert_eq!(read(&bytes, "law").unwrap(), as_kept(&profile));
    }

    #[test]
    fn every_prefix_is_an_error_or_a_shorter_profile(
        profile in profile(),
        cuts in prop::collection::vec(0..5_000_000_000_u64, 3),
        at in any::<prop::sample::Index>(),
    ) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        let bytes = write_in_batches(&profile, &cuts);

        let Ok(shorter) = read(&bytes[..at.index(bytes.len())], "law") else { return Ok(()) };

        prop_assert_eq!(shorter.check(), Ok(()));
        prop_assert!(shorter.samples.len() <= profile.samples.len());
        prop_assert!(shorter.notes.last().is_some_and(|note| note.warning));
        prop_assert!(shorter.meta.duration_ns <= profile.meta.duration_ns);
    }

    #[test]
    fn a_flipped_byte_is_an_error_or_a_shorter_profile(
        profile in profile(),
        at in any::<prop::sample::Index>(),
        flip in 1..=u8::MAX,
    ) {
        let mut bytes = write_in_batches(&profile, &[1_000_000_000, 3_000_000_000]);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;

        let Ok(shorter) = read(&bytes, "law") else { return Ok(()) };

        prop_assert_eq!(shorter.check(), Ok(()));
        let whole = as_kept(&profile);
        prop_assert!(shorter.samples.iter().all(|sample| whole.samples.contains(sample)));
        prop_assert!(shorter.notes.last().is_some_and(|note| note.warning));
    }

    #[test]
    fn merging_does_not_depend_on_the_order(
        profiles in prop::collection::vec(profile(), 0..4),
        turn in any::<prop::sample::Index>(),
    ) {
        let merged = Profile::merge(&profiles);
        prop_assert_eq!(merged.samples.len(), profiles.iter().map(|p| p.samples.len()).sum::<usize>());
        let cpu = |p: &Profile| p.samples.iter().map(|s| u128::from(s.cpu_ns)).sum::<u128>();
        prop_assert_eq!(cpu(&merged), profiles.iter().map(cpu).sum::<u128>());
        let mut loss = Loss::default();
        profiles.iter().for_each(|p| loss.add(&p.loss));
        prop_assert_eq!(merged.loss, loss);

        let mut turned = profiles;
        if !turned.is_empty() {
            let at = turn.index(turned.len());
            turned.rotate_left(at);
            prop_assert_eq!(&Profile::merge(&turned), &merged);
            turned.reverse();
            prop_assert_eq!(&Profile::merge(&turned), &merged);
        }
    }

    #[test]
    fn merging_keeps_every_stack(profile in profile()) {
        let merged = Profile::merge(std::slice::from_ref(&profile));

        let named = |profile: &Profile| {
            let name = |frame: &tachograph_profile::Frame| {
                (profile.text(frame.function).to_owned(), profile.text(frame.file).to_owned(), frame.line)
            };
            let mut rows: Vec<_> = profile
                .samples
                .iter()
                .map(|s| (s.time, s.track, s.cpu_ns, profile.frames_of(s.stack).map(name).collect::<Vec<_>>()))
                .collect();
            rows.sort_by_key(|row| (row.0, row.1));
            rows
        };
        prop_assert_eq!(named(&merged), named(&profile));
        prop_assert_eq!(merged.check(), Ok(()));
    }

    #[test]
    fn a_stretch_and_the_rest_are_the_whole(profile in profile(), at in 0..5_000_000_000_u64) {
        let before = profile.between(Time(0), Time(at));
        let after = profile.between(Time(at), Time(u64::MAX));

        prop_assert_eq!(before.check(), Ok(()));
        prop_assert_eq!(after.check(), Ok(()));
        prop_assert_eq!([gauges(&before), gauges(&after)].concat(), gauges(&profile));
        prop_assert_eq!([before.samples, after.samples].concat(), profile.samples);
        prop_assert!(before.spans.len() + after.spans.len() >= profile.spans.len());
    }

    #[test]
    fn a_part_within_spans_keeps_the_rules_and_loses_no_span(profile in profile()) {
        // A name with a slash is a path as well, which may name other spans in a part.
        let names = profile.spans.iter().map(|span| profile.text(span.name));
        for name in names.filter(|name| !name.contains('/')).take(5) {
            let part = profile.within(name).unwrap();

            prop_assert_eq!(part.check(), Ok(()));
            let named = |p: &Profile| p.spans.iter().filter(|s| p.text(s.name) == name).count();
            prop_assert_eq!(named(&part), named(&profile));
            prop_assert!(part.samples.len() <= profile.samples.len());
            prop_assert!(part.meta.covered_ns <= part.meta.duration_ns - part.meta.from_ns);
            let (mut again, mut part) = (part.within(name).unwrap(), part);
            again.meta.within.pop();
            // Sums of totals are as exact as their numbers allow.
            prop_assert_eq!(again.points.len(), part.points.len());
            (again.points, part.points) = (gauges(&again), gauges(&part));
            prop_assert_eq!(again, part);
        }
    }

    #[test]
    fn rows_of_spans_hold_every_span_and_are_a_tree(profile in profile()) {
        let rows = spans(&profile);

        prop_assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), profile.spans.len() as u64);
        let failed = profile.spans.iter().filter(|span| span.failed).count();
        prop_assert_eq!(rows.iter().map(|row| row.failed).sum::<u64>(), failed as u64);
        for (place, row) in rows.iter().enumerate() {
            prop_assert!(row.p50_ns <= row.p95_ns && row.p95_ns <= row.max_ns);
            prop_assert!(row.parent.is_none_or(|parent| parent < place));
            let depth = row.parent.map_or(0, |parent| rows[parent].depth + 1);
            prop_assert_eq!(row.depth, depth);
        }
        let values: u64 = metrics(&profile).iter().map(|row| row.count).sum();
        let readings: u64 = series(&profile).iter().map(|row| row.count).sum();
        prop_assert!(values <= readings);
        prop_assert_eq!(readings, profile.points.len() as u64);
        let style = Style { color: false, width: 130, unicode: false };
        prop_assert!(summary(&profile, &style).is_ascii());
    }
}
