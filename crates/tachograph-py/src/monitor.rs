//! Windows on the process and the machine, for monitors.

use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use tachograph_capture::monitor::{self, Range, Scope, Watch, Window};
use tachograph_profile::analyze;
use tachograph_profile::{SeriesKind, Unit};

use crate::errors::guarded;

/// `(read, written, read_from_disk, written_to_disk)`, in bytes.
type IoRow = (u64, u64, u64, u64);

/// `(scope, device, name, unit, is_total, count, min, max, mean, last, growth, covered_s, age_s)`.
type SeriesRow =
    ((&'static str, i64, String, &'static str, bool), u64, (f64, f64, f64, f64, f64), (f64, f64));

/// An open stretch of time that a monitor watches.
///
/// Never gives the interpreter lock away: a call takes microseconds, getting
/// the lock back could take longer.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct MonitorWindow {
    open: Mutex<Option<Window>>,
    closed: OnceLock<Py<Measured>>,
}

#[pymethods]
impl MonitorWindow {
    #[new]
    #[pyo3(signature = (*, peak = true, io = false, series_interval = None, memory_points = false))]
    fn new(
        peak: bool,
        io: bool,
        series_interval: Option<f64>,
        memory_points: bool,
    ) -> PyResult<Self> {
        let series_interval_ns = series_interval.map(nanoseconds).transpose()?;
        guarded(|| {
            let watch = Watch { peak, io, series_interval_ns, memory_points };
            let open = Mutex::new(Some(Window::open(watch)));
            Ok(Self { open, closed: OnceLock::new() })
        })
    }

    /// What it found out so far; it stays open.
    fn read(&self, py: Python<'_>) -> PyResult<Py<Measured>> {
        guarded(|| {
            if let Some(measured) = self.closed.get() {
                return Ok(measured.clone_ref(py));
            }
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let found = open.as_ref().map(Window::read);
            drop(open);
            Py::new(py, Measured { found: found.unwrap_or_default() })
        })
    }

    /// Closes it and says what it found out; again and again the same.
    fn close(&self, py: Python<'_>) -> PyResult<Py<Measured>> {
        guarded(|| {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(window) = open {
                let measured = Py::new(py, Measured { found: window.close() })?;
                let _ = self.closed.set(measured);
            }
            match self.closed.get() {
                Some(measured) => Ok(measured.clone_ref(py)),
                None => Py::new(py, Measured { found: monitor::Measured::default() }),
            }
        })
    }
}

/// What a window found out. Immutable.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Measured {
    found: monitor::Measured,
}

#[pymethods]
impl Measured {
    /// When it began, on the monotonic clock.
    #[getter]
    fn start_ns(&self) -> u64 {
        self.found.start_ns
    }

    /// When it ended.
    #[getter]
    fn end_ns(&self) -> u64 {
        self.found.end_ns
    }

    /// How long it was.
    #[getter]
    fn wall_s(&self) -> f64 {
        seconds(self.found.wall_ns())
    }

    /// CPU time of all threads in it.
    #[getter]
    fn cpu_s(&self) -> f64 {
        seconds(self.found.cpu_ns)
    }

    /// The part of it in the program.
    #[getter]
    fn user_s(&self) -> f64 {
        seconds(self.found.user_ns)
    }

    /// The part of it in the kernel.
    #[getter]
    fn system_s(&self) -> f64 {
        seconds(self.found.system_ns)
    }

    /// CPU time per elapsed time; 100 is one core.
    #[getter]
    fn cpu_percent(&self) -> f64 {
        self.found.cores() * 100.0
    }

    /// Memory held at its beginning, in bytes.
    #[getter]
    fn rss_start(&self) -> u64 {
        self.found.resident_start
    }

    /// Memory held at its end, in bytes.
    #[getter]
    fn rss_end(&self) -> u64 {
        self.found.resident_end
    }

    /// Address space used at its two ends, in bytes.
    #[getter]
    fn virtual_bytes(&self) -> (u64, u64) {
        (self.found.virtual_start, self.found.virtual_end)
    }

    /// The most memory held in it, in bytes.
    #[getter]
    fn rss_peak(&self) -> u64 {
        self.found.resident_peak
    }

    /// CPU time of all threads before it.
    #[getter]
    fn cpu_before_s(&self) -> f64 {
        seconds(self.found.cpu_before_ns)
    }

    /// Bytes read from disk and written to disk before it.
    #[getter]
    fn disk_before(&self) -> (u64, u64) {
        (self.found.io_before.disk_read_bytes, self.found.io_before.disk_written_bytes)
    }

    /// Whether the kernel's mark was followed, so that no peak was too short.
    #[getter]
    fn peak_is_exact(&self) -> bool {
        self.found.peak_is_exact
    }

    /// Bytes read and written, and the part of them that disks saw.
    #[getter]
    fn io(&self) -> Option<IoRow> {
        self.found
            .io
            .map(|io| (io.read_bytes, io.written_bytes, io.disk_read_bytes, io.disk_written_bytes))
    }

    /// Page faults: those served from memory, and those that read a disk.
    #[getter]
    fn faults(&self) -> (u64, u64) {
        (self.found.minor_faults, self.found.major_faults)
    }

