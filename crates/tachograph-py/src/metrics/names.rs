//! From a Python string to what a collector keeps under that name.
//!
//! A name is nearly always a constant of the program, the same object at every
//! call. A few slots, each filled once, find it by its address without a lock;
//! every other string is looked up by its text.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use tachograph_capture::spans::Name;

/// Strings that are known by address.
const SLOTS: usize = 64;
/// Slots that are tried for a string.
const TRIES: usize = 4;

/// What is kept under names.
pub(super) struct Names<T> {
    /// The string is kept alive, so that no other one gets its address.
    slots: [OnceLock<(Py<PyString>, Arc<T>)>; SLOTS],
    known: RwLock<Known<T>>,
}

struct Known<T> {
    by_name: HashMap<Name, Arc<T>>,
    /// In the order they were first met.
    order: Vec<Arc<T>>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        let known = Known { by_name: HashMap::new(), order: Vec::new() };
        Self { slots: [const { OnceLock::new() }; SLOTS], known: RwLock::new(known) }
    }
}

impl<T> Names<T> {
    /// Uses what is kept under the string `name`; `make` makes it if need be.
    ///
    /// # Errors
    ///
    /// `TypeError` when `name` is not a string.
    #[inline]
    pub(super) fn with<R>(
        &self,
        name: &Bound<'_, PyAny>,
        make: fn(Name) -> T,
        work: impl FnOnce(&Arc<T>) -> R,
    ) -> PyResult<R> {
        for slot in self.slots_of(name) {
            match slot.get() {
                Some((text, kept)) if text.as_ptr() == name.as_ptr() => return Ok(work(kept)),
                Some(_) => {}
                None => break,
            }
        }
        self.learn(name, make).map(|kept| work(&kept))
    }

    /// The slots where a string at its address may be.
    #[inline]
    fn slots_of(
        &self,
        name: &Bound<'_, PyAny>,
    ) -> impl Iterator<Item = &OnceLock<(Py<PyString>, Arc<T>)>> {
        let address = name.as_ptr() as usize;
        let first = (address >> 4) ^ (address >> 10);
        (0..TRIES).filter_map(move |step| self.slots.get((first + step) % SLOTS))
    }

    #[cold]
    fn learn(&self, name: &Bound<'_, PyAny>, make: fn(Name) -> T) -> PyResult<Arc<T>> {
        let Ok(text) = name.cast::<PyString>() else {
            let kind = name.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a name must be a str, not {kind}")));
        };
        let kept = self.named(Name::of(&text.to_string_lossy()), make);
        // A subclass could run code when it dies; only plain strings are kept.
        if text.is_exact_instance_of::<PyString>() {
            for slot in self.slots_of(name) {
                if slot.set((text.clone().unbind(), Arc::clone(&kept))).is_ok() {
                    break;
                }
            }
        }
        Ok(kept)
    }

    /// What is kept under `name`; `make` makes it if need be.
    pub(super) fn named(&self, name: Name, make: fn(Name) -> T) -> Arc<T> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known.by_name.get(&name) {
            return Arc::clone(kept);
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let Known { by_name, order } = &mut *known;
        let kept = by_name.entry(name).or_insert_with(|| {
            let kept = Arc::new(make(name));
            order.push(Arc::clone(&kept));
            kept
        });
        Arc::clone(kept)
    }

    /// What is kept under `name`, if anything is.
    pub(super) fn find(&self, name: Name) -> Option<Arc<T>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_name.get(&name).map(Arc::clone)
    }

    /// All that is kept, in the order it was first met.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).order.clone()
    }
}
