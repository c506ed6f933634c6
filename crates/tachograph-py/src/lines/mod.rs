//! Exact lines: which functions are watched, by which means, and what was
//! counted. The events themselves are in [`crate::raw`].

mod code;
mod costs;
mod listing;
mod monitoring;
mod own_code;
mod rewritten;
mod state;
mod tracing;
mod watch;
mod window;

pub(crate) use listing::{line_listing, line_means};
pub(crate) use own_code::{OwnLineWatch, met, met_in_trace};
pub(crate) use watch::LineWatch;
