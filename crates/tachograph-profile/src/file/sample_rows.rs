//! Samples, as columns per thread.
//!
//! Looks at one thread resemble each other: the gaps are about the period,
//! the task and the state seldom change, the weights are equal up to
//! rounding. Side by side they take about five bytes a sample before
//! compression and three after it.

use rustc_hash::FxHashMap;

use super::bytes::{Bytes, Damage, Decoded, in_table, put, units};
use super::codes::{self, STATES};
use super::columns;
use crate::model::{Sample, StackId, Tables, ThreadState, Time, TrackId};

/// The stacks that events had so far, in order of first use.
///
/// A stack that is used often is usually met early, so its place in this
/// list is a shorter number than its id. 0 stands for "new, its id follows".
#[derive(Default)]
pub(super) struct Leaves {
    places: FxHashMap<StackId, u64>,
}

impl Leaves {
    pub(super) fn put(&mut self, out: &mut Vec<u8>, stack: StackId) {
        let next = self.places.len() as u64 + 1;
        let place = *self.places.entry(stack).or_insert(next);
        if place == next {
            put(out, 0);
            put(out, stack.0.into());
        } else {
            put(out, place);
        }
    }
}

/// Reads a stack, learning it when it is new.
pub(super) fn leaf(
    bytes: &mut Bytes<'_>,
    leaves: &mut Vec<StackId>,
    stacks: usize,
) -> Decoded<StackId> {
    match bytes.number()? {
        0 => {
            let stack = StackId(bytes.id(stacks)?);
            leaves.push(stack);
            Ok(stack)
        }
        place => {
            let place = in_table(place - 1, leaves.len())?;
            leaves.get(place as usize).copied().ok_or(Damage("an id is not in its table"))
        }
    }
}

/// Appends `samples`, whatever their order; each thread's come out by time.
pub(super) fn put_samples(out: &mut Vec<u8>, leaves: &mut Leaves, samples: &[Sample]) {
    let mut rows: Vec<&Sample> = samples.iter().collect();
    rows.sort_by_key(|sample| (sample.track, sample.time));
    let start = samples.iter().map(|sample| units(sample.time)).min().unwrap_or(0);
    put(out, start);
    for thread in rows.chunk_by(|a, b| a.track == b.track) {
        let Some(first) = thread.first() else {
            continue;
        };
        put(out, first.track.0.into());
        put(out, thread.len() as u64);
        let mut last = start;
        for sample in thread {
            let now = units(sample.time);
            put(out, now - last);
            last = now;
        }
        for sample in thread {
            leaves.put(out, sample.stack);
        }
        let tasks = thread.iter().map(|sample| sample.task.map_or(0, |task| u64::from(task.0) + 1));
        columns::put_runs(out, tasks);
        let states = thread.iter().map(|sample| codes::code(STATES, &sample.state).into());
        columns::put_runs(out, states);
        columns::put_weights(out, thread.iter().map(|sample| sample.wall_ns));
        columns::put_weights(out, thread.iter().map(|sample| sample.cpu_ns));
    }
}

/// Reads a section of samples; on damage `out` keeps only whole threads.
pub(super) fn samples(
    bytes: &mut Bytes<'_>,
    leaves: &mut Vec<StackId>,
    tables: &Tables,
    out: &mut Vec<Sample>,
) -> Decoded<()> {
    let start = bytes.number()?;
    while !bytes.is_empty() {
        let whole = out.len();
        if let Err(damage) = thread(bytes, leaves, tables, start, out) {
            out.truncate(whole);
            return Err(damage);
        }
    }
    Ok(())
}

fn thread(
    bytes: &mut Bytes<'_>,
    leaves: &mut Vec<StackId>,
    tables: &Tables,
    start: u64,
    out: &mut Vec<Sample>,
) -> Decoded<()> {
    let track = TrackId(bytes.id(tables.tracks.len())?);
    // A time and a stack are at least one byte each.
    let count = bytes.count(2)?;
    let whole = out.len();
    let (time, task, stack, state) = (Time(0), None, StackId(0), ThreadState::Unknown);
    let blank = Sample { time, track, task, stack, wall_ns: 0, cpu_ns: 0, state };
    out.resize(whole + count, blank);
    let rows = &mut out[whole..];

    let mut last = start;
    for row in &mut *rows {
        last = last.saturating_add(bytes.number()?);
        row.time = super::bytes::time(last)?;
    }
    for row in &mut *rows {
        row.stack = leaf(bytes, leaves, tables.stacks.len())?;
    }
    columns::runs(bytes, rows, |row, task| {
        row.task = match task {
            0 => None,
            above => Some(TrackId(in_table(above - 1, tables.tracks.len())?)),
        };
        Ok(())
    })?;
    columns::runs(bytes, rows, |row, state| {
        row.state = codes::variant(STATES, u8::try_from(state).unwrap_or(u8::MAX))?;
        Ok(())
    })?;
    columns::weights(bytes, rows, |row, weight| row.wall_ns = weight)?;
    columns::weights(bytes, rows, |row, weight| row.cpu_ns = weight)
}
