//! A picture of memory from samples made in Python, and samples from a picture.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use tachograph_profile::analyze::frame_name;
use tachograph_profile::{
    Allocation, Allocator, Frame, FrameKind, Interner, Profile, StackId, Time, TrackKind,
};

use crate::text::Text;

/// `(address, function, file, line, is_python)`.
pub(super) type FrameRow = (u64, String, String, u32, bool);

/// The same, as Python hands it over.
pub(super) type FrameIn = (u64, Text, Text, i64, bool);

/// One row per sample: `(addresses, sizes, estimates, times, stacks)`.
pub(super) type SampleColumns = (Vec<u64>, Vec<u64>, Vec<u64>, Vec<u64>, Vec<u32>);

/// What Python needs to make its objects: each distinct frame and stack once,
/// stacks innermost frame first.
#[derive(IntoPyObject)]
pub(super) struct Columns {
    frames: Vec<FrameRow>,
    stacks: Vec<Vec<u32>>,
    columns: SampleColumns,
}

impl Columns {
    /// The blocks of `profile`.
    pub(super) fn of(profile: &Profile) -> Self {
        let mut positions = vec![u32::MAX; profile.tables.stacks.len()];
        let mut stacks = Vec::new();
        let mut columns: SampleColumns = Default::default();
        for block in &profile.allocations {
            let Some(position) = positions.get_mut(block.stack.index()) else { continue };
            if *position == u32::MAX {
                *position = u32::try_from(stacks.len()).unwrap_or(u32::MAX);
                stacks.push(frame_numbers(profile, block.stack));
            }
            columns.0.push(block.address);
            columns.1.push(block.size_bytes);
            columns.2.push(block.weight_bytes);
            columns.3.push(block.time.0);
            columns.4.push(*position);
        }
        let frames = profile.tables.frames.iter().map(|frame| frame_row(profile, frame)).collect();
        Self { frames, stacks, columns }
    }
}

fn frame_row(profile: &Profile, frame: &Frame) -> FrameRow {
    (
        frame.address,
        frame_name(profile, frame).into_owned(),
        profile.text(frame.file).to_owned(),
        frame.line,
        frame.kind == FrameKind::Python,
    )
}

fn frame_numbers(profile: &Profile, stack: StackId) -> Vec<u32> {
    let mut numbers = Vec::new();
    let mut next = Some(stack);
    while let Some(node) = next.and_then(|id| profile.tables.stacks.get(id.index())) {
        numbers.push(node.frame.0);
        next = node.caller.filter(|caller| next.is_some_and(|own| *caller < own));
    }
    numbers
}

/// The profile whose blocks these are. A sample without a frame is left out.
pub(super) fn profile_of(
    frames: &[FrameIn],
    stacks: &[Vec<u32>],
    columns: &SampleColumns,
    duration_ns: u64,
) -> PyResult<Profile> {
    let mut tables = Interner::default();
    let process = tables.track(TrackKind::Process, None, 0, "", Time(0));
    let thread = tables.track(TrackKind::Thread, Some(process), 0, "Memory Profile", Time(0));
    let mut frame_ids = Vec::with_capacity(frames.len());
    for (address, function, file, line, is_python) in frames {
        let (function, file) = (tables.string(&function.0), tables.string(&file.0));
        let kind = if *is_python { FrameKind::Python } else { FrameKind::Native };
        frame_ids.push(tables.frame(Frame {
            function,
            file,
            line: u32::try_from(*line).unwrap_or(0),
            first_line: 0,
            kind,
            mapping: None,
            address: if *is_python { 0 } else { *address },
        }));
    }
    let mut stack_ids = Vec::with_capacity(stacks.len());
    for numbers in stacks {
        let mut stack = None;
        for number in numbers.iter().rev() {
            let frame = frame_ids.get(*number as usize).ok_or_else(out_of_range)?;
            stack = Some(tables.stack(stack, *frame));
        }
        stack_ids.push(stack);
    }
    let (addresses, sizes, estimates, times, stack_of) = columns;
    let rows = addresses.len();
    if [sizes.len(), estimates.len(), times.len(), stack_of.len()] != [rows; 4] {
        return Err(PyValueError::new_err("columns differ in length"));
    }
    let mut profile = Profile { tables: tables.into_tables(), ..Profile::default() };
    for row in 0..rows {
        let stack = stack_ids.get(stack_of[row] as usize).ok_or_else(out_of_range)?;
        let Some(stack) = *stack else { continue };
        profile.allocations.push(Allocation {
            time: Time(times[row]),
            freed: None,
            track: thread,
            stack,
            address: addresses[row],
            size_bytes: sizes[row],
            weight_bytes: estimates[row],
            allocator: Allocator::Malloc,
        });
    }
    profile.allocations.sort_by_key(|block| block.time);
    let last = profile.allocations.last().map_or(0, |block| block.time.0);
    profile.meta.duration_ns = duration_ns.max(last);
    profile.check().map_err(PyValueError::new_err)?;
    Ok(profile)
}

fn out_of_range() -> PyErr {
    PyValueError::new_err("a stack or frame is out of range")
}
