//! Follows the chain of frames and decides whether to believe it.

use super::{RawFrame, Walk, WalkState, data_stack, frame_objects, is_plausible};
use crate::code;
use crate::layout::Layout;
use crate::memory::ReadMemory;

/// How many frames beyond the room in `out` the walker still follows, to see
/// whether the chain ends as it must.
///
/// Covers the default recursion limit of 1000; each step costs about 5 ns.
pub(super) const EXTRA_HOPS: usize = 1024;

/// `owner` of a frame that lies on the data stack.
const DATA_STACK: u8 = 0;

/// `owner` of a frame that lives inside a generator or coroutine.
const GENERATOR: u8 = 1;

/// Smallest `owner` of a frame that is no Python frame but an eval loop's mark.
const SHIM: u8 = 3;

/// Walks the frames of the thread whose state is at `tstate`, innermost first.
///
/// Entries go to `out`; when it is full the innermost ones are kept and the
/// walk is `truncated`. With `want_boundaries`, every eval loop is closed by a
/// boundary entry, for merging with native frames.
///
/// Context: signal handler. Reads only through `memory`, takes a bounded number
/// of steps.
pub fn walk<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    tstate: u64,
    want_boundaries: bool,
    out: &mut [RawFrame],
) -> Walk {
    walk_with_addresses(memory, layout, tstate, want_boundaries, out, &mut [])
}

/// Like [`walk`], and tells where each frame lies: its address goes to the same
/// place in `addresses` as its entry in `out`, as far as there is room.
///
/// Context: signal handler.
pub fn walk_with_addresses<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    tstate: u64,
    want_boundaries: bool,
    out: &mut [RawFrame],
    addresses: &mut [u64],
) -> Walk {
    if layout.has_frame_objects() {
        return frame_objects::walk(memory, layout, tstate, want_boundaries, out, addresses);
    }
    let mut walker = Walker {
        memory,
        layout,
        tstate,
        want_boundaries,
        out,
        addresses,
        depth: 0,
        truncated: false,
        python_frames: 0,
        last: LastFrame::default(),
        coroutine_handle: 0,
        first_loop_is_empty: false,
        first_on_data_stack: 0,
    };
    walker.whole_stack().unwrap_or(Walk::UNREADABLE)
}

/// The Python frame visited last; the next one is its caller.
#[derive(Clone, Copy, Default)]
struct LastFrame {
    address: u64,
    /// Its code object if a generator owns it, else 0.
    generator_code: u64,
    /// 3.11 only: an eval loop began with it.
    is_entry: bool,
}

/// How following one chain ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    /// At its last frame.
    Ended,
    /// At the last step allowed.
    Longer,
    /// At something that cannot be a frame, or be there.
    Broken,
}

/// One link of the chain.
struct Step {
    previous: u64,
    /// Whether an eval loop ends here.
    closes_loop: bool,
}

struct Walker<'a, M> {
    memory: &'a M,
    layout: &'a Layout,
    tstate: u64,
    want_boundaries: bool,
    out: &'a mut [RawFrame],
    /// Where the frames lie; may be shorter than `out`.
    addresses: &'a mut [u64],
    depth: usize,
    truncated: bool,
    python_frames: usize,
    last: LastFrame,
    coroutine_handle: u64,
    /// Whether the innermost eval loop has no frame.
    first_loop_is_empty: bool,
    /// The innermost frame that is on the data stack, or 0.
    first_on_data_stack: u64,
}

