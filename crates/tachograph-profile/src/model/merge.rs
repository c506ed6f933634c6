//! Several recordings as one: the processes of one program on one clock.

use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use super::Interner;
use super::events::{Time, Value};
use super::ids::{FrameId, MappingId, SeriesId, SpanId, StackId, StringId, TrackId};
use super::meta::{CpuReport, Meta, Roots};
use super::profile::Profile;
use super::tables::Mapping;
use super::window::covered_ns;

impl Profile {
    /// Joins recordings by their wall-clock anchors.
    ///
    /// The result starts with the earliest one, lasts until the last one ends,
    /// and holds every track and every event of all of them; equal strings,
    /// frames, stacks and mappings become one row. Facts that can be added
    /// are added; of the others, those of the earliest recording are kept.
    /// The order of `profiles` does not matter.
    ///
    /// ```
    /// use tachograph_profile::{Measure, Profile, Time};
    ///
    /// let mut parent = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 1)])]);
    /// let mut child = Profile::from_stacks(&[(0, 20, &[("main", "train.py", 1)])]);
    /// (parent.meta.started_unix_ns, child.meta.started_unix_ns) = (1_000, 1_500);
    ///
    /// let both = Profile::merge(&[child, parent]);
    ///
    /// assert_eq!(both.weights(Measure::CpuTime).map(|w| w.weight).sum::<u64>(), 50);
    /// assert_eq!(both.samples[1].time, Time(500));
    /// assert_eq!(both.tables.stacks.len(), 1);
    /// ```
    #[must_use]
    pub fn merge(profiles: &[Self]) -> Self {
        let mut ordered: Vec<&Self> = profiles.iter().collect();
        ordered.sort_by(|a, b| by_start(a, b));
        let Some(first) = ordered.first() else {
            return Self::default();
        };
        let start = first.meta.started_unix_ns;
        let mut merged = Self { meta: merged_meta(&ordered, start), ..Self::default() };
        let mut tables = Interner::default();
        for profile in ordered {
            merged.loss.add(&profile.loss);
            let rows = Rows::add(&mut tables, profile, shift(profile, start));
            rows.add_events(profile, &mut merged);
        }
        merged.tables = tables.into_tables();
        merged.sort_events();
        if !merged.meta.within.is_empty() {
            merged.meta.covered_ns = covered_ns(&merged.spans, Time(merged.meta.duration_ns));
        }
        merged
    }
}

/// Nanoseconds from `start` to the start of `profile`.
fn shift(profile: &Profile, start: i64) -> u64 {
    profile.meta.started_unix_ns.abs_diff(start)
}

/// Earlier first. Recordings that start in the same nanosecond are told apart
/// by process, and those of one process by all they hold.
fn by_start(a: &Profile, b: &Profile) -> Ordering {
    let key = |profile: &Profile| (profile.meta.started_unix_ns, profile.meta.pid);
    key(a).cmp(&key(b)).then_with(|| format!("{a:?}").cmp(&format!("{b:?}")))
}

fn merged_meta(ordered: &[&Profile], start: i64) -> Meta {
    let mut meta = Meta::default();
    let mut roots = Roots::default();
    for (i, profile) in ordered.iter().enumerate() {
        let other = &profile.meta;
        if i == 0 {
            meta = other.clone();
            roots = other.roots.clone();
            continue;
        }
        let end = shift(profile, start).saturating_add(other.duration_ns);
        let from = shift(profile, start).saturating_add(other.from_ns);
        meta.duration_ns = meta.duration_ns.max(end);
        meta.from_ns = meta.from_ns.min(from);
        meta.process_cpu_ns = meta.process_cpu_ns.saturating_add(other.process_cpu_ns);
        for (name, text) in &other.labels {
            let label = meta.labels.entry(name.clone());
            label.or_insert_with(|| text.clone());
        }
        match (&mut meta.settings.cpu, &other.settings.cpu) {
            (Some(cpu), Some(theirs)) => add_report(&mut cpu.report, &theirs.report),
            (none, theirs) => *none = none.take().or_else(|| theirs.clone()),
        }
        add_missing(&mut roots.standard_library, &other.roots.standard_library);
        add_missing(&mut roots.site_packages, &other.roots.site_packages);
    }
    meta.roots = roots;
    meta
}

fn add_missing(mine: &mut Vec<String>, theirs: &[String]) {
    for root in theirs {
        if !mine.contains(root) {
            mine.push(root.clone());
        }
    }
}

fn add_report(mine: &mut CpuReport, theirs: &CpuReport) {
    for (mine, theirs) in [
        (&mut mine.samples, theirs.samples),
        (&mut mine.watched_cpu_ns, theirs.watched_cpu_ns),
        (&mut mine.ticks, theirs.ticks),
        (&mut mine.own_cpu_ns, theirs.own_cpu_ns),
        (&mut mine.sampling_cpu_ns, theirs.sampling_cpu_ns),
        (&mut mine.repaired_cpu_ns, theirs.repaired_cpu_ns),
        (&mut mine.waiting_samples, theirs.waiting_samples),
    ] {
        *mine = mine.saturating_add(theirs);
    }
    // A median cannot be added; the larger one promises less.
    mine.median_lateness_ns = mine.median_lateness_ns.max(theirs.median_lateness_ns);
}

