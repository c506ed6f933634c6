//! The part of a recording that happened inside spans of one name.
//!
//! Spans, samples and points are all sorted by time, so one sweep over each
//! answers for any number of spans.

use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Span, Time};
use super::ids::{SeriesId, SpanId, StringId, TrackId};
use super::profile::Profile;
use super::stretches::Stretches;
use super::tables::TrackKind;
use crate::error::Error;

/// Names an error lists at most.
const MOST_NAMES: usize = 8;

impl Profile {
    /// What happened inside the spans called `name`.
    ///
    /// These spans are kept, and every span that began inside one of them. A
    /// sample is kept if it was taken during a kept span, on the thread or in
    /// the asyncio task of that span: what other threads and tasks did in the
    /// meantime is not in it. Spans that overlap count a sample once. Values of
    /// the machine or the process are kept for as long as any kept span lasts.
    ///
    /// A path narrows further: `epoch/forward` are the spans called `forward`
    /// that have one called `epoch` around them, at any distance.
    ///
    /// Times keep counting from the start of the recording, and samples keep
    /// their whole weight. The facts of the part say what it was narrowed to
    /// and for how long at least one of its spans was open. What was lost is
    /// known only for the whole recording, and is kept.
    ///
    /// # Errors
    ///
    /// No span is called `name`; the message lists those there are, the most
    /// similar first.
    ///
    /// ```
    /// use tachograph_profile::{Measure, Profile, Span, StringId, Time, TrackId};
    ///
    /// let main: &[_] = &[("main", "train.py", 1)];
    /// let mut profile = Profile::from_stacks(&[(0, 10, main), (10, 10, main), (20, 10, main)]);
    /// profile.tables.strings.push("forward".into());
    /// profile.spans.push(Span {
    ///     parent: None,
    ///     track: TrackId(1),
    ///     name: StringId::from(profile.tables.strings.len() - 1),
    ///     start: Time(5),
    ///     end: Some(Time(20)),
    ///     suspended_ns: 0,
    ///     failed: false,
    ///     attributes: Vec::new(),
    /// });
    ///
    /// let forward = profile.within("forward")?;
    ///
    /// assert_eq!(forward.weights(Measure::CpuTime).map(|w| w.weight).sum::<u64>(), 10);
    /// assert_eq!(forward.samples[0].time, Time(10));
    /// assert_eq!(forward.meta.covered_ns, 15);
    /// assert!(profile.within("forwards").unwrap_err().to_string().contains("\"forward\""));
    /// # Ok::<(), tachograph_profile::Error>(())
    /// ```
    pub fn within(&self, name: &str) -> Result<Self, Error> {
        let kept = self.spans_inside(name);
        if !kept.contains(&true) {
            return Err(Error::NoSuchSpan { name: name.to_owned(), known: self.names_like(name) });
        }
        let mut part = Self { meta: self.meta.clone(), loss: self.loss, ..Self::default() };
        part.tables = self.tables.clone();
        part.notes.clone_from(&self.notes);
        part.spans = chosen(&self.spans, &kept);

        let ends = Time(self.meta.duration_ns);
        let mut by_track: FxHashMap<TrackId, Stretches> = FxHashMap::default();
        let mut any = Stretches::default();
        for span in &part.spans {
            // A span may have ended after the last batch; the recording ends there.
            let end = span.end.unwrap_or(ends).min(ends).max(span.start);
            by_track.entry(span.track).or_default().add(span.start, end);
            any.add(span.start, end);
        }
        part.meta.within.push(name.to_owned());
        part.meta.covered_ns = any.length();
        part.meta.process_cpu_ns = 0;
        if let (Some(first), Some(last)) = (any.stretches.first(), any.stretches.last()) {
            part.meta.duration_ns = last.1.0.min(ends.0);
            part.meta.from_ns = first.0.0.min(part.meta.duration_ns);
        }

        for sample in &self.samples {
            let mut holds = |track: TrackId| {
                by_track.get_mut(&track).is_some_and(|found| found.hold(sample.time))
            };
            if holds(sample.track) || sample.task.is_some_and(holds) {
                part.samples.push(*sample);
            }
        }
        by_track.values_mut().for_each(Stretches::rewind);
        for block in &self.allocations {
            if by_track.get_mut(&block.track).is_some_and(|found| found.hold(block.time)) {
                part.allocations.push(*block);
            }
        }
        by_track.values_mut().for_each(Stretches::rewind);
        for point in &self.points {
            let track = self.tables.series.get(point.series.index()).map(|series| series.track);
            let holds = match track.filter(|track| self.has_spans_of_its_own(*track)) {
                Some(track) => by_track.get_mut(&track).is_some_and(|f| f.hold(point.time)),
                None if self.is_total(point.series) => false,
                None => any.hold(point.time),
            };
            if holds {
                part.points.push(*point);
            }
        }
        let shared = |series: SeriesId| {
            let row = self.tables.series.get(series.index());
            row.is_none_or(|row| !self.has_spans_of_its_own(row.track))
        };
        part.points.extend(self.totals_inside(&any.stretches, shared));
        part.points.sort_by_key(|point| (point.time, point.series));
        Ok(part)
    }

