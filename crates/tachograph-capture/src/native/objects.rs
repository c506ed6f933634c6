//! Which objects are and were loaded: kept current off the hot path, and
//! remembered after they are gone so that their frames still get names.
//!
//! The sampler thread calls [`refresh`] as often as it likes: while nothing was
//! loaded or unloaded it is one short question to the loader.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::sys::native;
use crate::sys::native::fork::Turn;
use crate::sys::native::objects::{Changes, LoadedObject};
use crate::sys::native::rules::{Known, Pinned, Retired, Rules};
use crate::sys::native::unwind::MAX_OBJECT;

/// Objects that get a number, so that a frame can name its object in 15 bits.
///
/// A program that loads more than this many different ones gets frames named
/// by whatever is loaded when names are resolved.
const MOST_OBJECTS: usize = MAX_OBJECT as usize;

#[derive(Default)]
struct State {
    changes: Option<Changes>,
    /// Every object ever seen; the object with number n is at n - 1.
    seen: Vec<Arc<LoadedObject>>,
    /// Lists that were replaced and may still be in use.
    retired: Vec<Retired>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Runs `work` with nobody else, and no fork, in between.
fn with_state<T>(work: impl FnOnce(&mut State) -> T) -> T {
    let _turn = Turn::take();
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    work(state.get_or_insert_default())
}

/// Whether this build and machine can unwind native stacks.
#[must_use]
pub fn available() -> bool {
    unavailable_reason().is_none()
}

/// Why native stacks cannot be unwound here, as half a sentence.
#[must_use]
pub fn unavailable_reason() -> Option<&'static str> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = *FOUND.get_or_init(native::objects::prepare);
    (!found)
        .then_some("the C library has no `_dl_find_object`; native frames need glibc 2.35 or newer")
}

/// Brings the list of loaded objects up to date; true when it changed.
///
/// Takes a few microseconds when nothing was loaded or unloaded, and some
/// hundred when something was. Call it from a background thread: handlers go on
/// with the list before until the new one is complete.
pub fn refresh() -> bool {
    if !available() {
        return false;
    }
    with_state(|state| {
        native::rules::reclaim(&mut state.retired);
        if state.changes == Some(native::objects::changes()) {
            return false;
        }
        let (changes, objects) = native::objects::loaded_objects();
        let known = objects.into_iter().map(|object| state.number(object)).collect();
        let rules = match Pinned::current() {
            Some(current) => current.with_objects(known),
            None => Rules::default().with_objects(known),
        };
        state.retired.extend(native::rules::publish(rules));
        native::rules::reclaim(&mut state.retired);
        state.changes = Some(changes);
        true
    })
}

impl State {
    /// Gives `object` its number: the same one if it was loaded like this before.
    fn number(&mut self, mut object: LoadedObject) -> Known {
        if object.name.is_empty() {
            object.name = program_path();
        }
        let before = self.seen.iter().position(|seen| is_same_file_and_place(seen, &object));
        let object = Arc::new(object);
        let index = match before {
            Some(index) => {
                if self.seen[index] == object {
                    return known(Arc::clone(&self.seen[index]), index);
                }
                index
            }
            None if self.seen.len() < MOST_OBJECTS => {
                self.seen.push(Arc::clone(&object));
                self.seen.len() - 1
            }
            None => MOST_OBJECTS,
        };
        known(object, index)
    }
}

fn known(object: Arc<LoadedObject>, index: usize) -> Known {
    Known { object, id: u16::try_from(index + 1).unwrap_or(0) }
}

fn is_same_file_and_place(a: &LoadedObject, b: &LoadedObject) -> bool {
    (a.bias, &a.index, &a.build_id, a.mark, &a.name)
        == (b.bias, &b.index, &b.build_id, b.mark, &b.name)
}

fn program_path() -> String {
    std::fs::read_link("/proc/self/exe")
        .unwrap_or_else(|_| PathBuf::from("[program]"))
        .to_string_lossy()
        .into_owned()
}

/// The object with number `id`, loaded or not.
pub(crate) fn object(id: u16) -> Option<Arc<LoadedObject>> {
    let index = usize::from(id).checked_sub(1)?;
    with_state(|state| state.seen.get(index).cloned())
}

/// The object that holds `address`: the one loaded now, else the one seen last.
pub(crate) fn object_at(address: u64) -> Option<Arc<LoadedObject>> {
    with_state(|state| {
        let holds =
            |object: &&Arc<LoadedObject>| (object.found.start..object.found.end).contains(&address);
        state.seen.iter().rev().find(holds).cloned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_refresh_finds_nothing_new_and_keeps_the_numbers() {
        refresh();
        let here = object_at(refresh as fn() -> bool as usize as u64).unwrap();

        refresh();

        let again = object_at(refresh as fn() -> bool as usize as u64).unwrap();
        assert_eq!(here, again);
        assert_eq!(here.name, program_path());
    }

    #[test]
    fn an_unknown_number_names_no_object() {
        assert!(object(0).is_none());
        assert!(object(u16::MAX).is_none());
    }
}
