//! Exact hits and time of every line of chosen functions.
//!
//! The interpreter's side calls [`start`], [`line()`], [`resume`] and [`stop`] as
//! a watched function runs; here they are counted. Every thread writes to
//! ledgers of its own, one per code object, so threads neither wait for each
//! other nor share a clock. A window is the difference of two [`Code::counts`].
//!
//! A line's time is what passes until the next line of the same call begins,
//! what it calls included. A suspended coroutine or generator has no running
//! line, and in a recursion the outer call's line waits while the inner one
//! runs: the lines of a function add up to the time it was on the stack.

mod book;
mod costs;
pub mod inserted;
mod ledger;
mod own;

pub use book::{Code, Watch, may_be_watched, watch};
pub use costs::{Costs, set_costs};
pub use ledger::Count;
pub use own::{is_watched, line, resume, resume_at, start, stop};
