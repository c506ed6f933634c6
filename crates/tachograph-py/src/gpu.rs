//! Accelerators: facts, readings, and moments on a device's own clock.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use tachograph_capture::gpu::{self, Mark, StreamSpan};
use tachograph_profile::analyze::{self, Stretch};
use tachograph_profile::export::{self, MemoryUse, Style};

use crate::errors::guarded;

/// The devices of this machine; the first call loads the drivers' libraries.
#[pyfunction]
pub(crate) fn gpu_devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let devices = guarded(|| Ok(py.detach(gpu::devices)))?;
    let rows = devices.into_iter().map(|device| {
        let row = PyDict::new(py);
        row.set_item("index", device.index)?;
        row.set_item("vendor", device.vendor.name())?;
        row.set_item("name", device.name)?;
        row.set_item("uuid", device.uuid)?;
        row.set_item("bus_id", device.bus_id)?;
        row.set_item("driver", device.driver)?;
        row.set_item("memory_total_bytes", device.memory_total_bytes)?;
        Ok(row)
    });
    rows.collect()
}

/// One reading of every device; what a device does not tell is `None`.
#[pyfunction]
pub(crate) fn gpu_readings(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let readings = guarded(|| Ok(py.detach(gpu::read)))?;
    let rows = readings.into_iter().map(|reading| {
        let row = PyDict::new(py);
        row.set_item("device", reading.device)?;
        row.set_item("memory_used_bytes", reading.memory_used_bytes)?;
        row.set_item("memory_total_bytes", reading.memory_total_bytes)?;
        row.set_item("process_memory_bytes", reading.process_memory_bytes)?;
        row.set_item("utilization", reading.utilization)?;
        row.set_item("memory_utilization", reading.memory_utilization)?;
        row.set_item("temperature_c", reading.temperature_c)?;
        row.set_item("power_w", reading.power_w)?;
        row.set_item("energy_j", reading.energy_j)?;
        Ok(row)
    });
    rows.collect()
}

/// Lets the shared sampler read devices too, from now on.
#[pyfunction]
pub(crate) fn gpu_watch() -> PyResult<()> {
    guarded(|| {
        gpu::watch();
        Ok(())
    })
}

/// How well each way to read devices works here: its name, whether it works, a sentence.
#[pyfunction]
pub(crate) fn gpu_status(py: Python<'_>) -> PyResult<Vec<(&'static str, bool, String)>> {
    let rows = guarded(|| Ok(py.detach(gpu::status)))?;
    Ok(rows.into_iter().map(|row| (row.source, row.works, row.text)).collect())
}

/// Whether the program has loaded the CUDA driver.
#[pyfunction]
pub(crate) fn gpu_is_loaded(py: Python<'_>) -> PyResult<bool> {
    guarded(|| Ok(gpu::is_known() || py.detach(gpu::is_loaded)))
}

/// Whether the program has a CUDA context whose work can be timed.
#[pyfunction]
pub(crate) fn gpu_has_context(py: Python<'_>) -> PyResult<bool> {
    guarded(|| Ok(py.detach(gpu::has_context)))
}

/// The CUDA number of this thread's device; `None` without a context.
#[pyfunction]
pub(crate) fn gpu_current_device(py: Python<'_>) -> PyResult<Option<i32>> {
    guarded(|| Ok(py.detach(gpu::current_device)))
}

/// The place of CUDA device `ordinal` among all devices.
#[pyfunction]
pub(crate) fn gpu_index_of(py: Python<'_>, ordinal: i32) -> PyResult<Option<u32>> {
    guarded(|| Ok(py.detach(|| gpu::device_of_cuda(ordinal))))
}

/// Waits for the device; false when there is nothing to wait for.
#[pyfunction]
#[pyo3(signature = (stream, device))]
pub(crate) fn gpu_synchronize(py: Python<'_>, stream: u64, device: Option<i32>) -> PyResult<bool> {
    guarded(|| Ok(py.detach(|| gpu::synchronize(stream, device).is_ok())))
}

/// A moment on a device: when a stream has done what it was told before.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct GpuMark {
    mark: Mark,
    stream: u64,
}

/// Marks the present moment on a stream; `None` where events cannot be had.
#[pyfunction]
#[pyo3(signature = (stream, device, *, anchored=None))]
pub(crate) fn gpu_mark(
    py: Python<'_>,
    stream: u64,
    device: Option<i32>,
    anchored: Option<bool>,
) -> PyResult<Option<GpuMark>> {
    guarded(|| {
        let mark = py.detach(|| {
            let anchored = anchored.unwrap_or_else(gpu::wants_stream_spans);
            gpu::mark(stream, device, anchored)
        });
        Ok(mark.ok().map(|mark| GpuMark { mark, stream }))
    })
}

