//! One recording in every format, compared with the files in `tests/data`.
//!
//! A missing file fails. `TACHOGRAPH_WRITE_GOLDEN=1 cargo test golden` writes
//! them anew; the difference is then for people to read.

use std::fs;
use std::path::PathBuf;

use super::example::training_run;
use super::example_memory::training_with_memory;
use super::{Format, Style, export, summary};
use crate::{Measure, Mode, Profile};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

fn compare(name: &str, found: &[u8]) {
    let path = folder().join(name);
    if std::env::var_os("TACHOGRAPH_WRITE_GOLDEN").is_some() {
        fs::create_dir_all(folder()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read(&path)
        .unwrap_or_else(|error| panic!("tests/data/{name} is missing or unreadable: {error}"));
    if expected != found {
        let (expected, found) =
            (String::from_utf8_lossy(&expected), String::from_utf8_lossy(found));
        let line = expected.lines().zip(found.lines()).position(|(a, b)| a != b).unwrap_or(0);
        panic!(
            "tests/data/{name} differs from line {} on:\nexpected {:?}\nfound    {:?}\n\
             if the change is meant, run: TACHOGRAPH_WRITE_GOLDEN=1 cargo test golden",
            line + 1,
            expected.lines().nth(line),
            found.lines().nth(line),
        );
    }
}

fn exported(profile: &Profile, format: Format, measure: Option<Measure>) -> Vec<u8> {
    export(profile, format, measure).unwrap()
}

#[test]
fn speedscope_is_what_it_was() {
    let profile = training_run(Mode::Cpu);
    compare("train.speedscope.json", &exported(&profile, Format::Speedscope, None));
}

#[test]
fn collapsed_is_what_it_was() {
    let profile = training_run(Mode::Cpu);
    compare("train.collapsed", &exported(&profile, Format::Collapsed, None));
}

#[test]
fn svg_is_what_it_was() {
    let profile = training_run(Mode::Cpu);
    compare("train.svg", &exported(&profile, Format::Svg, None));
}

#[test]
fn the_summary_of_cpu_time_is_what_it_was() {
    let profile = training_run(Mode::Cpu);
    let style = Style { width: 130, ..Style::default() };
    compare("train.summary.txt", summary(&profile, &style).as_bytes());
}

#[test]
fn the_summary_of_wall_time_is_what_it_was() {
    let profile = training_run(Mode::Wall);
    let style = Style { width: 90, ..Style::default() };
    compare("train.wall.summary.txt", summary(&profile, &style).as_bytes());
}

#[test]
fn the_summary_of_memory_is_what_it_was() {
    let profile = training_with_memory();
    assert_eq!(profile.check(), Ok(()));
    for width in [84, 134] {
        let style = Style { width, ..Style::default() };
        let name = format!("train.memory.{width}.summary.txt");
        compare(&name, summary(&profile, &style).as_bytes());
    }
}

#[test]
fn stacks_of_memory_are_what_they_were() {
    let profile = training_with_memory();
    let peak = Some(Measure::BytesAtPeak);
    compare("train.peak.collapsed", &exported(&profile, Format::Collapsed, peak));
    let live = Some(Measure::BytesLive);
    compare("train.live.speedscope.json", &exported(&profile, Format::Speedscope, live));
}

#[test]
fn a_recording_of_this_release_stays_readable() {
    let profile = training_run(Mode::Cpu);
    let name = "train.tacho";
    if std::env::var_os("TACHOGRAPH_WRITE_GOLDEN").is_some() {
        let bytes = exported(&profile, Format::Tacho, None);
        fs::write(folder().join(name), bytes).unwrap();
    }

    let read = crate::file::open(&folder().join(name)).unwrap();

    assert_eq!(read, profile);
}
