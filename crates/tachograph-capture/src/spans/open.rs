//! Spans: begun, ended, and told to whoever wants to know.

use std::sync::Arc;

use super::attributes::Attributes;
use super::events::{Event, Over};
use super::lane::{Lane, Own};
use super::meter::Meter;
use super::names::Name;
use super::timeline::Timing;
use super::{clock, lane, state};

/// A span by its number; the default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanRef(u64);

impl SpanRef {
    /// Whether it names a span.
    #[must_use]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    /// As a number that can be kept elsewhere.
    #[must_use]
    pub fn to_number(self) -> u64 {
        self.0
    }

    /// Back from [`SpanRef::to_number`].
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }
}

/// What a span happens inside of.
#[derive(Clone, Copy, Debug, Default)]
pub enum Parent {
    /// The innermost open span of this thread. The new one takes its place.
    #[default]
    OfThread,
    /// This one; nothing is said of the thread. For tasks that take turns.
    Is(SpanRef),
}

/// A task as the program's event loop knows it.
#[derive(Clone, Debug)]
pub struct Task(Arc<(u64, Box<str>)>);

impl Task {
    /// The task at `address`, called `name`.
    #[must_use]
    pub fn new(address: u64, name: &str) -> Self {
        Self(Arc::new((address, name.into())))
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.0.0
    }
}

/// A span that has begun. Give it to [`end`]; one that is dropped instead
/// stays open in the recording.
#[derive(Debug)]
#[must_use = "a span ends only by `end`"]
pub struct Open {
    span: u64,
    parent: u64,
    name: Name,
    start_ns: u64,
    is_innermost: bool,
    is_recorded: bool,
    attributes: Attributes,
}

impl Open {
    /// Its number, to be a parent of others.
    #[must_use]
    pub fn as_parent(&self) -> SpanRef {
        SpanRef(self.span)
    }

    /// When it began, on the monotonic clock.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> Name {
        self.name
    }
}

/// How a span ends and who hears of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ended<'a> {
    /// With an exception.
    pub failed: bool,
    /// For how long it was suspended in between.
    pub suspended_ns: u64,
    /// Gets its duration, or `value`.
    pub meter: Option<&'a Meter>,
    /// What the meter gets instead of nanoseconds of wall time.
    pub value: Option<f64>,
    /// It enters the timeline like this.
    pub timing: Option<&'a Timing>,
}

/// Begins a span on this thread.
#[inline]
pub fn begin(name: Name, attributes: Attributes, parent: Parent, task: Option<&Task>) -> Open {
    let mut open = Open::closed(name);
    open.attributes = attributes;
    open.begin(parent, task);
    open
}

/// Ends a span; returns how long it took.
#[inline]
pub fn end(mut open: Open, ended: &Ended<'_>) -> u64 {
    open.end(ended)
}

impl Open {
    /// A span that has not begun, for a place where many will follow each
    /// other. Moving a span that was just begun costs as much as a clock.
    pub const fn closed(name: Name) -> Self {
        Self {
            span: 0,
            parent: 0,
            name,
            start_ns: 0,
            is_innermost: false,
            is_recorded: false,
            attributes: Attributes::NONE,
        }
    }

    /// Gives it another name and attributes, before it begins.
    #[inline]
    pub fn set(&mut self, name: Name, attributes: Attributes) {
        self.name = name;
        self.attributes = attributes;
    }

    /// Begins it, in its place.
    #[inline]
    pub fn begin(&mut self, parent: Parent, task: Option<&Task>) {
        lane::with_own(|own| {
            let Some(lane) = own.lane() else { return self.begin_nowhere() };
            let span = lane::new_span(lane);
            self.span = span;
            match parent {
                Parent::OfThread => {
                    self.parent = own.current.replace(span);
                    self.is_innermost = true;
                }
                Parent::Is(parent) => {
                    self.parent = parent.0;
                    self.is_innermost = false;
                }
            }
            self.start_ns = own.anchor.now();
            self.is_recorded = state::is_recording() && self.tell_begin(lane, task);
        });
    }

    /// A span on a thread that is being torn down: it has a duration, no more.
    #[cold]
    fn begin_nowhere(&mut self) {
        (self.span, self.parent) = (0, 0);
        (self.is_innermost, self.is_recorded) = (false, false);
        self.start_ns = clock::now_ns();
    }

