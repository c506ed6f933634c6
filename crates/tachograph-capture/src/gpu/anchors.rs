//! Moments known on both clocks: the device's and that of recordings.

use std::sync::Arc;

use super::per_process::PerProcess;
use crate::sys::gpu::cuda::{Cuda, Event, Stream};
use crate::sys::{clock, fork};

/// How long an anchor serves. Times between events are 32-bit floats of
/// milliseconds: after 10 s one still tells 1 µs.
const SERVES_NS: u64 = 10_000_000_000;

/// An anchor that is wrong by at most half of this needs no other try.
const GOOD_ENOUGH_NS: u64 = 40_000;
const TRIES: usize = 8;

/// An event that happened at a known time.
#[derive(Debug)]
pub(super) struct Anchor {
    cuda: &'static Cuda,
    event: Event,
    time_ns: u64,
    generation: u32,
}

/// What a device has: a stream of ours, and the latest anchor on it.
#[derive(Debug)]
struct Mooring {
    device: i32,
    stream: Stream,
    anchor: Option<Arc<Anchor>>,
}

static MOORINGS: PerProcess<Vec<Mooring>> = PerProcess::new();

/// A recent anchor of `device`, whose context is current.
///
/// It lies on a stream of ours that has nothing else to do, so it happens at
/// once and waits for none of the program's work.
pub(super) fn of(cuda: &'static Cuda, device: i32) -> Option<Arc<Anchor>> {
    let mut moorings = MOORINGS.lock();
    let place = moorings.iter().position(|mooring| mooring.device == device);
    let place = match place {
        Some(place) => place,
        None => {
            let stream = cuda.create_stream().ok()?;
            moorings.push(Mooring { device, stream, anchor: None });
            moorings.len() - 1
        }
    };
    let mooring = moorings.get_mut(place)?;
    let now = clock::monotonic();
    let is_fresh = |anchor: &Arc<Anchor>| now.saturating_sub(anchor.time_ns) < SERVES_NS;
    if let Some(anchor) = mooring.anchor.as_ref().filter(|anchor| is_fresh(anchor)) {
        return Some(Arc::clone(anchor));
    }
    let anchor = Arc::new(Anchor::moor(cuda, mooring.stream)?);
    mooring.anchor = Some(Arc::clone(&anchor));
    Some(anchor)
}

impl Anchor {
    /// Lets a few events happen, and keeps the one whose time is known best:
    /// the middle of the time it took. A thread that loses its processor in
    /// between knows it badly.
    fn moor(cuda: &'static Cuda, stream: Stream) -> Option<Self> {
        let mut best: Option<(u64, Self)> = None;
        for _ in 0..TRIES {
            let (event, generation) = (cuda.create_event().ok()?, fork::generation());
            let mut anchor = Self { cuda, event, time_ns: 0, generation };
            let before = clock::monotonic();
            cuda.record(&anchor.event, stream).ok()?;
            cuda.wait(&anchor.event).ok()?;
            let took = clock::monotonic() - before;
            anchor.time_ns = before + took / 2;
            if best.as_ref().is_none_or(|(shortest, _)| took < *shortest) {
                best = Some((took, anchor));
            }
            if took < GOOD_ENOUGH_NS {
                break;
            }
        }
        best.map(|(_, anchor)| anchor)
    }

    /// When `event` happened.
    pub(super) fn time_ns(&self, event: &Event) -> Option<u64> {
        let later_ms = self.cuda.elapsed_ms(&self.event, event).ok()?;
        Some((self.time_ns as i128 + (later_ms * 1e6) as i128).try_into().unwrap_or(0))
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        // A forked child cannot use its parent's device.
        if self.generation == fork::generation() {
            let _ = self.cuda.destroy(&self.event);
        }
    }
}
