//! `docs/reference/file-format.md` is true: a file written by hand from that
//! page is read, and the page names every fact.

mod forge;

use serde_json::Value;
use tachograph_profile::file::read;
use tachograph_profile::{
    CpuSettings, FrameKind, HeapSettings, Measure, Meta, PythonInfo, ThreadState, Time, TrackKind,
    Value as Attribute,
};

const META: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;

/// A file whose data chunk has these sections.
fn by_hand(sections: &[(u8, &[u8])]) -> Vec<u8> {
    let mut file = vec![0x89, 0x54, 0x41, 0x43, 0x48, 0x4f, 0x0d, 0x0a, 0x01];
    forge::store(&mut file, META, br#"{"pid": 7, "from_the_future": [1, 2]}"#);
    let mut data = Vec::new();
    for (kind, body) in sections {
        data.push(*kind);
        data.push(u8::try_from(body.len()).expect("a short section"));
        data.extend_from_slice(body);
    }
    forge::store(&mut file, DATA, &data);
    forge::store(&mut file, END, br#"{"pid": 7, "duration_ns": 3000000}"#);
    file
}

const TABLES: [(u8, &[u8]); 4] = [
    // "", "main", "train.py", "load"
    (1, b"\x00\x04main\x08train.py\x04load"),
    // main at train.py:5 of 3; load at train.py:9 of 9, as steps from main
    (3, &[0, 2, 4, 3, 4, 0, 4, 0, 9, 0]),
    // main; load called by main, one row before
    (5, &[0, 0, 1, 2]),
    // process 7; thread 8 of track 0, named "main", from 1 µs to 200 µs
    (6, &[1, 0, 7, 0, 0, 0, 2, 1, 8, 1, 1, 0xc9, 0x01]),
];

#[test]
fn tables_and_samples_written_by_hand_are_read() {
    let samples: &[u8] = &[
        0xe8, 0x07, // start: 1000 µs
        1, 3, // track 1 has 3 samples
        0, 100, 0xac, 0x02, // at 1000, 1100 and 1400 µs
        0, 1, 0, 0, 1, // new leaf: stack 1; new leaf: stack 0; leaf 1
        3, 0, // no task, three times
        1, 1, 2, 4, // running with the lock, then twice unknown
        0, 3, 0, // wall weights: runs, three times 0
        1, 20, 1, 6, // CPU weights: steps, 10, 9, 12
    ];
    let mut sections = TABLES.to_vec();
    sections.push((10, samples));
    sections.push((99, b"a section from the future"));
    sections.push((17, &[0, 5])); // loss: two counts are enough
    sections.push((18, &[0xc0, 0x84, 0x3d])); // until 1 ms

    let profile = read(&by_hand(&sections), "by hand").unwrap();

    assert_eq!((profile.meta.pid, profile.meta.duration_ns), (7, 3_000_000));
    assert_eq!(profile.notes, []);
    assert_eq!(profile.loss.dropped_samples, 5);
    let times: Vec<Time> = profile.samples.iter().map(|sample| sample.time).collect();
    assert_eq!(times, [1_000_000, 1_100_000, 1_400_000].map(Time));
    let weights: Vec<u64> = profile.weights(Measure::CpuTime).map(|w| w.weight).collect();
    assert_eq!(weights, [10, 9, 12]);
    let names: Vec<_> = profile
        .frames_from_root(profile.samples[0].stack)
        .iter()
        .map(|frame| (profile.text(frame.function), profile.text(frame.file), frame.line))
        .collect();
    assert_eq!(names, [("main", "train.py", 5), ("load", "train.py", 9)]);
    assert_eq!(profile.tables.frames[0].kind, FrameKind::Python);
    assert_eq!(profile.samples[0].state, ThreadState::RunningWithGil);
    let thread = profile.tables.tracks[1];
    assert_eq!((thread.kind, thread.os_id), (TrackKind::Thread, 8));
    assert_eq!((thread.start, thread.end), (Time(1_000), Some(Time(200_000))));
}

#[test]
fn other_events_written_by_hand_are_read() {
    let mut sections = TABLES.to_vec();
    // A series of bytes on track 1, named "load"; gauge.
    sections.push((8, &[3, 1, 1, 0]));
    // At 5 µs, live, track 1, new leaf: stack 0, address 64, 16 bytes for 100, mmap.
    sections.push((11, &[10, 0, 1, 0, 0, 0x80, 0x01, 16, 100, 1]));
    // Allocation 0 is freed at 9 µs.
    sections.push((12, &[0, 18]));
    // "main" on track 1 from 2 µs, open; inside it "load" from 3 µs for 4 µs,
    // suspended for 1 µs, failed, with "load" = -2.
    let (main, load) = ([0, 1, 1, 0xa0, 0x1f, 0, 0, 0, 0], [1, 1, 3, 0xd0, 0x0f, 0xa1, 0x1f]);
    let spans = [&main[..], &load, &[0xe8, 0x07, 1, 1, 3, 3, 3]].concat();
    sections.push((13, &spans));
    // Span 0 ends at 8 µs, suspended for 500 ns, with "main" = true.
    sections.push((14, &[0, 0xc0, 0x3e, 0xf4, 0x03, 0, 1, 1, 2]));
    // Series 0 at 1 and 2 µs: 30, 20.
    sections.push((15, &[0, 2, 2, 2, 0, 60, 19]));
    // At 6 µs a warning about track 0: "load".
    sections.push((16, &[12, 0, 1, 3]));

    let profile = read(&by_hand(&sections), "by hand").unwrap();

    let block = profile.allocations[0];
    assert_eq!((block.time, block.freed), (Time(5_000), Some(Time(9_000))));
    assert_eq!((block.address, block.size_bytes, block.weight_bytes), (64, 16, 100));
    let [outer, inner] = &profile.spans[..] else { panic!("{:?}", profile.spans) };
    assert_eq!((outer.start, outer.end), (Time(2_000), Some(Time(8_000))));
    assert_eq!(outer.attributes[0].1, Attribute::Bool(true));
    assert_eq!((inner.start, inner.end), (Time(3_000), Some(Time(7_000))));
    assert_eq!(inner.parent.map(|parent| parent.index()), Some(0));
    assert_eq!((outer.suspended_ns, inner.suspended_ns), (500, 1_000));
    assert!(inner.failed);
    assert_eq!(inner.attributes[0].1, Attribute::Int(-2));
    let points: Vec<_> = profile.points.iter().map(|point| (point.time.0, point.value)).collect();
    assert_eq!(points, [(1_000, 30.0), (2_000, 20.0)]);
    assert_eq!(profile.text(profile.notes[0].text), "load");
}

#[test]
fn the_page_names_every_fact() {
    let mut meta = Meta { python: Some(PythonInfo::default()), ..Meta::default() };
    meta.settings.cpu = Some(CpuSettings::default());
    meta.settings.heap = Some(HeapSettings::default());
    let page = include_str!("../../../docs/reference/file-format.md");

    let mut rest = vec![serde_json::to_value(meta).unwrap()];
    while let Some(value) = rest.pop() {
        let Value::Object(fields) = value else {
            continue;
        };
        for (name, value) in fields {
            assert!(page.contains(&format!("`{name}`")), "{name}");
            rest.push(value);
        }
    }
}
