//! Device time on the collector's side: stretches in which a stream had work,
//! as spans on the track of that stream.

use std::collections::HashMap;

use tachograph_profile::{Interner, TrackId};

use super::collector::session_time;
use super::door::Door;
use super::span_log::Begun;
use super::tracks::Tracks;
use crate::gpu;
use crate::spans::Over;

/// Where the numbers of these spans begin, far from those that lanes give.
const FIRST: u64 = 1 << 63;

/// What streams did, and the rows that stand for it.
#[derive(Debug)]
pub(crate) struct StreamSource {
    start: u64,
    next: u64,
    /// Tracks of devices by their CUDA number.
    devices: HashMap<i32, TrackId>,
    /// Stretches that found no room.
    pub(crate) dropped: u64,
}

impl StreamSource {
    pub(crate) fn new(start: u64) -> Self {
        // What is left is of an earlier session.
        let _ = gpu::take_stream_spans();
        Self { start, next: FIRST, devices: HashMap::new(), dropped: 0 }
    }

    /// Takes what was told since the last look.
    pub(crate) fn drain(&mut self, tables: &mut Interner, tracks: &mut Tracks, doors: &mut [Door]) {
        let (spans, dropped) = gpu::take_stream_spans();
        self.dropped += dropped;
        for span in spans {
            let start = session_time(self.start, span.start_ns);
            let device = *self.devices.entry(span.device).or_insert_with(|| {
                let (index, name) = device_name(span.device);
                tracks.device(tables, index, &name, start)
            });
            let track = tracks.stream(tables, device, span.stream, start);
            let name = tables.string(&span.name);
            let number = self.next;
            self.next += 1;
            let (time, attributes) = (span.start_ns, &[]);
            let begun = Begun { span: number, parent: 0, track, name, time, attributes };
            let over = Over { time: span.end_ns, failed: false, suspended_ns: 0 };
            for door in doors.iter_mut() {
                door.spans.begin(&begun);
                door.spans.end(number, &over);
            }
        }
    }
}

/// The place and name of a CUDA device in the list of all devices.
fn device_name(ordinal: i32) -> (u64, String) {
    let known = gpu::device_of_cuda(ordinal)
        .and_then(|index| gpu::devices().into_iter().find(|device| device.index == index));
    let number = u64::try_from(ordinal).unwrap_or(0);
    known.map_or_else(
        || (number, format!("CUDA device {ordinal}")),
        |device| (u64::from(device.index), device.name),
    )
}