    /// Threads and tasks run spans; a value of anything else, such as the
    /// process, belongs to whatever runs at the time.
    fn has_spans_of_its_own(&self, track: TrackId) -> bool {
        let kind = self.tables.tracks.get(track.index()).map(|track| track.kind);
        matches!(kind, Some(TrackKind::Thread | TrackKind::Task))
    }

    /// For each span, whether it is one `path` names or lies inside one.
    fn spans_inside(&self, path: &str) -> Vec<bool> {
        let mut ways = Ways::new(path);
        let mut states: Vec<usize> = Vec::with_capacity(self.spans.len());
        for span in &self.spans {
            let parent = span.parent.and_then(|parent| states.get(parent.index()).copied());
            states.push(ways.step(parent.unwrap_or(0), span.name, self.text(span.name)));
        }
        states.into_iter().map(|state| ways.is_whole(state)).collect()
    }

    /// The names of spans, those that resemble `name` first, as a list to read.
    fn names_like(&self, name: &str) -> String {
        let distinct: FxHashSet<StringId> = self.spans.iter().map(|span| span.name).collect();
        let mut names: Vec<_> = distinct.iter().map(|id| self.text(*id)).collect();
        if names.is_empty() {
            return "it has no spans".to_owned();
        }
        let wanted = name.rsplit('/').next().unwrap_or(name).to_lowercase();
        names.sort_by_cached_key(|known| (distance(&wanted, &known.to_lowercase()), *known));
        let more = names.len().saturating_sub(MOST_NAMES);
        let listed: Vec<_> =
            names.iter().take(MOST_NAMES).map(|name| format!("{name:?}")).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("its spans are {}{more}", listed.join(", "))
    }
}

/// How much of a path the spans around a place have matched.
///
/// A state is the set of lengths up to which the path is matched. There are
/// few of them, so each is made once and a span is one look-up.
struct Ways<'a> {
    path: &'a str,
    states: Vec<Vec<usize>>,
    numbers: FxHashMap<Vec<usize>, usize>,
    next: FxHashMap<(usize, StringId), usize>,
}

impl<'a> Ways<'a> {
    fn new(path: &'a str) -> Self {
        let numbers = FxHashMap::from_iter([(Vec::new(), 0)]);
        Self { path, states: vec![Vec::new()], numbers, next: FxHashMap::default() }
    }

    /// The state inside a span called `text` that lies in `around`.
    fn step(&mut self, around: usize, name: StringId, text: &str) -> usize {
        if let Some(&known) = self.next.get(&(around, name)) {
            return known;
        }
        let mut lengths = self.states.get(around).cloned().unwrap_or_default();
        let from_here: Vec<usize> = std::iter::once(0)
            .chain(lengths.iter().map(|length| length + 1))
            .filter_map(|from| {
                let rest = self.path.get(from..)?.strip_prefix(text)?;
                let to = self.path.len() - rest.len();
                (rest.is_empty() || rest.starts_with('/')).then_some(to)
            })
            .collect();
        lengths.extend(from_here);
        lengths.sort_unstable();
        lengths.dedup();
        let number = *self.numbers.entry(lengths).or_insert_with_key(|lengths| {
            self.states.push(lengths.clone());
            self.states.len() - 1
        });
        self.next.insert((around, name), number);
        number
    }

