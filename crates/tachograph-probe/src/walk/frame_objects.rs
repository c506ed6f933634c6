//! Walks the frames of CPython 3.9 and 3.10, where each is an object.
//!
//! Only a reader from outside meets these versions, and it reads a thread that
//! is stopped or waits. The chain is whole at every instruction: a frame knows
//! its caller before it becomes the innermost one.

use super::frames::EXTRA_HOPS;
use super::{RawFrame, Walk, WalkState, is_plausible};
use crate::code;
use crate::layout::Layout;
use crate::memory::ReadMemory;

/// A frame further into its bytecode than this is none.
const LONGEST_BYTECODE: i32 = 1 << 28;

/// As [`walk`](super::walk). Each frame has an eval loop of its own, so with
/// `want_boundaries` each is closed; no address marks the loop, the marker is 0.
pub(super) fn walk<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    tstate: u64,
    want_boundaries: bool,
    out: &mut [RawFrame],
    addresses: &mut [u64],
) -> Walk {
    let mut chain = Chain { memory, layout, out, addresses, depth: 0, truncated: false };
    chain.follow(tstate, want_boundaries).unwrap_or(Walk::UNREADABLE)
}

struct Chain<'a, M> {
    memory: &'a M,
    layout: &'a Layout,
    out: &'a mut [RawFrame],
    addresses: &'a mut [u64],
    depth: usize,
    truncated: bool,
}

impl<M: ReadMemory> Chain<'_, M> {
    fn follow(&mut self, tstate: u64, want_boundaries: bool) -> Option<Walk> {
        let mut frame = self.word(tstate, self.layout.thread_frame)?;
        let (mut root, mut handle, mut callee) = (0, 0, 0);
        for _ in 0..self.out.len().saturating_add(EXTRA_HOPS) {
            if frame == 0 {
                break;
            }
            if !is_plausible(frame) {
                return None;
            }
            let code = self.word(frame, self.layout.frame_code)?;
            if !is_plausible(code) {
                return None;
            }
            if self.is_coroutine(callee)? && !self.is_coroutine(code)? {
                handle = self.word(frame, self.layout.frame_locals)?;
            }
            (root, callee) = (frame, code);
            self.python_frame(frame, code, want_boundaries)?;
            frame = self.word(frame, self.layout.frame_previous)?;
        }
        if frame != 0 {
            (self.truncated, root) = (true, 0);
        }
        let empty = self.depth == 0;
        let locals = u64::from(self.layout.frame_locals);
        let first = if root == 0 { None } else { self.memory.word(root.wrapping_add(locals)) };
        Some(Walk {
            depth: self.depth,
            truncated: self.truncated,
            state: if empty { WalkState::Empty } else { WalkState::Complete },
            coroutine_handle: handle,
            thread_object: first.unwrap_or(0),
        })
    }

    fn python_frame(&mut self, frame: u64, code: u64, want_boundaries: bool) -> Option<()> {
        if self.depth >= self.out.len() {
            self.truncated = true;
            return Some(());
        }
        let last = frame.wrapping_add(u64::from(self.layout.frame_instruction));
        let last = self.memory.signed_half(last)?;
        if !(-1..LONGEST_BYTECODE).contains(&last) {
            return None;
        }
        // 3.10 counts two-byte units; -1 is a frame that has not begun.
        let offset = if self.layout.minor == 10 { last.saturating_mul(2) } else { last };
        let print = code::fingerprint(self.memory, self.layout, code)?;
        if let Some(place) = self.addresses.get_mut(self.depth) {
            *place = frame;
        }
        self.push(RawFrame::python(code, offset, print));
        if want_boundaries {
            self.push(RawFrame::boundary(0));
        }
        Some(())
    }

    fn push(&mut self, entry: RawFrame) {
        if let Some(place) = self.out.get_mut(self.depth) {
            *place = entry;
            self.depth += 1;
        }
    }

    /// Whether `code` is that of a coroutine; 0 is none.
    fn is_coroutine(&self, code: u64) -> Option<bool> {
        if code == 0 {
            return Some(false);
        }
        code::is_coroutine(self.memory, self.layout, code)
    }

    fn word(&self, address: u64, offset: u32) -> Option<u64> {
        self.memory.word(address.wrapping_add(u64::from(offset)))
    }
}
