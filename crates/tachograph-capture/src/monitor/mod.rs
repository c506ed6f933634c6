//! The process and the machine: clocks, memory, files, processors, network, disks.
//!
//! Everything is read from the kernel's text files, without the interpreter and
//! without a copy. A [`Window`] watches a stretch of time; it reads only what is
//! cheap at its two ends and takes the rest from series that one background
//! sampler keeps for the whole process.

mod energy;
mod engine;
mod history;
mod kept;
mod machine;
mod mark;
mod process;
mod series;
mod window;
mod words;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use energy::EnergySource;
pub use engine::{Demand, Source};
pub use machine::{Disk, MachineFigures};
pub use process::{Io, ProcessFigures};
pub use series::{Key, Range, Scope};
pub use window::{Measured, Watch, Window};

/// Where the kernel's files are; tests have trees of their own.
#[derive(Clone, Debug)]
pub struct Places {
    /// Usually `/proc`.
    pub proc: PathBuf,
    /// Usually `/sys`.
    pub sys: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self::at("/")
    }
}

impl Places {
    /// `proc` and `sys` under `root`.
    #[must_use]
    pub fn at(root: impl AsRef<Path>) -> Self {
        let root = root.as_ref();
        Self { proc: root.join("proc"), sys: root.join("sys") }
    }
}

/// The process and the machine now.
#[must_use]
pub fn read() -> (ProcessFigures, MachineFigures) {
    engine::engine().read()
}

/// Physical memory this process holds now, in bytes.
#[must_use]
pub fn resident_bytes() -> u64 {
    engine::lock(&engine::engine().own).reader.resident_bytes()
}

/// Descriptors this process has open. Takes longer the more there are.
#[must_use]
pub fn open_descriptors() -> u64 {
    engine::lock(&engine::engine().own).reader.open_descriptors()
}

/// Asks the background sampler for series at least every `interval_ns`, until
/// the answer is dropped; with `peaks`, one of them is the most memory held
/// between two readings.
#[must_use]
pub fn want(interval_ns: u64, peaks: bool) -> Demand {
    engine::engine().want(interval_ns, peaks)
}

/// Reads now, unless that was done a moment ago.
pub fn freshen() {
    engine::engine().freshen(0);
}

/// Reads process and machine into the series now; with `peak`, also the most
/// memory held since the last time.
pub fn sample_now(peak: bool) {
    let engine = engine::engine();
    engine.sample();
    if peak {
        engine.sample_peak();
    }
}

/// Every point that is newer than `seen` says, which then says so: by series,
/// in order of time. A series that `seen` does not know is told from `start` on.
pub fn new_points(
    seen: &mut HashMap<Arc<Key>, u64>,
    start: u64,
    mut tell: impl FnMut(&Arc<Key>, u64, f64),
) {
    engine::lock(&engine::engine().history).new_points(seen, start, &mut tell);
}

/// The points of one series from `start` to `end` on the monotonic clock, as
/// long as they are kept. A device's series are found by its number.
#[must_use]
pub fn points_between(scope: &Scope, name: &str, start: u64, end: u64) -> Vec<(u64, f64)> {
    let history = engine::lock(&engine::engine().history);
    history.ring(scope, name).map_or_else(Vec::new, |ring| ring.between(start, end))
}

/// Adds something that the background sampler reads at each tick. A forked
/// child begins without.
pub fn add_source(source: Box<dyn Source>) {
    engine::engine().add_source(source);
}

/// Where figures of energy come from on this machine.
#[must_use]
pub fn energy_source() -> EnergySource {
    engine::lock(engine::engine().meter()).source().clone()
}

/// What the processor is called.
#[must_use]
pub fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    energy::model_name(&text).to_owned()
}

/// The tree of the tests.
#[cfg(test)]
fn fake_places() -> Places {
    Places::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data"))
}
