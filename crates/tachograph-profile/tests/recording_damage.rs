//! Files that are not as they were written: cut, flipped, mixed, made up.
//!
//! A small fuzzer with fixed seeds runs in every test run; `fuzz/` holds the
//! same law for libFuzzer.

mod arbitrary;
mod forge;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tachograph_profile::file::{VERSION, Writer, encode, open, read, write};
use tachograph_profile::{Batch, Error, Frame, Interner, Meta, Profile, Sample, Time, TrackKind};

fn example() -> Profile {
    let stacks: [&[(&str, &str, u32)]; 3] = [
        &[("main", "train.py", 3), ("load", "data.py", 7)],
        &[("main", "train.py", 4), ("step", "optim.py", 12), ("add", "optim.py", 30)],
        &[("main", "train.py", 5)],
    ];
    let row = |i: u64| (i * 1_000_000, 1_000_000 + i % 2, stacks[i as usize % 3]);
    Profile::from_stacks(&(0..200).map(row).collect::<Vec<_>>())
}

/// A recording of four appends that ends without being finished.
fn unfinished(profile: &Profile) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Meta::default()).unwrap();
    for samples in profile.samples.chunks(50) {
        let until = Time(samples.last().map_or(0, |sample| sample.time.0 + 1_000_000));
        let batch = Batch { samples: samples.to_vec(), until, ..Batch::default() };
        writer.append(&profile.tables, &batch).unwrap();
    }
    writer.into_inner()
}

/// A place for files that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tachograph-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_killed_program_leaves_a_profile_with_a_warning() {
    let profile = example();

    let read = read(&unfinished(&profile), "killed.tacho").unwrap();

    assert_eq!(read.samples, profile.samples);
    assert_eq!(read.meta.duration_ns, 200_000_000);
    let note = read.notes.last().unwrap();
    assert!(note.warning);
    assert_eq!(
        read.text(note.text),
        "this recording was not finished: the program was killed or is still running; \
         it is complete up to 0.200 s"
    );
}

#[test]
fn a_torn_append_costs_only_itself() {
    let profile = example();
    let bytes = unfinished(&profile);

    let read = read(&bytes[..bytes.len() - 3], "torn.tacho").unwrap();

    assert_eq!(read.samples, profile.samples[..150]);
    assert_eq!(read.meta.duration_ns, 150_000_000);
}

#[test]
fn a_damaged_chunk_ends_the_profile_and_is_named() {
    let profile = example();
    let mut bytes = unfinished(&profile);
    let last = bytes.len() - 3;
    bytes[last] ^= 0x40;

    let read = read(&bytes, "scratched.tacho").unwrap();

    assert_eq!(read.samples, profile.samples[..150]);
    let text = read.text(read.notes[0].text);
    assert!(text.contains("damaged at byte") && text.contains("after 0.150 s"), "{text}");
}

#[test]
fn bytes_that_are_no_recording_are_named() {
    let error = read(b"hello, this is a diary", "diary.txt").unwrap_err();
    assert_eq!(
        error.to_string(),
        "diary.txt is not a tachograph recording; recordings end in .tacho and are written by tachograph"
    );
}

