//! A recording, decoded when it is first asked for something.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use tachograph_profile::analyze::{self, main_measure};
use tachograph_profile::export::{self, Format, Style};
use tachograph_profile::file;
use tachograph_profile::{Measure, Mode, Profile, Time};

use crate::columns::{Built, Columns, FrameIn, SampleColumns};
use crate::errors::{from_profile, guarded, unknown_word};
use crate::facts::{self, FactsRow};
use crate::heap::{self, LeakRow, PartRow, SiteRow};
use crate::monitor::{GrowthRow, growth_row};
use crate::rows::{
    self, FunctionRow, LineRow, MetricRow, NoteRow, SeriesRow, SpanRow, TaskRow, ThreadRow,
    TimelineRow,
};
use crate::text::{Text, texts};

/// What `pickle` wants: a function and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, String));

/// A finished recording. Immutable; every view of it is a new one.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Recording {
    name: String,
    encoded: OnceLock<Vec<u8>>,
    profile: OnceLock<Arc<Profile>>,
}

impl Recording {
    /// A recording that is read from `bytes` when it is first needed.
    pub(crate) fn from_encoded(bytes: Vec<u8>, name: &str) -> Self {
        Self { name: name.to_owned(), encoded: OnceLock::from(bytes), profile: OnceLock::new() }
    }

    fn from_profile(profile: Profile, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            encoded: OnceLock::new(),
            profile: OnceLock::from(Arc::new(profile)),
        }
    }

    /// The decoded recording. Two threads that ask at once may both decode;
    /// the first result stays.
    fn profile(&self) -> PyResult<Arc<Profile>> {
        if let Some(profile) = self.profile.get() {
            return Ok(Arc::clone(profile));
        }
        let bytes = self.encoded.get().map_or(&[][..], Vec::as_slice);
        let profile = file::read(bytes, &self.name).map_err(from_profile)?;
        Ok(Arc::clone(self.profile.get_or_init(|| Arc::new(profile))))
    }

    /// Runs `work` on the decoded recording without the interpreter lock.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Profile) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        guarded(|| py.detach(|| work(&*self.profile()?)))
    }
}