    /// Context switches: because the process waited, and because its turn was over.
    #[getter]
    fn switches(&self) -> (u64, u64) {
        (self.found.voluntary_switches, self.found.involuntary_switches)
    }

    /// Which share of the machine's processors was in use, in percent.
    #[getter]
    fn machine_cpu_percent(&self) -> Option<f64> {
        self.found.machine_cpu.map(|share| share * 100.0)
    }

    /// The most of it between two readings.
    #[getter]
    fn machine_cpu_peak_percent(&self) -> Option<f64> {
        self.found.machine_cpu_peak.map(|share| share * 100.0)
    }

    /// Which share of the machine's memory was in use on average, in percent.
    #[getter]
    fn machine_memory_percent(&self) -> Option<f64> {
        let share = self.found.series(&Scope::Machine, "memory share");
        share.map(|share| share.mean * 100.0)
    }

    /// Which share of the time the busiest disk was busy, in percent.
    #[getter]
    fn disk_busy_percent(&self) -> Option<f64> {
        self.found.busiest_disk.map(|share| share * 100.0)
    }

    /// Bytes received and sent by the machine.
    #[getter]
    fn network_bytes(&self) -> Option<(u64, u64)> {
        let grown = |name| self.found.series(&Scope::Machine, name).map(|range| range.growth);
        Some((grown("received")?.max(0.0) as u64, grown("sent")?.max(0.0) as u64))
    }

    /// How old the latest reading of the machine was at the end.
    #[getter]
    fn machine_age_s(&self) -> Option<f64> {
        let range = self.found.series(&Scope::Machine, "memory share");
        range.map(|range| seconds(range.age_ns))
    }

    /// Joules this process used, and whether they were measured.
    #[getter]
    fn energy(&self) -> Option<(f64, bool)> {
        self.found.energy
    }

    /// Memory of the process: seconds since the beginning, and bytes.
    fn memory_points(&self) -> Vec<(f64, f64)> {
        let start = self.found.start_ns;
        let points = self.found.memory_points.iter();
        points.map(|(time, bytes)| (seconds(time.saturating_sub(start)), *bytes)).collect()
    }

    /// All shared series in the window.
    fn series(&self) -> Vec<SeriesRow> {
        self.found.series.iter().map(|(key, range)| row(key, range)).collect()
    }

    /// The series called `name` in the window, of the device with that number.
    #[pyo3(signature = (scope, name, device = 0))]
    fn range(&self, scope: &str, name: &str, device: u32) -> Option<SeriesRow> {
        let scope = scope_named(scope, device)?;
        let mut rows = self.found.series.iter();
        let found = rows.find(|(key, _)| key.scope.is_same(&scope) && *key.name == *name);
        found.map(|(key, range)| row(key, range))
    }

    /// The points of a shared series in the window, as long as they are kept:
    /// seconds since its beginning, and values.
    #[pyo3(signature = (scope, name, device = 0))]
    fn points(&self, scope: &str, name: &str, device: u32) -> Vec<(f64, f64)> {
        let Some(scope) = scope_named(scope, device) else { return Vec::new() };
        let (start, end) = (self.found.start_ns, self.found.end_ns);
        let points = monitor::points_between(&scope, name, start, end);
        let since = |time: u64| seconds(time.saturating_sub(start));
        points.into_iter().map(|(time, value)| (since(time), value)).collect()
    }
}

fn scope_named(name: &str, device: u32) -> Option<Scope> {
    Some(match name {
        "process" => Scope::Process,
        "machine" => Scope::Machine,
        "device" => Scope::Device { index: device, name: "".into() },
        _ => return None,
    })
}

fn row(key: &monitor::Key, range: &Range) -> SeriesRow {
    let (scope, device) = match &key.scope {
        Scope::Process => ("process", -1),
        Scope::Machine => ("machine", -1),
        Scope::Device { index, .. } => ("device", i64::from(*index)),
    };
    let is_total = key.kind == SeriesKind::Total;
    let values = (range.min, range.max, range.mean, range.last, range.growth);
    let times = (seconds(range.covered_ns), seconds(range.age_ns));
    (
        (scope, device, key.name.to_string(), unit_name(key.unit), is_total),
        range.count,
        values,
        times,
    )
}

/// What a unit is called in the API.
pub(crate) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "count",
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "nanoseconds",
        Unit::Ratio => "ratio",
        Unit::Joules => "joules",
        Unit::Watts => "watts",
        Unit::Celsius => "celsius",
        Unit::Hertz => "hertz",
    }
}

