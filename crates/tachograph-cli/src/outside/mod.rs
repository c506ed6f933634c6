//! What the verbs that look at a running process have in common: their words,
//! Ctrl-C, the progress line.

mod interrupt;
mod progress;
mod words;

pub(crate) use interrupt::Interrupt;
pub(crate) use progress::ProgressLine;
pub(crate) use words::{mode, pid, rate_hz, seconds};
