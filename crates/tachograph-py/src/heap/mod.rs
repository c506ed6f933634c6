//! Pictures of memory for Python: who holds it now, who held it at the peak.

mod built;
mod door;
mod picture;
mod rows;

pub(crate) use door::HeapDoor;
pub(crate) use picture::Picture;
pub(crate) use rows::{LeakRow, PartRow, SiteRow, explanation, leak, measure_named, site};
