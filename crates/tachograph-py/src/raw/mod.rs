//! What PyO3 cannot express fast enough: the pool of span blocks, the object
//! around a timed function, and what is called for every watched line.
//!
//! The only place of this crate with `unsafe`. What is measured, and how, is
//! decided in [`crate::spans`], which is safe code.
#![allow(unsafe_code)]

mod guarded;
mod interpreter;
mod line_events;
mod line_hook;
mod line_trace;
mod pool;
mod signal_call;
mod span_block;
mod span_function;
mod texts;
mod timed_call;
mod timed_type;

pub(crate) use interpreter::{Sent, context_value, send, set_context_value, thread_knows};
pub(crate) use line_events::line_callbacks;
pub(crate) use line_hook::line_hook;
pub(crate) use line_trace::{set_line_trace, thread_trace};
pub(crate) use span_function::add as add_functions;
pub(crate) use timed_call::wrap;
