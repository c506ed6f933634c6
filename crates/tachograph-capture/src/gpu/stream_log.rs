//! Stretches of device time on their way into recordings.

use super::per_process::PerProcess;
use crate::spans;

/// Stretches that wait for the collector, which takes them many times a second.
const MOST_WAITING: usize = 1 << 16;

/// A stretch of time in which a stream had work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSpan {
    /// What the work is called.
    pub name: String,
    /// The CUDA number of the device.
    pub device: i32,
    /// The stream's number; 0 is the default stream.
    pub stream: u64,
    /// When it began, on the clock of recordings.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    spans: Vec<StreamSpan>,
    dropped: u64,
}

static WAITING: PerProcess<Waiting> = PerProcess::new();

/// Whether someone records, so that device times are worth an anchor.
#[must_use]
pub fn wants_stream_spans() -> bool {
    spans::is_recording()
}

/// Puts a stretch into every open recording; the newest have no room when the
/// collector is far behind, and are counted.
pub fn stream_span(span: StreamSpan) {
    if !spans::is_recording() {
        return;
    }
    let mut waiting = WAITING.lock();
    if waiting.spans.len() < MOST_WAITING {
        waiting.spans.push(span);
    } else {
        waiting.dropped += 1;
    }
}

/// What waits, and how many found no room.
pub(crate) fn take_stream_spans() -> (Vec<StreamSpan>, u64) {
    let mut waiting = WAITING.lock();
    (std::mem::take(&mut waiting.spans), std::mem::take(&mut waiting.dropped))
}
