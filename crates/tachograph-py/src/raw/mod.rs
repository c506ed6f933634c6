//! What PyO3 cannot express fast enough: the pool of span blocks and the
//! object around a timed function.
//!
//! The only place of this crate with `unsafe`. What is measured, and how, is
//! decided in [`crate::spans`], which is safe code.
#![allow(unsafe_code)]

mod guarded;
mod interpreter;
mod pool;
mod signal_call;
mod span_block;
mod span_function;
mod texts;
mod timed_call;
mod timed_type;

pub(crate) use interpreter::{Sent, context_value, send, set_context_value, thread_knows};
pub(crate) use span_function::add as add_functions;
pub(crate) use timed_call::wrap;
