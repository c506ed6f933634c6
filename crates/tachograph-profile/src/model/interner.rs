//! Builds tables without repeating a row.
//!
//! Used by whoever produces a recording: the collector of a running session,
//! importers, tests. Reading a recording needs only [`Tables`].

use rustc_hash::FxHashMap;

use super::events::Time;
use super::ids::{FrameId, MappingId, StackId, StringId, TrackId};
use super::tables::{Frame, FrameKind, Mapping, StackNode, Tables, Track, TrackKind};

/// What a frame that found no room is called.
const NO_ROOM: &str = "<no room for more stacks>";

/// Bytes that a row of a table takes beside the row itself: its place in the
/// index, with the room an index keeps free (7/8 full at the most, half on
/// growing).
const INDEX_BYTES: usize = 16;

/// Tables that are being filled, with the indices that keep rows distinct.
#[derive(Clone, Debug)]
pub struct Interner {
    tables: Tables,
    /// Characters of all strings.
    characters: usize,
    /// What stands for new frames and stacks while none are taken.
    no_room: Option<(FrameId, StackId)>,
    strings: FxHashMap<Box<str>, StringId>,
    frames: FxHashMap<Frame, FrameId>,
    stacks: FxHashMap<StackNode, StackId>,
    mappings: FxHashMap<Mapping, MappingId>,
}

impl Default for Interner {
    fn default() -> Self {
        let mut empty = Self {
            tables: Tables::default(),
            characters: 0,
            no_room: None,
            strings: FxHashMap::default(),
            frames: FxHashMap::default(),
            stacks: FxHashMap::default(),
            mappings: FxHashMap::default(),
        };
        empty.string("");
        empty
    }
}

impl Interner {
    /// Continues filling tables that already hold rows.
    #[must_use]
    pub fn from_tables(tables: Tables) -> Self {
        let mut all = Self { tables: Tables::default(), ..Self::default() };
        all.strings.clear();
        for (i, text) in tables.strings.iter().enumerate() {
            all.strings.entry(text.clone()).or_insert(i.into());
            all.characters += text.len();
        }
        for (i, frame) in tables.frames.iter().enumerate() {
            all.frames.entry(*frame).or_insert(i.into());
        }
        for (i, node) in tables.stacks.iter().enumerate() {
            all.stacks.entry(*node).or_insert(i.into());
        }
        for (i, mapping) in tables.mappings.iter().enumerate() {
            all.mappings.entry(*mapping).or_insert(i.into());
        }
        all.tables = tables;
        all.string("");
        all
    }

    /// What has been collected so far.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The tables, for changes that keep every row's meaning: a track's end, a
    /// source text.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }

    /// The finished tables.
    #[must_use]
    pub fn into_tables(self) -> Tables {
        self.tables
    }

