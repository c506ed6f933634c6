//! Where memory is allocated, as people name it: a line of Python.

use rustc_hash::FxHashMap;

use crate::analyze::{Origin, frame_name};
use crate::{Frame, FrameKind, Profile, StackId, StringId};

/// A place that allocates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Qualified name of the function.
    pub function: String,
    /// Its file, as recorded; may be empty.
    pub file: String,
    /// The line that allocated; 0 when unknown.
    pub line: u32,
    /// Python, native, or a label.
    pub kind: FrameKind,
    /// It is the user's own code.
    pub own: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    function: StringId,
    file: StringId,
    line: u32,
    kind: FrameKind,
    /// Tells code without a symbol apart; 0 for everything that has a name.
    address: u64,
}

/// Which site every stack of a profile allocates at.
///
/// Native code allocates on behalf of the Python line that called it, so a
/// site is the innermost Python line; without one, the innermost function.
pub(super) struct SiteTable<'a> {
    profile: &'a Profile,
    known: FxHashMap<Key, usize>,
    of_stack: Vec<Option<usize>>,
    frames: Vec<&'a Frame>,
    own_lines: bool,
}

impl<'a> SiteTable<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let of_stack = vec![None; profile.tables.stacks.len()];
        Self {
            profile,
            known: FxHashMap::default(),
            of_stack,
            frames: Vec::new(),
            own_lines: false,
        }
    }

    /// A table of the own lines that stacks come from, not of where they allocate.
    pub(super) fn of_own_lines(profile: &'a Profile) -> Self {
        Self { own_lines: true, ..Self::new(profile) }
    }

    /// The number of the site of `stack`; `None` for a stack without frames,
    /// and in a table of own lines for one without any.
    pub(super) fn of(&mut self, stack: StackId) -> Option<usize> {
        let known = *self.of_stack.get(stack.index())?;
        if known.is_some() {
            return known;
        }
        let profile = self.profile;
        let frame = if self.own_lines {
            profile.frames_of(stack).find(|frame| Origin::of(profile, frame) == Origin::Own)?
        } else {
            let python = |frame: &&Frame| frame.kind == FrameKind::Python;
            let mut frames = profile.frames_of(stack);
            frames.find(python).or_else(|| profile.frames_of(stack).next())?
        };
        let is_named = !self.profile.text(frame.function).is_empty();
        let key = Key {
            function: frame.function,
            file: frame.file,
            line: frame.line,
            kind: frame.kind,
            address: if is_named { 0 } else { frame.address },
        };
        let site = *self.known.entry(key).or_insert_with(|| {
            self.frames.push(frame);
            self.frames.len() - 1
        });
        self.of_stack[stack.index()] = Some(site);
        Some(site)
    }

    /// How many sites were met so far.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// The site of that number.
    pub(super) fn site(&self, number: usize) -> Site {
        let frame = self.frames[number];
        Site {
            function: frame_name(self.profile, frame).into_owned(),
            file: self.profile.text(frame.file).to_owned(),
            line: frame.line,
            kind: frame.kind,
            own: Origin::of(self.profile, frame) == Origin::Own,
        }
    }
}
