//! The façade as a Rust program uses it.

use std::hint::black_box;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tachograph::profile::{TrackKind, Value};
use tachograph::{InSpan, Recorder, Recording, Spec, span};

/// Only one recording at a time makes its numbers its own.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// CPU time of this thread: on a busy machine elapsed time says little. The
/// kernel brings it up to date at its tick, so it is 4 ms off at times.
fn cpu_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let ns = told.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap())
}

#[inline(never)]
fn spin_hard(time: Duration) {
    let end = cpu_time() + time;
    while cpu_time() < end {
        black_box((0..100_000_u64).sum::<u64>());
    }
}

#[inline(never)]
fn spin_softly(time: Duration) {
    let end = cpu_time() + time;
    while cpu_time() < end {
        black_box((0..100_000_u64).product::<u64>());
    }
}

fn every_ms() -> Recorder {
    Recorder::new().interval(Duration::from_millis(1))
}

fn cpu_ms(recording: &Recording) -> f64 {
    recording.functions().iter().map(|row| row.self_weight as f64 / 1e6).sum()
}

#[test]
fn a_span_shows_the_functions_it_spent_its_time_in() {
    let _alone = alone();
    let started = every_ms().start().unwrap();
    let begin = cpu_time();
    {
        let _span = span!("hard", level = 3, kind = "spin");
        spin_hard(Duration::from_millis(240));
    }
    let hard_took = cpu_time() - begin;
    tachograph::timed("soft", || spin_softly(Duration::from_millis(120)));
    let truth = hard_took.as_secs_f64() / (cpu_time() - begin).as_secs_f64();
    let recording = started.finish().unwrap();

    let hard = recording.within("hard").unwrap();

    let on = |recording: &Recording, function: &str| {
        let rows = recording.functions();
        let found = rows.iter().find(|row| row.function.contains(function));
        found.map_or(0.0, |row| row.total_weight as f64 / 1e6)
    };
    assert!(on(&hard, "spin_hard") > 0.9 * cpu_ms(&hard), "{:#?}", hard.functions());
    // Four standard errors of a count, and 4 ms of the clock at either end.
    let samples = recording.profile().samples.len() as f64;
    let allowed = 4.0 * (truth * (1.0 - truth) / samples).sqrt() + 8.0 / 360.0;
    let share = cpu_ms(&hard) / cpu_ms(&recording);
    assert!((share - truth).abs() < allowed, "{share} for {truth} of {samples} samples");
    assert!(on(&hard, "spin_softly") < 2.5 * cpu_ms(&recording) / samples);
    assert!(on(&recording, "spin_softly") > 0.0);
    let span = recording.spans("hard").next().unwrap();
    let attributes: Vec<_> =
        span.attributes.iter().map(|(key, _)| recording.profile().text(*key)).collect();
    assert_eq!(attributes, ["level", "kind"]);
    assert_eq!(span.attributes[0].1, Value::Int(3));
}

#[test]
fn nothing_is_recorded_when_nobody_wants_to_know() {
    let _alone = alone();
    tachograph::set_profiling(false);
    tachograph::clear_report();

    drop(span!("unwanted", big = u64::MAX));

    assert!(tachograph::report().timing("unwanted").is_none());
}

#[test]
fn the_live_report_knows_count_mean_and_percentiles() {
    let _alone = alone();
    tachograph::set_profiling(true);
    tachograph::clear_report();
    for _ in 0..10 {
        let span = span!("step");
        std::thread::sleep(Duration::from_millis(2));
        assert!(span.end() >= Duration::from_millis(2));
    }
    let loss = tachograph::metric("loss");
    (0..4).for_each(|value| loss.record(f64::from(value)));

    let report = tachograph::report();
    tachograph::set_profiling(false);

    let step = report.timing("step").unwrap();
    assert_eq!(step.count(), 10);
    assert!(step.quantile(0.5) >= Duration::from_millis(2));
    assert!(step.total() >= step.mean() * 9);
    assert_eq!(report.metric("loss").unwrap().mean(), 1.5);
    assert_eq!(report.timeline.iter().filter(|row| row.name == "step").count(), 10);
    let text = report.to_string();
    assert!(text.contains("step") && text.contains("loss"), "{text}");
}

