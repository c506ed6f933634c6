//! Spans and metrics on the collector's side: takes what the lanes have to
//! tell and hands it to every open door.
//!
//! Lanes are emptied one after the other, so what a look at all of them shows
//! is not one moment: a child may be seen whose parent began, on another
//! thread, after that thread's lane was emptied. Events later than the
//! beginning of the look therefore wait for the next one.

use rustc_hash::FxHashMap;
use tachograph_profile::{
    Interner, Series, SeriesId, SeriesKind, StringId, Time, TrackId, Unit, Value,
};

use super::collector::session_time;
use super::door::Door;
use super::span_log::Begun;
use super::tracks::Tracks;
use crate::spans::{self, AttributeValue, Attributes, Event, Name, Over};
use crate::sys::clock;
use crate::waker::Waker;

/// Series that belong to the thread that wrote them; those of later names and
/// threads belong to the process, so that threads without end do not fill memory.
const MOST_SERIES: usize = 1 << 16;

/// Bytes of distinct texts in attributes. A text that is new after that, such
/// as the millionth request's id, is `<more texts>`.
const TEXT_BYTES: usize = 32 << 20;

const MORE_TEXTS: &str = "<more texts>";

/// An event and the thread it happened on.
#[derive(Debug)]
struct Told {
    tid: i32,
    event: Event,
}

/// What lanes told, and the rows that stand for it.
pub(crate) struct SpanSource {
    start: u64,
    bell: Waker,
    /// Lanes tell, because a door wants to know.
    is_on: bool,
    /// Events later than the last look.
    later: Vec<Told>,
    /// Ends of spans that nobody knew at the last look.
    ends: Vec<(u64, Over)>,
    names: FxHashMap<Name, StringId>,
    series: FxHashMap<(Name, TrackId), SeriesId>,
    text_bytes: usize,
    /// Events that found no room in their lane.
    pub(crate) dropped: u64,
}

impl SpanSource {
    /// Lanes that tell ring `bell` when they are half full.
    pub(crate) fn new(start: u64, bell: Waker) -> Self {
        Self {
            start,
            bell,
            is_on: false,
            later: Vec::new(),
            ends: Vec::new(),
            names: FxHashMap::default(),
            series: FxHashMap::default(),
            text_bytes: 0,
            dropped: 0,
        }
    }

    /// Lets lanes tell as long as one of `doors` wants to know.
    pub(crate) fn follow(&mut self, doors: &[Door]) {
        let is_wanted = doors.iter().any(|door| !door.options.without_spans);
        if is_wanted && !self.is_on {
            // What is left is of an earlier time.
            let _ = spans::take_events();
            spans::set_bell(Some(self.bell.clone()));
            spans::start_recording();
        }
        if self.is_on && !is_wanted {
            self.stop();
        }
        self.is_on = is_wanted;
    }

    fn stop(&mut self) {
        spans::stop_recording();
        spans::set_bell(None);
        let _ = spans::take_events();
        self.later.clear();
        self.ends.clear();
    }

    /// Takes what the lanes have to tell. With `all`, nothing waits for the
    /// next look: there may be none.
    pub(crate) fn drain(
        &mut self,
        tables: &mut Interner,
        tracks: &mut Tracks,
        doors: &mut [Door],
        all: bool,
    ) {
        let until = if all { u64::MAX } else { clock::monotonic() };
        let mut told = std::mem::take(&mut self.later);
        for lane in spans::take_events() {
            self.dropped += lane.dropped;
            let mut tid = lane.tid;
            for event in lane.events {
                if let Event::Thread { tid: next } = event {
                    tid = next;
                    continue;
                }
                let end = end_of(&event);
                for event in std::iter::once(event).chain(end) {
                    let soon = time_of(&event) <= until;
                    let place = if soon { &mut told } else { &mut self.later };
                    place.push(Told { tid, event });
                }
            }
        }
        if told.is_empty() && self.ends.is_empty() {
            return;
        }
        told.sort_by_key(|told| time_of(&told.event));
        let mut late = std::mem::take(&mut self.ends);
        Look { source: self, tables, tracks, doors, last_thread: None }.over(told);
        if all {
            // Clocks of two threads differ by a little, so an end may come
            // before its beginning.
            late.append(&mut self.ends);
        }
        for (span, over) in late {
            for door in doors.iter_mut() {
                door.spans.end(span, &over);
            }
        }
    }

    fn name(&mut self, tables: &mut Interner, name: Name) -> StringId {
        *self.names.entry(name).or_insert_with(|| tables.string(name.text()))
    }

    fn values(&mut self, tables: &mut Interner, given: &Attributes) -> Vec<(StringId, Value)> {
        let rows = given.iter().map(|(name, value)| {
            let value = match value {
                AttributeValue::None => Value::None,
                AttributeValue::Bool(value) => Value::Bool(value),
                AttributeValue::Int(value) => Value::Int(value),
                AttributeValue::Float(value) => Value::Float(value),
                AttributeValue::Text(text) => Value::Text(self.text(tables, text)),
            };
            (self.name(tables, name), value)
        });
        rows.collect()
    }

