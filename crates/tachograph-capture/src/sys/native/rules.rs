//! The unwind rules of every loaded object, in a list a handler can use while
//! a background thread replaces it.
//!
//! Readers count themselves in and out. A list that was replaced is freed only
//! when, after the replacement, the count was seen at zero: a reader that comes
//! later can only find the new list. The tables themselves are not copied; a
//! list refers to the memory the loader mapped, and nothing is read from it
//! until the object was confirmed to be there (see [`Rules::confirm`]).

use std::ops::{Deref, Range};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use framehop::{Module, ModuleSectionInfo, Unwinder as _, UnwinderNative};

use super::objects::{LoadedObject, find};
use super::room::SmallRoom;

/// Unwind tables where the loader mapped them.
pub(crate) struct Mapped {
    start: *const u8,
    length: usize,
}

// SAFETY: the memory is read-only and belongs to no thread.
unsafe impl Send for Mapped {}
// SAFETY: as above; nothing writes to it.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(range: &Range<u64>) -> Self {
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        Self { start: range.start as *const u8, length }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range lies in one mapped segment of an object. It is only
        // dereferenced for a program counter whose object was just confirmed to
        // be loaded, and code that is on a stack is not unloaded. (A walk that went
        // astray in code without rules, to a place in a library that another thread is
        // just unloading, would break this; it was never seen.)
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// The unwinder of this machine, in the form that does not allocate.
pub(crate) type Engine = UnwinderNative<Mapped, SmallRoom>;

/// An object and the number that names it in a recording.
#[derive(Clone)]
pub(crate) struct Known {
    /// What the loader said of it when the list was made.
    pub object: Arc<LoadedObject>,
    /// Its number in the table of objects; 0 when the table is full.
    pub id: u16,
}

/// One state of the list.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    /// Finds and applies the rule for an address.
    pub engine: Engine,
    /// The objects, in address order.
    known: Vec<Known>,
    /// Where each of them begins: a search that stays in a few cache lines.
    starts: Vec<u64>,
    /// Which list this is: no two that were published have the same number, and none has 0.
    pub generation: u64,
}

impl Rules {
    /// The list that holds exactly `objects`; what is unchanged is kept from `self`.
    pub(crate) fn with_objects(&self, mut objects: Vec<Known>) -> Self {
        objects.sort_unstable_by_key(|known| known.object.found.start);
        let mut engine = self.engine.clone();
        for gone in &self.known {
            if !objects.iter().any(|known| known.object == gone.object) {
                engine.remove_module(gone.object.found.start);
            }
        }
        for new in &objects {
            if !self.known.iter().any(|known| known.object == new.object) {
                engine.add_module(module(&new.object));
            }
        }
        let starts = objects.iter().map(|known| known.object.found.start).collect();
        Self { engine, known: objects, starts, generation: 0 }
    }

    /// The object that holds `pc`, if it is in the list and still the same one.
    ///
    /// Asks the loader at this moment and compares the object's mark in
    /// memory: another object that was mapped to the same place is refused.
    ///
    /// Context: signal handler.
    pub(crate) fn confirm(
        &self,
        pc: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Option<&Known> {
        let known = self.listed(pc)?;
        let object = &known.object;
        let is_there = || find(pc).is_some_and(|found| found.is_same_object(&object.found));
        (is_there() && object.mark.stands(read)).then_some(known)
    }

    /// The object of the list that holds `pc`.
    fn listed(&self, pc: u64) -> Option<&Known> {
        let after = self.starts.partition_point(|start| *start <= pc);
        let known = self.known.get(after.checked_sub(1)?)?;
        (pc < known.object.found.end).then_some(known)
    }
}

fn module(object: &LoadedObject) -> Module<Mapped> {
    let range = object.found.start..object.found.end;
    Module::new(String::new(), range, object.bias, Sections(object))
}

/// The sections of an object that the unwinder asks for.
struct Sections<'a>(&'a LoadedObject);

impl Sections<'_> {
    fn section(&self, name: &[u8]) -> Option<&Range<u64>> {
        match name {
            b".eh_frame_hdr" => Some(&self.0.index),
            b".eh_frame" => Some(&self.0.table),
            _ => None,
        }
    }
}

impl ModuleSectionInfo<Mapped> for Sections<'_> {
    fn base_svma(&self) -> u64 {
        0
    }

    fn section_svma_range(&mut self, name: &[u8]) -> Option<Range<u64>> {
        let Range { start, end } = *self.section(name)?;
        Some(start.wrapping_sub(self.0.bias)..end.wrapping_sub(self.0.bias))
    }

    fn section_data(&mut self, name: &[u8]) -> Option<Mapped> {
        self.section(name).map(Mapped::new)
    }
}

static CURRENT: AtomicPtr<Rules> = AtomicPtr::new(ptr::null_mut());
static READERS: AtomicUsize = AtomicUsize::new(0);
static PUBLISHED: AtomicU64 = AtomicU64::new(0);

/// The current list, kept alive while this exists.
pub(crate) struct Pinned {
    rules: *const Rules,
}

impl Pinned {
    /// The current list; `None` before the first [`publish`].
    ///
    /// Context: signal handler.
    pub(crate) fn current() -> Option<Self> {
        READERS.fetch_add(1, Ordering::SeqCst);
        let pinned = Self { rules: CURRENT.load(Ordering::SeqCst) };
        (!pinned.rules.is_null()).then_some(pinned)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Deref for Pinned {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        // SAFETY: not null, made by `publish` from a box, and not freed while
        // this reader is counted: see the head of this file.
        unsafe { &*self.rules }
    }
}

/// A list that was replaced and may still be in use.
#[derive(Debug)]
pub(crate) struct Retired(*mut Rules);

// SAFETY: the list is only freed through this handle, by whichever thread holds it.
unsafe impl Send for Retired {}

/// Makes `rules` the current list and gives back the one before.
pub(crate) fn publish(mut rules: Rules) -> Option<Retired> {
    rules.generation = PUBLISHED.fetch_add(1, Ordering::Relaxed) + 1;
    let before = CURRENT.swap(Box::into_raw(Box::new(rules)), Ordering::SeqCst);
    (!before.is_null()).then_some(Retired(before))
}

/// Frees the lists that nobody can be using any more; the others stay in `retired`.
pub(crate) fn reclaim(retired: &mut Vec<Retired>) {
    if READERS.load(Ordering::SeqCst) != 0 {
        return;
    }
    for Retired(rules) in retired.drain(..) {
        // SAFETY: it came from a box in `publish` and is no longer current. No
        // reader was counted after that, so none holds it, and it is freed once.
        drop(unsafe { Box::from_raw(rules) });
    }
}

/// Forgets readers that did not come along into a forked child.
pub(crate) fn forget_readers() {
    READERS.store(0, Ordering::SeqCst);
}