/// Where the rows of one recording went in the merged tables.
struct Rows {
    strings: Vec<StringId>,
    stacks: Vec<StackId>,
    tracks: Vec<TrackId>,
    series: Vec<SeriesId>,
    shift: u64,
}

impl Rows {
    fn add(tables: &mut Interner, profile: &Profile, shift: u64) -> Self {
        let from = &profile.tables;
        let strings: Vec<StringId> = from.strings.iter().map(|text| tables.string(text)).collect();
        let string = |id: StringId| strings.get(id.index()).copied().unwrap_or_default();
        let mappings: Vec<MappingId> = from
            .mappings
            .iter()
            .map(|row| {
                let (path, build_id) = (string(row.path), string(row.build_id));
                tables.mapping(Mapping { path, build_id, ..*row })
            })
            .collect();
        let frames: Vec<FrameId> = from
            .frames
            .iter()
            .map(|row| {
                let mut row = *row;
                (row.function, row.file) = (string(row.function), string(row.file));
                row.mapping = row.mapping.and_then(|id| mappings.get(id.index()).copied());
                tables.frame(row)
            })
            .collect();
        let mut stacks: Vec<StackId> = Vec::with_capacity(from.stacks.len());
        for node in &from.stacks {
            let caller = node.caller.and_then(|caller| stacks.get(caller.index()).copied());
            let frame = frames.get(node.frame.index()).copied().unwrap_or_default();
            stacks.push(tables.stack(caller, frame));
        }

        let all = tables.tables_mut();
        let (tracks, series) = (all.tracks.len(), all.series.len());
        let moved = |id: TrackId| TrackId::from(id.index() + tracks);
        let later = |time: Time| Time(time.0.saturating_add(shift));
        for row in &from.tracks {
            let mut row = *row;
            row.name = string(row.name);
            row.parent = row.parent.map(moved);
            (row.start, row.end) = (later(row.start), row.end.map(later));
            all.tracks.push(row);
        }
        for row in &from.series {
            let mut row = *row;
            (row.name, row.track) = (string(row.name), moved(row.track));
            all.series.push(row);
        }
        let mut known: FxHashSet<StringId> = all.sources.iter().map(|row| row.file).collect();
        for row in &from.sources {
            let mut row = row.clone();
            row.file = string(row.file);
            if known.insert(row.file) {
                all.sources.push(row);
            }
        }
        Self {
            strings,
            stacks,
            tracks: (tracks..all.tracks.len()).map(TrackId::from).collect(),
            series: (series..all.series.len()).map(SeriesId::from).collect(),
            shift,
        }
    }

    fn string(&self, id: StringId) -> StringId {
        self.strings.get(id.index()).copied().unwrap_or_default()
    }

    fn track(&self, id: TrackId) -> TrackId {
        self.tracks.get(id.index()).copied().unwrap_or_default()
    }

    fn stack(&self, id: StackId) -> StackId {
        self.stacks.get(id.index()).copied().unwrap_or_default()
    }

    fn time(&self, time: Time) -> Time {
        Time(time.0.saturating_add(self.shift))
    }

    fn add_events(&self, from: &Profile, to: &mut Profile) {
        for sample in &from.samples {
            let mut sample = *sample;
            sample.time = self.time(sample.time);
            sample.track = self.track(sample.track);
            sample.task = sample.task.map(|task| self.track(task));
            sample.stack = self.stack(sample.stack);
            to.samples.push(sample);
        }
        for block in &from.allocations {
            let mut block = *block;
            block.time = self.time(block.time);
            block.freed = block.freed.map(|freed| self.time(freed));
            block.track = self.track(block.track);
            block.stack = self.stack(block.stack);
            to.allocations.push(block);
        }
        let spans = to.spans.len();
        for span in &from.spans {
            let mut span = span.clone();
            span.parent = span.parent.map(|parent| SpanId::from(parent.index() + spans));
            span.track = self.track(span.track);
            span.name = self.string(span.name);
            (span.start, span.end) = (self.time(span.start), span.end.map(|end| self.time(end)));
            for (name, value) in &mut span.attributes {
                *name = self.string(*name);
                if let Value::Text(text) = value {
                    *text = self.string(*text);
                }
            }
            to.spans.push(span);
        }
        for point in &from.points {
            let mut point = *point;
            point.time = self.time(point.time);
            point.series = self.series.get(point.series.index()).copied().unwrap_or_default();
            to.points.push(point);
        }
        for note in &from.notes {
            let mut note = *note;
            note.time = self.time(note.time);
            note.track = self.track(note.track);
            note.text = self.string(note.text);
            to.notes.push(note);
        }
    }
}
