//! Programs that know nothing of us, run with the library before all others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tachograph_profile::{Profile, file};

const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[4000];

__attribute__((constructor)) static void early(void)
{
    for (int i = 0; i < 2000; i++) kept[i] = memset(malloc(1000), 1, 1000);
}

__attribute__((noinline)) void in_main(void)
{
    for (int i = 2000; i < 4000; i++) kept[i] = memset(calloc(1, 1000), 1, 1000);
}

__attribute__((noinline)) void given_back(void)
{
    for (int i = 0; i < 100000; i++) free(realloc(malloc(100), 900));
}

int main(int count, char **words)
{
    in_main();
    given_back();
    if (count > 1 && strcmp(words[1], "killed") == 0) {
        sleep(100);
    }
    puts("done");
    return 7;
}
"#;

/// The library under test. Cargo builds none for tests that cannot link it, so
/// it is asked to.
fn library() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let program = std::env::current_exe().unwrap();
        let folder = program.ancestors().nth(3).unwrap();
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "tachograph-preload", "--target-dir"])
            .arg(folder)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .unwrap();
        assert!(built.success());
        folder.join("debug/libtachograph_preload.so")
    };
    BUILT.get_or_init(build).clone()
}

/// The program, built in `folder` and ready to be run, and the recording it will write.
fn program(folder: &Path) -> (Command, PathBuf) {
    std::fs::create_dir_all(folder).unwrap();
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, SOURCE).unwrap();
    let built = Command::new("gcc")
        .args(["-O1", "-fno-builtin", "-include", "signal.h", "-o"])
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(built.success());
    let output = folder.join("run.tacho");
    let mut command = Command::new(&program);
    command
        .env("LD_PRELOAD", library())
        .env("TACHOGRAPH_OUTPUT", &output)
        .env("TACHOGRAPH_HEAP_RATE", "4096");
    (command, output)
}

fn live(profile: &Profile, function: &str) -> u64 {
    let named = profile.allocations.iter().filter(|row| {
        row.freed.is_none()
            && profile.frames_of(row.stack).any(|f| profile.text(f.function) == function)
    });
    named.map(|row| row.weight_bytes).sum()
}

#[track_caller]
fn near(found: u64, truth: u64) {
    // 488 samples with gaps that vary by 0.29: 1.3 % at one standard deviation.
    let error = (found as f64 / truth as f64 - 1.0).abs();
    assert!(error < 0.08, "{found} is not {truth}");
}

#[test]
fn blocks_are_seen_from_before_main_to_the_end_and_the_program_is_as_ever() {
    let folder = std::env::temp_dir().join(format!("tachograph-preload-{}", std::process::id()));

    let (mut program, output) = program(&folder);
    let outcome = program.output().unwrap();

    let profile = file::open(&output).unwrap();
    assert_eq!(outcome.status.code(), Some(7));
    assert_eq!(outcome.stdout, b"done\n");
    assert!(outcome.stderr.is_empty(), "{}", String::from_utf8_lossy(&outcome.stderr));
    profile.check().unwrap();
    near(live(&profile, "early"), 2_000_000);
    near(live(&profile, "in_main"), 2_000_000);
    assert_eq!(live(&profile, "given_back"), 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The allocator that refuses blocks of others, built in `folder`.
fn other_allocator(folder: &Path) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stand_ins");
    let built = folder.join("allocator.so");
    let status = Command::new("gcc")
        .args(["-O2", "-shared", "-fPIC", "-fno-builtin", "-o"])
        .args([&built, &tests.join("allocator.c")])
        .status()
        .unwrap();
    assert!(status.success());
    built
}

#[test]
fn another_allocator_may_be_preloaded_too_before_or_after() {
    let folder = std::env::temp_dir().join(format!("tachograph-other-{}", std::process::id()));
    let (mut program, output) = program(&folder);
    let (ours, other) = (library(), other_allocator(&folder));
    for is_first in [true, false] {
        let order = if is_first { [&ours, &other] } else { [&other, &ours] };
        let order = order.map(|path| path.display().to_string()).join(":");

        let outcome = program.env("LD_PRELOAD", order).output().unwrap();

        let told = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!((outcome.status.code(), &*told), (Some(7), ""), "ours first: {is_first}");
        let profile = file::open(&output).unwrap();
        near(live(&profile, "in_main"), 2_000_000);
        assert_eq!(live(&profile, "given_back"), 0);
        if is_first {
            near(live(&profile, "early"), 2_000_000);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_killed_program_leaves_its_heap() {
    let folder = std::env::temp_dir().join(format!("tachograph-killed-{}", std::process::id()));

    let (mut program, output) = program(&folder);
    let mut running = program.arg("killed").spawn().unwrap();
    // It writes once a second; where nothing came for long, nothing is there to be found.
    let begin = Instant::now();
    let is_written =
        || file::open(&output).is_ok_and(|profile| live(&profile, "in_main") > 1_840_000);
    while !is_written() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    running.kill().unwrap();
    let status = running.wait().unwrap();

    let profile = file::open(&output).unwrap();
    assert!(!status.success());
    near(live(&profile, "in_main"), 2_000_000);
    std::fs::remove_dir_all(&folder).unwrap();
}