    fn tell_begin(&self, lane: &Lane, task: Option<&Task>) -> bool {
        lane.content().pending.push(Event::Begin {
            span: self.span,
            parent: self.parent,
            name: self.name,
            time: self.start_ns,
            task: task.map(|task| Arc::clone(&task.0)),
            attributes: self.attributes.clone(),
            over: None,
        })
    }

    /// Ends it; returns how long it took. Its attributes go with it.
    #[inline]
    pub fn end(&mut self, ended: &Ended<'_>) -> u64 {
        lane::with_own(|own| self.end_on(own, ended))
    }

    #[inline]
    fn end_on(&mut self, own: &Own, ended: &Ended<'_>) -> u64 {
        let now = own.anchor.now();
        let duration_ns = now.saturating_sub(self.start_ns);
        // Another thread may end it, or a generator out of turn.
        if self.is_innermost && own.current.get() == self.span {
            own.current.set(self.parent);
        }
        if !self.is_recorded && ended.meter.is_none() && ended.timing.is_none() {
            return duration_ns;
        }
        let Some(lane) = own.lane() else { return duration_ns };
        let mut content = lane.content();
        if let Some(meter) = ended.meter {
            content.shards.add(meter, ended.value.unwrap_or(duration_ns as f64), now);
        }
        if self.is_recorded {
            let (failed, suspended_ns) = (ended.failed, ended.suspended_ns);
            content.pending.push_end(self.span, Over { time: now, failed, suspended_ns });
        }
        if let Some(timing) = ended.timing {
            let entry = content.ring.next(self.name);
            entry.name = self.name;
            entry.end_ns = now;
            entry.duration_ns = duration_ns;
            entry.failed = ended.failed;
            entry.timing.clone_from(timing);
            entry.attributes = std::mem::take(&mut self.attributes);
        }
        duration_ns
    }
}

/// The innermost open span of this thread.
#[must_use]
pub fn current() -> SpanRef {
    SpanRef(lane::current())
}

/// Makes `span` the innermost open span of this thread and returns the one
/// that was. For tasks that take turns on a thread: enter before a step, and
/// enter what came back after it.
pub fn enter(span: SpanRef) -> SpanRef {
    let before = SpanRef(lane::current());
    lane::set_current(span.0);
    before
}

/// Tells the recording, if one is open, a value of the metric `name`.
pub fn point(name: Name, value: f64) {
    if !state::is_recording() || !value.is_finite() {
        return;
    }
    if let Some(lane) = lane::own() {
        let time = clock::now_ns();
        lane.content().pending.push(Event::Point { name, time, value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::{AttributeValue, timeline};

    fn open(name: &str) -> Open {
        begin(Name::of(name), Attributes::default(), Parent::OfThread, None)
    }

    #[test]
    fn a_span_knows_the_one_around_it() {
        let outer = open("outer");
        let inner = open("inner");
        assert_eq!(inner.parent, outer.span);
        end(inner, &Ended::default());
        let second = open("second");
        assert_eq!(second.parent, outer.span);
        end(second, &Ended::default());
        end(outer, &Ended::default());
        assert_eq!(lane::current(), 0);
    }

    #[test]
    fn an_end_feeds_the_meter_and_the_timeline() {
        let meter = Meter::new();
        let key = Name::of("an_end_feeds_the_meter_and_the_timeline");
        let attributes = Attributes::of([(Name::of("n"), AttributeValue::Int(3))]);
        let span = begin(key, attributes, Parent::OfThread, None);
        let timing = Timing { is_block: true, tags: None };
        let ended = Ended { meter: Some(&meter), timing: Some(&timing), ..Ended::default() };

        let took = end(span, &ended);

        assert_eq!(meter.summary().sum(), took as f64);
        let (entries, _) = timeline();
        let entry = entries.iter().find(|entry| entry.name == key).unwrap();
        assert_eq!((entry.duration_ns, entry.timing.is_block), (took, true));
        assert_eq!(entry.attributes.iter().count(), 1);
    }

    #[test]
    fn another_clock_gives_the_meter_its_own_value() {
        let meter = Meter::new();
        let ended = Ended { meter: Some(&meter), value: Some(7.0), ..Ended::default() };
        end(open("clock"), &ended);
        assert_eq!(meter.summary().max(), 7.0);
    }
}