impl<M: ReadMemory> Walker<'_, M> {
    fn whole_stack(&mut self) -> Option<Walk> {
        let first = self.word(self.tstate, self.layout.thread_frame)?;
        let chain = if self.layout.has_cframes() {
            self.start_at_cframe(first)
        } else {
            self.follow(first, 0, None)
        };
        match chain {
            Chain::Ended if self.may_end_here() => Some(self.finish()),
            Chain::Longer => {
                self.truncated = true;
                self.last = LastFrame::default();
                Some(self.finish())
            }
            Chain::Ended | Chain::Broken => None,
        }
    }

    /// Starts at a C frame, or where that cannot be, at the data stack.
    ///
    /// An eval loop publishes its C frame a few instructions before it fills it
    /// in. In that window the C frame holds what an earlier call left there. The
    /// new frame has not begun, so the stack as the program sees it is the one
    /// before the call.
    fn start_at_cframe(&mut self, cframe: u64) -> Chain {
        let chain = self.settled(cframe).unwrap_or(Chain::Broken);
        let can_be = match chain {
            Chain::Ended => self.may_end_here() && self.begins_innermost(),
            Chain::Longer => self.begins_innermost(),
            Chain::Broken => false,
        };
        if can_be {
            return chain;
        }
        let Some(frame) = data_stack::innermost(self.memory, self.layout, self.tstate) else {
            return Chain::Broken;
        };
        let loop_began = chain == Chain::Broken || self.first_loop_is_empty;
        self.forget();
        if loop_began {
            self.boundary(cframe);
        }
        self.follow(frame, self.cframe_around(cframe, frame), None)
    }

    /// The C frame around `cframe`, if it can be that of `frame`; else 0, and
    /// 3.11 has no boundaries for this stack.
    fn cframe_around(&self, cframe: u64, frame: u64) -> u64 {
        let around = self.word(cframe, self.layout.cframe_previous).unwrap_or(0);
        let holds = self.word(around, self.layout.cframe_frame) == Some(frame);
        if holds { around } else { 0 }
    }

    /// Follows the chain of a C frame if it fits the C frame around it.
    fn settled(&mut self, cframe: u64) -> Option<Chain> {
        let frame = self.word(cframe, self.layout.cframe_frame)?;
        let around = self.word(cframe, self.layout.cframe_previous)?;
        if around == 0 {
            // Only the outermost C frame has none around it.
            let outermost = self.in_thread_state(cframe);
            return outermost.then(|| self.follow(frame, cframe, None));
        }
        // The C stack grows down: an outer C frame lies higher.
        if around <= cframe && !self.in_thread_state(around) {
            return None;
        }
        let caller = self.word(around, self.layout.cframe_frame)?;
        if frame == 0 && caller != 0 {
            return None;
        }
        Some(self.follow(frame, cframe, Some(caller)))
    }

    /// Whether the chain begins at the innermost frame, where that is in doubt.
    ///
    /// A loop without a frame of its own has just begun or is about to end. Then
    /// what it says of its caller may be left over from an earlier call.
    fn begins_innermost(&self) -> bool {
        if !self.first_loop_is_empty || self.first_on_data_stack == 0 {
            return true;
        }
        let first = self.first_on_data_stack;
        data_stack::is_innermost(self.memory, self.layout, self.tstate, first) == Some(true)
    }

    /// Forgets what a chain left behind that turned out not to be one.
    fn forget(&mut self) {
        self.depth = 0;
        self.truncated = false;
        self.python_frames = 0;
        self.last = LastFrame::default();
        self.coroutine_handle = 0;
        self.first_loop_is_empty = false;
        self.first_on_data_stack = 0;
    }

    /// Follows the chain that begins at `frame`.
    ///
    /// Where C frames exist, `cframe` is that of the first eval loop, and
    /// `caller` the frame from which that loop must have been called.
    fn follow(&mut self, first: u64, mut cframe: u64, mut caller: Option<u64>) -> Chain {
        let mut frame = first;
        for _ in 0..self.out.len().saturating_add(EXTRA_HOPS) {
            if frame == 0 {
                return Chain::Ended;
            }
            let Some(step) = self.step(frame, &mut cframe) else {
                return Chain::Broken;
            };
            if step.closes_loop && caller.take().is_some_and(|caller| caller != step.previous) {
                return Chain::Broken;
            }
            frame = step.previous;
        }
        Chain::Longer
    }

    /// Visits `frame`; `None` if it cannot be a frame.
    #[inline]
    fn step(&mut self, frame: u64, cframe: &mut u64) -> Option<Step> {
        if !is_plausible(frame) {
            return None;
        }
        let owner = self.memory.byte(frame.wrapping_add(u64::from(self.layout.frame_owner)))?;
        if u32::from(owner) > self.layout.largest_owner {
            return None;
        }
        let previous = self.word(frame, self.layout.frame_previous)?;
        if owner >= SHIM {
            self.first_loop_is_empty |= self.last.address == 0;
            self.boundary(frame);
            return Some(Step { previous, closes_loop: true });
        }
        let closes_loop = self.is_entry(frame)?;
        self.python_frame(frame, owner, closes_loop)?;
        if closes_loop && *cframe != 0 {
            self.boundary(*cframe);
            // Unreadable: the boundaries further out are missing, the frames not.
            *cframe = self.word(*cframe, self.layout.cframe_previous).unwrap_or(0);
        }
        Some(Step { previous, closes_loop })
    }

    /// Whether an eval loop began with this Python frame; 3.11 alone marks it.
    #[inline]
    fn is_entry(&self, frame: u64) -> Option<bool> {
        if self.layout.has_shims() {
            return Some(false);
        }
        let mark = self.memory.byte(frame.wrapping_add(u64::from(self.layout.frame_is_entry)))?;
        Some(mark != 0)
    }

    #[inline]
    fn python_frame(&mut self, frame: u64, owner: u8, is_entry: bool) -> Option<()> {
        let code = self.layout.untag(self.word(frame, self.layout.frame_code)?);
        if !is_plausible(code) {
            return None;
        }
        let in_generator = owner == GENERATOR;
        let callee = self.last.generator_code;
        if callee != 0 && !in_generator && code::is_coroutine(self.memory, self.layout, callee)? {
            self.coroutine_handle = self.first_local(frame)?;
        }
        if owner == DATA_STACK && self.first_on_data_stack == 0 {
            self.first_on_data_stack = frame;
        }
        let generator_code = if in_generator { code } else { 0 };
        self.last = LastFrame { address: frame, generator_code, is_entry };

        if self.depth >= self.out.len() {
            self.python_frames += 1;
            self.truncated = true;
            return Some(());
        }
        let instruction = self.word(frame, self.layout.frame_instruction)?;
        let offset = code::position(self.memory, self.layout, frame, code, instruction)?;
        if !in_generator && code::is_incomplete(self.memory, self.layout, code, offset)? {
            return Some(());
        }
        let fingerprint = code::fingerprint(self.memory, self.layout, code)?;
        self.python_frames += 1;
        if let Some(place) = self.addresses.get_mut(self.depth) {
            *place = frame;
        }
        self.push(RawFrame::python(code, offset, fingerprint));
        Some(())
    }

    /// Closes an eval loop that is marked at `marker` in its C frame.
    ///
    /// The outermost mark lies in the thread state and belongs to no C frame.
    #[inline]
    fn boundary(&mut self, marker: u64) {
        if self.want_boundaries && !self.in_thread_state(marker) {
            self.push(RawFrame::boundary(marker));
        }
    }

    #[inline]
    fn in_thread_state(&self, address: u64) -> bool {
        address.wrapping_sub(self.tstate) < u64::from(self.layout.thread_size)
    }

    #[inline]
    fn push(&mut self, entry: RawFrame) {
        if let Some(place) = self.out.get_mut(self.depth) {
            *place = entry;
            self.depth += 1;
        }
    }

    /// Whether a chain may end with the frame visited last.
    ///
    /// 3.12 takes a generator off the chain for a moment when it yields; then
    /// the chain ends with the generator and its callers are missing. On 3.11
    /// the last frame always begins an eval loop. Nothing more is asked:
    /// greenlet hides the shims at the end of a chain.
    fn may_end_here(&self) -> bool {
        let begins_loop = self.layout.has_shims() || self.last.address == 0 || self.last.is_entry;
        self.last.generator_code == 0 && begins_loop
    }

    fn finish(&self) -> Walk {
        let empty = self.python_frames == 0;
        let root = self.last.address;
        Walk {
            depth: self.depth,
            truncated: self.truncated,
            state: if empty { WalkState::Empty } else { WalkState::Complete },
            coroutine_handle: self.coroutine_handle,
            thread_object: if root == 0 { 0 } else { self.first_local(root).unwrap_or(0) },
        }
    }

    #[inline]
    fn first_local(&self, frame: u64) -> Option<u64> {
        Some(self.layout.untag(self.word(frame, self.layout.frame_locals)?))
    }

    #[inline]
    fn word(&self, address: u64, offset: u32) -> Option<u64> {
        self.memory.word(address.wrapping_add(u64::from(offset)))
    }
}
