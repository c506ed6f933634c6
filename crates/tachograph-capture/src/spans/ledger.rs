//! Ledgers: meters by name, one ledger per door.

use std::sync::atomic::{AtomicU32, Ordering};

use tachograph_profile::stats::Summary;

use super::book::book;
use super::meter::Meter;
use super::names::Name;

/// The meters of one door, by name.
#[derive(Debug)]
pub struct Ledger {
    id: u32,
}

static NEXT: AtomicU32 = AtomicU32::new(1);

impl Ledger {
    /// A ledger without meters.
    #[must_use]
    pub fn new() -> Self {
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// The meter called `name`; made if need be.
    #[must_use]
    pub fn meter(&self, name: Name) -> Meter {
        let key = (self.id, name);
        if let Some(meter) = book().read().meters.get(&key) {
            return meter.clone();
        }
        book().write().meters.entry(key).or_default().clone()
    }

    /// Every meter, in the order of their names.
    #[must_use]
    pub fn meters(&self) -> Vec<(Name, Meter)> {
        let book = book().read();
        let own = book.meters.iter().filter(|((ledger, _), _)| *ledger == self.id);
        let mut meters: Vec<_> = own.map(|((_, name), meter)| (*name, meter.clone())).collect();
        drop(book);
        meters.sort_by_key(|(name, _)| name.text());
        meters
    }

    /// What every meter knows; those without a value are left out.
    #[must_use]
    pub fn summaries(&self) -> Vec<(Name, Summary)> {
        let meters = self.meters().into_iter();
        let all = meters.map(|(name, meter)| (name, meter.summary()));
        all.filter(|(_, summary)| summary.count() > 0).collect()
    }

    /// Forgets all values; the meters stay, for whoever holds one.
    pub fn clear(&self) {
        self.meters().iter().for_each(|(_, meter)| meter.clear());
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let mut book = book().write();
        let own: Vec<_> = book.meters.keys().filter(|key| key.0 == self.id).copied().collect();
        let meters: Vec<_> = own.iter().filter_map(|key| book.meters.remove(key)).collect();
        // Meters clean up after themselves, which needs no lock of ours.
        drop(book);
        drop(meters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ledgers_keep_the_same_name_apart() {
        let (left, right) = (Ledger::new(), Ledger::new());
        left.meter(Name::of("step")).add(1.0);
        right.meter(Name::of("step")).add(3.0);

        let told: Vec<_> = left.summaries().iter().map(|(n, s)| (n.text(), s.sum())).collect();

        assert_eq!(told, [("step", 1.0)]);
    }

    #[test]
    fn a_cleared_ledger_shows_nothing_and_goes_on() {
        let ledger = Ledger::new();
        let meter = ledger.meter(Name::of("step"));
        meter.add(1.0);
        ledger.clear();
        assert!(ledger.summaries().is_empty());
        meter.add(2.0);
        assert_eq!(ledger.summaries().len(), 1);
    }
}