/// The process now; all values are totals or bytes.
#[pyfunction]
pub(crate) fn process_figures(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (process, _) = guarded(|| Ok(monitor::read()))?;
    let figures = PyDict::new(py);
    figures.set_item("cpu_s", seconds(process.cpu_ns))?;
    figures.set_item("user_s", seconds(process.user_ns))?;
    figures.set_item("system_s", seconds(process.system_ns))?;
    figures.set_item("rss_bytes", process.resident_bytes)?;
    figures.set_item("virtual_bytes", process.virtual_bytes)?;
    figures.set_item("shared_bytes", process.shared_bytes)?;
    figures.set_item("threads", process.threads)?;
    figures.set_item("read_bytes", process.read_bytes)?;
    figures.set_item("written_bytes", process.written_bytes)?;
    figures.set_item("disk_read_bytes", process.disk_read_bytes)?;
    figures.set_item("disk_written_bytes", process.disk_written_bytes)?;
    figures.set_item("voluntary_switches", process.voluntary_switches)?;
    figures.set_item("involuntary_switches", process.involuntary_switches)?;
    Ok(figures)
}

/// The machine now; times are totals of all processors since it was started.
#[pyfunction]
pub(crate) fn machine_figures(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (_, machine) = guarded(|| Ok(monitor::read()))?;
    let figures = PyDict::new(py);
    figures.set_item("busy_s", seconds(machine.busy_ns))?;
    figures.set_item("cpu_s", seconds(machine.cpu_ns))?;
    figures.set_item("io_wait_s", seconds(machine.io_wait_ns))?;
    figures.set_item("memory_bytes", machine.memory_bytes)?;
    figures.set_item("available_bytes", machine.available_bytes)?;
    figures.set_item("memory_percent", machine.memory_share() * 100.0)?;
    figures.set_item("swap_bytes", machine.swap_bytes)?;
    figures.set_item("swap_used_bytes", machine.swap_used_bytes)?;
    figures.set_item("received_bytes", machine.received_bytes)?;
    figures.set_item("sent_bytes", machine.sent_bytes)?;
    let disks = PyDict::new(py);
    for disk in &machine.disks {
        disks
            .set_item(&*disk.name, (disk.read_bytes, disk.written_bytes, seconds(disk.busy_ns)))?;
    }
    figures.set_item("disks", disks)?;
    Ok(figures)
}

/// Where figures of energy come from: measured or not, and half a sentence.
#[pyfunction]
pub(crate) fn energy_source() -> PyResult<(bool, String)> {
    guarded(|| {
        let source = monitor::energy_source();
        Ok((source.measured, source.text))
    })
}

/// `(grams_per_kwh, year, source)` of a country's grid, or of the world.
#[pyfunction]
#[pyo3(signature = (country = None))]
pub(crate) fn carbon_intensity(country: Option<&str>) -> Option<(f64, u16, &'static str)> {
    let found = match country {
        Some(country) => analyze::intensity_of(country)?,
        None => analyze::WORLD,
    };
    Some((found.grams_per_kwh, found.year, analyze::INTENSITY_SOURCE))
}

/// The countries whose grid is known, by two letters.
#[pyfunction]
pub(crate) fn carbon_countries() -> Vec<&'static str> {
    analyze::countries()
}

/// `(leaking, (bytes_per_s, lower_bytes_per_s, grown_bytes, threshold_bytes, seconds), points, reason)`.
pub(crate) type GrowthRow = (bool, (f64, f64, f64, f64, f64), usize, String);

/// Whether memory grows without end, from seconds and bytes in order of time.
#[pyfunction]
#[pyo3(signature = (points, least_bytes = None))]
pub(crate) fn memory_growth(
    py: Python<'_>,
    points: Vec<(f64, f64)>,
    least_bytes: Option<f64>,
) -> PyResult<GrowthRow> {
    guarded(|| {
        let found = py.detach(|| match least_bytes {
            Some(least) => analyze::growth_beyond(&points, least),
            None => analyze::growth(&points),
        });
        Ok(growth_row(found))
    })
}

/// One verdict on memory.
pub(crate) fn growth_row(found: analyze::Growth) -> GrowthRow {
    let figures = (
        found.bytes_per_second,
        found.lower_bytes_per_second,
        found.grown_bytes,
        found.threshold_bytes,
        found.seconds,
    );
    (found.leaking, figures, found.points, found.reason)
}

/// What the processor is called.
#[pyfunction]
pub(crate) fn processor_name() -> PyResult<String> {
    guarded(|| Ok(monitor::processor_name()))
}

/// One full reading of process and machine, dropped: what the sampler does at a tick.
#[pyfunction]
pub(crate) fn read_everything(py: Python<'_>) -> PyResult<(u64, u64)> {
    guarded(|| {
        let (process, machine) = py.detach(monitor::read);
        Ok((process.resident_bytes, machine.busy_ns))
    })
}

/// Physical memory this process holds now, in bytes.
#[pyfunction]
pub(crate) fn resident_bytes() -> PyResult<u64> {
    guarded(|| Ok(monitor::resident_bytes()))
}

/// Descriptors this process has open.
#[pyfunction]
pub(crate) fn open_descriptors(py: Python<'_>) -> PyResult<u64> {
    guarded(|| Ok(py.detach(monitor::open_descriptors)))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn nanoseconds(seconds: f64) -> PyResult<u64> {
    if !(seconds > 0.0 && seconds < 1e6) {
        let text =
            format!("an interval must be more than 0 and less than 1,000,000 s, not {seconds}");
        return Err(PyValueError::new_err(text));
    }
    Ok((seconds * 1e9) as u64)
}
