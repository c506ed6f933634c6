//! Stretches of time on one track, joined where they meet.

use super::events::Time;

/// Stretches that do not overlap, in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretches {
    /// Each from its start until just before its end.
    pub(super) stretches: Vec<(Time, Time)>,
    /// The first one that may hold the next time asked for.
    next: usize,
}

impl Stretches {
    /// Adds one that starts no earlier than those before.
    pub(super) fn add(&mut self, start: Time, end: Time) {
        match self.stretches.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => self.stretches.push((start, end)),
        }
    }

    /// Whether one of them holds `time`. Times are asked for in order.
    pub(super) fn hold(&mut self, time: Time) -> bool {
        while let Some((start, end)) = self.stretches.get(self.next) {
            if time < *end {
                return *start <= time;
            }
            self.next += 1;
        }
        false
    }

    /// Begins again with the earliest time.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }

    /// How long they are together.
    pub(super) fn length(&self) -> u64 {
        self.stretches.iter().map(|(start, end)| end.0 - start.0).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_meet_become_one() {
        let mut all = Stretches::default();
        for (start, end) in [(0, 10), (5, 7), (10, 12), (20, 20), (30, 31)] {
            all.add(Time(start), Time(end));
        }

        assert_eq!(all.length(), 13);
        let found: Vec<u64> = (0..40).filter(|time| all.hold(Time(*time))).collect();
        assert_eq!(found, (0..12).chain([30]).collect::<Vec<_>>());
    }
}
