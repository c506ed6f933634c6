//! Walks the native stack of a thread with the compiler's own unwind tables, so
//! that code without frame pointers is no obstacle.
//!
//! Runs in a signal handler: it allocates nothing, takes no lock, and reads the
//! stack only through guarded reads. A rule is used for an address only after
//! the address's object was confirmed to be the one the rule was made for.

use framehop::{CacheNative, FrameAddress, UnwindRegsNative, Unwinder as _};

use super::memo::{Memo, Stand, Taken};
use super::memory;
use super::objects::find;
use super::room::{SmallRoom, has_room};
use super::rules::{Pinned, Rules};
use super::step::{self, Step};
use crate::sys::guard;
use crate::sys::registers::Interrupted;

/// Frames kept of one stack. Deeper ones are cut at the root and counted as partial.
pub(crate) const MAX_FRAMES: usize = 256;

/// One native frame as the handler sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NativeRaw {
    /// An address inside the instruction that runs: where the thread was
    /// interrupted, or the last byte of the call it has to return from.
    pub(crate) pc: u64,
    /// The frame's lowest stack address.
    pub(crate) sp: u64,
    /// The first stack address past the frame; equal to `sp` when unknown.
    pub(crate) cfa: u64,
    /// Which object holds `pc`; 0 when no known one does.
    pub(crate) object: u16,
}

impl NativeRaw {
    /// Whether the frame's part of the stack holds `address`.
    ///
    /// Context: signal handler.
    pub(crate) fn holds(&self, address: u64) -> bool {
        (self.sp..self.cfa).contains(&address)
    }

    /// The address with its object's number above it, as the `Symbolizer` takes
    /// it. The top bit is free for the caller.
    ///
    /// Context: signal handler.
    pub(crate) fn code(&self) -> u64 {
        u64::from(self.object & MAX_OBJECT) << PC_BITS | self.pc & PC_MASK
    }
}

/// The code words of `frames`, with `mark` set in those that are eval loops:
/// that hold one of `addresses`. Both are innermost first.
///
/// A frame can hold several. An address on another stack, or below the stack
/// that is left, is passed over.
///
/// Context: signal handler.
pub(crate) fn words_with_loops(
    frames: &[NativeRaw],
    addresses: impl Iterator<Item = u64>,
    mark: u64,
) -> impl ExactSizeIterator<Item = u64> {
    let mut addresses = addresses.peekable();
    frames.iter().map(move |frame| {
        while addresses.next_if(|address| *address < frame.sp).is_some() {}
        let mut word = frame.code();
        while addresses.next_if(|address| frame.holds(*address)).is_some() {
            word |= mark;
        }
        word
    })
}

/// User addresses have at most this many bits; the object's number is above them.
pub(crate) const PC_BITS: u32 = 48;
/// The bits of a code word that are the address.
pub(crate) const PC_MASK: u64 = (1 << PC_BITS) - 1;
/// The highest number an object can have.
pub(crate) const MAX_OBJECT: u16 = u16::MAX >> 1;

/// How far a walk came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unwound {
    /// Frames written.
    pub(crate) depth: usize,
    /// The thread's first function was reached, and no frame was guessed.
    pub(crate) complete: bool,
}

/// Working memory of one walk at a time; one per thread that is sampled.
///
/// About 90 KB, allocated and touched when it is made.
pub(crate) struct Scratch {
    cache: CacheNative<SmallRoom>,
    memo: Memo,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { cache: CacheNative::new_in(), memo: Memo::default() }
    }
}

/// Writes the stack that begins at `registers` to `out`, innermost first.
///
/// `out` bounds the walk, as does [`MAX_FRAMES`]. Before the first
/// `native::refresh`, and on a signal stack that is too small, nothing is written.
///
/// Context: signal handler.
pub(crate) fn unwind(
    registers: Interrupted,
    scratch: &mut Scratch,
    out: &mut [NativeRaw],
) -> Unwound {
    if !has_room(registers.sp) {
        return Unwound::default();
    }
    unwind_with(registers, scratch, out, guard::read_u64)
}