    /// Whether the whole path is matched.
    fn is_whole(&self, state: usize) -> bool {
        self.states.get(state).is_some_and(|lengths| lengths.contains(&self.path.len()))
    }
}

/// The spans that are `kept`; a parent that is not is no parent here.
fn chosen(spans: &[Span], kept: &[bool]) -> Vec<Span> {
    let mut rows = Vec::new();
    let mut places: Vec<Option<SpanId>> = Vec::with_capacity(spans.len());
    for (span, kept) in spans.iter().zip(kept) {
        places.push(kept.then(|| rows.len().into()));
        if *kept {
            let parent = span.parent.and_then(|parent| *places.get(parent.index())?);
            rows.push(Span { parent, ..span.clone() });
        }
    }
    rows
}

/// Letters to insert, remove or change to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    /// Longer names are compared by their beginning.
    const LONGEST: usize = 64;
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().take(LONGEST).enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Interner, Point, Sample, Series, SeriesKind, Unit};

    /// A thread with a sample of weight 1 every 10 ns from 0 on.
    fn sampled(samples: u64) -> Profile {
        let rows: Vec<_> = (0..samples).map(|i| (i * 10, 1, &[("main", "a.py", 1)][..])).collect();
        Profile::from_stacks(&rows)
    }

    fn add(profile: &mut Profile, name: &str, times: (u64, u64), parent: Option<u32>) {
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let name = tables.string(name);
        profile.tables = tables.into_tables();
        profile.spans.push(Span {
            parent: parent.map(SpanId),
            track: TrackId(1),
            name,
            start: Time(times.0),
            end: Some(Time(times.1)),
            suspended_ns: 0,
            failed: false,
            attributes: Vec::new(),
        });
    }

    fn times(profile: &Profile) -> Vec<u64> {
        assert_eq!(profile.check(), Ok(()));
        profile.samples.iter().map(|sample| sample.time.0).collect()
    }

    #[test]
    fn spans_of_one_name_count_a_sample_once() {
        let mut profile = sampled(10);
        add(&mut profile, "a", (5, 45), None);
        add(&mut profile, "a", (10, 30), Some(0));
        add(&mut profile, "b", (15, 20), Some(1));
        add(&mut profile, "a", (70, 80), None);

        let part = profile.within("a").unwrap();

        assert_eq!(times(&part), [10, 20, 30, 40, 70]);
        assert_eq!((part.meta.from_ns, part.meta.duration_ns, part.meta.covered_ns), (5, 80, 50));
        assert_eq!(part.spans.len(), 4);
        assert!(times(&profile.within("b").unwrap()).is_empty());
    }

    #[test]
    fn a_path_wants_the_spans_around() {
        let mut profile = sampled(10);
        add(&mut profile, "epoch", (0, 50), None);
        add(&mut profile, "batch", (0, 40), Some(0));
        add(&mut profile, "forward", (5, 25), Some(1));
        add(&mut profile, "forward", (55, 75), None);
        add(&mut profile, "load/forward", (80, 95), None);

        assert_eq!(times(&profile.within("epoch/forward").unwrap()), [10, 20]);
        assert_eq!(times(&profile.within("epoch/batch/forward").unwrap()), [10, 20]);
        assert_eq!(times(&profile.within("forward").unwrap()), [10, 20, 60, 70]);
        assert_eq!(times(&profile.within("load/forward").unwrap()), [80, 90]);
        assert!(profile.within("batch/epoch").is_err());
        assert!(profile.within("forward/").is_err());
        let twice = profile.within("epoch").unwrap().within("forward").unwrap();
        assert_eq!((times(&twice), twice.meta.within.len()), (vec![10, 20], 2));
    }

    #[test]
    fn a_task_has_the_samples_that_were_taken_while_it_ran() {
        let mut profile = sampled(6);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let thread = Some(TrackId(1));
        let tasks =
            ["one", "two"].map(|name| tables.track(TrackKind::Task, thread, 0, name, Time(0)));
        profile.tables = tables.into_tables();
        for (i, sample) in profile.samples.iter_mut().enumerate() {
            sample.task = (i < 5).then(|| tasks[i % 2]);
        }
        add(&mut profile, "request", (0, 60), None);
        add(&mut profile, "request", (0, 60), None);
        add(&mut profile, "loop", (0, 60), None);
        (profile.spans[0].track, profile.spans[1].track) = (tasks[0], tasks[1]);
        let second = profile.tables.strings.len();
        profile.tables.strings.push("other".into());
        profile.spans[1].name = StringId::from(second);

        assert_eq!(times(&profile.within("request").unwrap()), [0, 20, 40]);
        assert_eq!(times(&profile.within("other").unwrap()), [10, 30]);
        assert_eq!(times(&profile.within("loop").unwrap()), [0, 10, 20, 30, 40, 50]);
    }

    #[test]
    fn an_open_span_lasts_until_the_recording_ends() {
        let mut profile = sampled(5);
        add(&mut profile, "job", (15, 16), None);
        profile.spans[0].end = None;

        let part = profile.within("job").unwrap();

        assert_eq!(times(&part), [20, 30, 40]);
        assert_eq!(part.spans[0].end, None);
    }

    #[test]
    fn values_of_a_thread_follow_its_spans_and_those_of_the_process_any_span() {
        let mut profile = sampled(5);
        add(&mut profile, "job", (10, 30), None);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let other = tables.track(TrackKind::Thread, None, 2, "other", Time(0));
        profile.tables = tables.into_tables();
        for track in [TrackId(0), TrackId(1), other] {
            let (name, unit, kind) = (StringId(0), Unit::Count, SeriesKind::Gauge);
            profile.tables.series.push(Series { name, track, unit, kind });
        }
        for time in [5, 20] {
            for series in 0..3 {
                let (time, series) = (Time(time), SeriesId(series));
                profile.points.push(Point { time, series, value: 1.0 });
            }
        }

        let part = profile.within("job").unwrap();

        let found: Vec<_> = part.points.iter().map(|p| (p.time.0, p.series.0)).collect();
        assert_eq!(found, [(20, 0), (20, 1)]);
    }

    #[test]
    fn a_total_of_the_process_grows_by_what_it_grew_in_the_spans() {
        let mut profile = sampled(5);
        add(&mut profile, "job", (10, 20), None);
        add(&mut profile, "job", (30, 35), None);
        let (name, unit, kind) = (StringId(0), Unit::Joules, SeriesKind::Total);
        profile.tables.series.push(Series { name, track: TrackId(0), unit, kind });
        for (time, value) in [(0, 0.0), (40, 80.0)] {
            profile.points.push(Point { time: Time(time), series: SeriesId(0), value });
        }

        let part = profile.within("job").unwrap();

        assert_eq!(part.check(), Ok(()));
        let values: Vec<_> = part.points.iter().map(|point| point.value).collect();
        assert!((values[values.len() - 1] - values[0] - 30.0).abs() < 1e-9, "{values:?}");
    }

    #[test]
    fn an_unknown_name_is_told_with_those_there_are() {
        let mut profile = sampled(1);
        assert!(profile.within("a").unwrap_err().to_string().contains("it has no spans"));
        for name in ["step", "backward", "forward"] {
            add(&mut profile, name, (0, 1), None);
        }

        let error = profile.within("epoch/Forwrd").unwrap_err().to_string();

        let names = "its spans are \"forward\", \"backward\", \"step\"";
        assert!(error.contains("\"epoch/Forwrd\"") && error.contains(names), "{error}");
    }

    #[test]
    fn many_spans_and_samples_take_one_sweep() {
        let mut profile = sampled(200_000);
        add(&mut profile, "a", (0, 0), None);
        let span = profile.spans[0].clone();
        profile.spans = (0..100_000)
            .map(|i| Span { start: Time(i * 20), end: Some(Time(i * 20 + 10)), ..span.clone() })
            .collect();

        let part = profile.within("a").unwrap();

        assert_eq!(part.samples.len(), 100_000);
        assert!(part.samples.iter().all(|sample: &Sample| sample.time.0.is_multiple_of(20)));
    }
}
