//! How many blocks can be live samples at once, and what follows when it gets tight.
//!
//! From half full on, every further thirty-second part of the table makes the period
//! twice as long. A sample weighs what the period of its gap says, so sums stay right
//! on average; what is allocated late is only seen more coarsely. Sixteen doublings
//! make room for four thousand times the memory that the table would hold otherwise.

use super::index::MOST_ENTRIES;

/// Blocks that are live samples at once, unless a door says otherwise: entries are
/// numbered from 1.
const MOST: u32 = MOST_ENTRIES as u32 - 1;

/// The room of the table of live samples.
pub(super) struct Room {
    used: u32,
    most: u32,
    /// At this many the period doubles.
    next: u32,
}

impl Room {
    /// All of it.
    pub(super) const fn new() -> Self {
        Self { used: 0, most: MOST, next: MOST / 2 }
    }

    /// Takes one place; whether the period is to double now. `None` when all are taken.
    ///
    /// Context: allocator hook.
    pub(super) fn take(&mut self) -> Option<bool> {
        if self.used >= self.most {
            return None;
        }
        self.used += 1;
        let is_tight = self.used >= self.next;
        if is_tight {
            self.next = self.used + (self.most / 32).max(1);
        }
        Some(is_tight)
    }

    /// Gives one place back.
    ///
    /// Context: allocator hook.
    pub(super) fn give_back(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    /// Whether there is so much room again that the period can be the one asked for.
    pub(super) fn recovers(&mut self) -> bool {
        let is_wide = self.used < self.most / 4;
        if is_wide {
            self.next = self.most / 2;
        }
        is_wide
    }

    /// Another number of places; 0 means as many as there can be.
    pub(super) fn set_most(&mut self, most: u32) {
        let most = if most == 0 { MOST } else { most.min(MOST) };
        if self.most != most {
            self.most = most;
            self.next = (most / 2).max(self.used);
        }
    }

    /// All places are free again.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.next = self.most / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_doubles_with_every_part_from_half_full_on() {
        let mut room = Room::new();
        room.set_most(3_200);
        let tight: Vec<u32> = (1..=3_200).filter(|_| room.take().expect("there is room")).collect();

        assert_eq!(tight, (16..=32).map(|part| part * 100).collect::<Vec<_>>());
        assert_eq!(room.take(), None, "it is full");
        room.give_back();
        assert!(room.take().is_some());
    }

    #[test]
    fn a_table_that_is_nearly_empty_again_starts_over() {
        let mut room = Room::new();
        room.set_most(320);
        (0..200).for_each(|_| assert!(room.take().is_some()));
        assert!(!room.recovers(), "more than a quarter is in use");
        (0..150).for_each(|_| room.give_back());

        assert!(room.recovers());
        assert!((0..109).all(|_| room.take() == Some(false)));
        assert_eq!(room.take(), Some(true), "half full");
    }
}