/// As [`unwind`], for the calling thread's own stack outside a sampling
/// handler: reads by way of the kernel, so it needs no fault handler.
pub(crate) fn unwind_own(
    registers: Interrupted,
    scratch: &mut Scratch,
    out: &mut [NativeRaw],
) -> Unwound {
    unwind_with(registers, scratch, out, memory::read_word)
}

fn unwind_with(
    registers: Interrupted,
    scratch: &mut Scratch,
    out: &mut [NativeRaw],
    mut read: impl FnMut(u64) -> Option<u64>,
) -> Unwound {
    let mut unwound = Unwound::default();
    let Some(rules) = Pinned::current() else {
        return unwound;
    };
    let Scratch { cache, memo } = scratch;
    memo.begin(registers.sp, rules.generation);
    let mut walk = Walk {
        rules: &rules,
        cache,
        read: &mut read,
        regs: step::unwind_registers(registers),
        address: FrameAddress::from_instruction_pointer(registers.ip),
        confirmed: None,
        guessed: false,
        taken: Taken::default(),
    };
    let (mut joined, mut ended, mut complete) = (false, false, false);
    let limit = out.len().min(MAX_FRAMES);
    while unwound.depth < limit && !ended {
        let Some(free) = out.get_mut(unwound.depth..limit) else { break };
        if let Some((rest, was_complete)) = walk.rest(memo) {
            complete = was_complete;
            unwound.complete = complete && rest.len() <= free.len();
            for (place, step) in free.iter_mut().zip(rest.iter().rev()) {
                *place = step.frame();
                unwound.depth += 1;
            }
            (joined, ended) = (true, true);
            break;
        }
        let Some(frame) = free.first_mut() else { break };
        let object = walk.object();
        *frame = walk.frame(object);
        unwound.depth += 1;
        match walk.step(object.is_some()) {
            Step::Caller => frame.cfa = walk.regs.sp().max(frame.sp),
            // The trampoline was never called; its first byte is its address.
            Step::Interrupted => {
                frame.pc += 1;
                memo.give_up();
            }
            Step::Root => {
                (complete, ended) = (!walk.guessed, true);
                unwound.complete = complete;
            }
            Step::Lost => break,
        }
        memo.add(walk.taken, frame);
    }
    if !ended || walk.guessed {
        memo.give_up();
    }
    memo.end(joined, complete);
    unwound
}

/// A walk in progress.
struct Walk<'a, R: FnMut(u64) -> Option<u64>> {
    rules: &'a Rules,
    cache: &'a mut CacheNative<SmallRoom>,
    read: &'a mut R,
    regs: UnwindRegsNative,
    address: FrameAddress,
    /// The object confirmed last: its range and number.
    confirmed: Option<(u64, u64, u16)>,
    /// The one step by frame pointer through unknown code was taken.
    guessed: bool,
    /// What the last step read.
    taken: Taken,
}

