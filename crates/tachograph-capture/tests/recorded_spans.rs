//! Spans and values on their way into recordings, with no Python at all.

use std::sync::mpsc::channel;
use std::time::Duration;

use tachograph_capture::spans::{
    AttributeValue, Attributes, Ended, Name, Open, Parent, Task, begin, end, point,
};
use tachograph_capture::{Client, Finished, Host, Options};
use tachograph_profile::{Profile, Span, TrackKind, Value, file};

/// Only one session at a time makes its numbers its own.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn record() -> Client {
    Client::open(Options::default(), Host::default()).unwrap()
}

fn profile(finished: &Finished) -> Profile {
    assert_eq!(finished.file_error, None);
    file::read(&finished.bytes, "test").unwrap()
}

fn open(name: &str) -> Open {
    begin(Name::of(name), Attributes::default(), Parent::OfThread, None)
}

fn close(span: Open) {
    end(span, &Ended::default());
}

fn named<'a>(profile: &'a Profile, name: &str) -> Vec<&'a Span> {
    profile.spans.iter().filter(|span| profile.text(span.name) == name).collect()
}

fn parent_name<'a>(profile: &'a Profile, span: &Span) -> &'a str {
    span.parent.map_or("", |parent| profile.text(profile.spans[parent.index()].name))
}

#[test]
fn spans_work_without_samples_and_keep_what_was_attached() {
    let _alone = alone();
    let client = record();
    let outer = open("epoch");
    let attributes = Attributes::of([
        (Name::of("batch"), AttributeValue::Int(32)),
        (Name::of("source"), AttributeValue::Text("disk")),
    ]);
    let inner = begin(Name::of("forward"), attributes, Parent::OfThread, None);
    std::thread::sleep(Duration::from_millis(5));
    end(inner, &Ended { failed: true, suspended_ns: 2_000_000, ..Ended::default() });
    close(outer);
    point(Name::of("loss"), 0.5);
    point(Name::of("loss"), 0.25);
    let profile = profile(&client.finish(&[]));

    let [inner] = named(&profile, "forward")[..] else { panic!("{:?}", profile.spans) };
    assert_eq!(parent_name(&profile, inner), "epoch");
    assert_eq!((inner.failed, inner.suspended_ns), (true, 2_000_000));
    assert!(inner.end.unwrap().0 - inner.start.0 >= 5_000_000);
    assert_eq!(inner.attributes[0].1, Value::Int(32));
    assert!(matches!(inner.attributes[1].1, Value::Text(text) if profile.text(text) == "disk"));
    let thread = profile.tables.tracks[inner.track.index()];
    assert_eq!(thread.kind, TrackKind::Thread);
    let values: Vec<f64> = profile.points.iter().map(|point| point.value).collect();
    assert_eq!(values, [0.5, 0.25]);
    assert_eq!(profile.loss.dropped_spans, 0);
}

#[test]
fn each_of_two_doors_gets_the_spans_of_its_own_window() {
    let _alone = alone();
    let early = record();
    close(open("first"));
    let around = open("around");
    std::thread::sleep(Duration::from_millis(2));
    let late = record();
    close(open("second"));
    close(around);
    let late = profile(&late.finish(&[]));
    let last = open("third");
    let early = profile(&early.finish(&[]));
    close(last);

    assert_eq!(named(&late, "first").len() + named(&late, "around").len(), 0);
    assert_eq!(parent_name(&late, named(&late, "second")[0]), "");
    assert_eq!(parent_name(&early, named(&early, "second")[0]), "around");
    assert!(named(&early, "around")[0].end.is_some());
    assert_eq!(named(&early, "third")[0].end, None);
}

