//! CPU samples: who is looked at, when, and what each look stands for.

mod idle;
mod jitter;
mod look;
mod pages;
mod roster;
mod sampler;
mod second_looks;
mod trigger;
mod watched;
mod weights;

pub(crate) use jitter::Deadlines;
pub(crate) use sampler::{Plan, Sampler};
pub(crate) use trigger::{Chosen, PERF_BUDGET, choose, perf_cost};
pub(crate) use watched::{IdleLook, Watched};
pub(crate) use weights::{Window, spread, time_around};
