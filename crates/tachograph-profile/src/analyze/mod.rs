//! Questions asked of a profile. Every answer is a pure function of it.
//!
//! Answers are rows of plain data, sorted so that the same profile gives the
//! same table every time. Turning them into text is the business of `export`.

mod aggregate;
mod function_table;
mod functions;
mod gil;
pub mod heap;
mod lines;
mod machine;
mod measure;
mod metrics;
mod origin;
mod runs;
mod span_names;
mod span_samples;
mod spans;
mod streams;
mod tasks;
mod threads;
mod tree;

pub use aggregate::{StackRow, stacks};
pub use functions::{FunctionRow, functions};
pub use gil::{GilHolder, gil_holder};
pub use lines::{LineRow, lines};
pub(crate) use machine::is_reading;
pub use machine::{
    Energy, Growth, INTENSITY_SOURCE, Intensity, JOULES_PER_KWH, SeriesRow, Slope, WORLD,
    countries, energy, grams, growth, growth_beyond, intensity_of, live_growth, memory_growth,
    peak_memory, robust_slope, series,
};
pub use measure::main_measure;
pub use metrics::{MetricRow, metrics};
pub use origin::{Origin, frame_name, place_name};
pub use runs::{
    Bottlenecks, Change, Comparison, ENOUGH, Memory, Named, PhaseShare, Reason, RunReport, Side,
    Throughput, Timing, Values, Verdict, bottlenecks, compare, run_report,
};
pub use spans::{SpanRow, spans};
pub use streams::{StreamUse, StreamsUse, Stretch, streams};
pub use tasks::{TaskRow, tasks};
pub(crate) use threads::track_name;
pub use threads::{ThreadRow, WaitingAt, threads};
pub use tree::{FlameBox, Tree, TreeNode, flame_boxes, tree};
