//! The latest walks of a native stack, so that the next one need not be made
//! again where nothing changed.
//!
//! A walk is decided by the registers it stands on, by the words it reads from
//! the stack, and by the rules. So when a new walk comes to where an earlier one
//! stood and every return address that was read from there on still is where it
//! was, it ends the same way: what the earlier one found is taken over. A rule
//! finds its frame by the stack pointer, or by the frame pointer when that points
//! into the frame; then it must be the same too. In code that uses the register
//! for something else it points elsewhere, and may hold anything. The objects are
//! confirmed to be loaded as in every walk.

use super::step::{NO_OTHERS, Others};
use super::unwind::NativeRaw;

/// Frames that are remembered; a deeper stack is walked anew each time.
const MOST_FRAMES: usize = 128;
/// Words that one step reads: the return address and a saved register, and one to spare.
const MOST_READS: usize = 3;
/// Walks that are remembered, one for each place where a stack begins: a program that
/// allocates in several places by turns finds each of them again.
const MOST_WALKS: usize = 4;
/// Objects that a stack goes through; one with more is walked anew.
const MOST_OBJECTS: usize = 8;

/// What a walk stands on: the registers it goes on from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stand {
    /// Where the frame's code is: where it goes on, or will go on after a call.
    pub(crate) address: u64,
    /// The address is where a call returns to.
    pub(crate) is_return: bool,
    /// The stack pointer.
    pub(crate) sp: u64,
    /// The other registers that rules use, the frame pointer first.
    pub(crate) others: Others,
}

impl Stand {
    fn frame_pointer(&self) -> u64 {
        let [frame_pointer, ..] = self.others;
        frame_pointer
    }

    /// Whether both are the same but for the frame pointer.
    fn is_at(&self, other: &Self) -> bool {
        let mut others = other.others;
        others[0] = self.frame_pointer();
        *self == Self { others, ..*other }
    }
}

/// One step of a walk: where it stood, what it read, what it found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    stand: Stand,
    cfa: u64,
    object: u16,
    reads: [(u64, u64); MOST_READS],
    count: u16,
}

impl Taken {
    /// A step from `stand` that has read nothing yet.
    ///
    /// Context: signal handler.
    pub(crate) const fn from(stand: Stand) -> Self {
        Self { stand, cfa: 0, object: 0, reads: [(0, 0); MOST_READS], count: 0 }
    }

    /// Notes that the step read `value` at `address`.
    ///
    /// Context: signal handler.
    pub(crate) fn note(&mut self, address: u64, value: u64) {
        if let Some(place) = self.reads.get_mut(usize::from(self.count)) {
            *place = (address, value);
        }
        self.count = self.count.saturating_add(1);
    }

    /// The frame that the step found.
    ///
    /// Context: signal handler.
    pub(crate) fn frame(&self) -> NativeRaw {
        let Stand { address, is_return, sp, .. } = self.stand;
        let pc = address.wrapping_sub(u64::from(is_return));
        NativeRaw { pc, sp, cfa: self.cfa, object: self.object }
    }

    /// Whether `pointer` points into the frame, so that a rule may go by it.
    fn contains(&self, pointer: u64) -> bool {
        (self.stand.sp..=self.cfa).contains(&pointer)
    }

    fn is_whole(&self) -> bool {
        usize::from(self.count) <= MOST_READS
    }

    /// Whether the step would be the same with `frame_pointer` as it is now, and what that
    /// is after it. `next` is what the step led to.
    fn again(
        &self,
        next: Option<&Stand>,
        frame_pointer: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Option<u64> {
        let before = self.stand.frame_pointer();
        let matters = self.contains(before) || self.contains(frame_pointer);
        if matters && before != frame_pointer {
            return None;
        }
        let mut after = frame_pointer;
        for (address, value) in self.reads.iter().take(usize::from(self.count)) {
            let now = read(*address)?;
            let is_saved_pointer =
                |next: &Stand| next.frame_pointer() == *value && next.address != *value;
            if next.is_some_and(is_saved_pointer) {
                after = now;
            } else if now != *value {
                return None;
            }
        }
        Some(after)
    }
}

/// A walk that came to its end.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// The list of rules it was made with; 0 for none.
    generation: u64,
    /// The stack pointer it began at.
    begin: u64,
    /// Its steps, outermost first: what is outside stays where it is when what is
    /// inside changes.
    steps: [Taken; MOST_FRAMES],
    depth: usize,
    complete: bool,
}

const NONE_KEPT: Kept = Kept {
    generation: 0,
    begin: 0,
    steps: [Taken::from(Stand { address: 0, is_return: false, sp: 0, others: NO_OTHERS });
        MOST_FRAMES],
    depth: 0,
    complete: false,
};

/// The latest walks, and the one that is being made.
#[derive(Debug)]
pub(crate) struct Memo {
    walks: [Kept; MOST_WALKS],
    /// Which of them the new one may join, and will replace.
    place: usize,
    /// Which of them a walk that begins elsewhere replaces; they take turns.
    next: usize,
    /// How many of its outer steps the new walk may still come to.
    left: usize,
    /// The steps of the walk that is being made, innermost first.
    fresh: [Taken; MOST_FRAMES],
    fresh_depth: usize,
    /// The walk that is being made can be remembered.
    keeps: bool,
}

