//! The rules every profile keeps, in one place.
//!
//! Reading a recording ends with this check, so analyses and exports may
//! index tables, follow callers and add up weights without looking again.

use super::events::{Allocation, Sample, Span, Time, Value};
use super::ids::{StackId, StringId, TrackId};
use super::profile::Profile;
use super::tables::{FrameKind, Tables};

/// No time is later than this, no start is, and no sum of weights is larger,
/// so a start plus a time plus a weight cannot overflow. It is 146 years.
const LARGEST: u64 = 1 << 62;

impl Profile {
    /// Whether the profile keeps the rules of the data model.
    ///
    /// # Errors
    ///
    /// The first broken rule, as a sentence that names the row.
    ///
    /// ```
    /// use tachograph_profile::{Profile, StackId};
    ///
    /// let mut profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 1)])]);
    /// assert!(profile.check().is_ok());
    ///
    /// profile.samples[0].stack = StackId(7);
    /// assert_eq!(profile.check().unwrap_err(), "sample 0 has stack 7, but there are 1 stacks");
    /// ```
    pub fn check(&self) -> Result<(), String> {
        let start = self.meta.started_unix_ns;
        if !u64::try_from(start).is_ok_and(|start| start <= LARGEST) {
            return Err(format!(
                "the recording starts {start} ns after 1970, which is out of range"
            ));
        }
        let duration = self.meta.duration_ns;
        if duration > LARGEST {
            return Err(format!("the recording lasts {duration} ns, which is out of range"));
        }
        let from = self.meta.from_ns;
        if from > LARGEST {
            return Err(format!("the part begins at {from} ns, which is out of range"));
        }
        check_tables(&self.tables)?;
        check_samples(&self.tables, &self.samples)?;
        check_allocations(&self.tables, &self.allocations)?;
        check_spans(&self.tables, &self.spans)?;
        check_points_and_notes(self)
    }
}

fn check_tables(tables: &Tables) -> Result<(), String> {
    if tables.strings.first().is_some_and(|text| !text.is_empty()) {
        return Err("string 0 is not empty".into());
    }
    for (i, frame) in tables.frames.iter().enumerate() {
        tables.holds_string("frame", i, frame.function)?;
        tables.holds_string("frame", i, frame.file)?;
        if let Some(mapping) = frame.mapping {
            holds("frame", i, "mapping", mapping.0, tables.mappings.len())?;
            if matches!(frame.kind, FrameKind::Python | FrameKind::Label) {
                return Err(format!("frame {i} is not native but has a mapping"));
            }
        }
    }
    for (i, node) in tables.stacks.iter().enumerate() {
        holds("stack", i, "frame", node.frame.0, tables.frames.len())?;
        if node.caller.is_some_and(|caller| caller.index() >= i) {
            return Err(format!("stack {i} has a caller that does not come before it"));
        }
    }
    for (i, mapping) in tables.mappings.iter().enumerate() {
        tables.holds_string("mapping", i, mapping.path)?;
        tables.holds_string("mapping", i, mapping.build_id)?;
        if mapping.end < mapping.start {
            return Err(format!("mapping {i} ends before it starts"));
        }
    }
    for (i, track) in tables.tracks.iter().enumerate() {
        tables.holds_string("track", i, track.name)?;
        if track.parent.is_some_and(|parent| parent.index() >= i) {
            return Err(format!("track {i} has a parent that does not come before it"));
        }
        lasts("track", i, track.start, track.end)?;
    }
    for (i, series) in tables.series.iter().enumerate() {
        tables.holds_string("series", i, series.name)?;
        tables.holds_track("series", i, series.track)?;
    }
    for (i, source) in tables.sources.iter().enumerate() {
        tables.holds_string("source", i, source.file)?;
    }
    Ok(())
}

fn check_samples(tables: &Tables, samples: &[Sample]) -> Result<(), String> {
    sorted("sample", samples.iter().map(|sample| sample.time))?;
    for (i, sample) in samples.iter().enumerate() {
        tables.holds_track("sample", i, sample.track)?;
        if let Some(task) = sample.task {
            tables.holds_track("sample", i, task)?;
        }
        tables.holds_stack("sample", i, sample.stack)?;
    }
    sums("wall time", samples.iter().map(|sample| sample.wall_ns))?;
    sums("CPU time", samples.iter().map(|sample| sample.cpu_ns))
}

fn check_allocations(tables: &Tables, allocations: &[Allocation]) -> Result<(), String> {
    sorted("allocation", allocations.iter().map(|block| block.time))?;
    for (i, block) in allocations.iter().enumerate() {
        tables.holds_track("allocation", i, block.track)?;
        tables.holds_stack("allocation", i, block.stack)?;
        lasts("allocation", i, block.time, block.freed)?;
    }
    sums("size", allocations.iter().map(|block| block.size_bytes))?;
    sums("weight", allocations.iter().map(|block| block.weight_bytes))
}

fn check_spans(tables: &Tables, spans: &[Span]) -> Result<(), String> {
    sorted("span", spans.iter().map(|span| span.start))?;
    for (i, span) in spans.iter().enumerate() {
        if span.parent.is_some_and(|parent| parent.index() >= i) {
            return Err(format!("span {i} has a parent that does not come before it"));
        }
        tables.holds_track("span", i, span.track)?;
        tables.holds_string("span", i, span.name)?;
        lasts("span", i, span.start, span.end)?;
        let length = span.end.map_or(0, |end| end.0 - span.start.0);
        if span.suspended_ns > length {
            return Err(format!("span {i} is suspended for longer than it lasts"));
        }
        for (name, value) in &span.attributes {
            tables.holds_string("span", i, *name)?;
            if let Value::Text(text) = value {
                tables.holds_string("span", i, *text)?;
            }
        }
    }
    Ok(())
}