#[test]
fn a_parent_on_another_thread_is_found_and_every_thread_has_its_track() {
    let _alone = alone();
    let client = record();
    let outer = open("outer");
    let parent = outer.as_parent();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                for _ in 0..2_000 {
                    close(begin(
                        Name::of("piece"),
                        Attributes::default(),
                        Parent::Is(parent),
                        None,
                    ));
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    close(outer);
    let profile = profile(&client.finish(&[]));

    let pieces = named(&profile, "piece");
    assert_eq!(pieces.len() as u64 + profile.loss.dropped_spans, 16_000);
    assert!(pieces.iter().all(|span| parent_name(&profile, span) == "outer"));
    let mut tracks: Vec<_> = pieces.iter().map(|span| span.track).collect();
    tracks.sort_unstable();
    tracks.dedup();
    assert_eq!(tracks.len(), 8);
}

#[test]
fn tasks_have_tracks_below_their_thread() {
    let _alone = alone();
    let client = record();
    let tasks = [Task::new(0x1000, "Task-1"), Task::new(0x2000, "Task-2")];
    let spans = [0, 1].map(|task| {
        let parent = Parent::Is(tachograph_capture::spans::SpanRef::default());
        begin(Name::of("request"), Attributes::default(), parent, Some(&tasks[task]))
    });
    spans.into_iter().for_each(close);
    let profile = profile(&client.finish(&[]));

    let requests = named(&profile, "request");
    let names: Vec<_> = requests
        .iter()
        .map(|span| profile.text(profile.tables.tracks[span.track.index()].name))
        .collect();
    assert_eq!(names, ["Task-1", "Task-2"]);
    assert_eq!(profile.tables.tracks[requests[0].track.index()].kind, TrackKind::Task);
}

#[test]
fn very_many_spans_are_kept_or_counted() {
    const SPANS: u64 = 300_000;
    let _alone = alone();
    let client = record();
    for _ in 0..SPANS {
        close(open("tiny"));
    }
    let profile = profile(&client.finish(&[]));

    let kept = named(&profile, "tiny");
    assert_eq!(kept.len() as u64 + profile.loss.dropped_spans, SPANS);
    assert!(kept.iter().all(|span| span.end.is_some()));
}

#[test]
fn memory_that_is_full_drops_spans_and_counts_them() {
    let _alone = alone();
    let options = Options { memory_limit_bytes: 1, ..Options::default() };
    let client = Client::open(options, Host::default()).unwrap();
    close(open("dropped"));
    let profile = profile(&client.finish(&[]));

    assert_eq!((profile.spans.len(), profile.loss.dropped_spans), (0, 1));
}

#[test]
fn texts_without_end_do_not_fill_memory() {
    let _alone = alone();
    let client = record();
    let text = "x".repeat(4_000);
    for number in 0..10_000 {
        let value = format!("{number}{text}");
        let attributes = Attributes::of([(Name::of("id"), AttributeValue::Text(&value))]);
        close(begin(Name::of("request"), attributes, Parent::OfThread, None));
    }
    let profile = profile(&client.finish(&[]));

    let bytes: usize = profile.tables.strings.iter().map(|text| text.len()).sum();
    assert!(bytes <= 33 << 20, "{bytes}");
    let kept = profile.spans.len() as u64 + profile.loss.dropped_spans;
    assert_eq!(kept, 10_000);
}

#[test]
fn a_span_that_another_thread_ends_is_ended() {
    let _alone = alone();
    let client = record();
    let (send, receive) = channel();
    let worker = std::thread::spawn(move || close(receive.recv().unwrap()));
    send.send(open("handed over")).unwrap();
    worker.join().unwrap();
    let profile = profile(&client.finish(&[]));

    assert!(named(&profile, "handed over")[0].end.is_some());
}

#[test]
fn nothing_is_told_once_the_last_door_is_closed() {
    let _alone = alone();
    let _ = record().finish(&[]);
    assert!(!tachograph_capture::spans::is_recording());
    close(open("between"));
    let profile = profile(&record().finish(&[]));

    assert!(named(&profile, "between").is_empty());
}
