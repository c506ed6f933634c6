//! How blocks of memory were sampled: the facts of the heap source.

use serde::{Deserialize, Serialize};

/// How blocks of memory were sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeapSettings {
    /// Bytes between two samples, on average, as asked for.
    pub rate_bytes: u64,
    /// Small Python objects were sampled one by one.
    pub python_objects: bool,
    /// Native frames were taken.
    pub native: bool,
    /// What came of it.
    pub report: HeapReport,
}

/// What came of sampling the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeapReport {
    /// Blocks that were sampled.
    pub total_samples: u64,
    /// Those of them that were freed.
    pub freed_samples: u64,
    /// Bytes between two samples at the end; more than asked for when the
    /// table of live blocks was nearly full.
    pub effective_rate_bytes: u64,
    /// Distinct stacks that allocated.
    pub unique_stacks: u64,
    /// How full the table of live blocks was, 0 to 1.
    pub table_load: f64,
    /// Blocks that shared their place in that table with another one.
    pub collisions: u64,
    /// Native stacks that were taken.
    pub native_stacks: u64,
    /// Native frames of all of them together.
    pub native_frames: u64,
    /// Frames of the shortest native stack.
    pub min_native_depth: u64,
    /// Native stacks that ended early.
    pub shallow_stacks: u64,
    /// Memory that sampling itself took.
    pub own_bytes: u64,
}