fn check_points_and_notes(profile: &Profile) -> Result<(), String> {
    let tables = &profile.tables;
    sorted("point", profile.points.iter().map(|point| point.time))?;
    for (i, point) in profile.points.iter().enumerate() {
        holds("point", i, "series", point.series.0, tables.series.len())?;
        if !point.value.is_finite() {
            return Err(format!("point {i} is {}, which is not a finite number", point.value));
        }
    }
    sorted("note", profile.notes.iter().map(|note| note.time))?;
    for (i, note) in profile.notes.iter().enumerate() {
        tables.holds_track("note", i, note.track)?;
        tables.holds_string("note", i, note.text)?;
    }
    Ok(())
}

impl Tables {
    fn holds_string(&self, row: &str, i: usize, id: StringId) -> Result<(), String> {
        holds(row, i, "string", id.0, self.strings.len())
    }

    fn holds_track(&self, row: &str, i: usize, id: TrackId) -> Result<(), String> {
        holds(row, i, "track", id.0, self.tracks.len())
    }

    fn holds_stack(&self, row: &str, i: usize, id: StackId) -> Result<(), String> {
        holds(row, i, "stack", id.0, self.stacks.len())
    }
}

fn holds(row: &str, i: usize, table: &str, id: u32, len: usize) -> Result<(), String> {
    if (id as usize) < len {
        return Ok(());
    }
    let plural = if table == "series" { "" } else { "s" };
    Err(format!("{row} {i} has {table} {id}, but there are {len} {table}{plural}"))
}

fn within(row: &str, i: usize, time: Time) -> Result<(), String> {
    if time.0 <= LARGEST {
        return Ok(());
    }
    Err(format!("{row} {i} has the time {} ns, which is out of range", time.0))
}

fn lasts(row: &str, i: usize, start: Time, end: Option<Time>) -> Result<(), String> {
    within(row, i, start)?;
    let Some(end) = end else { return Ok(()) };
    within(row, i, end)?;
    if end < start {
        return Err(format!("{row} {i} ends before it starts"));
    }
    Ok(())
}

fn sorted(row: &str, times: impl Iterator<Item = Time>) -> Result<(), String> {
    let mut last = Time(0);
    for (i, time) in times.enumerate() {
        if time < last {
            return Err(format!("{row} {i} is earlier than the one before it"));
        }
        within(row, i, time)?;
        last = time;
    }
    Ok(())
}

fn sums(what: &str, mut weights: impl Iterator<Item = u64>) -> Result<(), String> {
    let total = weights.try_fold(0_u64, |total, weight| {
        total.checked_add(weight).filter(|total| *total <= LARGEST)
    });
    match total {
        Some(_) => Ok(()),
        None => Err(format!("the {what} of all rows is too large to add up")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Note, Point, Series, SeriesId, SeriesKind, StackNode, Unit};

    fn profile() -> Profile {
        Profile::from_stacks(&[
            (10, 30, &[("main", "train.py", 1), ("load", "data.py", 7)]),
            (40, 30, &[("main", "train.py", 2)]),
        ])
    }

    fn broken(change: impl FnOnce(&mut Profile)) -> String {
        let mut profile = profile();
        assert_eq!(profile.check(), Ok(()));
        change(&mut profile);
        profile.check().unwrap_err()
    }

    #[test]
    fn an_empty_profile_keeps_the_rules() {
        assert_eq!(Profile::default().check(), Ok(()));
    }

    #[test]
    fn a_broken_rule_names_its_row() {
        assert_eq!(
            broken(|p| p.samples[0].track = TrackId(9)),
            "sample 0 has track 9, but there are 2 tracks"
        );
        assert_eq!(broken(|p| p.samples.swap(0, 1)), "sample 1 is earlier than the one before it");
        assert_eq!(
            broken(|p| p.tables.tracks[1].parent = Some(TrackId(1))),
            "track 1 has a parent that does not come before it"
        );
        assert_eq!(broken(|p| p.tables.strings[0] = "full".into()), "string 0 is not empty");
    }

    #[test]
    fn a_stack_cannot_call_itself() {
        let error = broken(|p| {
            let frame = p.tables.stacks[0].frame;
            let caller = Some(StackId(p.tables.stacks.len() as u32));
            p.tables.stacks.push(StackNode { caller, frame });
        });
        assert_eq!(error, "stack 3 has a caller that does not come before it");
    }

    #[test]
    fn weights_that_cannot_be_added_up_are_refused() {
        let error = broken(|p| p.samples[0].cpu_ns = u64::MAX);
        assert_eq!(error, "the CPU time of all rows is too large to add up");
    }

    #[test]
    fn a_point_is_a_finite_number() {
        let error = broken(|p| {
            p.tables.series.push(Series {
                name: StringId(0),
                track: TrackId(0),
                unit: Unit::Bytes,
                kind: SeriesKind::Gauge,
            });
            p.points.push(Point { time: Time(5), series: SeriesId(0), value: f64::NAN });
        });
        assert_eq!(error, "point 0 is NaN, which is not a finite number");
    }

    #[test]
    fn a_note_needs_its_text() {
        let error = broken(|p| {
            let text = StringId(99);
            p.notes.push(Note { time: Time(5), track: TrackId(0), warning: true, text });
        });
        assert_eq!(error, "note 0 has string 99, but there are 7 strings");
    }
}
