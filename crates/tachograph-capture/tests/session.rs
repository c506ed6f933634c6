//! A session over a program without Python: the rules of doors and windows.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tachograph_capture::{Client, CpuOptions, Error, Finished, Host, Options, TriggerChoice};
use tachograph_profile::{Mode, Profile, TrackKind, file};

/// Only one session at a time makes its numbers its own.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn options(interval_ms: u64) -> Options {
    let cpu = CpuOptions { interval_ns: interval_ms * 1_000_000, ..CpuOptions::default() };
    Options { cpu: Some(cpu), ..Options::default() }
}

fn open(options: Options) -> Client {
    Client::open(options, Host::default()).unwrap()
}

fn profile(finished: &Finished) -> Profile {
    assert_eq!(finished.file_error, None);
    file::read(&finished.bytes, "test").unwrap()
}

#[inline(never)]
fn spin(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        black_box((0..1000_u64).sum::<u64>());
    }
}

/// Rust gives every thread a small signal stack. An unoptimised walk does not
/// fit there and is refused, so the thread gives its signal stack up.
fn leave_signal_stack() {
    let none =
        libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: `none` lives until the call returns; the old stack is not asked for.
    unsafe { libc::sigaltstack(&raw const none, std::ptr::null_mut()) };
}

fn threads_left() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names =
        tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
    names.filter(|name| name.starts_with("tacho-")).count()
}

#[test]
fn weights_add_up_to_the_cpu_clock_and_no_thread_stays_behind() {
    let _alone = alone();
    let client = open(options(1));
    spin(Duration::from_millis(300));
    let profile = profile(&client.finish(&[]));

    let cpu = profile.meta.settings.cpu.as_ref().unwrap();
    let weights: u64 = profile.samples.iter().map(|sample| sample.cpu_ns).sum();
    assert!(profile.samples.len() > 50, "{} samples", profile.samples.len());
    assert!(weights <= cpu.report.watched_cpu_ns);
    assert!(weights as f64 > 0.9 * cpu.report.watched_cpu_ns as f64);
    assert_eq!(threads_left(), 0);
}

#[test]
fn a_door_inside_another_shows_only_its_own_window() {
    let _alone = alone();
    let outer = open(options(10));
    spin(Duration::from_millis(150));
    let inner = open(options(1));
    spin(Duration::from_millis(150));
    let inner = profile(&inner.finish(&[]));
    spin(Duration::from_millis(50));
    let outer = profile(&outer.finish(&[]));

    assert!(inner.meta.duration_ns < 300_000_000, "{}", inner.meta.duration_ns);
    assert!(outer.meta.duration_ns > inner.meta.duration_ns + 150_000_000);
    let cpu = |profile: &Profile| profile.samples.iter().map(|sample| sample.cpu_ns).sum::<u64>();
    assert!(cpu(&inner) < cpu(&outer));
    assert!(inner.samples.iter().all(|sample| sample.time.0 <= inner.meta.duration_ns));
}

#[test]
fn native_frames_name_the_function_that_ran() {
    let _alone = alone();
    let mut wish = options(1);
    wish.cpu.as_mut().unwrap().native = true;
    leave_signal_stack();
    let client = open(wish);
    // The list of loaded objects is read in the background; without optimisation
    // that takes most of a second.
    spin(Duration::from_millis(2000));
    let profile = profile(&client.finish(&[]));

    let names = |sample: &tachograph_profile::Sample| {
        let frames = profile.frames_of(sample.stack);
        frames.map(|frame| profile.text(frame.function).to_owned()).collect::<Vec<_>>()
    };
    let spinning = profile
        .samples
        .iter()
        .filter(|sample| names(sample).iter().any(|name| name.contains("spin")));
    assert!(
        spinning.count() * 2 > profile.samples.len(),
        "{:?}",
        profile.samples.last().map(names)
    );
}

