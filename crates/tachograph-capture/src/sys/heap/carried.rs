//! What a Python object that is due tells `malloc`, in one word of its thread.

use tachograph_profile::Allocator;

/// A Python object on its way to `malloc`: 10 bits of size, 1 of domain, the weight.
pub(super) struct Carried {
    pub(super) size: usize,
    pub(super) allocator: Allocator,
    pub(super) weight: u64,
}

impl Carried {
    /// Asks whether a request comes to our hook for objects.
    pub(super) const PROBE_OBJECTS: u64 = 2;

    /// Asks whether a request of `size` bytes comes to `malloc`. Smaller ones on the
    /// way are what a tracing allocator notes for itself.
    pub(super) const fn probe_malloc(size: usize) -> u64 {
        (size as u64) << 8 | 4
    }

    /// Whether `word`, which is not 0, is meant for a block of `size` bytes in `malloc`.
    pub(super) fn is_for(word: u64, size: usize) -> bool {
        word & 1 == 1 || word & 4 == 4 && size as u64 >= word >> 8
    }

    /// As one word that is not 0.
    pub(super) fn pack(&self) -> u64 {
        let domain = u64::from(self.allocator == Allocator::PyMem);
        self.weight << 12 | domain << 11 | (self.size as u64 & 0x3ff) << 1 | 1
    }

    pub(super) fn unpack(word: u64) -> Option<Self> {
        let allocator = if word >> 11 & 1 == 1 { Allocator::PyMem } else { Allocator::PyObject };
        let size = (word >> 1 & 0x3ff) as usize;
        (word & 1 == 1).then_some(Self { size, allocator, weight: word >> 12 })
    }
}