#[pymethods]
impl GpuMark {
    /// Waits until the moment has come; false when it never will.
    fn wait(&self, py: Python<'_>) -> PyResult<bool> {
        guarded(|| Ok(py.detach(|| self.mark.wait().is_ok())))
    }

    /// Whether the moment has come.
    #[getter]
    fn happened(&self, py: Python<'_>) -> PyResult<bool> {
        guarded(|| Ok(py.detach(|| self.mark.happened())))
    }

    /// Milliseconds from here to a later mark; both must have happened.
    fn elapsed_ms(&self, py: Python<'_>, later: &Bound<'_, Self>) -> PyResult<Option<f64>> {
        let later = later.get();
        guarded(|| Ok(py.detach(|| self.mark.elapsed_ms(&later.mark).ok())))
    }

    /// When it happened, in nanoseconds on the clock of recordings.
    #[getter]
    fn time_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        guarded(|| Ok(py.detach(|| self.mark.time_ns())))
    }

    /// The CUDA number of its device.
    #[getter]
    fn device(&self) -> i32 {
        self.mark.device()
    }

    /// The stream's handle.
    #[getter]
    fn stream(&self) -> u64 {
        self.stream
    }

    /// Puts the stretch from here to a later mark into every open recording.
    fn record_until(&self, py: Python<'_>, later: &Bound<'_, Self>, name: &str) -> PyResult<bool> {
        let later = later.get();
        guarded(|| {
            Ok(py.detach(|| {
                let times = self.mark.time_ns().zip(later.mark.time_ns());
                let Some((start_ns, end_ns)) = times else { return false };
                let (device, stream) = (self.mark.device(), self.stream);
                let name = name.to_owned();
                gpu::stream_span(StreamSpan { name, device, stream, start_ns, end_ns });
                true
            }))
        })
    }
}

fn stretches(rows: Vec<(u32, u64, u64)>) -> Vec<Stretch> {
    let rows = rows.into_iter();
    rows.map(|(stream, start_ns, end_ns)| Stretch { stream, start_ns, end_ns }).collect()
}

/// Busy shares, overlap and gaps of streams within a window, as JSON.
#[pyfunction]
pub(crate) fn stream_efficiency(
    py: Python<'_>,
    work: Vec<(u32, u64, u64)>,
    streams: u32,
    window: (u64, u64),
) -> PyResult<String> {
    guarded(|| {
        let found = py.detach(|| analyze::streams(&stretches(work), streams, window.0, window.1));
        crate::metrics::written(serde_json::to_string(&found))
    })
}

/// The same as a table with a picture.
#[pyfunction]
#[pyo3(signature = (work, names, window, clock, doubts, *, color, width, unicode))]
#[expect(clippy::too_many_arguments, reason = "three of them are how the terminal wants it")]
pub(crate) fn stream_table(
    py: Python<'_>,
    work: Vec<(u32, u64, u64)>,
    names: Vec<String>,
    window: (u64, u64),
    clock: &str,
    doubts: Vec<String>,
    color: bool,
    width: usize,
    unicode: bool,
) -> PyResult<String> {
    guarded(|| {
        Ok(py.detach(|| {
            let streams = u32::try_from(names.len()).unwrap_or(u32::MAX);
            let found = analyze::streams(&stretches(work), streams, window.0, window.1);
            let style = Style { color, width, unicode };
            export::stream_table(&found, &names, clock, &doubts, &style)
        }))
    })
}

/// What a tracker of memory found out, as a table with its course.
#[pyfunction]
#[pyo3(signature = (heading, figures, course, blocks, places, doubts, *, color, width, unicode))]
#[expect(clippy::too_many_arguments, reason = "three of them are how the terminal wants it")]
pub(crate) fn memory_table(
    py: Python<'_>,
    heading: String,
    figures: Vec<(String, u64)>,
    course: Vec<(f64, u64)>,
    blocks: Vec<(String, i64, u64)>,
    places: Vec<(String, u64)>,
    doubts: Vec<String>,
    color: bool,
    width: usize,
    unicode: bool,
) -> PyResult<String> {
    let used = MemoryUse { heading, figures, course, blocks, places, doubts };
    let style = Style { color, width, unicode };
    guarded(|| Ok(py.detach(|| export::memory_table(&used, &style))))
}
