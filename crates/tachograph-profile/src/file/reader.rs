//! Reads a recording, whole or not.

use super::bytes::{Bytes, Damage, Decoded};
use super::chunk::{Chunks, END, MAGIC, META, Next, VERSION};
use super::event_rows as events;
use super::sample_rows::samples;
use super::sections;
use super::table_rows as rows;
use crate::error::Error;
use crate::model::{
    Free, Meta, Note, Profile, SpanEnd, StackId, StringId, Time, Track, TrackId, TrackKind,
};

/// The profile that `bytes` hold; `name` is what errors call them.
///
/// A recording that was cut off gives what is before the cut, with a warning
/// note; so does one with a damaged chunk. The profile always passes
/// [`Profile::check`].
///
/// # Errors
///
/// The bytes are no recording, come from a later release, are damaged in
/// their first chunk, or break a rule of the data model.
pub fn read(bytes: &[u8], name: &str) -> Result<Profile, Error> {
    let damaged = |what: &str| Error::Damaged { name: name.into(), what: what.into() };
    let not_a_recording = || Error::NotARecording { name: name.into() };
    let rest = bytes.strip_prefix(&MAGIC).ok_or_else(not_a_recording)?;
    match rest.first() {
        Some(&found) if found > VERSION => {
            let (found, supported) = (found.into(), VERSION.into());
            return Err(Error::TooNew { name: name.into(), found, supported });
        }
        Some(0) => return Err(not_a_recording()),
        Some(_) => {}
        None => return Err(damaged("it ends before its first chunk")),
    }

    let mut chunks = Chunks::new(bytes);
    let mut loading = Loading::default();
    loading.profile.meta = match chunks.next() {
        Next::Chunk(META, json) => serde_json::from_slice(&json)
            .map_err(|error| damaged(&format!("its first chunk cannot be read: {error}")))?,
        Next::Chunk(..) => return Err(damaged("it does not begin with its facts")),
        Next::Nothing | Next::Torn => return Err(damaged("it ends before its first chunk")),
        Next::Damaged(Damage(what)) => return Err(damaged(what)),
    };
    let warning = loading.read_chunks(&mut chunks);
    let profile = loading.finish(warning);
    profile.check().map_err(|what| damaged(&what))?;
    Ok(profile)
}

/// A profile that is being read.
#[derive(Default)]
struct Loading {
    profile: Profile,
    leaves: Vec<StackId>,
    until: Time,
}

impl Loading {
    /// Reads chunk after chunk; gives a sentence when the file is not whole.
    fn read_chunks(&mut self, chunks: &mut Chunks<'_>) -> Option<String> {
        loop {
            let offset = chunks.offset();
            let damage = match chunks.next() {
                Next::Chunk(META, json) => match serde_json::from_slice::<Meta>(&json) {
                    Ok(meta) => {
                        self.profile.meta = meta;
                        continue;
                    }
                    Err(_) => Damage("its facts cannot be read"),
                },
                Next::Chunk(END, json) => match serde_json::from_slice::<Meta>(&json) {
                    Ok(meta) => {
                        self.profile.meta = meta;
                        return None;
                    }
                    Err(_) => Damage("its final facts cannot be read"),
                },
                Next::Chunk(_, plain) => match self.read_sections(&mut Bytes(&plain)) {
                    Ok(()) => continue,
                    Err(damage) => damage,
                },
                Next::Nothing | Next::Torn => {
                    self.extend_duration();
                    return Some(format!(
                        "this recording was not finished: the program was killed or is still \
                         running; it is complete up to {:.3} s",
                        self.until.seconds()
                    ));
                }
                Next::Damaged(damage) => damage,
            };
            self.extend_duration();
            return Some(format!(
                "this recording is damaged at byte {offset}: {}; what happened after {:.3} s is missing",
                damage.0,
                self.until.seconds()
            ));
        }
    }

    fn extend_duration(&mut self) {
        let duration = &mut self.profile.meta.duration_ns;
        *duration = self.until.0.max(*duration);
    }

    fn read_sections(&mut self, bytes: &mut Bytes<'_>) -> Decoded<()> {
        while !bytes.is_empty() {
            let kind = bytes.byte()?;
            let len = bytes.number()?;
            let mut section = Bytes(bytes.take(len)?);
            self.read_section(kind, &mut section)?;
        }
        Ok(())
    }

    fn read_section(&mut self, kind: u8, bytes: &mut Bytes<'_>) -> Decoded<()> {
        let profile = &mut self.profile;
        match kind {
            sections::SAMPLES => {
                return samples(bytes, &mut self.leaves, &profile.tables, &mut profile.samples);
            }
            sections::POINTS => {
                return events::points(bytes, &profile.tables, &mut profile.points);
            }
            sections::LOSS => {
                profile.loss = events::loss(bytes)?;
                return Ok(());
            }
            sections::UNTIL => {
                self.until = self.until.max(Time(bytes.number()?));
                return Ok(());
            }
            sections::STRINGS..=sections::SOURCES => return self.read_tables(kind, bytes),
            sections::ALLOCATIONS..=sections::NOTES => return self.read_events(kind, bytes),
            _ => {}
        }
        Ok(())
    }