#[pymethods]
impl Recording {
    /// Reads a recording from a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        guarded(|| {
            let profile = py.detach(|| file::open(&path)).map_err(from_profile)?;
            Ok(Self::from_profile(profile, &path.display().to_string()))
        })
    }

    /// Takes the bytes of a recording file.
    #[staticmethod]
    fn from_bytes(data: &[u8], name: &str) -> Self {
        Self::from_encoded(data.to_vec(), name)
    }

    /// Builds a recording from samples made in Python.
    #[staticmethod]
    #[pyo3(signature = (
        *, frames, stacks, threads, tasks, columns, mode, interval_ns, started_unix_ns,
        duration_ns, dropped_samples, python_version, platform,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments, one per fact")]
    fn from_samples(
        py: Python<'_>,
        frames: Vec<FrameIn>,
        stacks: Vec<Vec<u32>>,
        threads: Vec<(u64, Option<Text>)>,
        tasks: Vec<Text>,
        columns: SampleColumns,
        mode: &str,
        interval_ns: u64,
        started_unix_ns: i64,
        duration_ns: u64,
        dropped_samples: u64,
        python_version: Text,
        platform: Text,
    ) -> PyResult<Self> {
        let built = Built {
            frames,
            stacks,
            threads,
            tasks: texts(tasks),
            columns,
            mode: crate::client::mode_named(mode)?,
            interval_ns,
            started_unix_ns,
            duration_ns,
            dropped_samples,
            python_version: python_version.0,
            platform: platform.0,
        };
        guarded(|| py.detach(|| Ok(Self::from_profile(built.into_profile()?, "the profile"))))
    }

    /// The recording as the bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if self.encoded.get().is_none() {
            let bytes = self.with(py, |profile| Ok(file::encode(profile)))?;
            let _ = self.encoded.set(bytes);
        }
        Ok(PyBytes::new(py, self.encoded.get().map_or(&[][..], Vec::as_slice)))
    }

    /// How many samples there are.
    #[getter]
    fn sample_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |profile| Ok(profile.samples.len()))
    }

    /// How long the recording is.
    #[getter]
    fn duration_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |profile| Ok(profile.meta.duration_ns))
    }

    /// The few facts that every profile shows.
    fn facts(&self, py: Python<'_>) -> PyResult<FactsRow> {
        self.with(py, |profile| Ok(facts::facts(profile)))
    }

    /// Which time the samples stand for: `cpu` or `wall`.
    #[getter]
    fn mode(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |profile| {
            Ok(match mode_of(profile) {
                Mode::Cpu => "cpu",
                Mode::Wall => "wall",
            })
        })
    }

    /// The facts around the recording, as JSON.
    fn meta(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |profile| facts::meta(&profile.meta))
    }

    /// What is missing, as JSON.
    fn loss(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |profile| facts::loss(&profile.loss))
    }

    /// What a reader should know: time, warning or not, sentence.
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<NoteRow>> {
        self.with(py, |profile| Ok(rows::notes(profile)))
    }

    /// Distinct frames, stacks, threads and tasks, and the samples as columns.
    fn columns(&self, py: Python<'_>) -> PyResult<Columns> {
        self.with(py, |profile| Ok(Columns::of(profile)))
    }

    /// Where `measure` went, by function.
    fn functions(&self, py: Python<'_>, measure: Option<&str>) -> PyResult<Vec<FunctionRow>> {
        let measure = measure_named(measure)?;
        self.with(py, |profile| {
            let found =
                analyze::functions(profile, measure.unwrap_or_else(|| main_measure(profile)));
            Ok(found.into_iter().map(rows::function).collect())
        })
    }

    /// Where `measure` went, by line.
    fn lines(&self, py: Python<'_>, measure: Option<&str>) -> PyResult<Vec<LineRow>> {
        let measure = measure_named(measure)?;
        self.with(py, |profile| {
            let found = analyze::lines(profile, measure.unwrap_or_else(|| main_measure(profile)));
            Ok(found.into_iter().map(rows::line).collect())
        })
    }

    /// What each thread was up to.
    fn threads(&self, py: Python<'_>) -> PyResult<Vec<ThreadRow>> {
        self.with(py, |profile| {
            let found = analyze::threads(profile);
            Ok(found.into_iter().map(rows::thread).collect())
        })
    }

    /// What each asyncio task took.
    fn tasks(&self, py: Python<'_>) -> PyResult<Vec<TaskRow>> {
        self.with(py, |profile| {
            let found = analyze::tasks(profile);
            Ok(found.into_iter().map(rows::task).collect())
        })
    }

    /// What the spans of each name amount to, each row before those inside it.
    fn spans(&self, py: Python<'_>) -> PyResult<Vec<SpanRow>> {
        self.with(py, |profile| Ok(analyze::spans(profile).into_iter().map(rows::span).collect()))
    }

    /// Every single span, in the order they began.
    fn timeline(&self, py: Python<'_>) -> PyResult<Vec<TimelineRow>> {
        self.with(py, |profile| Ok(rows::timeline(profile)))
    }

    /// What the values of each metric amount to.
    fn metrics(&self, py: Python<'_>) -> PyResult<Vec<MetricRow>> {
        self.with(py, |profile| {
            Ok(analyze::metrics(profile).into_iter().map(rows::metric).collect())
        })
    }

    /// Who allocated, held and freed memory, heaviest `measure` first.
    fn allocations(&self, py: Python<'_>, measure: &str) -> PyResult<Vec<SiteRow>> {
        let measure = heap::measure_named(measure)?;
        self.with(py, |profile| {
            let found = analyze::heap::sites(profile, measure);
            Ok(found.into_iter().map(heap::site).collect())
        })
    }

    /// The sites whose live bytes keep growing.
    fn leaks(&self, py: Python<'_>) -> PyResult<Vec<LeakRow>> {
        self.with(py, |profile| {
            Ok(analyze::heap::leaks(profile).into_iter().map(heap::leak).collect())
        })
    }

    /// When most sampled memory was live, and how much it was.
    fn memory_peak(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |profile| {
            let peak = profile.peak();
            Ok((peak.time.0, peak.bytes))
        })
    }

    /// How much sampled memory was live from each moment at which that changed.
    fn memory_timeline(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        self.with(py, |profile| Ok(analyze::heap::live_over_time(profile)))
    }

    /// What the resident size was made of at the end; `None` when that is not known.
    fn resident_memory(&self, py: Python<'_>) -> PyResult<Option<PartRow>> {
        self.with(py, |profile| {
            Ok(analyze::heap::recorded_explanation(profile).as_ref().map(heap::explanation))
        })
    }

    /// What each series of the machine, the process, threads and devices amounts to.
    fn series(&self, py: Python<'_>) -> PyResult<Vec<SeriesRow>> {
        self.with(py, |profile| {
            Ok(analyze::series(profile).into_iter().map(rows::series).collect())
        })
    }

    /// The points of a series: nanoseconds and values.
    fn points(&self, py: Python<'_>, series: u32) -> PyResult<Vec<(u64, f64)>> {
        self.with(py, |profile| {
            let points = profile.points.iter().filter(|point| point.series.0 == series);
            Ok(points.map(|point| (point.time.0, point.value)).collect())
        })
    }

    /// `(joules, device_joules, measured, source)`; `None` without readings.
    fn energy(&self, py: Python<'_>) -> PyResult<Option<(f64, f64, bool, String)>> {
        self.with(py, |profile| {
            let found = analyze::energy(profile);
            Ok(found.map(|it| (it.joules, it.device_joules, it.measured, it.source)))
        })
    }

    /// The most memory that was held, in bytes; `None` without readings.
    fn peak_memory(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |profile| Ok(analyze::peak_memory(profile)))
    }

    /// Whether memory grew without end: that which was held, or the live blocks.
    fn memory_growth(&self, py: Python<'_>, live: bool) -> PyResult<Option<GrowthRow>> {
        self.with(py, |profile| {
            let found =
                if live { analyze::live_growth(profile) } else { analyze::memory_growth(profile) };
            Ok(found.map(growth_row))
        })
    }

    /// One screen of text that answers where the time went.
    #[pyo3(signature = (*, color, width, unicode))]
    fn summary(
        &self,
        py: Python<'_>,
        color: bool,
        width: usize,
        unicode: bool,
    ) -> PyResult<String> {
        let style = Style { color, width, unicode };
        self.with(py, |profile| Ok(export::summary(profile, &style)))
    }

    /// The recording in another format.
    fn export<'py>(
        &self,
        py: Python<'py>,
        format: &str,
        measure: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let measure = measure_named(measure)?;
        let bytes = self.with(py, |profile| {
            let format = Format::from_name(format).map_err(from_profile)?;
            export::export(profile, format, measure).map_err(from_profile)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the recording to a file, in `format` or in the one its name says.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        measure: Option<&str>,
    ) -> PyResult<()> {
        let measure = measure_named(measure)?;
        self.with(py, |profile| {
            let format = format.map(Format::from_name).transpose();
            let format = format.map_err(from_profile)?;
            export::save(profile, &path, format, measure).map_err(from_profile)
        })
    }

    /// The part of the recording from `from_ns` up to `to_ns`.
    fn between(&self, py: Python<'_>, from_ns: u64, to_ns: u64) -> PyResult<Self> {
        self.with(py, |profile| {
            let part = profile.between(Time(from_ns), Time(to_ns));
            Ok(Self::from_profile(part, &self.name))
        })
    }

    /// The part inside the spans called `name`.
    fn within(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        self.with(py, |profile| {
            let part = profile.within(name).map_err(from_profile)?;
            Ok(Self::from_profile(part, &self.name))
        })
    }

    /// Pickles and copies as the bytes of its file.
    fn __reduce__<'py>(slf: &Bound<'py, Self>, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let rebuild = slf.getattr("from_bytes")?;
        let recording = slf.get();
        Ok((rebuild, (recording.to_bytes(py)?, recording.name.clone())))
    }
}

/// The measure called `name` in the API; `None` leaves the choice to the profile.
fn measure_named(name: Option<&str>) -> PyResult<Option<Measure>> {
    const KNOWN: &str =
        "\"cpu\", \"wall\", \"samples\", \"live\", \"peak\", \"allocated\" or \"blocks\"";
    Ok(match name {
        None => None,
        Some("cpu") => Some(Measure::CpuTime),
        Some("wall") => Some(Measure::WallTime),
        Some("samples") => Some(Measure::Samples),
        Some(memory @ ("live" | "peak" | "allocated" | "blocks")) => {
            Some(heap::measure_named(memory)?)
        }
        Some(other) => return Err(unknown_word("measure", other, KNOWN)),
    })
}

/// Which time the samples stand for.
pub(crate) fn mode_of(profile: &Profile) -> Mode {
    profile.meta.settings.cpu.as_ref().map_or(Mode::Cpu, |cpu| cpu.mode)
}

/// The name of the format that the ending of `path` stands for.
#[pyfunction]
pub(crate) fn format_of(path: PathBuf) -> Option<&'static str> {
    Format::from_path(&path).map(Format::name)
}
