//! What a lane tells the collector while a recording is open.

use std::sync::{Arc, Mutex};

use super::attributes::Attributes;
use super::names::Name;
use super::{lane, state};
use crate::waker::Waker;

/// Events that wait in one lane at most; more are dropped and counted.
///
/// A Python loop of empty spans fills it in some 30 ms, which is how long the
/// collector may wait for a processor on a busy machine; it then takes 12 MB.
const LIMIT: usize = 1 << 17;

/// Something that happened on a lane.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A span began.
    Begin {
        /// Its number.
        span: u64,
        /// The span it happened inside of; 0 for none.
        parent: u64,
        /// What it is called.
        name: Name,
        /// When, on the monotonic clock.
        time: u64,
        /// The asyncio task it runs in: address and name.
        task: Option<Arc<(u64, Box<str>)>>,
        /// What the caller attached.
        attributes: Attributes,
        /// How it ended, if that was the next thing that happened.
        over: Option<Over>,
    },
    /// A span ended.
    End {
        /// Its number.
        span: u64,
        /// How.
        over: Over,
    },
    /// A metric got a value.
    Point {
        /// What it is called.
        name: Name,
        /// When.
        time: u64,
        /// The value.
        value: f64,
    },
    /// Another thread took the lane over.
    Thread {
        /// Its number.
        tid: i32,
    },
}

/// How a span ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Over {
    /// When.
    pub(crate) time: u64,
    /// With an exception.
    pub(crate) failed: bool,
    /// How long it was suspended.
    pub(crate) suspended_ns: u64,
}

/// Events of one lane that wait for the collector.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The thread of the first event, and of the next one.
    first_tid: i32,
    tid: i32,
    events: Vec<Event>,
    dropped: u64,
}

/// What one lane had to tell.
#[derive(Debug, Default)]
pub(crate) struct LaneEvents {
    /// The thread it belonged to at first.
    pub(crate) tid: i32,
    /// What happened, in order.
    pub(crate) events: Vec<Event>,
    /// Spans and values that found no room.
    pub(crate) dropped: u64,
}

/// Rung when a lane is half full.
static BELL: Mutex<Option<Waker>> = Mutex::new(None);

impl Pending {
    /// Adds an event; false when there was no room for it.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) -> bool {
        if self.events.len() >= LIMIT {
            self.dropped += 1;
            return false;
        }
        self.events.push(event);
        if self.events.len() == LIMIT / 2 {
            ring_bell();
        }
        true
    }

    /// The end of a span whose beginning found room is not lost for lack of it.
    #[inline]
    pub(crate) fn push_end(&mut self, ended: u64, how: Over) {
        if let Some(Event::Begin { span, over, .. }) = self.events.last_mut()
            && *span == ended
        {
            // Most spans have no other inside: they take one event.
            *over = Some(how);
        } else if self.events.len() < 2 * LIMIT {
            self.events.push(Event::End { span: ended, over: how });
        }
    }

    /// Another thread uses the lane from now on.
    pub(crate) fn change_thread(&mut self, tid: i32) {
        self.tid = tid;
        if !state::is_recording() {
            // The end of a span that outlived its session: nobody waits for
            // it, and threads without end would each add to it.
            self.events.clear();
        }
        if self.events.is_empty() {
            self.first_tid = tid;
        } else {
            self.events.push(Event::Thread { tid });
        }
    }

    fn take(&mut self) -> LaneEvents {
        let tid = std::mem::replace(&mut self.first_tid, self.tid);
        let room = self.events.len().min(LIMIT / 8);
        let events = std::mem::replace(&mut self.events, Vec::with_capacity(room));
        LaneEvents { tid, events, dropped: std::mem::take(&mut self.dropped) }
    }
}

#[cold]
fn ring_bell() {
    if let Ok(bell) = BELL.try_lock()
        && let Some(bell) = &*bell
    {
        bell.wake();
    }
}

/// Who is woken when a lane is half full.
pub(crate) fn set_bell(bell: Option<Waker>) {
    if let Ok(mut place) = BELL.try_lock() {
        *place = bell;
    }
}

/// Takes what all lanes have to tell.
pub(crate) fn take_events() -> Vec<LaneEvents> {
    let lanes = lane::all().into_iter();
    let told = lanes.map(|lane| lane.content().pending.take());
    told.filter(|told| !told.events.is_empty() || told.dropped > 0).collect()
}
