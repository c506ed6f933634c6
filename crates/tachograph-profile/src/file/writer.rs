//! Writes a recording while it is made.

use std::io::{self, Write};

use super::bytes::{put, put_text};
use super::chunk::{END, MAGIC, META, VERSION};
use super::event_rows as events;
use super::sample_rows::{Leaves, put_samples};
use super::sections::{self, Sections};
use super::table_rows as rows;
use crate::model::{Batch, Frame, Loss, Meta, Point, Tables, Time, Track};

/// Samples of one section; more are written as several sections.
const SAMPLES_PER_SECTION: usize = 1 << 16;

/// Points of one section.
const POINTS_PER_SECTION: usize = 1 << 14;

/// Appends batches of events to a recording.
///
/// Each call leaves the sink with whole chunks only, and flushed: whatever
/// happens to the program afterwards, they can be read. When the sink refuses
/// bytes, because the disk is full for example, the call fails, the bytes are
/// kept in memory and the next call tries them again.
///
/// ```
/// use tachograph_profile::{Batch, Meta, Profile, Time, file};
///
/// let profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 1)])]);
/// let mut writer = file::Writer::new(Vec::new(), &Meta::default())?;
/// let batch = Batch { samples: profile.samples.clone(), until: Time(30), ..Batch::default() };
/// writer.append(&profile.tables, &batch)?;
///
/// // The program is killed here; what was appended can be read.
/// let read = file::read(&writer.into_inner(), "killed.tacho")?;
/// assert_eq!(read.samples, profile.samples);
/// assert!(read.text(read.notes[0].text).starts_with("this recording was not finished"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W: Write> {
    sink: W,
    sections: Sections,
    strings: usize,
    stacks: usize,
    mappings: usize,
    series: usize,
    sources: usize,
    frames: Vec<Frame>,
    tracks: Vec<Track>,
    leaves: Leaves,
    spans: usize,
    loss: Loss,
    until: Time,
    finished: bool,
}

impl<W: Write> Writer<W> {
    /// Starts a recording: writes the head of the file with `meta` in it.
    ///
    /// # Errors
    ///
    /// The sink refused the bytes.
    pub fn new(sink: W, meta: &Meta) -> io::Result<Self> {
        let mut head = MAGIC.to_vec();
        head.push(VERSION);
        let mut writer = Self {
            sink,
            sections: Sections::new(head)?,
            strings: 0,
            stacks: 0,
            mappings: 0,
            series: 0,
            sources: 0,
            frames: Vec::new(),
            tracks: Vec::new(),
            leaves: Leaves::default(),
            spans: 0,
            loss: Loss::default(),
            until: Time(0),
            finished: false,
        };
        writer.sections.chunk(META, &serde_json::to_vec(meta)?)?;
        writer.send()?;
        Ok(writer)
    }