#[test]
fn a_later_version_asks_for_an_upgrade() {
    let mut bytes = encode(&example());
    bytes[8] = VERSION + 1;

    let error = read(&bytes, "new.tacho").unwrap_err();

    assert!(matches!(error, Error::TooNew { found: 2, supported: 1, .. }), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = open("/nowhere/run.tacho".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), r#"cannot read recording "/nowhere/run.tacho"; check the path"#);
}

#[test]
fn a_saved_file_replaces_the_old_one_and_leaves_nothing_beside() {
    let folder = Folder::new("save");
    let path = folder.0.join("run.tacho");
    std::fs::write(&path, "old").unwrap();

    write(&path, &example()).unwrap();

    assert_eq!(open(&path).unwrap(), example());
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let error = write("/dev/full".as_ref(), &example()).unwrap_err();
    assert!(error.to_string().starts_with(r#"cannot write "/dev/full""#), "{error}");
}

#[test]
fn a_frame_may_get_its_name_and_a_track_its_end_later() {
    let mut tables = Interner::default();
    let track = tables.track(TrackKind::Thread, None, 7, "", Time(0));
    let blank = tables.label("");
    let stack = tables.stack(None, blank);
    let mut writer = Writer::new(Vec::new(), &Meta::default()).unwrap();
    let samples = vec![Sample { track, stack, ..example().samples[0] }];
    writer.append(tables.tables(), &Batch { samples, ..Batch::default() }).unwrap();

    let (function, name) = (tables.string("memcpy"), tables.string("loader-1"));
    tables.tables_mut().frames[0].function = function;
    tables.tables_mut().tracks[0].name = name;
    tables.tables_mut().tracks[0].end = Some(Time(5_000));
    let grown = writer.append(tables.tables(), &Batch::default()).unwrap();
    let nothing = writer.append(tables.tables(), &Batch::default()).unwrap();

    assert!(grown > 0);
    assert_eq!(nothing, 0);
    let read = read(&writer.into_inner(), "named").unwrap();
    let names: Vec<&Frame> = read.frames_of(stack).collect();
    assert_eq!(read.text(names[0].function), "memcpy");
    assert_eq!(read.text(read.tables.tracks[0].name), "loader-1");
    assert_eq!(read.tables.tracks[0].end, Some(Time(5_000)));
}

/// A disk with so much room left.
struct Disk {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for &mut Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.room - self.bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_a_full_disk_refused_is_written_when_there_is_room() {
    let profile = example();
    let mut full = Disk { bytes: Vec::new(), room: 1 << 20 };
    let mut writer = Writer::new(&mut full, &Meta::default()).unwrap();
    let disk = writer.get_mut();
    disk.room = disk.bytes.len() + 50;
    let batch = |samples: &[Sample]| Batch { samples: samples.to_vec(), ..Batch::default() };

    let refused = writer.append(&profile.tables, &batch(&profile.samples[..100]));

    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(writer.waiting_bytes() > 0);
    writer.get_mut().room = 1 << 20;
    writer.append(&profile.tables, &batch(&profile.samples[100..])).unwrap();
    writer.finish(&profile.tables, &profile.meta, &profile.loss).unwrap();
    assert_eq!(writer.waiting_bytes(), 0);
    assert_eq!(read(&full.bytes, "disk").unwrap(), profile);
}

#[test]
fn a_finished_recording_takes_no_more() {
    let profile = example();
    let mut writer = Writer::new(Vec::new(), &profile.meta).unwrap();
    writer.finish(&profile.tables, &profile.meta, &profile.loss).unwrap();

    assert_eq!(writer.finish(&profile.tables, &profile.meta, &profile.loss).unwrap(), 0);
    let error = writer.append(&profile.tables, &Batch::default()).unwrap_err();
    assert_eq!(error.to_string(), "the recording is finished; start another one");
}

#[test]
fn samples_in_any_order_come_back_by_time() {
    let profile = example();
    let mut samples = profile.samples.clone();
    samples.reverse();
    samples.rotate_left(70);
    let mut writer = Writer::new(Vec::new(), &profile.meta).unwrap();
    let batch = Batch { samples, ..Batch::default() };
    writer.append(&profile.tables, &batch).unwrap();
    writer.finish(&profile.tables, &profile.meta, &profile.loss).unwrap();

    assert_eq!(read(&writer.into_inner(), "turned").unwrap(), profile);
}

/// Changes `bytes` in one to four of the ways files go wrong.
fn mutate(bytes: &mut Vec<u8>, dice: &mut impl FnMut(usize) -> usize) {
    for _ in 0..1 + dice(4) {
        if bytes.is_empty() {
            return;
        }
        let at = dice(bytes.len());
        match dice(6) {
            0 => bytes[at] = dice(256) as u8,
            1 => bytes[at] ^= 1 << dice(8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, dice(256) as u8),
            4 => {
                let to = (at + dice(16)).min(bytes.len());
                bytes[at..to].fill(0xff);
            }
            _ => {
                let to = (at + dice(64)).min(bytes.len());
                let piece = bytes[at..to].to_vec();
                let at = dice(bytes.len());
                bytes.splice(at..at, piece);
            }
        }
    }
}

#[test]
fn mutated_files_never_panic_or_break_a_rule() {
    let mut seeds = vec![encode(&example()), unfinished(&example())];
    let mut runner = TestRunner::deterministic();
    while seeds.len() < 12 {
        let tree = arbitrary::profile().new_tree(&mut runner).unwrap();
        seeds.push(encode(&tree.current()));
    }
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut dice = |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 20) % sides.max(1) as u64) as usize
    };
    let start = Instant::now();
    let (mut files, mut profiles) = (0, 0);

    while start.elapsed() < Duration::from_secs(2) || (profiles <= 10 && files < 100_000) {
        let mut bytes = seeds[dice(seeds.len())].clone();
        // Half of the files are damaged under a checksum that fits: what a
        // hostile writer, or a writer with a mistake, would make.
        if dice(2) == 0 {
            bytes = forge::rewrite(&bytes, |plain| mutate(plain, &mut dice));
        } else {
            mutate(&mut bytes, &mut dice);
        }
        files += 1;
        if let Ok(profile) = read(&bytes, "mutated") {
            profiles += 1;
            assert_eq!(profile.check(), Ok(()));
        }
    }

    assert!(profiles > 10, "{profiles} profiles of {files} files");
}
