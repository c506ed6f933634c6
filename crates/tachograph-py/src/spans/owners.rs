//! The keys of a method, by the class of the instance it is called on.
//!
//! A method that is inherited from another module is reported under the class
//! that a program works with. Which key that is, Python says once per class.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::key::Key;
use crate::text::Text;

/// Classes that are remembered, and kept alive by it; others are asked about anew.
const MOST: usize = 64;

/// The keys of one method.
pub(super) struct Owners {
    /// Given a class, returns its key.
    name_of: Py<PyAny>,
    /// The first class, which is most often the only one.
    first: OnceLock<Known>,
    others: Mutex<HashMap<usize, Known>>,
}

/// A class and its key. It holds the class, so its address stands for it.
struct Known {
    class: Py<PyType>,
    key: &'static Key,
}

impl Owners {
    pub(super) fn new(name_of: Py<PyAny>) -> Self {
        Self { name_of, first: OnceLock::new(), others: Mutex::default() }
    }

    /// The key for calls on `instance`.
    #[inline]
    pub(super) fn key(&self, instance: &Bound<'_, PyAny>) -> PyResult<&'static Key> {
        match self.first.get() {
            Some(known) if known.class.as_ptr() == instance.get_type_ptr().cast() => Ok(known.key),
            _ => self.other(instance),
        }
    }

    #[cold]
    fn other(&self, instance: &Bound<'_, PyAny>) -> PyResult<&'static Key> {
        let address = instance.get_type_ptr().addr();
        if let Some(known) = self.others().get(&address) {
            return Ok(known.key);
        }
        let class = instance.get_type();
        let name: Text = self.name_of.bind(instance.py()).call1((&class,))?.extract()?;
        let key = Key::of(&name.0);
        let known = Known { class: class.unbind(), key };
        if let Err(known) = self.first.set(known) {
            let mut others = self.others();
            if others.len() < MOST {
                others.insert(address, known);
            }
        }
        Ok(key)
    }

    fn others(&self) -> MutexGuard<'_, HashMap<usize, Known>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the garbage collector what is held here.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.name_of)?;
        if let Some(known) = self.first.get() {
            visit.call(&known.class)?;
        }
        let Ok(others) = self.others.try_lock() else { return Ok(()) };
        others.values().try_for_each(|known| visit.call(&known.class))
    }
}
