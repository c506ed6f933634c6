//! Samples as columns, both ways: a hundred thousand Python objects are made
//! from a handful of lists, and a profile made in Python becomes a recording.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use tachograph_profile::{
    CpuReport, CpuSettings, Frame, FrameKind, Interner, Loss, Machine, Meta, Mode, Profile,
    PythonInfo, Sample, Settings, StackId, ThreadState, Time, TrackId, TrackKind,
};

use crate::recording::mode_of;
use crate::text::Text;

/// `(function, file, line, is_native)`.
pub(crate) type FrameRow = (String, String, i64, bool);

/// The same, as Python hands it over.
pub(crate) type FrameIn = (Text, Text, i64, bool);

/// One row per sample: `(times, threads, tasks, stacks, weights)`; a task is
/// −1 when there is none, the others are positions in their lists.
pub(crate) type SampleColumns = (Vec<u64>, Vec<u32>, Vec<i64>, Vec<u32>, Vec<u64>);

/// Everything that Python needs to make its objects, each distinct thing once.
#[derive(IntoPyObject)]
pub(crate) struct Columns {
    frames: Vec<FrameRow>,
    /// Frames of each stack, outermost first, as positions in `frames`.
    stacks: Vec<Vec<u32>>,
    threads: Vec<(u64, Option<String>)>,
    tasks: Vec<String>,
    columns: SampleColumns,
}

impl Columns {
    /// The samples of `profile`; stacks that no sample has are left out.
    pub(crate) fn of(profile: &Profile) -> Self {
        let mut stacks = Positions::default();
        let mut threads = Positions::default();
        let mut tasks = Positions::default();
        let wall = mode_of(profile) == Mode::Wall;
        let mut columns: SampleColumns = Default::default();
        for sample in &profile.samples {
            columns.0.push(sample.time.0);
            columns.1.push(threads.of(sample.track));
            let task = sample.task.map(|task| i64::from(tasks.of(task)));
            columns.2.push(task.unwrap_or(-1));
            columns.3.push(stacks.of(sample.stack));
            let weight = if wall { sample.wall_ns } else { sample.cpu_ns };
            columns.4.push(weight);
        }
        Self {
            frames: profile.tables.frames.iter().map(|frame| frame_row(profile, frame)).collect(),
            stacks: stacks.found.iter().map(|stack| frame_positions(profile, *stack)).collect(),
            threads: threads.found.iter().map(|track| thread_row(profile, *track)).collect(),
            tasks: tasks
                .found
                .iter()
                .map(|track| thread_row(profile, *track).1.unwrap_or_default())
                .collect(),
            columns,
        }
    }
}

/// Numbers distinct ids in the order they are met.
struct Positions<Id> {
    positions: HashMap<Id, u32>,
    found: Vec<Id>,
}

impl<Id> Default for Positions<Id> {
    fn default() -> Self {
        Self { positions: HashMap::new(), found: Vec::new() }
    }
}

