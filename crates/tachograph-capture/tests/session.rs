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

/// CPU time of this thread: on a busy machine elapsed time says little.
fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[inline(never)]
fn spin(time: Duration) {
    let end = cpu_time() + time;
    while cpu_time() < end {
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

/// Waits until no thread of ours is there; one that was joined stays listed for an instant.
fn wait_until_no_thread_is_left() {
    let begin = Instant::now();
    while threads_left() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} threads left", threads_left());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn weights_add_up_to_the_cpu_clock_and_no_thread_stays_behind() {
    let _alone = alone();
    let client = open(options(1));
    spin(Duration::from_millis(300));
    let profile = profile(&client.finish(&[]));

    let cpu = profile.meta.settings.cpu.as_ref().unwrap();
    let weights: u64 = profile.samples.iter().map(|sample| sample.cpu_ns).sum();
    let looks = profile.samples.len() as u64 + profile.loss.late_ticks;
    assert!(looks > 50, "{looks} samples");
    assert!(weights <= cpu.report.watched_cpu_ns);
    assert!(weights as f64 > 0.9 * cpu.report.watched_cpu_ns as f64);
    wait_until_no_thread_is_left();
}

#[test]
fn a_door_inside_another_shows_only_its_own_window() {
    let _alone = alone();
    let lasted = |begin: Instant| begin.elapsed().as_nanos() as u64;
    let outer = open(options(10));
    let begin = Instant::now();
    spin(Duration::from_millis(150));
    let before = lasted(begin);
    let begin = Instant::now();
    let inner = open(options(1));
    spin(Duration::from_millis(150));
    let inner = profile(&inner.finish(&[]));
    let most = lasted(begin);
    let begin = Instant::now();
    spin(Duration::from_millis(50));
    let after = lasted(begin);
    let outer = profile(&outer.finish(&[]));

    assert!(inner.meta.duration_ns <= most, "{} of {most}", inner.meta.duration_ns);
    assert!(outer.meta.duration_ns >= inner.meta.duration_ns + before + after);
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
    spin(Duration::from_millis(2000));
    let profile = profile(&client.finish(&[]));

    let names = |sample: &tachograph_profile::Sample| {
        let frames = profile.frames_of(sample.stack);
        frames.map(|frame| profile.text(frame.function).to_owned()).collect::<Vec<_>>()
    };
    let spins = |sample: &&tachograph_profile::Sample| {
        names(sample).iter().any(|name| name.contains("spin"))
    };
    // The list of loaded objects is read in the background; without optimisation
    // that takes most of a second, and until then nothing has a name.
    let listed = profile.samples.iter().position(|sample| spins(&sample));
    let named = &profile.samples[listed.expect("spin is never named")..];
    assert!(
        named.iter().filter(spins).count() * 2 > named.len(),
        "{:?}",
        profile.samples.last().map(names)
    );
}

#[test]
fn a_sleeping_thread_has_wall_time_and_no_cpu_time() {
    let _alone = alone();
    let mut wish = options(5);
    wish.cpu.as_mut().unwrap().mode = Mode::Wall;
    let client = open(wish);
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let sleeper = std::thread::spawn(move || {
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        let id = own.file_name().unwrap().to_str().unwrap().parse::<u64>().unwrap();
        let begin = Instant::now();
        let _ = wait.recv();
        (id, begin.elapsed().as_nanos() as u64)
    });
    spin(Duration::from_millis(250));
    drop(done);
    let (id, slept) = sleeper.join().unwrap();
    let profile = profile(&client.finish(&[]));

    let is_sleeper = |sample: &&tachograph_profile::Sample| {
        let track = profile.tables.tracks[sample.track.index()];
        track.kind == TrackKind::Thread && track.os_id == id
    };
    let samples = profile.samples.iter().filter(is_sleeper);
    let (wall, cpu) =
        samples.fold((0, 0), |(wall, cpu), sample| (wall + sample.wall_ns, cpu + sample.cpu_ns));
    // It is found at a tick, and ends after one.
    let missed = 5_000_000 * (profile.loss.late_ticks + 4);
    assert!(wall + missed >= slept, "{wall} of {slept} ns");
    assert!(cpu < 5_000_000, "{cpu} ns on a processor");
}

#[test]
fn a_trigger_that_cannot_serve_is_refused_with_a_reason() {
    let _alone = alone();
    let mut wish = options(10);
    let cpu = wish.cpu.as_mut().unwrap();
    (cpu.mode, cpu.trigger) = (Mode::Wall, TriggerChoice::CpuTimer);

    let error = Client::open(wish, Host::default()).unwrap_err();

    assert!(matches!(error, Error::TriggerForCpuOnly { trigger: "cpu-timer" }), "{error}");
    wait_until_no_thread_is_left();
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
    let looks = profile.loss.dropped_samples + profile.loss.late_ticks;
    assert!(profile.loss.dropped_samples > 0 && looks > 20, "{:?}", profile.loss);
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

    wait_until_no_thread_is_left();
    let total: usize = counts.iter().sum();
    assert!(counts.iter().skip(50).sum::<usize>() * 4 > total, "{counts:?}");
}
