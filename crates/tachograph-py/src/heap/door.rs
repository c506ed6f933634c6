//! The memory profiler's own window on the session.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use tachograph_capture as capture;
use tachograph_capture::{HeapOptions, HeapPicture, HeapStats, Options};
use tachograph_profile::analyze::heap::{Explanation, MemoryFacts, SiteMemory, explain};
use tachograph_profile::{Allocation, Allocator, Profile, TrackId};

use super::picture::Picture;
use crate::client::{HostRow, ThreadNames, host_of, named};
use crate::errors::{from_capture, guarded};
use crate::recording::Recording;

/// Room for the recording of a window that is asked for pictures only, so that
/// the recording itself may be forgotten; and of one that keeps its history.
const RECORDING_BYTES: u64 = 1 << 20;
const HISTORY_BYTES: u64 = 32 << 20;

/// `((total, live, freed, dropped), (unique_stacks, heap_bytes, load, collisions),
/// (rate, effective_rate, profiler_bytes), (shallow, stacks, frames, shortest))`.
type StatsRow = ((u64, u64, u64, u64), (u64, u64, f64, u64), (u64, u64, u64), (u64, u64, u64, u64));

/// `(picture, stats, taken_ns, peak_ns, notes)`.
type PictureRow = (Picture, StatsRow, u64, u64, Vec<String>);

/// A window in which the heap is sampled.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct HeapDoor {
    running: Mutex<Option<capture::Client>>,
    at_start: Option<MemoryFacts>,
}

impl HeapDoor {
    fn running(&self) -> MutexGuard<'_, Option<capture::Client>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<(HeapPicture, u64)> {
        let running = self.running();
        let client = running.as_ref()?;
        let taken_ns = client.stats().duration_ns;
        Some((client.heap_picture()?, taken_ns))
    }

    fn explanation(&self, picture: &HeapPicture) -> Option<Explanation> {
        let now = capture::memory_facts()?;
        let mut sites = SiteMemory::of(&picture.profile, capture::resident_share);
        sites.profiler_bytes = picture.stats.profiler_bytes;
        Some(explain(&self.at_start?, &now, &sites))
    }
}

#[pymethods]
impl HeapDoor {
    /// Opens a window and starts sampling.
    #[staticmethod]
    #[pyo3(signature = (*, rate_bytes, python_objects, native, history, host))]
    fn open(
        py: Python<'_>,
        rate_bytes: u64,
        python_objects: bool,
        native: bool,
        history: bool,
        host: HostRow,
    ) -> PyResult<Self> {
        let heap = HeapOptions { rate_bytes, python_objects, native, ..HeapOptions::default() };
        let options = Options {
            heap: Some(heap),
            without_spans: true,
            memory_limit_bytes: if history { HISTORY_BYTES } else { RECORDING_BYTES },
            ..Options::default()
        };
        let host = host_of(host);
        guarded(|| {
            let at_start = py.detach(capture::memory_facts);
            let objects = python_objects.then(capture::PythonObjects::hold);
            let opened = py.detach(|| capture::Client::open_with(options, host, objects));
            let client = opened.map_err(from_capture)?;
            Ok(Self { running: Mutex::new(Some(client)), at_start })
        })
    }

    /// No new samples from now on; what is freed is still noticed.
    fn pause(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| {
            py.detach(|| {
                if let Some(client) = self.running().as_ref() {
                    client.pause_heap();
                }
            });
            capture::restore_python_allocators();
            Ok(())
        })
    }

    /// What is live now; `None` once the window is closed.
    fn picture(&self, py: Python<'_>) -> PyResult<Option<PictureRow>> {
        guarded(|| {
            capture::check_python_objects();
            Ok(py.detach(|| {
                let (picture, taken_ns) = self.take()?;
                let explanation = self.explanation(&picture);
                let stats = stats_row(&picture.stats);
                let (peak, peak_ns) = (peak_of(&picture), picture.peak_time.0);
                let (mut profile, notes) = (picture.profile, picture.notes);
                profile.meta.duration_ns = taken_ns.max(profile.meta.duration_ns);
                let picture = Picture::new(profile, Some(peak), explanation);
                Some((picture, stats, taken_ns, peak_ns, notes))
            }))
        })
    }

    /// How sampling goes; `None` once the window is closed.
    fn stats(&self, py: Python<'_>) -> PyResult<Option<StatsRow>> {
        guarded(|| Ok(py.detach(|| self.take().map(|(picture, _)| stats_row(&picture.stats)))))
    }

    /// Closes the window and returns what was allocated and freed in it.
    fn finish(&self, py: Python<'_>, thread_names: ThreadNames) -> PyResult<Recording> {
        guarded(|| {
            let Some(client) = self.running().take() else {
                return Err(PyRuntimeError::new_err("the window is already closed"));
            };
            let names = named(thread_names);
            let finished = py.detach(|| client.finish(&names));
            capture::restore_python_allocators();
            Ok(Recording::from_encoded(finished.bytes, "the recording"))
        })
    }

    /// Closes the window.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| {
            py.detach(|| drop(self.running().take()));
            capture::restore_python_allocators();
            Ok(())
        })
    }

    /// Whether the window is open and belongs to this process.
    fn is_alive(&self) -> PyResult<bool> {
        guarded(|| Ok(self.running().as_ref().is_some_and(capture::Client::is_alive)))
    }
}

fn stats_row(stats: &HeapStats) -> StatsRow {
    (
        (stats.total_samples, stats.live_samples, stats.freed_samples, stats.dropped_samples),
        (stats.unique_stacks, stats.estimated_heap_bytes, stats.table_load, stats.collisions),
        (stats.rate_bytes, stats.effective_rate_bytes, stats.profiler_bytes),
        (
            stats.partial_native_stacks,
            stats.native_stacks,
            stats.native_frames,
            stats.min_native_depth,
        ),
    )
}

/// What was live at the peak, one block for each stack.
fn peak_of(picture: &HeapPicture) -> Profile {
    let live = &picture.profile;
    let track = live.allocations.first().map_or(TrackId(0), |block| block.track);
    let allocations = picture.at_peak.iter().map(|row| Allocation {
        time: picture.peak_time,
        freed: None,
        track,
        stack: row.stack,
        address: 0,
        size_bytes: row.bytes / row.blocks.max(1),
        weight_bytes: row.bytes,
        allocator: Allocator::Malloc,
    });
    Profile {
        meta: live.meta.clone(),
        tables: live.tables.clone(),
        allocations: allocations.collect(),
        ..Profile::default()
    }
}