#[test]
fn a_panic_marks_its_span_and_goes_on() {
    let _alone = alone();
    let started = Recorder::new().without_samples().start().unwrap();
    let panicked = std::panic::catch_unwind(|| {
        let _span = span!("doomed");
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    drop(span!("fine"));
    let recording = started.finish().unwrap();

    assert!(panicked.is_err());
    assert!(recording.spans("doomed").next().unwrap().failed);
    assert!(!recording.spans("fine").next().unwrap().failed);
}

/// A future that is done when it is asked the second time.
async fn pause_once() {
    let mut paused = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn a_future_counts_running_and_suspended_time_apart() {
    let _alone = alone();
    let started = every_ms().start().unwrap();
    let request = async {
        spin_hard(Duration::from_millis(40));
        pause_once().await;
        let _span = span!("inner");
        spin_hard(Duration::from_millis(40));
    };
    let mut request = pin!(request.in_span(Spec::new("request").with("path", "/")));
    let mut context = Context::from_waker(Waker::noop());

    assert!(request.as_mut().poll(&mut context).is_pending());
    spin_softly(Duration::from_millis(60));
    assert!(request.as_mut().poll(&mut context).is_ready());
    let recording = started.finish().unwrap();

    let span = recording.spans("request").next().unwrap();
    let lasted = span.end.unwrap().0 - span.start.0;
    assert!(lasted >= 120_000_000, "{lasted}");
    let suspended = span.suspended_ns;
    assert!((50_000_000..lasted - 65_000_000).contains(&suspended), "{suspended} of {lasted}");
    let track = recording.profile().tables.tracks[span.track.index()];
    assert_eq!(track.kind, TrackKind::Task);
    let inner = recording.spans("inner").next().unwrap();
    let parent = &recording.profile().spans[inner.parent.unwrap().index()];
    assert_eq!(recording.profile().text(parent.name), "request");
    // What others did while it was suspended is not in it.
    let inside = recording.within("request").unwrap().functions();
    assert!(inside.iter().any(|row| row.function.contains("spin_hard")));
    let soft = inside.iter().find(|row| row.function.contains("spin_softly"));
    let one_sample = cpu_ms(&recording) * 1e6 / recording.profile().samples.len() as f64;
    let soft_weight = soft.map_or(0, |row| row.total_weight) as f64;
    assert!(soft_weight < 2.5 * one_sample, "{soft:?}");
}

#[test]
fn a_recording_is_written_as_it_comes_and_can_be_opened() {
    let _alone = alone();
    let folder = std::env::temp_dir().join(format!("tachograph-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.tacho");
    let started = tachograph::record(&path).unwrap();
    drop(span!("saved"));
    tachograph::metric("temperature").record(21.5);
    drop(started);

    let recording = tachograph::open(&path).unwrap();

    assert_eq!(recording.spans("saved").count(), 1);
    assert_eq!(recording.profile().points.len(), 1);
    recording.save(folder.join("run.svg")).unwrap();
    assert!(recording.summary().contains("saved"));
    assert!(tachograph::record(folder.join("missing").join("run.tacho")).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn spans_of_many_threads_are_all_there() {
    let _alone = alone();
    let started = Recorder::new().without_samples().start().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..1000).for_each(|_| drop(span!("many"))));
        }
    });
    let recording = started.finish().unwrap();

    assert_eq!(recording.spans("many").count(), 8000);
    assert_eq!(recording.profile().check(), Ok(()));
    let tracks: std::collections::HashSet<_> =
        recording.spans("many").map(|span| span.track).collect();
    assert_eq!(tracks.len(), 8);
}
