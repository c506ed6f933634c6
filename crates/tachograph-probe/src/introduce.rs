//! Tells the collector what code is called, while it is certainly there.
//!
//! The code of a module lives for as long as its body runs; a moment later its
//! memory holds something else. Only the thread that runs it can read it without
//! a race. So the handler copies what names an entry of a stack the first time it
//! meets it: qualified name, file, first line and the line it stands on. What one
//! sample may spend on that is limited; the collector reads the rest itself, and
//! mostly finds it.
//!
//! ```text
//! word 0   kind 8 | 0 8 | bytes of the name 16 | bytes of the file 16 | named 16
//! word 1   the entry: code
//! word 2   the entry: place
//! word 3   line 32 | first line 32
//! text     the name and the file one after the other, 8 bytes a word
//! ```
//!
//! Names come with the first entry of a code object; later entries of it have a
//! line only.

use crate::code::fingerprint;
use crate::known::Known;
use crate::layout::Layout;
use crate::location::line_at;
use crate::memory::ReadMemory;
use crate::ring::Ring;
use crate::strings::Text;
use crate::walk::{EntryKind, RawFrame};

/// Room for the name and the file of one code object; longer ones are left to
/// the collector.
pub const TEXT_BYTES: usize = 1024;

/// The kind of an introduction among records.
pub(crate) const KIND: u64 = 4;

/// Words of an introduction without its text.
const HEAD: usize = 4;

/// Code objects that one sample may name: about 10 µs.
const MOST_CODES: usize = 16;

/// Entries whose line one sample may find.
const MOST_LINES: usize = 64;

/// Bytes of location tables that one sample may read: about 25 µs. The body of
/// the standard library's largest modules has a table of 10 to 20 KB.
const MOST_TABLE_BYTES: u64 = 16 * 1024;

/// No frame stands here in its bytecode: the entry that says a code object was named.
const NAMED: i32 = i32::MIN;

/// What is left for this sample.
struct Budget {
    codes: usize,
    lines: usize,
    table_bytes: u64,
}

/// Writes to `ring` what names those of `entries` that are not `known` yet,
/// and remembers them. False when some were left out for lack of time or room.
///
/// Takes at most three quarters of the ring, so that samples find room. `text`
/// is working memory.
///
/// Context: signal handler.
pub fn introduce<M: ReadMemory, const WORDS: usize>(
    memory: &M,
    layout: &Layout,
    ring: &Ring<WORDS>,
    known: &mut Known,
    text: &mut [u8; TEXT_BYTES],
    entries: &[RawFrame],
) -> bool {
    let mut left = Budget { codes: MOST_CODES, lines: MOST_LINES, table_bytes: MOST_TABLE_BYTES };
    for entry in entries {
        if entry.kind() != EntryKind::Python || known.has(entry) {
            continue;
        }
        let named = RawFrame::python(entry.code_address(), NAMED, entry.fingerprint());
        let is_named = known.has(&named);
        if left.lines == 0 || (left.codes == 0 && !is_named) {
            return false;
        }
        left.lines -= 1;
        left.codes -= usize::from(!is_named);
        let Some(found) = read(memory, layout, entry, !is_named, text, &mut left) else {
            // Too long, or not what it was: the collector may see more.
            continue;
        };
        if !found.push(ring, entry, text) {
            return false;
        }
        known.remember(named);
        known.remember(*entry);
    }
    true
}

/// What names one entry; its text is elsewhere.
struct Found {
    line: u32,
    first_line: u32,
    /// Bytes of the name and of the file, if they were read.
    text: Option<(usize, usize)>,
}

impl Found {
    /// False when the ring had no room.
    fn push<const WORDS: usize>(
        &self,
        ring: &Ring<WORDS>,
        entry: &RawFrame,
        text: &[u8; TEXT_BYTES],
    ) -> bool {
        let (name, file) = self.text.unwrap_or_default();
        let text = text.get(..name + file).unwrap_or_default();
        let length = HEAD + text.len().div_ceil(8);
        let Some(mut record) = ring.begin_below(length, WORDS / 4 * 3) else {
            return false;
        };
        let named = u64::from(self.text.is_some());
        record.put(KIND | (name as u64) << 16 | (file as u64) << 32 | named << 48);
        record.put(entry.code);
        record.put(entry.place);
        record.put(u64::from(self.line) | u64::from(self.first_line) << 32);
        for chunk in text.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            record.put(u64::from_le_bytes(word));
        }
        record.commit();
        true
    }
}

