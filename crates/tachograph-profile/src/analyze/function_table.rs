//! Frames grouped into functions: many lines, one function.

use rustc_hash::FxHashMap;

use crate::{FrameId, FrameKind, Profile, StackId, StringId};

/// A function, as far as a recording can tell two of them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FunctionKey {
    pub(super) function: StringId,
    pub(super) file: StringId,
    pub(super) first_line: u32,
    pub(super) kind: FrameKind,
    /// Tells code without a symbol apart; 0 for everything that has a name.
    address: u64,
}

/// Which function every frame of a profile belongs to.
#[derive(Debug, Default)]
pub(super) struct FunctionTable {
    of_frame: Vec<usize>,
    /// The first frame of each function, which stands for it.
    pub(super) frames: Vec<FrameId>,
    pub(super) keys: Vec<FunctionKey>,
}

impl FunctionTable {
    pub(super) fn new(profile: &Profile) -> Self {
        let mut known = FxHashMap::default();
        let mut table = Self::default();
        for (index, frame) in profile.tables.frames.iter().enumerate() {
            let key = FunctionKey {
                function: frame.function,
                file: frame.file,
                first_line: frame.first_line,
                kind: frame.kind,
                address: if profile.text(frame.function).is_empty() { frame.address } else { 0 },
            };
            let function = *known.entry(key).or_insert_with(|| {
                table.frames.push(index.into());
                table.keys.push(key);
                table.keys.len() - 1
            });
            table.of_frame.push(function);
        }
        table
    }

    /// How many functions there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The function `frame` belongs to.
    pub(super) fn of(&self, frame: FrameId) -> Option<usize> {
        self.of_frame.get(frame.index()).copied()
    }
}

/// The frame ids of `stack`, innermost first.
pub(super) fn frame_ids(profile: &Profile, stack: StackId) -> impl Iterator<Item = FrameId> + '_ {
    let mut next = Some(stack);
    std::iter::from_fn(move || {
        let own = next?;
        let node = profile.tables.stacks.get(own.index())?;
        // A caller's id is smaller than its callee's (`check`), so this ends.
        next = node.caller.filter(|caller| *caller < own);
        Some(node.frame)
    })
}
