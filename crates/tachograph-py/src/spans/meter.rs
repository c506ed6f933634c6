//! Meters and what they know, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use tachograph_capture::spans::{self, Name};
use tachograph_profile::stats::{self, Rule};

use crate::errors::unknown_word;
use crate::text::Text;

/// A live aggregate that many threads may add to.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Meter {
    pub(super) live: spans::Meter,
    /// The metric it is in a recording.
    name: Option<Name>,
}

#[pymethods]
impl Meter {
    #[new]
    #[pyo3(signature = (name = None, /))]
    fn new(name: Option<Text>) -> Self {
        Self { live: spans::Meter::new(), name: name.map(|name| Name::of(&name.0)) }
    }

    /// Adds a value; an open recording hears of it if the meter has a name.
    #[pyo3(signature = (value, /))]
    fn add(&self, value: f64) {
        self.live.add(value);
        if let Some(name) = self.name
            && spans::is_recording()
        {
            spans::point(name, value);
        }
    }

    /// What came so far.
    fn summary(&self) -> Summary {
        Summary(self.live.summary())
    }

    /// Forgets all values.
    fn clear(&self) {
        self.live.clear();
    }
}

/// What a meter knew at one moment.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Summary(pub(super) stats::Summary);

#[pymethods]
impl Summary {
    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    #[getter]
    fn total(&self) -> f64 {
        self.0.sum()
    }

    #[getter]
    fn mean(&self) -> f64 {
        self.0.mean()
    }

    #[getter]
    fn std(&self) -> f64 {
        self.0.std()
    }

    #[getter]
    fn min(&self) -> f64 {
        self.0.min()
    }

    #[getter]
    fn max(&self) -> f64 {
        self.0.max()
    }

    #[getter]
    fn last(&self) -> f64 {
        self.0.last()
    }

    /// The value below which the share `q` of all values lies.
    #[pyo3(signature = (q, rule = "linear"))]
    fn percentile(&self, q: f64, rule: &str) -> PyResult<f64> {
        let rule = match rule {
            "linear" => Rule::Linear,
            "lower" => Rule::LowerRank,
            _ => return Err(unknown_word("rule", rule, "'linear' or 'lower'")),
        };
        if !(0.0..=1.0).contains(&q) {
            return Err(PyValueError::new_err(format!("q must be between 0 and 1, not {q}")));
        }
        Ok(self.0.quantile(q, rule))
    }

    /// The course of the values: `(time_ns, count, mean)` of consecutive ones.
    fn blocks(&self) -> Vec<(u64, u64, f64)> {
        let blocks = self.0.blocks().iter();
        blocks.map(|block| (block.time_ns, block.count, block.sum / block.count as f64)).collect()
    }

    /// The summary of all values of both.
    fn merged(&self, other: &Self) -> Self {
        let mut whole = self.0.clone();
        whole.merge(&other.0);
        Self(whole)
    }

    fn __repr__(&self) -> String {
        let Self(told) = self;
        format!("Summary(count={}, mean={}, max={})", told.count(), told.mean(), told.max())
    }
}
