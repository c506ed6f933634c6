//! What a caller is told of a measured stretch of time once it is over.

use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::prelude::*;

/// How a measured stretch of time ended.
#[pyclass(frozen, get_all, module = "tachograph._native")]
pub(crate) struct Ended {
    /// What it is called.
    pub(super) name: &'static str,
    /// How long it took, on the clock that was chosen.
    pub(super) duration_ns: u64,
    /// Time that passed.
    pub(super) wall_ns: u64,
    /// Time in which it ran: all of it, unless it was suspended.
    pub(super) running_ns: u64,
    /// Time in which a coroutine or generator waited to go on.
    pub(super) suspended_ns: u64,
    /// It ended with an exception.
    pub(super) failed: bool,
    /// The exception.
    pub(super) error: Option<Py<PyAny>>,
    /// When it began, in nanoseconds since 1970.
    pub(super) started_unix_ns: u64,
}

#[pymethods]
impl Ended {
    fn __repr__(&self) -> String {
        let Self { name, duration_ns, failed, .. } = self;
        let failed = if *failed { "True" } else { "False" };
        format!("Ended(name={name:?}, duration_ns={duration_ns}, failed={failed})")
    }
}

/// Nanoseconds since 1970, `ago_ns` ago.
pub(super) fn unix_ns(ago_ns: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).saturating_sub(ago_ns)
}