    fn text(&mut self, tables: &mut Interner, text: &str) -> StringId {
        if let Some(known) = tables.known_string(text) {
            return known;
        }
        if self.text_bytes + text.len() > TEXT_BYTES {
            return tables.string(MORE_TEXTS);
        }
        self.text_bytes += text.len();
        tables.string(text)
    }

    fn series(
        &mut self,
        tables: &mut Interner,
        name: Name,
        thread: TrackId,
        process: TrackId,
    ) -> SeriesId {
        let (full, known) = (self.series.len() >= MOST_SERIES, &self.series);
        let track = if full && !known.contains_key(&(name, thread)) { process } else { thread };
        if let Some(known) = self.series.get(&(name, track)) {
            return *known;
        }
        let row = Series {
            name: self.name(tables, name),
            track,
            unit: Unit::Count,
            kind: SeriesKind::Gauge,
        };
        let rows = &mut tables.tables_mut().series;
        rows.push(row);
        let id = SeriesId::from(rows.len() - 1);
        self.series.insert((name, track), id);
        id
    }
}

impl Drop for SpanSource {
    fn drop(&mut self) {
        if self.is_on {
            self.stop();
        }
    }
}

/// One look at all lanes.
struct Look<'a> {
    source: &'a mut SpanSource,
    tables: &'a mut Interner,
    tracks: &'a mut Tracks,
    doors: &'a mut [Door],
    /// The thread of the last event, and its track.
    last_thread: Option<(i32, TrackId)>,
}

impl Look<'_> {
    /// Hands over `told`, which is in order of time.
    fn over(&mut self, told: Vec<Told>) {
        let mut rest: Vec<Option<Told>> = told.into_iter().map(Some).collect();
        let mut places = None;
        for at in 0..rest.len() {
            let Some(told) = rest[at].take() else { continue };
            if self.unknown_parent(&told).is_none() {
                self.hand_over(told);
                continue;
            }
            // Clocks of two threads differ by a little, so a child may come
            // before its parent.
            let mut before = vec![told];
            while let Some(parent) = before.last().and_then(|told| self.unknown_parent(told)) {
                let places = places.get_or_insert_with(|| begins(&rest));
                let parent = places.get(&parent).and_then(|place| rest[*place].take());
                let Some(parent) = parent else { break };
                before.push(parent);
            }
            for told in before.into_iter().rev() {
                self.hand_over(told);
            }
        }
    }

    fn unknown_parent(&self, told: &Told) -> Option<u64> {
        match told.event {
            Event::Begin { parent, .. } if parent != 0 => {
                let known = self.doors.iter().any(|door| door.spans.knows(parent));
                (!known).then_some(parent)
            }
            _ => None,
        }
    }

    fn hand_over(&mut self, Told { tid, event }: Told) {
        let now = session_time(self.source.start, time_of(&event));
        match event {
            Event::Begin { span, parent, name, time, task, attributes, .. } => {
                let mut track = self.thread(tid, now);
                if let Some(task) = task {
                    track = self.tracks.task_called(self.tables, track, task.0, &task.1, now);
                }
                let name = self.source.name(self.tables, name);
                let attributes = self.source.values(self.tables, &attributes);
                let attributes = attributes.as_slice();
                let begun = Begun { span, parent, track, name, time, attributes };
                self.doors.iter_mut().for_each(|door| door.spans.begin(&begun));
            }
            Event::End { span, over } => {
                let mut is_known = false;
                for door in self.doors.iter_mut() {
                    is_known |= door.spans.end(span, &over);
                }
                if !is_known {
                    self.source.ends.push((span, over));
                }
            }
            Event::Point { name, time, value } => {
                let (track, process) = (self.thread(tid, now), self.tracks.process());
                let series = self.source.series(self.tables, name, track, process);
                self.doors.iter_mut().for_each(|door| door.spans.point(series, time, value));
            }
            Event::Thread { .. } => {}
        }
    }

    fn thread(&mut self, tid: i32, now: Time) -> TrackId {
        // Most events follow one of the same thread.
        if let Some((last, track)) = self.last_thread
            && last == tid
        {
            return track;
        }
        let track = self.find_thread(tid, now);
        self.last_thread = Some((tid, track));
        track
    }

    fn find_thread(&mut self, tid: i32, now: Time) -> TrackId {
        self.tracks.thread_with_spans(self.tables, u64::try_from(tid).unwrap_or(0), now)
    }
}

/// Where each span begins.
fn begins(told: &[Option<Told>]) -> FxHashMap<u64, usize> {
    let begin = |(place, told): (usize, &Option<Told>)| match told.as_ref()?.event {
        Event::Begin { span, .. } => Some((span, place)),
        _ => None,
    };
    told.iter().enumerate().filter_map(begin).collect()
}

fn time_of(event: &Event) -> u64 {
    match event {
        Event::Begin { time, .. } | Event::Point { time, .. } => *time,
        Event::End { over, .. } => over.time,
        Event::Thread { .. } => 0,
    }
}

/// The end of a span that was told together with its beginning.
fn end_of(event: &Event) -> Option<Event> {
    match event {
        Event::Begin { span, over, .. } => over.map(|over| Event::End { span: *span, over }),
        _ => None,
    }
}
