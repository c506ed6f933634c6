//! Where a thread's CPU timer is believed instead of the tick.
//!
//! A tick's look is doubtful when the thread may have entered its system call
//! only after it was asked (`sys/handler.rs`). Such a look cannot be told from a
//! true one, and leaving doubtful looks out would hide short system calls. So time is
//! cut into blocks, and in a block that is in doubt every look shows what the timer saw
//! about then. The timer looks less often, so some say the same: as many looks as
//! before, each worth less. Replacing the doubtful ones only would count code that
//! ticks do see twice. And as the timer's looks are few, it is believed only when the
//! two contradict each other by more than chance does.

use std::hash::Hash;
use std::ops::Range;

use rustc_hash::FxHashMap;

/// Looks of the tick in a block: 64 ms at 1 kHz, so phases of a program stay apart.
const BLOCK: usize = 64;
/// A block is in doubt when so many of its looks, in percent, are doubtful and show one
/// and the same stack. Where a program has phases of some milliseconds the tick tells
/// them apart and the timer may not: its beat is the kernel's (8 points off, measured).
const ONE_STACK_PERCENT: usize = 80;
/// The timer must have looked at least once for this many ticks; at 1 kHz on a kernel
/// with 250 ticks a second it does four times as often.
const TICKS_PER_LOOK: usize = 16;

/// What a window's looks count for when the next one is judged: some five windows decide.
const MEMORY: f64 = 0.8;
/// Standard errors between the two witnesses from which on it is not chance.
const CONTRADICTION: f64 = 2.0;

/// What the tick and the timer say of the time that both saw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Witnesses {
    ticks: Testimony,
    seconds: Testimony,
}

/// Looks, and how many of them stood at a system call.
#[derive(Clone, Copy, Debug, Default)]
struct Testimony {
    looks: f64,
    at_call: f64,
}

impl Testimony {
    fn hear(&mut self, told: impl Iterator<Item = bool>) {
        self.looks *= MEMORY;
        self.at_call *= MEMORY;
        for at_call in told {
            self.looks += 1.0;
            self.at_call += f64::from(u8::from(at_call));
        }
    }

    fn share(&self) -> f64 {
        self.at_call / self.looks.max(1.0)
    }
}

impl Witnesses {
    /// Hears one window's looks of both: whether each stood at a system call.
    pub(crate) fn hear(
        &mut self,
        ticks: impl Iterator<Item = bool>,
        seconds: impl Iterator<Item = bool>,
    ) {
        self.ticks.hear(ticks);
        self.seconds.hear(seconds);
    }

    /// Whether the tick tells of more time in system calls than can be. Delay
    /// errs in no other direction.
    pub(crate) fn contradict(&self) -> bool {
        let (ticks, seconds) = (self.ticks, self.seconds);
        let all = ticks.looks + seconds.looks;
        if ticks.looks < 1.0 || seconds.looks < 1.0 {
            return false;
        }
        let both = (ticks.at_call + seconds.at_call) / all;
        let variance = both * (1.0 - both) * (1.0 / ticks.looks + 1.0 / seconds.looks);
        ticks.share() - seconds.share() > CONTRADICTION * variance.sqrt()
    }
}

/// Which looks of the tick could be overruled, and by which of the timer's. `ticks` are
/// times, and the stack if the look is doubtful; `seconds` are the times of the timer's
/// looks. Both are in order.
pub(crate) fn believed<S: Copy + Eq + Hash>(
    ticks: &[(u64, Option<S>)],
    seconds: &[u64],
) -> Vec<(usize, usize)> {
    let blocks = ticks.len().div_ceil(BLOCK);
    let start = |block: usize| block * ticks.len() / blocks;
    let second = |block: usize| match ticks.get(start(block)) {
        Some((time, _)) if block > 0 => seconds.partition_point(|second| second < time),
        Some(_) => 0,
        None => seconds.len(),
    };
    let mut overruled = Vec::new();
    for block in 0..blocks {
        let (old, new) = (start(block)..start(block + 1), second(block)..second(block + 1));
        let looks = ticks.get(old.clone()).unwrap_or_default();
        let mut stacks = FxHashMap::<S, usize>::default();
        for stack in looks.iter().filter_map(|(_, stack)| *stack) {
            *stacks.entry(stack).or_default() += 1;
        }
        let most = stacks.into_values().max().unwrap_or(0);
        let is_doubted = most * 100 >= ONE_STACK_PERCENT * looks.len();
        if is_doubted && new.len() * TICKS_PER_LOOK >= looks.len() {
            overruled.extend(paired(old, new));
        }
    }
    overruled
}