/// Reads what names `entry`; `None` if that cannot be read whole, or is no
/// longer what the entry says.
fn read<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    entry: &RawFrame,
    with_text: bool,
    text: &mut [u8; TEXT_BYTES],
    left: &mut Budget,
) -> Option<Found> {
    let code = entry.code_address();
    let field = |offset: u32| memory.word(code.wrapping_add(u64::from(offset)));
    let first_line = memory.half(code.wrapping_add(u64::from(layout.code_first_line)))?;

    let table = field(layout.code_linetable)?;
    let length = memory.word(table.wrapping_add(u64::from(layout.bytes_length)))?;
    let mut bytes = Bytes {
        memory,
        next: table.wrapping_add(u64::from(layout.bytes_data)),
        left: length.min(left.table_bytes),
        word: None,
        ran_out: false,
    };
    let allowed = bytes.left;
    let line = line_at(&mut bytes, first_line, entry.offset());
    left.table_bytes -= allowed.saturating_sub(bytes.left).min(left.table_bytes);
    if bytes.ran_out && (bytes.left > 0 || allowed < length) {
        return None;
    }

    let mut lengths = None;
    if with_text {
        let name = copy(memory, layout, field(layout.code_qualname)?, text)?;
        let rest = text.get_mut(name..)?;
        lengths = Some((name, copy(memory, layout, field(layout.code_filename)?, rest)?));
    }
    (fingerprint(memory, layout, code)? == entry.fingerprint()).then_some(Found {
        line,
        first_line,
        text: lengths,
    })
}

/// Copies the whole string at `object`; `None` if it does not fit for certain.
fn copy<M: ReadMemory>(memory: &M, layout: &Layout, object: u64, out: &mut [u8]) -> Option<usize> {
    let text = Text::at(memory, layout, object)?;
    // Bytes that a character may take as UTF-8, by its width: 2, 3 or 4.
    let widest = if text.ascii { 1 } else { 2 + u64::from(text.width) / 2 };
    if text.length.checked_mul(widest)? > out.len() as u64 {
        return None;
    }
    text.copy_utf8(memory, out)
}

/// The bytes of a location table where it lies, read a word at a time.
struct Bytes<'a, M> {
    memory: &'a M,
    next: u64,
    left: u64,
    word: Option<u64>,
    /// The end came before the answer.
    ran_out: bool,
}

impl<M: ReadMemory> Iterator for Bytes<'_, M> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let at = self.next & 7;
        if self.left > 0 && (at == 0 || self.word.is_none()) {
            self.word = self.memory.word(self.next & !7);
        }
        let Some(word) = self.word.filter(|_| self.left > 0) else {
            self.ran_out = true;
            return None;
        };
        self.next = self.next.wrapping_add(1);
        self.left -= 1;
        Some((word >> (at * 8)) as u8)
    }
}

/// An introduction as the collector reads it.
#[derive(Clone, Copy, Debug)]
pub struct Introduced<'words> {
    /// The entry of a stack that it is about.
    pub entry: RawFrame,
    /// The line the entry stands on.
    pub line: u32,
    /// The line its code begins on.
    pub first_line: u32,
    /// What the code is called, the first time.
    pub names: Option<Names<'words>>,
}

/// Qualified name and file of a code object.
#[derive(Clone, Copy, Debug)]
pub struct Names<'words> {
    words: &'words [u64],
    name: usize,
    file: usize,
}

impl Names<'_> {
    /// The bytes of the qualified name, UTF-8 if nothing went wrong.
    pub fn qualname(&self) -> impl Iterator<Item = u8> {
        self.bytes().take(self.name)
    }

    /// The bytes of the file's name.
    pub fn filename(&self) -> impl Iterator<Item = u8> {
        self.bytes().skip(self.name).take(self.file)
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes())
    }
}

/// Takes an introduction whose first word is `head` off `words`.
pub(crate) fn take<'words>(head: u64, words: &mut &'words [u64]) -> Option<Introduced<'words>> {
    let (name, file) = ((head >> 16 & 0xffff) as usize, (head >> 32 & 0xffff) as usize);
    let (fixed, rest) = words.split_at_checked(HEAD - 1)?;
    let &[code, place, lines] = fixed else { return None };
    let (text, rest) = rest.split_at_checked((name + file).div_ceil(8))?;
    *words = rest;
    Some(Introduced {
        entry: RawFrame { code, place },
        line: lines as u32,
        first_line: (lines >> 32) as u32,
        names: (head >> 48 != 0).then_some(Names { words: text, name, file }),
    })
}
