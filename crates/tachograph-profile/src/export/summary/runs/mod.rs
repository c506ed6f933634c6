//! What a run measured under names, its bottleneck, and two runs beside each
//! other, as tables.

mod bottleneck;
mod comparison;
#[cfg(test)]
mod example;
mod run;
mod table;

pub use bottleneck::bottleneck_table;
pub use comparison::comparison_table;
pub use run::run_table;
