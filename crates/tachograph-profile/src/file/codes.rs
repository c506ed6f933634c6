//! The byte that stands for each variant in a file.
//!
//! A variant's byte is its place in its list. New variants go to the end of
//! a list and raise the version; the order of the enums does not matter.

use super::bytes::{Bytes, Damage, Decoded};
use crate::model::{Allocator, FrameKind, SeriesKind, ThreadState, TrackKind, Unit};

pub(super) const FRAME_KINDS: &[FrameKind] =
    &[FrameKind::Python, FrameKind::Native, FrameKind::Kernel, FrameKind::Label];

pub(super) const TRACK_KINDS: &[TrackKind] = &[
    TrackKind::Machine,
    TrackKind::Process,
    TrackKind::Thread,
    TrackKind::Task,
    TrackKind::Device,
    TrackKind::Stream,
];

pub(super) const STATES: &[ThreadState] = &[
    ThreadState::Running,
    ThreadState::RunningWithGil,
    ThreadState::WaitingForGil,
    ThreadState::Idle,
    ThreadState::Unknown,
];

pub(super) const ALLOCATORS: &[Allocator] = &[
    Allocator::Malloc,
    Allocator::Mmap,
    Allocator::PyMem,
    Allocator::PyObject,
    Allocator::Arena,
    Allocator::Device,
];

pub(super) const UNITS: &[Unit] = &[
    Unit::Count,
    Unit::Bytes,
    Unit::Nanoseconds,
    Unit::Ratio,
    Unit::Joules,
    Unit::Watts,
    Unit::Celsius,
    Unit::Hertz,
];

pub(super) const SERIES_KINDS: &[SeriesKind] = &[SeriesKind::Gauge, SeriesKind::Total];

/// The byte of `variant`. A variant missing from its list gets a byte no
/// reader accepts; the test below keeps the lists whole.
pub(super) fn code<T: PartialEq>(all: &[T], variant: &T) -> u8 {
    let place = all.iter().position(|other| other == variant);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}

/// The variant of `byte`.
pub(super) fn variant<T: Copy>(all: &[T], byte: u8) -> Decoded<T> {
    all.get(usize::from(byte)).copied().ok_or(Damage("a kind is not known"))
}

impl Bytes<'_> {
    pub(super) fn variant<T: Copy>(&mut self, all: &[T]) -> Decoded<T> {
        variant(all, self.byte()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_its_byte() {
        // Each match lists all variants, so a new one fails to compile here.
        let frame = |kind| match kind {
            FrameKind::Python => 0,
            FrameKind::Native => 1,
            FrameKind::Kernel => 2,
            FrameKind::Label => 3,
        };
        let track = |kind| match kind {
            TrackKind::Machine => 0,
            TrackKind::Process => 1,
            TrackKind::Thread => 2,
            TrackKind::Task => 3,
            TrackKind::Device => 4,
            TrackKind::Stream => 5,
        };
        let state = |state| match state {
            ThreadState::Running => 0,
            ThreadState::RunningWithGil => 1,
            ThreadState::WaitingForGil => 2,
            ThreadState::Idle => 3,
            ThreadState::Unknown => 4,
        };
        let allocator = |allocator| match allocator {
            Allocator::Malloc => 0,
            Allocator::Mmap => 1,
            Allocator::PyMem => 2,
            Allocator::PyObject => 3,
            Allocator::Arena => 4,
            Allocator::Device => 5,
        };
        let unit = |unit| match unit {
            Unit::Count => 0,
            Unit::Bytes => 1,
            Unit::Nanoseconds => 2,
            Unit::Ratio => 3,
            Unit::Joules => 4,
            Unit::Watts => 5,
            Unit::Celsius => 6,
            Unit::Hertz => 7,
        };
        let series = |kind| match kind {
            SeriesKind::Gauge => 0,
            SeriesKind::Total => 1,
        };

        for byte in 0..u8::MAX {
            assert!(variant(FRAME_KINDS, byte).is_ok_and(|k| frame(k) == byte) || byte > 3);
            assert!(variant(TRACK_KINDS, byte).is_ok_and(|k| track(k) == byte) || byte > 5);
            assert!(variant(STATES, byte).is_ok_and(|s| state(s) == byte) || byte > 4);
            assert!(variant(ALLOCATORS, byte).is_ok_and(|a| allocator(a) == byte) || byte > 5);
            assert!(variant(UNITS, byte).is_ok_and(|u| unit(u) == byte) || byte > 7);
            assert!(variant(SERIES_KINDS, byte).is_ok_and(|k| series(k) == byte) || byte > 1);
        }
        assert_eq!(code(STATES, &ThreadState::Idle), 3);
    }
}
