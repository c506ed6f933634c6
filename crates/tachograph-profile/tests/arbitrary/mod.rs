//! Profiles of every shape, for laws that must hold for all of them.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tachograph_profile::{
    Allocation, Allocator, CpuReport, CpuSettings, Frame, FrameId, FrameKind, Loss, Mapping,
    MappingId, Meta, Note, Point, Profile, PythonInfo, Sample, Series, SeriesId, SeriesKind,
    Source, Span, SpanId, StackId, StackNode, StringId, Tables, ThreadState, Time, Track, TrackId,
    TrackKind, Trigger, Unit, Value,
};

/// Picks a row of a table that has `len` of them.
fn pick(number: u64, len: usize) -> u32 {
    (number % len.max(1) as u64) as u32
}

fn one_of<T: Copy>(all: &[T], number: u64) -> T {
    all[pick(number, all.len()) as usize]
}

/// Numbers of every magnitude.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
}

/// Numbers whose sums stay small enough for a profile.
fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(1_000_000_u64), 2 => Just(1_000_001), 2 => Just(0), 1 => number().prop_map(|n| n >> 12)]
}

fn sorted(mut times: Vec<u64>) -> Vec<Time> {
    times.sort_unstable();
    times.into_iter().map(Time).collect()
}

fn times(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Time>> {
    vec(0..5_000_000_000_u64, count).prop_map(sorted)
}

fn meta() -> impl Strategy<Value = Meta> {
    let labels = proptest::collection::btree_map("[a-z]{1,4}", any::<String>(), 0..3);
    (0..2_i64.pow(61), any::<u32>(), number(), option::of(number()), labels).prop_map(
        |(started_unix_ns, pid, cpu, settings, labels)| {
            let mut meta = Meta {
                started_unix_ns,
                duration_ns: 5_000_000_123,
                process_cpu_ns: cpu,
                pid,
                command: vec!["python".into(), "train.py".into()],
                labels,
                ..Meta::default()
            };
            if let Some(number) = settings {
                meta.python =
                    Some(PythonInfo { version: "3.12.1".into(), ..PythonInfo::default() });
                meta.settings.cpu = Some(CpuSettings {
                    interval_ns: number,
                    trigger: one_of(&[Trigger::Tick, Trigger::Perf, Trigger::CpuTimer], number),
                    report: CpuReport { samples: number, ..CpuReport::default() },
                    ..CpuSettings::default()
                });
                meta.roots.site_packages.push(format!("/lib/{}", number % 3));
            }
            meta
        },
    )
}

fn loss() -> impl Strategy<Value = Loss> {
    (number(), number(), number()).prop_map(|(late_ticks, unreadable_stacks, blocked_threads)| {
        Loss { late_ticks, unreadable_stacks, blocked_threads, ..Loss::default() }
    })
}

/// Rows of numbers; each becomes one row of a table.
fn rows(count: usize) -> impl Strategy<Value = Vec<[u64; 4]>> {
    vec([number(), number(), number(), number()], 0..count)
}

fn tables() -> impl Strategy<Value = Tables> {
    let texts = vec(any::<String>(), 0..12);
    let small = (rows(4), rows(6), rows(4), rows(3));
    (texts, rows(30), rows(60), small).prop_map(|(texts, frames, stacks, small)| {
        let (mappings, tracks, series, sources) = small;
        let mut tables = Tables { strings: vec!["".into()], ..Tables::default() };
        tables.strings.extend(texts.into_iter().map(String::into_boxed_str));
        let strings = tables.strings.len();
        let string = |number| StringId(pick(number, strings));
        for [a, b, c, d] in mappings {
            let (start, end) = (c.min(d), c.max(d));
            tables.mappings.push(Mapping { path: string(a), build_id: string(b), start, end });
        }
        let kinds = [FrameKind::Python, FrameKind::Native, FrameKind::Kernel, FrameKind::Label];
        for [a, b, c, d] in frames {
            let kind = one_of(&kinds, a >> 7);
            let native = kind == FrameKind::Native && !tables.mappings.is_empty();
            tables.frames.push(Frame {
                function: string(a),
                file: string(b),
                line: c as u32,
                first_line: d as u32,
                kind,
                mapping: native.then(|| MappingId(pick(b, tables.mappings.len()))),
                address: if native { c } else { 0 },
            });
        }
        for (i, [a, b, ..]) in stacks.into_iter().enumerate() {
            if tables.frames.is_empty() {
                break;
            }
            let frame = FrameId(pick(a, tables.frames.len()));
            let caller = (i > 0 && b % 4 > 0).then(|| StackId(pick(b, i)));
            tables.stacks.push(StackNode { caller, frame });
        }
        let kinds = [TrackKind::Machine, TrackKind::Process, TrackKind::Thread, TrackKind::Task];
        for (i, [a, b, c, d]) in tracks.into_iter().enumerate() {
            let start = Time(c >> 8);
            tables.tracks.push(Track {
                kind: one_of(&kinds, a),
                parent: (i > 0 && b % 3 > 0).then(|| TrackId(pick(b, i))),
                os_id: a,
                name: string(b),
                start,
                end: (d % 2 == 0).then(|| Time(start.0 + (d >> 8))),
            });
        }
        let units = [Unit::Count, Unit::Bytes, Unit::Ratio, Unit::Hertz];
        for [a, b, c, d] in series {
            if tables.tracks.is_empty() {
                break;
            }
            tables.series.push(Series {
                name: string(a),
                track: TrackId(pick(b, tables.tracks.len())),
                unit: one_of(&units, c),
                kind: one_of(&[SeriesKind::Gauge, SeriesKind::Total], d),
            });
        }
        for [a, b, ..] in sources {
            let text = format!("import {b}\n").repeat(pick(a, 5) as usize);
            tables.sources.push(Source { file: string(a), text: text.into() });
        }
        tables
    })
}

fn samples(tables: &Tables) -> impl Strategy<Value = Vec<Sample>> + use<> {
    let (tracks, stacks) = (tables.tracks.len(), tables.stacks.len());
    let most = if tracks == 0 || stacks == 0 { 1 } else { 300 };
    (times(0..most), vec((number(), number(), weight(), weight()), most)).prop_map(
        move |(times, rows)| {
            let states = [
                ThreadState::Running,
                ThreadState::RunningWithGil,
                ThreadState::WaitingForGil,
                ThreadState::Idle,
                ThreadState::Unknown,
            ];
            let row = |(time, (a, b, wall_ns, cpu_ns)): (Time, (u64, u64, u64, u64))| Sample {
                time,
                track: TrackId(pick(a, tracks)),
                task: (a % 5 == 0).then(|| TrackId(pick(b, tracks))),
                stack: StackId(pick(b, stacks)),
                wall_ns,
                cpu_ns,
                state: one_of(&states, b),
            };
            times.into_iter().zip(rows).map(row).collect()
        },
    )
}

fn allocations(tables: &Tables) -> impl Strategy<Value = Vec<Allocation>> + use<> {
    let (tracks, stacks) = (tables.tracks.len(), tables.stacks.len());
    let most = if tracks == 0 || stacks == 0 { 1 } else { 40 };
    (times(0..most), vec((number(), number(), weight(), weight()), most)).prop_map(
        move |(times, rows)| {
            let allocators = [Allocator::Malloc, Allocator::PyObject, Allocator::Device];
            let row = |(time, (a, b, size, weight)): (Time, (u64, u64, u64, u64))| Allocation {
                time,
                freed: (a % 2 == 0).then(|| Time(time.0 + (b >> 8))),
                track: TrackId(pick(a, tracks)),
                stack: StackId(pick(b, stacks)),
                address: a,
                size_bytes: size,
                weight_bytes: weight,
                allocator: one_of(&allocators, b),
            };
            times.into_iter().zip(rows).map(row).collect()
        },
    )
}

fn spans(tables: &Tables) -> impl Strategy<Value = Vec<Span>> + use<> {
    let (tracks, strings) = (tables.tracks.len(), tables.strings.len());
    let most = if tracks == 0 { 1 } else { 30 };
    (times(0..most), vec((number(), number(), any::<i64>(), -1e9..1e9_f64), most)).prop_map(
        move |(times, rows)| {
            let mut spans = Vec::new();
            for (i, (start, (a, b, int, float))) in times.into_iter().zip(rows).enumerate() {
                let text = StringId(pick(b, strings));
                let value = match a % 6 {
                    0 => Value::None,
                    1 => Value::Bool(b % 2 == 0),
                    2 => Value::Int(int),
                    3 => Value::Float(float),
                    _ => Value::Text(text),
                };
                let attribute = (StringId(pick(a, strings)), value);
                let end = (b % 4 > 0).then(|| Time(start.0 + (a >> 8)));
                spans.push(Span {
                    parent: (i > 0 && a % 3 > 0).then(|| SpanId(pick(a, i))),
                    track: TrackId(pick(a, tracks)),
                    name: text,
                    start,
                    end,
                    suspended_ns: end.map_or(0, |end| (end.0 - start.0) / (b % 9 + 1)),
                    failed: a % 7 == 0,
                    attributes: vec![attribute; pick(b, 3) as usize],
                });
            }
            spans
        },
    )
}

fn points(tables: &Tables) -> impl Strategy<Value = Vec<Point>> + use<> {
    let series = tables.series.len();
    let most = if series == 0 { 1 } else { 40 };
    let value = prop_oneof![
        Just(0.0),
        Just(-0.0),
        -1e300..1e300_f64,
        (-5..1000_i64).prop_map(|i| i as f64)
    ];
    (times(0..most), vec((number(), value), most)).prop_map(move |(times, rows)| {
        let row = |(time, (a, value))| Point { time, series: SeriesId(pick(a, series)), value };
        times.into_iter().zip(rows).map(row).collect()
    })
}

fn notes(tables: &Tables) -> impl Strategy<Value = Vec<Note>> + use<> {
    let (tracks, strings) = (tables.tracks.len(), tables.strings.len());
    let most = if tracks == 0 { 1 } else { 6 };
    (times(0..most), vec(number(), most)).prop_map(move |(times, rows)| {
        let row = |(time, a): (Time, u64)| Note {
            time,
            track: TrackId(pick(a, tracks)),
            warning: a % 2 == 0,
            text: StringId(pick(a, strings)),
        };
        times.into_iter().zip(rows).map(row).collect()
    })
}

/// Any profile that keeps the rules.
pub fn profile() -> impl Strategy<Value = Profile> {
    (meta(), loss(), tables()).prop_flat_map(|(meta, loss, tables)| {
        let events = (
            samples(&tables),
            allocations(&tables),
            spans(&tables),
            points(&tables),
            notes(&tables),
        );
        let profile = Profile { meta, loss, tables, ..Profile::default() };
        events.prop_map(move |(samples, allocations, spans, points, notes)| Profile {
            samples,
            allocations,
            spans,
            points,
            notes,
            ..profile.clone()
        })
    })
}

/// What a file keeps of `profile`: times in whole microseconds, those of spans
/// exactly, ties in order of thread and series.
pub fn as_kept(profile: &Profile) -> Profile {
    let mut kept = profile.clone();
    let cut = |time: &mut Time| time.0 -= time.0 % 1000;
    for track in &mut kept.tables.tracks {
        cut(&mut track.start);
        track.end.iter_mut().for_each(cut);
    }
    for sample in &mut kept.samples {
        cut(&mut sample.time);
    }
    for block in &mut kept.allocations {
        cut(&mut block.time);
        block.freed.iter_mut().for_each(cut);
    }
    kept.points.iter_mut().for_each(|point| cut(&mut point.time));
    kept.notes.iter_mut().for_each(|note| cut(&mut note.time));
    kept.samples.sort_by_key(|sample| (sample.time, sample.track));
    kept.points.sort_by_key(|point| (point.time, point.series));
    kept
}