    /// Appends what `tables` gained or changed since the last call, then the
    /// events of `batch`. Gives the number of bytes that took.
    ///
    /// Points that are not finite numbers say nothing and are left out.
    ///
    /// # Errors
    ///
    /// The sink refused the bytes, or the recording is finished.
    pub fn append(&mut self, tables: &Tables, batch: &Batch) -> io::Result<u64> {
        if self.finished {
            let text = "the recording is finished; start another one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let before = self.sections.packed.len();
        self.add_tables(tables)?;
        self.add_events(batch)?;
        self.add_progress(&batch.loss, batch.until)?;
        self.sections.close_chunk()?;
        let bytes = self.sections.packed.len() - before;
        self.send()?;
        Ok(bytes as u64)
    }

    /// Ends the recording with the facts as they are now; a second call does
    /// nothing. Gives the number of bytes that took.
    ///
    /// # Errors
    ///
    /// The sink refused the bytes.
    pub fn finish(&mut self, tables: &Tables, meta: &Meta, loss: &Loss) -> io::Result<u64> {
        let before = self.sections.packed.len();
        if !self.finished {
            self.add_tables(tables)?;
            self.add_progress(loss, Time(meta.duration_ns))?;
            self.sections.chunk(END, &serde_json::to_vec(meta)?)?;
            self.finished = true;
        }
        let bytes = self.sections.packed.len() - before;
        self.send()?;
        Ok(bytes as u64)
    }

    /// The sink.
    pub fn get_ref(&self) -> &W {
        &self.sink
    }

    /// The sink, to be changed: bytes written to it directly damage the recording.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Bytes the sink refused and that wait for the next call.
    pub fn waiting_bytes(&self) -> usize {
        self.sections.packed.len()
    }

    /// Gives the sink back.
    pub fn into_inner(self) -> W {
        self.sink
    }

    /// Hands packed chunks to the sink; what it refuses stays for later.
    fn send(&mut self) -> io::Result<()> {
        let packed = &mut self.sections.packed;
        let mut sent = 0;
        let mut outcome = Ok(());
        while outcome.is_ok() && sent < packed.len() {
            match self.sink.write(&packed[sent..]) {
                Ok(0) => outcome = Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => outcome = Err(error),
            }
        }
        packed.drain(..sent.min(packed.len()));
        outcome.and_then(|()| self.sink.flush())
    }

    fn add_tables(&mut self, tables: &Tables) -> io::Result<()> {
        let to = &mut self.sections;
        let strings = news(&tables.strings, &mut self.strings);
        to.rows(sections::STRINGS, strings, |out, _, row| put_text(out, row))?;
        let mappings = news(&tables.mappings, &mut self.mappings);
        to.rows(sections::MAPPINGS, mappings, |out, _, row| rows::put_mapping(out, row))?;

        let changed = changes(&tables.frames, &mut self.frames);
        to.rows(sections::FRAME_CHANGES, &changed, |out, _, (id, row)| {
            put(out, *id as u64);
            rows::put_frame(out, None, row);
        })?;
        let frames = tables.frames.get(self.frames.len()..).unwrap_or_default();
        to.rows(sections::FRAMES, frames, rows::put_frame)?;
        self.frames.extend_from_slice(frames);

        let mut id = self.stacks;
        let stacks = news(&tables.stacks, &mut self.stacks);
        to.rows(sections::STACKS, stacks, |out, last, row| {
            rows::put_stack(out, id, last, row);
            id += 1;
        })?;

        let changed = changes(&tables.tracks, &mut self.tracks);
        to.rows(sections::TRACK_CHANGES, &changed, |out, _, (id, row)| {
            put(out, *id as u64);
            rows::put_track(out, row);
        })?;
        let tracks = tables.tracks.get(self.tracks.len()..).unwrap_or_default();
        to.rows(sections::TRACKS, tracks, |out, _, row| rows::put_track(out, row))?;
        self.tracks.extend_from_slice(tracks);

        let series = news(&tables.series, &mut self.series);
        to.rows(sections::SERIES, series, |out, _, row| rows::put_series(out, row))?;
        let sources = news(&tables.sources, &mut self.sources);
        to.rows(sections::SOURCES, sources, |out, _, row| rows::put_source(out, row))
    }

    fn add_events(&mut self, batch: &Batch) -> io::Result<()> {
        let to = &mut self.sections;
        let leaves = &mut self.leaves;
        for samples in batch.samples.chunks(SAMPLES_PER_SECTION) {
            to.section(sections::SAMPLES, |out| put_samples(out, leaves, samples))?;
        }
        to.rows(sections::ALLOCATIONS, &batch.allocations, |out, last, row| {
            events::put_allocation(out, leaves, last, row);
        })?;
        to.rows(sections::FREES, &batch.frees, events::put_free)?;
        let mut id = self.spans;
        to.rows(sections::SPANS, &batch.spans, |out, last, row| {
            events::put_span(out, id, last, row);
            id += 1;
        })?;
        self.spans = id;
        to.rows(sections::SPAN_ENDS, &batch.span_ends, |out, _, row| {
            events::put_span_end(out, row);
        })?;
        for points in batch.points.chunks(POINTS_PER_SECTION) {
            let mut rows: Vec<&Point> =
                points.iter().filter(|point| point.value.is_finite()).collect();
            rows.sort_by_key(|point| (point.series, point.time));
            for one in rows.chunk_by(|a, b| a.series == b.series) {
                to.section(sections::POINTS, |out| events::put_points(out, one))?;
            }
        }
        to.rows(sections::NOTES, &batch.notes, events::put_note)
    }

    fn add_progress(&mut self, loss: &Loss, until: Time) -> io::Result<()> {
        if *loss != self.loss {
            self.sections.section(sections::LOSS, |out| events::put_loss(out, loss))?;
            self.loss = *loss;
        }
        if until > self.until {
            self.sections.section(sections::UNTIL, |out| put(out, until.0))?;
            self.until = until;
        }
        Ok(())
    }
}

/// The rows past the first `known`, which then counts them too.
fn news<'a, T>(rows: &'a [T], known: &mut usize) -> &'a [T] {
    let news = rows.get(*known..).unwrap_or_default();
    *known = rows.len().max(*known);
    news
}

/// The rows that differ from `known`, with their ids; `known` follows.
fn changes<T: Copy + PartialEq>(rows: &[T], known: &mut [T]) -> Vec<(usize, T)> {
    let mut changes = Vec::new();
    for (id, (row, known)) in rows.iter().zip(known).enumerate() {
        if row != known {
            changes.push((id, *row));
            *known = *row;
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_may_move_to_the_thread_that_writes() {
        fn moves<T: Send>() {}
        moves::<Writer<Vec<u8>>>();
        moves::<Writer<std::fs::File>>();
    }
}
