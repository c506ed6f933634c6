//! Aggregates of many values in little memory: what a live report and a
//! comparison are made of.

mod blocks;
mod histogram;
mod summary;

pub use blocks::{BLOCKS, Block, Blocks};
pub use histogram::Histogram;
pub use summary::{EXACT, Rule, Summary};
