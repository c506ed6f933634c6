//! Where a given CPython keeps what the reader follows.
//!
//! Before 3.13 the tables are all there is. From 3.13 on an interpreter
//! describes itself, and what it says replaces the table's value; the table
//! fills in what it does not say.

mod debug_offsets;
mod fields;
mod table;
mod version;

pub use fields::Layout;
pub use version::{LayoutError, Version};