impl<R: FnMut(u64) -> Option<u64>> Walk<'_, R> {
    /// The frame the walk stands on.
    fn frame(&self, object: Option<u16>) -> NativeRaw {
        let sp = self.regs.sp();
        let pc = self.address.address_for_lookup();
        NativeRaw { pc, sp, cfa: sp, object: object.unwrap_or(0) }
    }

    /// What the walk goes on from.
    fn stand(&self) -> Stand {
        Stand {
            address: self.address.address(),
            is_return: self.address.is_return_address(),
            sp: self.regs.sp(),
            others: step::other_registers(&self.regs),
        }
    }

    /// The rest of the walk, if the last one has made it.
    fn rest<'m>(&mut self, memo: &'m mut Memo) -> Option<(&'m [Taken], bool)> {
        let stand = self.stand();
        let rules = self.rules;
        memo.rest(&stand, self.read, |frame, read| {
            rules.confirm(frame.pc, read).is_some_and(|known| known.id == frame.object)
        })
    }

    /// The number of the object the walk stands in at this moment.
    fn object(&mut self) -> Option<u16> {
        self.object_of(self.address.address_for_lookup())
    }

    fn object_of(&mut self, pc: u64) -> Option<u16> {
        if let Some((start, end, id)) = self.confirmed
            && (start..end).contains(&pc)
        {
            return Some(id);
        }
        let known = self.rules.confirm(pc, self.read)?;
        let found = known.object.found;
        self.confirmed = Some((found.start, found.end, known.id));
        Some(known.id)
    }

    /// Goes to the caller of the frame the walk stands on.
    fn step(&mut self, known: bool) -> Step {
        let sp = self.regs.sp();
        self.taken = Taken::from(self.stand());
        if !known {
            return self.guess(sp);
        }
        let pc = self.address.address();
        if step::is_signal_return(pc, self.read)
            && let Some(registers) = step::interrupted_registers(sp, self.read)
        {
            self.regs = step::unwind_registers(registers);
            self.address = FrameAddress::from_instruction_pointer(registers.ip);
            return Step::Interrupted;
        }
        let (read, taken) = (&mut *self.read, &mut self.taken);
        let mut read_stack = |address| {
            let value = read(address).ok_or(())?;
            taken.note(address, value);
            Ok(value)
        };
        match self.rules.engine.unwind_frame(
            self.address,
            &mut self.regs,
            self.cache,
            &mut read_stack,
        ) {
            Ok(None) => Step::Root,
            Ok(Some(caller)) => self.arrive(caller, sp),
            Err(_) => Step::Lost,
        }
    }

    /// Accepts `caller` as the next frame when the stack really went up.
    fn arrive(&mut self, caller: u64, sp: u64) -> Step {
        let up = self.regs.sp() > sp || !self.address.is_return_address() && self.regs.sp() == sp;
        match FrameAddress::from_return_address(caller) {
            Some(address) if up && caller > LOWEST_CODE && caller <= PC_MASK => {
                self.address = address;
                Step::Caller
            }
            _ => Step::Lost,
        }
    }

    /// Crosses code that no object holds, such as a JIT's, by its frame pointer:
    /// once per stack, and only when that leads back to a known object.
    ///
    /// An object that the loader has and the list has not is not guessed
    /// through: code without frame pointers would lead past its callers.
    fn guess(&mut self, sp: u64) -> Step {
        let is_in_object = find(self.address.address_for_lookup()).is_some();
        if std::mem::replace(&mut self.guessed, true) || is_in_object {
            return Step::Lost;
        }
        let Some((registers, caller)) = step::by_frame_pointer(&self.regs, self.read) else {
            return Step::Lost;
        };
        if self.object_of(caller.wrapping_sub(1)).is_none() {
            return Step::Lost;
        }
        self.regs = registers;
        self.arrive(caller, sp)
    }
}

/// No code lies below this address.
const LOWEST_CODE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: u64 = 1 << 63;

    fn marked(frames: &[(u64, u64)], addresses: &[u64]) -> String {
        let frame =
            |(sp, cfa): &(u64, u64)| NativeRaw { pc: 1, sp: *sp, cfa: *cfa, object: MAX_OBJECT };
        let frames: Vec<NativeRaw> = frames.iter().map(frame).collect();
        words_with_loops(&frames, addresses.iter().copied(), MARK)
            .map(|word| if word & MARK == 0 { '.' } else { 'L' })
            .collect()
    }

    #[test]
    fn frames_that_hold_an_address_are_marked() {
        let frames = [(100, 200), (200, 300), (300, 400), (400, 500)];

        assert_eq!(marked(&frames, &[250, 399]), ".LL.");
        assert_eq!(marked(&frames, &[200, 208, 400]), ".L.L", "two in one frame");
        assert_eq!(marked(&frames, &[8, 250]), ".L..", "one below the stack");
        assert_eq!(marked(&frames, &[]), "....");
    }

    #[test]
    fn a_code_word_leaves_the_top_bit_free() {
        let frame = NativeRaw { pc: u64::MAX, object: u16::MAX, ..NativeRaw::default() };

        assert_eq!(frame.code() & MARK, 0);
        assert_eq!(frame.code() & PC_MASK, PC_MASK);
    }
}
