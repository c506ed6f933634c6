//! The heap at one moment, as a door sees it.

use tachograph_profile::{Profile, StackId, Time};

/// What is live, and what was live when most was.
#[derive(Clone, Debug, Default)]
pub struct HeapPicture {
    /// Tables, and the sampled blocks of this door's window that are live now:
    /// sorted by time, times since the window began, none freed.
    pub profile: Profile,
    /// What was live at the peak, one row for each stack.
    pub at_peak: Vec<PeakRow>,
    /// Estimated bytes live at the peak.
    pub peak_bytes: u64,
    /// When the peak was, since the window began.
    pub peak_time: Time,
    /// How sampling goes.
    pub stats: HeapStats,
    /// What cannot be seen, or only roughly, in sentences.
    pub notes: Vec<String>,
}

/// One stack's part of the peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeakRow {
    /// The stack that allocated.
    pub stack: StackId,
    /// Estimated bytes.
    pub bytes: u64,
    /// Estimated blocks.
    pub blocks: u64,
}

/// How heap sampling goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeapStats {
    /// Samples in this window so far.
    pub total_samples: u64,
    /// Of these, live now.
    pub live_samples: u64,
    /// Of these, freed.
    pub freed_samples: u64,
    /// Samples of the whole session for which there was no room.
    pub dropped_samples: u64,
    /// Different stacks among the samples of this window.
    pub unique_stacks: u64,
    /// Estimated bytes live now.
    pub estimated_heap_bytes: u64,
    /// How full the table of live samples is, 0 to 1, before it grows.
    pub table_load: f64,
    /// Look-ups in that table that met another entry first.
    pub collisions: u64,
    /// Bytes between two samples, as the finest open door asked.
    pub rate_bytes: u64,
    /// The same where tables were fullest, with dropped samples taken into account.
    pub effective_rate_bytes: u64,
    /// Bytes of Python's own arenas that were mapped since the hooks are in place.
    pub arena_bytes: u64,
    /// Native stacks that ended early.
    pub partial_native_stacks: u64,
    /// Different stacks with native frames.
    pub native_stacks: u64,
    /// Native frames of all of them together.
    pub native_frames: u64,
    /// Frames of the shortest of them.
    pub min_native_depth: u64,
    /// New blocks are sampled for this door.
    pub sampling: bool,
    /// Libraries whose calls are not seen yet, because they are still being
    /// loaded or another tool changed them.
    pub pending_objects: u64,
    /// Calls to the allocator that another tool took over first.
    pub foreign_slots: u64,
    /// Memory of our own tables in the hooks.
    pub profiler_bytes: u64,
}
