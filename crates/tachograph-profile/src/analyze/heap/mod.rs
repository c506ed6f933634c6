//! Questions about memory: who holds it, who held it at the peak, what leaks,
//! and what the resident size of a process is made of.

mod diff;
mod explain;
#[cfg(test)]
mod laws;
mod leaks;
mod live;
mod made;
mod recorded;
mod site;
mod sites;

pub use diff::{DiffRow, diff};
pub use explain::{Explanation, MemoryFacts, Part, SiteMemory, explain};
pub use leaks::{Confidence, LeakRow, leaks};
pub use live::live_over_time;
pub(super) use live::memory_inside;
pub use made::from_rows;
pub use recorded::{fact_values, recorded_explanation};
pub use site::Site;
pub use sites::{SiteRow, sites};
