//! Named numbers and phases of one collector, and the answers made of them.
//!
//! Reports travel as JSON: what Python hands over may come from a collector, a
//! recording or a file, and the schema is written down once, in
//! `tachograph_profile::analyze`.

mod answers;
mod collector;
mod names;
mod nesting;
mod phase;

pub(crate) use answers::{
    bottleneck_table, comparison_table, find_bottlenecks, run_comparison, run_report_of, run_table,
    written,
};
pub(crate) use collector::Collector;
pub(crate) use phase::Phase;
