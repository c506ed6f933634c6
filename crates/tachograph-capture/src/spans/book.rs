//! The one table behind a lock: names and the meters that are known by name.
//!
//! It is asked for when something is met for the first time. A thread that
//! forks holds the lock meanwhile, so that the child finds it free.

use std::cell::RefCell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;

use super::meter::Meter;
use super::names::{Name, Names};

/// Names and meters.
#[derive(Default)]
pub(crate) struct Tables {
    /// Every name.
    pub(crate) names: Names,
    /// Meters by ledger and name.
    pub(crate) meters: FxHashMap<(u32, Name), Meter>,
}

/// The tables and their lock.
#[derive(Default)]
pub(crate) struct Book(RwLock<Tables>);

impl Book {
    /// To look something up.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To enter something.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process's book.
pub(crate) fn book() -> &'static Book {
    static BOOK: std::sync::LazyLock<Book> = std::sync::LazyLock::new(Book::default);
    &BOOK
}

thread_local! {
    static HELD: RefCell<Option<RwLockWriteGuard<'static, Tables>>> = const { RefCell::new(None) };
}

/// Keeps others out while this thread forks. Context: before a fork.
pub(crate) fn hold() {
    let _ = HELD.try_with(|held| held.replace(Some(book().write())));
}

/// Lets others in again. Context: after a fork, in parent and child.
pub(crate) fn let_go() {
    let _ = HELD.try_with(|held| held.replace(None));
}
