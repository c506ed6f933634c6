//! What a thread's handler has already told the collector.
//!
//! A small table of fixed size that forgets: what falls out is told once more,
//! which costs a little room and is never wrong. Entries are compared whole, so
//! one is never taken for another.

use crate::walk::RawFrame;

/// Sets of entries; a power of two.
const SETS: usize = 256;

/// Entries a set holds, the one that came last first.
const WAYS: usize = 4;

/// Entries that were told, most of them. All-zero is a table that knows nothing.
#[derive(Debug)]
pub struct Known {
    sets: [[RawFrame; WAYS]; SETS],
    is_used: bool,
}

impl Default for Known {
    fn default() -> Self {
        Self::new()
    }
}

impl Known {
    /// How many entries fit.
    pub const ROOM: usize = SETS * WAYS;

    /// Knows nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { sets: [[RawFrame { code: 0, place: 0 }; WAYS]; SETS], is_used: false }
    }

    /// Whether `entry` was told and has not been pushed out since.
    ///
    /// Context: signal handler.
    #[must_use]
    #[inline]
    pub fn has(&self, entry: &RawFrame) -> bool {
        self.sets.get(set_of(entry)).is_some_and(|set| set.contains(entry))
    }

    /// Remembers `entry` in place of the oldest of its set.
    ///
    /// Context: signal handler.
    pub fn remember(&mut self, entry: RawFrame) {
        self.is_used = true;
        if let Some(set) = self.sets.get_mut(set_of(&entry)) {
            set.rotate_right(1);
            if let Some(first) = set.first_mut() {
                *first = entry;
            }
        }
    }

    /// Forgets everything, for the thread that owns the table next.
    pub fn forget(&mut self) {
        if self.is_used {
            *self = Self::new();
        }
    }
}

#[inline]
fn set_of(entry: &RawFrame) -> usize {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (entry.code.wrapping_mul(MULTIPLIER) ^ entry.place).wrapping_mul(MULTIPLIER);
    // The upper bits are the well-mixed ones.
    (mixed >> 32) as usize & (SETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> RawFrame {
        RawFrame::python(0x7f00_0000_0000 + number * 64, 8, 77)
    }

    #[test]
    fn what_was_told_is_known_and_nothing_else() {
        let mut known = Known::new();
        known.remember(entry(1));

        assert!(known.has(&entry(1)));
        assert!(!known.has(&RawFrame::python(entry(1).code_address(), 10, 77)));
        assert!(!known.has(&RawFrame::python(entry(1).code_address(), 8, 78)));

        known.forget();
        assert!(!known.has(&entry(1)));
    }

    #[test]
    fn a_full_table_forgets_the_oldest_and_keeps_the_newest() {
        let mut known = Known::new();
        for number in 0..100_000 {
            known.remember(entry(number));
            assert!(known.has(&entry(number)));
        }

        let kept = (0..100_000).filter(|number| known.has(&entry(*number))).count();

        assert!(kept <= Known::ROOM);
        assert!(kept > Known::ROOM * 9 / 10, "{kept}");
    }
}