impl Default for Memo {
    fn default() -> Self {
        Self {
            walks: [NONE_KEPT; MOST_WALKS],
            place: 0,
            next: 0,
            left: 0,
            fresh: NONE_KEPT.steps,
            fresh_depth: 0,
            keeps: false,
        }
    }
}

impl Memo {
    /// Begins a walk at stack pointer `sp` by the list of rules `generation`.
    ///
    /// Context: signal handler.
    pub(crate) fn begin(&mut self, sp: u64, generation: u64) {
        self.place = match self.walks.iter().position(|kept| kept.begin == sp) {
            Some(place) => place,
            None => {
                self.next = (self.next + 1) % MOST_WALKS;
                self.next
            }
        };
        let Some(kept) = self.walks.get_mut(self.place) else { return };
        kept.begin = sp;
        if kept.generation != generation {
            kept.generation = generation;
            kept.depth = 0;
        }
        self.left = kept.depth;
        self.fresh_depth = 0;
        self.keeps = true;
    }

    /// Notes a step that led to a caller, or found that there is none.
    ///
    /// Context: signal handler.
    pub(crate) fn add(&mut self, mut taken: Taken, frame: &NativeRaw) {
        (taken.cfa, taken.object) = (frame.cfa, frame.object);
        self.keeps &= taken.is_whole();
        match self.fresh.get_mut(self.fresh_depth) {
            Some(place) => {
                *place = taken;
                self.fresh_depth += 1;
            }
            None => self.keeps = false,
        }
    }

    /// The walk did not come to the end of the stack, or depends on more than
    /// registers, stack and rules.
    ///
    /// Context: signal handler.
    pub(crate) fn give_up(&mut self) {
        self.keeps = false;
    }

    /// The steps from `stand` on to the end, outermost first, and whether the
    /// stack was complete, if an earlier walk stood there too and would find the
    /// same again. `confirm` says whether an object still is where it was.
    ///
    /// Context: signal handler.
    pub(crate) fn rest<R: FnMut(u64) -> Option<u64>>(
        &mut self,
        stand: &Stand,
        read: &mut R,
        confirm: impl FnMut(&NativeRaw, &mut R) -> bool,
    ) -> Option<(&[Taken], bool)> {
        let kept = self.walks.get(self.place)?;
        let innermost = |left: usize| kept.steps.get(left.checked_sub(1)?);
        // The stack grows down: frames below the one the walk stands on are gone.
        while innermost(self.left).is_some_and(|step| step.stand.sp < stand.sp) {
            self.left -= 1;
        }
        if !innermost(self.left)?.stand.is_at(stand) {
            return None;
        }
        let rest = kept.steps.get(..self.left)?;
        if !holds(rest, stand.frame_pointer(), read, confirm) {
            self.left = 0;
            return None;
        }
        Some((rest, kept.complete))
    }

    /// Ends a walk that came to its own end, or `joined` an earlier one where
    /// [`Memo::rest`] said.
    ///
    /// Context: signal handler.
    pub(crate) fn end(&mut self, joined: bool, complete: bool) {
        let Some(kept) = self.walks.get_mut(self.place) else { return };
        let outer = if joined { self.left } else { 0 };
        kept.depth = outer + self.fresh_depth;
        kept.complete = complete;
        if !self.keeps || kept.depth > MOST_FRAMES {
            kept.depth = 0;
            return;
        }
        let fresh = self.fresh.iter().take(self.fresh_depth).rev();
        for (place, step) in kept.steps.iter_mut().skip(outer).zip(fresh) {
            *place = *step;
        }
    }
}

/// Whether a walk along `steps`, which are outermost first, would go as it went.
fn holds<R: FnMut(u64) -> Option<u64>>(
    steps: &[Taken],
    mut frame_pointer: u64,
    read: &mut R,
    mut confirm: impl FnMut(&NativeRaw, &mut R) -> bool,
) -> bool {
    let mut objects = [0_u16; MOST_OBJECTS];
    let mut met = 0;
    let callers = steps.iter().map(|step| Some(&step.stand)).rev().skip(1).chain([None]);
    steps.iter().rev().zip(callers).all(|(step, caller)| {
        if !objects.iter().take(met).any(|object| *object == step.object) {
            let Some(place) = objects.get_mut(met) else { return false };
            *place = step.object;
            met += 1;
            if !confirm(&step.frame(), read) {
                return false;
            }
        }
        let after = step.again(caller, frame_pointer, read);
        frame_pointer = after.unwrap_or(0);
        after.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_that_take_turns_are_each_found_again_wherever_the_stack_lies() {
        let mut memo = Memo::default();
        for base in (0..4096).map(|step| 0x7ffc_0000_0000 + 16 * step) {
            let begins = [base, base - 0x90, base - 0x480, base - 0x1000];
            let mut place = |sp| {
                memo.begin(sp, 1);
                memo.place
            };
            let first = begins.map(&mut place);

            assert_eq!(begins.map(&mut place), first);
            assert_eq!(std::collections::HashSet::from(first).len(), first.len());
        }
    }
}
