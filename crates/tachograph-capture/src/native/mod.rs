//! Native stacks: which objects are loaded, what their addresses are called,
//! and where native frames belong between Python frames.
//!
//! The walk itself runs in a signal handler and lives in `sys/native/unwind.rs`.

pub(crate) mod elf;
mod here;
mod merge;
mod objects;
mod role;
pub(crate) mod symbols;

pub use here::{NativeFrame, Walked, Walker, capture_here};
pub use merge::{Alignment, NativePlace, Place, merge};
pub use objects::{available, refresh, unavailable_reason};
pub use role::{Role, Roles};
pub use symbols::{NativeSymbol, Symbolizer};
