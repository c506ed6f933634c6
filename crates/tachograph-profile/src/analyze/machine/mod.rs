//! Questions about memory over time, energy and carbon.

mod carbon;
mod energy;
mod leak;
mod series;
mod slope;

pub use carbon::{
    INTENSITY_SOURCE, Intensity, JOULES_PER_KWH, WORLD, countries, grams, intensity_of,
};
pub use energy::{Energy, energy, live_growth, memory_growth, peak_memory};
pub use leak::{Growth, growth, growth_beyond};
pub(crate) use series::is_reading;
pub use series::{SeriesRow, series};
pub use slope::{Slope, robust_slope};
