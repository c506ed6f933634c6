//! A value behind a lock that a forked child does not inherit: someone may
//! have held it when the child was made.

use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sys::{fork, leaked};

/// One value per process; a forked child begins with the default.
#[derive(Debug)]
pub(super) struct PerProcess<T: 'static> {
    place: AtomicPtr<Owned<T>>,
}

#[derive(Debug)]
struct Owned<T> {
    generation: u32,
    value: Mutex<T>,
}

impl<T: Default> PerProcess<T> {
    pub(super) const fn new() -> Self {
        Self { place: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Locks the value of this process.
    pub(super) fn lock(&self) -> MutexGuard<'static, T> {
        fork::watch();
        let generation = fork::generation();
        let known = leaked::get(&self.place);
        let owned = match known.filter(|owned| owned.generation == generation) {
            Some(owned) => owned,
            None => {
                let value = Mutex::new(T::default());
                leaked::replace(&self.place, known, Owned { generation, value })
            }
        };
        owned.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
