//! The flight recorder for Rust programs: where time went, by function and by
//! span, in one recording.
//!
//! ```
//! # fn train() -> f64 { (0..2_000_000_u32).map(f64::from).sum() }
//! # let folder = std::env::temp_dir().join(format!("tachograph-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # std::env::set_current_dir(&folder)?;
//! let recorder = tachograph::record("run.tacho")?;
//! for epoch in 0..3 {
//!     let _span = tachograph::span!("epoch", number = epoch);
//!     let loss = train();
//!     tachograph::metric("loss").record(loss);
//! }
//! let recording = recorder.finish()?;
//!
//! println!("{}", recording.summary());
//! recording.save("run.svg")?;
//! assert_eq!(recording.spans("epoch").count(), 3);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`record`] and [`Recorder`] take CPU samples of this program with native
//!   stacks, spans and metrics, and write them to a file while they come.
//! - [`span!`] measures a stretch of code; [`InSpan::in_span`] a future, which
//!   counts the time it ran and the time it was suspended apart; [`timed`] a closure.
//! - [`report`] answers while the program runs: counts, means, percentiles and
//!   the latest spans, in bounded memory. [`set_profiling`] turns it on.
//! - [`Recording`] is what came of it: summaries, tables, parts, exports. The file
//!   opens in the Python package too.
//!
//! Without a recorder and with the live report off, a span is one branch.
#![forbid(unsafe_code)]

mod error;
mod future;
mod live;
mod metric;
mod recorder;
mod recording;
mod span;
mod value;

pub use error::Error;
pub use future::{InSpan, Spanned};
pub use live::{Report, TimelineRow, TimingRow, clear_report, report, set_profiling};
pub use metric::{Metric, metric};
pub use recorder::{Recorder, Started, record};
pub use recording::{Recording, open};
pub use span::{Site, Span, Spec, timed};
/// The system's allocator with the heap source around it: what a program with
/// this `#[global_allocator]` allocates is in its recordings.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: tachograph::Allocator = tachograph::Allocator;
///
/// # fn main() -> Result<(), tachograph::Error> {
/// let recorder = tachograph::Recorder::new().heap(64 << 10).start()?;
/// let table: Vec<u8> = vec![1; 10 << 20];
/// let recording = recorder.finish()?;
///
/// let bytes: u64 = recording.profile().allocations.iter().map(|block| block.weight_bytes).sum();
/// assert!(bytes >= table.len() as u64);
/// # Ok(())
/// # }
/// ```
pub use tachograph_capture::Allocator;
pub use tachograph_capture::{HeapPicture, HeapStats, PeakRow};
pub use value::AsAttribute;

/// What a recording is and what can be asked of it, for those who want more
/// than [`Recording`] offers.
pub use tachograph_profile as profile;

/// Runs the guide's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rust.md")]
mod guide {}