impl<Id: Copy + Eq + std::hash::Hash> Positions<Id> {
    fn of(&mut self, id: Id) -> u32 {
        *self.positions.entry(id).or_insert_with(|| {
            self.found.push(id);
            u32::try_from(self.found.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

fn frame_row(profile: &Profile, frame: &Frame) -> FrameRow {
    let native = matches!(frame.kind, FrameKind::Native | FrameKind::Kernel);
    (
        profile.text(frame.function).to_owned(),
        profile.text(frame.file).to_owned(),
        i64::from(frame.line),
        native,
    )
}

fn frame_positions(profile: &Profile, stack: StackId) -> Vec<u32> {
    let mut positions = Vec::new();
    let mut next = profile.tables.stacks.get(stack.index());
    while let Some(node) = next {
        positions.push(node.frame.0);
        // A caller's id is smaller than its callee's: `check` ran on reading.
        next = node.caller.and_then(|caller| profile.tables.stacks.get(caller.index()));
    }
    positions.reverse();
    positions
}

fn thread_row(profile: &Profile, track: TrackId) -> (u64, Option<String>) {
    let Some(track) = profile.tables.tracks.get(track.index()) else {
        return (0, None);
    };
    let name = profile.text(track.name);
    (track.os_id, (!name.is_empty()).then(|| name.to_owned()))
}

/// A profile as Python hands it over.
pub(crate) struct Built {
    pub(crate) frames: Vec<FrameIn>,
    pub(crate) stacks: Vec<Vec<u32>>,
    pub(crate) threads: Vec<(u64, Option<Text>)>,
    pub(crate) tasks: Vec<String>,
    pub(crate) columns: SampleColumns,
    pub(crate) mode: Mode,
    pub(crate) interval_ns: u64,
    pub(crate) started_unix_ns: i64,
    pub(crate) duration_ns: u64,
    pub(crate) dropped_samples: u64,
    pub(crate) python_version: String,
    pub(crate) platform: String,
}

impl Built {
    /// The recording these samples would have come from. Samples without a
    /// frame have no stack and are left out.
    pub(crate) fn into_profile(self) -> PyResult<Profile> {
        let mut tables = Interner::default();
        let process = tables.track(TrackKind::Process, None, 0, "", Time(0));
        let stacks = self.intern_stacks(&mut tables)?;
        let threads = self.intern_threads(&mut tables, process);
        let tasks = self.intern_tasks(&mut tables, process);
        let samples = self.samples(&stacks, &threads, &tasks)?;
        let last = samples.last().map_or(0, |sample| sample.time.0);
        Ok(Profile {
            meta: self.meta(&samples, last),
            loss: Loss { dropped_samples: self.dropped_samples, ..Loss::default() },
            tables: tables.into_tables(),
            samples,
            ..Profile::default()
        })
    }

    fn intern_stacks(&self, tables: &mut Interner) -> PyResult<Vec<Option<StackId>>> {
        let frames: Vec<_> = self
            .frames
            .iter()
            .map(|(function, file, line, native)| {
                let line = u32::try_from(*line).unwrap_or(0);
                let (function, file) = (tables.string(&function.0), tables.string(&file.0));
                tables.frame(Frame {
                    function,
                    file,
                    line,
                    first_line: 0,
                    kind: frame_kind(*native),
                    mapping: None,
                    address: 0,
                })
            })
            .collect();
        let mut stacks = Vec::with_capacity(self.stacks.len());
        for positions in &self.stacks {
            let mut stack = None;
            for position in positions {
                stack = Some(tables.stack(stack, *at(&frames, *position, "frame")?));
            }
            stacks.push(stack);
        }
        Ok(stacks)
    }

    fn intern_threads(&self, tables: &mut Interner, process: TrackId) -> Vec<TrackId> {
        self.threads
            .iter()
            .map(|(os_id, name)| {
                let name = name.as_ref().map_or("", |name| &name.0);
                tables.track(TrackKind::Thread, Some(process), *os_id, name, Time(0))
            })
            .collect()
    }

    fn intern_tasks(&self, tables: &mut Interner, process: TrackId) -> Vec<TrackId> {
        self.tasks
            .iter()
            .map(|name| tables.track(TrackKind::Task, Some(process), 0, name, Time(0)))
            .collect()
    }

    fn samples(
        &self,
        stacks: &[Option<StackId>],
        threads: &[TrackId],
        tasks: &[TrackId],
    ) -> PyResult<Vec<Sample>> {
        let (times, thread_of, task_of, stack_of, weights) = &self.columns;
        let rows = times.len();
        if [thread_of.len(), task_of.len(), stack_of.len(), weights.len()] != [rows; 4] {
            return Err(PyValueError::new_err("columns differ in length"));
        }
        let mut samples = Vec::with_capacity(rows);
        for row in 0..rows {
            let Some(stack) = *at(stacks, stack_of[row], "stack")? else {
                continue;
            };
            let task = match u32::try_from(task_of[row]) {
                Ok(position) => Some(*at(tasks, position, "task")?),
                Err(_) => None,
            };
            let weight = weights[row];
            let (wall_ns, cpu_ns) = match self.mode {
                Mode::Cpu => (0, weight),
                Mode::Wall => (weight, 0),
            };
            samples.push(Sample {
                time: Time(times[row]),
                track: *at(threads, thread_of[row], "thread")?,
                task,
                stack,
                wall_ns,
                cpu_ns,
                state: match self.mode {
                    Mode::Cpu => ThreadState::Running,
                    Mode::Wall => ThreadState::Unknown,
                },
            });
        }
        samples.sort_by_key(|sample| sample.time);
        Ok(samples)
    }

    fn meta(&self, samples: &[Sample], last: u64) -> Meta {
        let report = CpuReport {
            samples: samples.len() as u64,
            watched_cpu_ns: samples.iter().map(|sample| sample.cpu_ns).sum(),
            ..CpuReport::default()
        };
        Meta {
            started_unix_ns: self.started_unix_ns,
            duration_ns: self.duration_ns.max(last),
            python: Some(PythonInfo {
                version: self.python_version.clone(),
                ..PythonInfo::default()
            }),
            machine: Machine { system: self.platform.clone(), ..Machine::default() },
            settings: Settings {
                cpu: Some(CpuSettings {
                    mode: self.mode,
                    interval_ns: self.interval_ns,
                    trigger_reason: "made in Python".to_owned(),
                    report,
                    ..CpuSettings::default()
                }),
                ..Settings::default()
            },
            ..Meta::default()
        }
    }
}

fn frame_kind(native: bool) -> FrameKind {
    if native { FrameKind::Native } else { FrameKind::Python }
}

fn at<'a, T>(table: &'a [T], position: u32, what: &str) -> PyResult<&'a T> {
    table.get(position as usize).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{what} {position} is out of range: there are {}",
            table.len()
        ))
    })
}