/// Each of `old` with one of `new`, in order and as evenly as they go.
fn paired(old: Range<usize>, new: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let (count, first) = (old.len(), new.start);
    old.enumerate().map(move |(index, tick)| (tick, first + index * new.len() / count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look every 10 of time; those in `doubtful` are, and show one stack.
    fn ticks(count: usize, doubtful: Range<usize>) -> Vec<(u64, Option<u8>)> {
        (0..count).map(|at| (10 * at as u64, doubtful.contains(&at).then_some(7))).collect()
    }

    #[test]
    fn only_blocks_in_doubt_are_told_by_the_timer() {
        let seconds: Vec<u64> = (0..32).map(|look| 40 * look + 5).collect();

        let overruled = believed(&ticks(128, 70..128), &seconds);

        assert!(overruled.iter().map(|(tick, _)| *tick).eq(64..128));
        assert!(overruled.iter().all(|(tick, second)| *second == tick / 4));
    }

    #[test]
    fn phases_are_left_to_the_tick() {
        let seconds: Vec<u64> = (0..16).map(|look| 40 * look + 5).collect();
        let mut two_calls = ticks(64, 0..64);
        two_calls.iter_mut().step_by(2).for_each(|(_, stack)| *stack = Some(8));

        assert!(believed(&ticks(64, 0..51), &seconds).is_empty());
        assert_eq!(believed(&ticks(64, 0..52), &seconds).len(), 64);
        assert!(believed(&two_calls, &seconds).is_empty());
    }

    #[test]
    fn ticks_stay_where_the_timer_hardly_looked() {
        assert!(believed(&ticks(64, 0..64), &[5, 15, 25]).is_empty());
        assert_eq!(believed(&ticks(64, 0..64), &[5, 15, 25, 35]).len(), 64);
        assert!(believed::<u8>(&[], &[5]).is_empty());
    }

    fn heard(ticks: [usize; 2], seconds: [usize; 2]) -> bool {
        let looks = |[at_call, of]: [usize; 2]| (0..of).map(move |look| look < at_call);
        let mut witnesses = Witnesses::default();
        witnesses.hear(looks(ticks), looks(seconds));
        witnesses.contradict()
    }

    #[test]
    fn the_timer_is_believed_only_when_chance_cannot_explain_it() {
        assert!(heard([99, 100], [10, 25]));
        assert!(!heard([42, 100], [9, 25]));
        assert!(!heard([10, 100], [15, 25]));
        assert!(!heard([10, 10], [0, 0]) && !heard([10, 10], [10, 10]));
    }

    #[test]
    fn a_small_contradiction_that_lasts_is_heard() {
        let window = |at_call: usize, of: usize| (0..of).map(move |look| look < at_call);
        let mut witnesses = Witnesses::default();

        witnesses.hear(window(360, 1_000), window(75, 250));
        assert!(!witnesses.contradict());
        (0..5).for_each(|_| witnesses.hear(window(360, 1_000), window(75, 250)));

        assert!(witnesses.contradict());
    }

    #[test]
    fn looks_are_paired_evenly() {
        assert_eq!(
            paired(2..7, 3..5).collect::<Vec<_>>(),
            [(2, 3), (3, 3), (4, 3), (5, 4), (6, 4)]
        );
        assert_eq!(paired(0..2, 0..5).collect::<Vec<_>>(), [(0, 0), (1, 2)]);
    }
}