    /// About how much memory strings, frames and stacks take, with their
    /// indices: every row is there twice, in its table and in its index.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let rows = |count: usize, bytes: usize| count * 2 * (bytes + INDEX_BYTES);
        2 * self.characters
            + rows(self.tables.strings.len(), size_of::<Box<str>>())
            + rows(self.tables.frames.len(), size_of::<Frame>())
            + rows(self.tables.stacks.len(), size_of::<StackNode>())
    }

    /// Stops taking new frames and stacks, or takes them again.
    ///
    /// While closed, what is known keeps its id, and one label stands for all
    /// that is new.
    pub fn set_closed(&mut self, closed: bool) {
        self.no_room = None;
        if closed {
            let frame = self.label(NO_ROOM);
            self.no_room = Some((frame, self.stack(None, frame)));
        }
    }

    /// The id of `text` if it is there already.
    #[must_use]
    pub fn known_string(&self, text: &str) -> Option<StringId> {
        self.strings.get(text).copied()
    }

    /// The id of `text`.
    pub fn string(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.tables.strings.len().into();
        self.tables.strings.push(text.into());
        self.strings.insert(text.into(), id);
        self.characters += text.len();
        id
    }

    /// The id of a frame that equals `frame`.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        if let Some((no_room, _)) = self.no_room
            && !self.frames.contains_key(&frame)
        {
            return no_room;
        }
        *self.frames.entry(frame).or_insert_with(|| {
            self.tables.frames.push(frame);
            (self.tables.frames.len() - 1).into()
        })
    }

    /// The id of a Python frame.
    pub fn python_frame(
        &mut self,
        function: &str,
        file: &str,
        line: u32,
        first_line: u32,
    ) -> FrameId {
        let is_new = |text| !self.strings.contains_key(text);
        if let Some((no_room, _)) = self.no_room
            && (is_new(function) || is_new(file))
        {
            return no_room;
        }
        let (function, file) = (self.string(function), self.string(file));
        let kind = FrameKind::Python;
        self.frame(Frame { function, file, line, first_line, kind, mapping: None, address: 0 })
    }

    /// The id of a frame that is only a word, such as `<thread without frames>`.
    pub fn label(&mut self, text: &str) -> FrameId {
        let function = self.string(text);
        self.frame(Frame {
            function,
            file: StringId(0),
            line: 0,
            first_line: 0,
            kind: FrameKind::Label,
            mapping: None,
            address: 0,
        })
    }

    /// The id of the stack that has `frame` on top of `caller`.
    pub fn stack(&mut self, caller: Option<StackId>, frame: FrameId) -> StackId {
        let node = StackNode { caller, frame };
        if let Some((_, no_room)) = self.no_room
            && !self.stacks.contains_key(&node)
        {
            return no_room;
        }
        *self.stacks.entry(node).or_insert_with(|| {
            self.tables.stacks.push(node);
            (self.tables.stacks.len() - 1).into()
        })
    }

    /// The id of an object file's mapping.
    pub fn mapping(&mut self, mapping: Mapping) -> MappingId {
        *self.mappings.entry(mapping).or_insert_with(|| {
            self.tables.mappings.push(mapping);
            (self.tables.mappings.len() - 1).into()
        })
    }

    /// A new track. Tracks are things, not values: two equal ones stay two.
    pub fn track(
        &mut self,
        kind: TrackKind,
        parent: Option<TrackId>,
        os_id: u64,
        name: &str,
        start: Time,
    ) -> TrackId {
        let name = self.string(name);
        self.tables.tracks.push(Track { kind, parent, os_id, name, start, end: None });
        (self.tables.tracks.len() - 1).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_share_one_id() {
        let mut tables = Interner::default();
        let first = tables.python_frame("load", "data.py", 7, 5);
        let again = tables.python_frame("load", "data.py", 7, 5);
        let other = tables.python_frame("load", "data.py", 8, 5);

        assert_eq!(first, again);
        assert_ne!(first, other);
        assert_eq!(tables.tables().frames.len(), 2);
    }

    #[test]
    fn closed_tables_know_what_they_know_and_grow_no_more() {
        let mut tables = Interner::default();
        let known = tables.python_frame("load", "data.py", 7, 5);
        let stack = tables.stack(None, known);
        tables.set_closed(true);
        let full = tables.bytes();

        let lost = tables.python_frame("new", "data.py", 1, 1);
        let lost_stack = tables.stack(Some(stack), lost);

        assert_eq!(tables.python_frame("load", "data.py", 7, 5), known);
        assert_eq!(tables.stack(None, known), stack);
        assert_eq!(tables.stack(None, lost), lost_stack);
        assert_eq!(tables.bytes(), full);

        tables.set_closed(false);
        assert_ne!(tables.python_frame("new", "data.py", 1, 1), lost);
    }

    #[test]
    fn tables_say_about_how_much_memory_they_take() {
        let mut tables = Interner::default();
        let empty = tables.bytes();
        let mut stack = None;
        for line in 0..1000 {
            let frame = tables.python_frame("function", "file.py", line, 1);
            stack = Some(tables.stack(stack, frame));
        }

        let each = (tables.bytes() - empty) / 1000;

        assert!((100..300).contains(&each), "{each}");
    }

    #[test]
    fn continuing_from_tables_reuses_their_rows() {
        let mut tables = Interner::default();
        let frame = tables.python_frame("load", "data.py", 7, 5);
        let stack = tables.stack(None, frame);

        let mut again = Interner::from_tables(tables.into_tables());

        assert_eq!(again.python_frame("load", "data.py", 7, 5), frame);
        assert_eq!(again.stack(None, frame), stack);
    }
}