    fn read_tables(&mut self, kind: u8, bytes: &mut Bytes<'_>) -> Decoded<()> {
        let tables = &mut self.profile.tables;
        let (mut last_frame, mut last_stack) = (None, None);
        while !bytes.is_empty() {
            match kind {
                sections::STRINGS => {
                    let text = bytes.text()?;
                    if tables.strings.is_empty() && !text.is_empty() {
                        return Err(Damage("the first string is not empty"));
                    }
                    tables.strings.push(text.into());
                }
                sections::MAPPINGS => tables.mappings.push(rows::mapping(bytes, tables)?),
                sections::FRAMES => {
                    let frame = rows::frame(bytes, last_frame.as_ref(), tables)?;
                    tables.frames.push(frame);
                    last_frame = Some(frame);
                }
                sections::FRAME_CHANGES => {
                    let id = bytes.id(tables.frames.len())?;
                    tables.frames[id as usize] = rows::frame(bytes, None, tables)?;
                }
                sections::STACKS => {
                    let stack = rows::stack(bytes, last_stack.as_ref(), tables)?;
                    tables.stacks.push(stack);
                    last_stack = Some(stack);
                }
                sections::TRACKS => {
                    let track = rows::track(bytes, tables.tracks.len(), tables)?;
                    tables.tracks.push(track);
                }
                sections::TRACK_CHANGES => {
                    let id = bytes.id(tables.tracks.len())? as usize;
                    tables.tracks[id] = rows::track(bytes, id, tables)?;
                }
                sections::SERIES => tables.series.push(rows::series(bytes, tables)?),
                _ => tables.sources.push(rows::source(bytes, tables)?),
            }
        }
        Ok(())
    }

    fn read_events(&mut self, kind: u8, bytes: &mut Bytes<'_>) -> Decoded<()> {
        let Profile { tables, allocations, spans, notes, .. } = &mut self.profile;
        let (mut last_block, mut last_free) = (None, None);
        let (mut first_span, mut last_note) = (true, None);
        while !bytes.is_empty() {
            match kind {
                sections::ALLOCATIONS => {
                    let leaves = &mut self.leaves;
                    let block = events::allocation(bytes, leaves, last_block.as_ref(), tables)?;
                    allocations.push(block);
                    last_block = Some(block);
                }
                sections::FREES => {
                    let free = events::free(bytes, last_free.as_ref(), allocations.len())?;
                    let Free { allocation, time } = free;
                    let block = &mut allocations[allocation as usize];
                    block.freed = Some(time.max(block.time));
                    last_free = Some(free);
                }
                sections::SPANS => {
                    let last = spans.last().filter(|_| !first_span);
                    let span = events::span(bytes, last, spans, tables)?;
                    spans.push(span);
                    first_span = false;
                }
                sections::SPAN_ENDS => {
                    let SpanEnd { span, end, suspended_ns, failed, attributes } =
                        events::span_end(bytes, spans.len(), tables)?;
                    let span = &mut spans[span.index()];
                    span.end = Some(end.max(span.start));
                    span.suspended_ns = events::at_most_whole(suspended_ns, span.start, span.end);
                    span.failed = failed;
                    span.attributes.extend(attributes);
                }
                _ => {
                    let note = events::note(bytes, last_note.as_ref(), tables)?;
                    notes.push(note);
                    last_note = Some(note);
                }
            }
        }
        Ok(())
    }

    /// Puts events in order of time and says in a note what is not whole.
    fn finish(mut self, warning: Option<String>) -> Profile {
        self.profile.sort_events();
        if let Some(text) = warning {
            warn(&mut self.profile, &text);
        }
        self.profile
    }
}

/// Adds a warning at the end of `profile`, about its process.
fn warn(profile: &mut Profile, text: &str) {
    let tables = &mut profile.tables;
    if tables.strings.is_empty() {
        tables.strings.push("".into());
    }
    if tables.tracks.is_empty() {
        let (kind, os_id) = (TrackKind::Process, profile.meta.pid.into());
        let (name, start) = (StringId(0), Time(0));
        tables.tracks.push(Track { kind, parent: None, os_id, name, start, end: None });
    }
    let process = tables.tracks.iter().position(|track| track.kind == TrackKind::Process);
    let track = TrackId::from(process.unwrap_or(0));
    tables.strings.push(text.into());
    let text = StringId::from(tables.strings.len() - 1);
    let last = profile.notes.last().map_or(Time(0), |note| note.time);
    let time = Time(profile.meta.duration_ns).max(last);
    profile.notes.push(Note { time, track, warning: true, text });
}
