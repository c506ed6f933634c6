//! One picture of live memory, and the questions asked of it.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use tachograph_profile::Profile;
use tachograph_profile::analyze::heap::{self, Explanation};
use tachograph_profile::export::{self, Format};

use super::built::{self, Columns, FrameIn, SampleColumns};
use super::rows::{self, DiffRow, LeakRow, PartRow, SiteRow, measure_named};
use crate::errors::{from_profile, guarded};

/// Live memory at one moment. Immutable.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Picture {
    profile: Arc<Profile>,
    peak: Option<Arc<Profile>>,
    explanation: Option<Explanation>,
}

impl Picture {
    /// A picture of `profile`, with what was live at the peak and what the
    /// resident size is made of.
    pub(crate) fn new(
        profile: Profile,
        peak: Option<Profile>,
        explanation: Option<Explanation>,
    ) -> Self {
        Self { profile: Arc::new(profile), peak: peak.map(Arc::new), explanation }
    }
}

#[pymethods]
impl Picture {
    /// Builds a picture from samples made in Python.
    #[staticmethod]
    fn from_samples(
        py: Python<'_>,
        frames: Vec<FrameIn>,
        stacks: Vec<Vec<u32>>,
        columns: SampleColumns,
        duration_ns: u64,
    ) -> PyResult<Self> {
        guarded(|| {
            let profile =
                py.detach(|| built::profile_of(&frames, &stacks, &columns, duration_ns))?;
            Ok(Self::new(profile, None, None))
        })
    }

    /// Distinct frames and stacks, and the blocks as columns.
    fn columns(&self, py: Python<'_>) -> PyResult<Columns> {
        guarded(|| Ok(py.detach(|| Columns::of(&self.profile))))
    }

    /// How many blocks were sampled, and how many bytes they stand for.
    fn totals(&self) -> (usize, u64) {
        let blocks = &self.profile.allocations;
        let bytes = blocks.iter().fold(0_u64, |sum, row| sum.saturating_add(row.weight_bytes));
        (blocks.len(), bytes)
    }

    /// What was live at the peak, one block a stack; `None` when it is not known.
    fn at_peak(&self) -> Option<Self> {
        let peak = self.peak.as_ref()?;
        Some(Self { profile: Arc::clone(peak), peak: None, explanation: None })
    }

    /// The sites that carry some of `measure`, heaviest first.
    fn sites(&self, py: Python<'_>, measure: &str) -> PyResult<Vec<SiteRow>> {
        let measure = measure_named(measure)?;
        guarded(|| {
            let found = py.detach(|| heap::sites(&self.profile, measure));
            Ok(found.into_iter().map(rows::site).collect())
        })
    }

    /// The sites whose live bytes keep growing.
    fn leaks(&self, py: Python<'_>) -> PyResult<Vec<LeakRow>> {
        guarded(|| {
            let found = py.detach(|| heap::leaks(&self.profile));
            Ok(found.into_iter().map(rows::leak).collect())
        })
    }

    /// What changed from `before` to this picture.
    fn since(&self, py: Python<'_>, before: &Self) -> PyResult<Vec<DiffRow>> {
        guarded(|| {
            let found = py.detach(|| heap::diff(&before.profile, &self.profile));
            Ok(found.into_iter().map(rows::difference).collect())
        })
    }

    /// What the resident size is made of, when it was asked.
    fn explanation(&self) -> Option<PartRow> {
        self.explanation.as_ref().map(rows::explanation)
    }

    /// The picture in another format.
    fn export<'py>(
        &self,
        py: Python<'py>,
        format: &str,
        measure: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let measure = measure_named(measure)?;
        let bytes = guarded(|| {
            py.detach(|| {
                let format = Format::from_name(format).map_err(from_profile)?;
                export::export_memory(&self.profile, format, measure).map_err(from_profile)
            })
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the picture to a file, in `format` or in the one its name says.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        measure: &str,
    ) -> PyResult<()> {
        let measure = measure_named(measure)?;
        guarded(|| {
            py.detach(|| {
                let format = format.map(Format::from_name).transpose().map_err(from_profile)?;
                export::save_memory(&self.profile, &path, format, measure).map_err(from_profile)
            })
        })
    }
}