#[test]
fn a_sleeping_thread_has_wall_time_and_no_cpu_time() {
    let _alone = alone();
    let mut wish = options(5);
    wish.cpu.as_mut().unwrap().mode = Mode::Wall;
    let sleeper = std::thread::Builder::new().name("sleeper".to_owned());
    let client = open(wish);
    let sleeper = sleeper.spawn(|| std::thread::sleep(Duration::from_millis(300))).unwrap();
    spin(Duration::from_millis(250));
    let _ = sleeper.join();
    let profile = profile(&client.finish(&[]));

    let main = profile.tables.tracks.iter().position(|track| {
        track.kind == TrackKind::Thread && track.os_id == u64::from(std::process::id())
    });
    let of = |own: bool| {
        let samples =
            profile.samples.iter().filter(|sample| (Some(sample.track.index()) == main) == own);
        samples.fold((0, 0), |(wall, cpu), sample| (wall + sample.wall_ns, cpu + sample.cpu_ns))
    };
    let (wall, _) = of(false);
    assert!(wall >= 200_000_000, "{wall} ns of other threads");
}

#[test]
fn a_trigger_that_cannot_serve_is_refused_with_a_reason() {
    let _alone = alone();
    let mut wish = options(10);
    let cpu = wish.cpu.as_mut().unwrap();
    (cpu.mode, cpu.trigger) = (Mode::Wall, TriggerChoice::CpuTimer);

    let error = Client::open(wish, Host::default()).unwrap_err();

    assert!(matches!(error, Error::TriggerForCpuOnly { trigger: "cpu-timer" }), "{error}");
    assert_eq!(threads_left(), 0);
}

#[test]
fn a_file_that_cannot_be_created_is_refused_at_once() {
    let _alone = alone();
    let wish = Options { path: Some("/nowhere/at/all.tacho".into()), ..options(10) };

    let error = Client::open(wish, Host::default()).unwrap_err();

    assert!(matches!(error, Error::OutputDenied { .. }), "{error}");
}

#[test]
fn a_full_disk_keeps_the_recording_in_memory() {
    let _alone = alone();
    let client = open(Options { path: Some("/dev/full".into()), ..options(1) });
    spin(Duration::from_millis(100));
    let finished = client.finish(&[]);

    assert!(finished.file_error.as_deref().unwrap().contains("/dev/full"));
    assert_eq!(finished.file, None);
    assert!(!file::read(&finished.bytes, "test").unwrap().samples.is_empty());
}

#[test]
fn memory_that_is_full_drops_samples_and_counts_them() {
    let _alone = alone();
    let client = open(Options { memory_limit_bytes: 1, ..options(1) });
    spin(Duration::from_millis(200));
    let profile = profile(&client.finish(&[]));

    assert!(profile.samples.is_empty());
    assert!(profile.loss.dropped_samples > 20, "{:?}", profile.loss);
}

#[test]
fn cpu_time_of_threads_too_short_to_see_is_the_process_clocks_surplus() {
    let _alone = alone();
    let client = open(options(10));
    for _ in 0..150 {
        std::thread::spawn(|| spin(Duration::from_millis(3))).join().unwrap();
    }
    let profile = profile(&client.finish(&[]));

    let report = profile.meta.settings.cpu.unwrap().report;
    let seen = report.watched_cpu_ns + report.own_cpu_ns;
    assert!(seen + 100_000_000 < profile.meta.process_cpu_ns, "{seen}");
}

#[test]
fn a_hundred_sessions_behave_like_the_first() {
    let _alone = alone();
    let mut counts = Vec::new();
    for _ in 0..100 {
        let client = open(options(1));
        spin(Duration::from_millis(5));
        counts.push(profile(&client.finish(&[])).samples.len());
    }

    assert_eq!(threads_left(), 0);
    let total: usize = counts.iter().sum();
    assert!(counts.iter().skip(50).sum::<usize>() * 4 > total, "{counts:?}");
}
