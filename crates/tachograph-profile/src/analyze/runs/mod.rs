//! Questions asked of what a run measured under names: which phase holds it
//! up, and how it compares with another run.
//!
//! A [`RunReport`] is made of live meters, of a recording or of a saved file;
//! the answers do not know which.

mod bottleneck;
mod compare;
mod from_profile;
mod interval;
mod named;
mod report;

pub use bottleneck::{Bottlenecks, PhaseShare, Reason, bottlenecks};
pub use compare::{Change, Comparison, ENOUGH, Side, Verdict, compare};
pub use from_profile::run_report;
pub use named::Named;
pub use report::{Memory, RunReport, Throughput, Timing, Values};
