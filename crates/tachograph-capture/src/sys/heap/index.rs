//! From the address of a sampled block to its entry, readable without a lock.
//!
//! One word holds an address and its entry's number. Nothing moves while it is
//! there: a removed word that others were put behind leaves a stone that is walked
//! over, and when there are too many of them, or too little room, everything is written to another table
//! under the lock and that one is published. A reader that was overtaken by this
//! notices by the version and looks again.

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use super::apart::Apart;

/// Entries that a word can number.
pub(super) const MOST_ENTRIES: usize = 1 << ENTRY_BITS;
const ENTRY_BITS: u32 = 20;

const EMPTY: u64 = 0;
/// No block is at address 0, so no word of an entry looks like this.
const STONE: u64 = 1;

/// Places of the first table: 32 KB.
const FIRST_PLACES: usize = 4096;

/// How often a reader looks again before it asks for the lock.
const RETRIES: usize = 16;

/// What a reader found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The entry's number.
    Entry(u32),
    /// There is none.
    Nothing,
    /// The table changes too fast; ask under the lock.
    Unsure,
}

/// The table. Everything but [`Index::find`] is called under the store's lock.
pub(super) struct Index {
    reading: Apart<Reading>,
    changing: Apart<Changing>,
}

/// What readers look at; it changes only when the table does.
struct Reading {
    current: AtomicPtr<Table>,
    version: AtomicUsize,
    spare: AtomicPtr<Table>,
    bytes: AtomicUsize,
}

/// Figures that change with every entry, under the lock.
struct Changing {
    live: AtomicUsize,
    used: AtomicUsize,
    collisions: AtomicU64,
}

fn add(count: &AtomicUsize, more: usize) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// Places behind a word that says how many.
#[repr(C)]
struct Table {
    places: usize,
    first: AtomicU64,
}

impl Table {
    fn place(&self, at: usize) -> &AtomicU64 {
        let at = at & (self.places - 1);
        let first = &raw const self.first;
        // SAFETY: the mapping was made for `places` words after the head, and the
        // mask keeps `at` below that. Tables are never unmapped.
        let place = unsafe { first.add(at) };
        // SAFETY: as above; words of the mapping are only used as atomics.
        unsafe { &*place }
    }

    /// Maps a table whose places are empty.
    fn map(places: usize) -> *mut Self {
        let memory = super::table::map_pages(size_of::<Self>() + places * 8);
        let table = memory.cast::<Self>();
        if !table.is_null() {
            // SAFETY: the mapping is large enough, zeroed, page aligned and not shared yet.
            unsafe { (*table).places = places };
        }
        table
    }
}

fn start(address: u64) -> usize {
    ((address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

fn word(address: u64, entry: u32) -> u64 {
    (address >> 4) << ENTRY_BITS | u64::from(entry)
}

impl Index {
    /// Knows nothing and has no memory.
    pub(super) const fn new() -> Self {
        let none = std::ptr::null_mut();
        Self {
            reading: Apart(Reading {
                current: AtomicPtr::new(none),
                version: AtomicUsize::new(0),
                spare: AtomicPtr::new(none),
                bytes: AtomicUsize::new(0),
            }),
            changing: Apart(Changing {
                live: AtomicUsize::new(0),
                used: AtomicUsize::new(0),
                collisions: AtomicU64::new(0),
            }),
        }
    }

    fn table(&self) -> Option<&Table> {
        // SAFETY: only mapped, never unmapped tables are stored.
        unsafe { self.reading.current.load(Ordering::Acquire).as_ref() }
    }

    /// The entry of the block at `address`.
    ///
    /// Context: allocator hook.
    pub(super) fn find(&self, address: u64) -> Found {
        for _ in 0..RETRIES {
            let version = self.reading.version.load(Ordering::Acquire);
            let Some(table) = self.table() else { return Found::Nothing };
            let found = Self::probe(table, address)
                .map_or(Found::Nothing, |(_, entry)| Found::Entry(entry));
            std::sync::atomic::fence(Ordering::Acquire);
            if self.reading.version.load(Ordering::Relaxed) == version {
                return found;
            }
        }
        Found::Unsure
    }

    fn probe(table: &Table, address: u64) -> Option<(usize, u32)> {
        let wanted = address >> 4;
        let first = start(address);
        for step in 0..table.places {
            let held = table.place(first + step).load(Ordering::Acquire);
            if held == EMPTY {
                return None;
            }
            if held >> ENTRY_BITS == wanted && held != STONE {
                return Some((first + step, (held & (MOST_ENTRIES as u64 - 1)) as u32));
            }
        }
        None
    }

    /// Adds an address that is not there; false when there is no memory.
    ///
    /// Context: allocator hook, under the lock.
    pub(super) fn insert(&self, address: u64, entry: u32) -> bool {
        if !self.make_room() {
            return false;
        }
        let Some(table) = self.table() else { return false };
        let first = start(address);
        for step in 0..table.places {
            let place = table.place(first + step);
            let held = place.load(Ordering::Relaxed);
            if held == EMPTY || held == STONE {
                place.store(word(address, entry), Ordering::Release);
                add(&self.changing.live, 1);
                add(&self.changing.used, usize::from(held == EMPTY));
                if step > 0 {
                    self.changing.collisions.fetch_add(1, Ordering::Relaxed);
                }
                return true;
            }
        }
        false
    }

    /// Removes an address; its entry.
    ///
    /// Context: allocator hook, under the lock.
    pub(super) fn remove(&self, address: u64) -> Option<u32> {
        let table = self.table()?;
        let (at, entry) = Self::probe(table, address)?;
        add(&self.changing.live, usize::MAX);
        table.place(at).store(STONE, Ordering::Release);
        if table.place(at + 1).load(Ordering::Relaxed) == EMPTY {
            // Nobody walks past the end of a row, so stones there are not needed.
            let mut last = at;
            while table.place(last).load(Ordering::Relaxed) == STONE {
                table.place(last).store(EMPTY, Ordering::Release);
                add(&self.changing.used, usize::MAX);
                last = last.wrapping_sub(1);
            }
        }
        Some(entry)
    }

    /// Forgets every address. Under the lock.
    pub(super) fn clear(&self) {
        let Some(table) = self.table() else { return };
        (0..table.places).for_each(|at| table.place(at).store(EMPTY, Ordering::Release));
        self.changing.live.store(0, Ordering::Relaxed);
        self.changing.used.store(0, Ordering::Relaxed);
    }

    /// Forgets everything, also a change of tables that was half done. Context: the
    /// child of a fork, on its only thread.
    pub(super) fn forget_in_child(&self) {
        // It may be the very table that is current.
        self.reading.spare.store(std::ptr::null_mut(), Ordering::Release);
        self.clear();
    }

    /// Keeps a quarter of the places empty.
    fn make_room(&self) -> bool {
        let Some(old) = self.table() else {
            return self.publish(Table::map(FIRST_PLACES), FIRST_PLACES);
        };
        let (live, used) = (
            self.changing.live.load(Ordering::Relaxed),
            self.changing.used.load(Ordering::Relaxed),
        );
        if (used + 1) * 4 <= old.places * 3 {
            return true;
        }
        let grows = live * 2 > old.places;
        let places = if grows { old.places * 2 } else { old.places };
        // SAFETY: only mapped, never unmapped tables are stored.
        let spare = unsafe { self.reading.spare.load(Ordering::Acquire).as_ref() };
        let fits = spare.filter(|spare| spare.places == places);
        // From here on a reader of the spare table finds another version.
        self.reading.version.fetch_add(1, Ordering::AcqRel);
        let new = match fits {
            Some(spare) => {
                (0..places).for_each(|at| spare.place(at).store(EMPTY, Ordering::Relaxed));
                std::ptr::from_ref(spare).cast_mut()
            }
            None => Table::map(places),
        };
        // SAFETY: mapped just now, or the spare table; null when there is no memory.
        let Some(table) = (unsafe { new.as_ref() }) else { return used + 1 < old.places };
        for at in 0..old.places {
            let held = old.place(at).load(Ordering::Relaxed);
            if held != EMPTY && held != STONE {
                let first = start((held >> ENTRY_BITS) << 4);
                let free = (first..first + places)
                    .find(|at| table.place(*at).load(Ordering::Relaxed) == EMPTY);
                if let Some(free) = free {
                    table.place(free).store(held, Ordering::Relaxed);
                }
            }
        }
        self.changing.used.store(live, Ordering::Relaxed);
        self.reading.spare.store(std::ptr::from_ref(old).cast_mut(), Ordering::Release);
        self.publish(new, if fits.is_some() { 0 } else { places })
    }

    fn publish(&self, table: *mut Table, new_places: usize) -> bool {
        if table.is_null() {
            return false;
        }
        self.reading.bytes.fetch_add(new_places * 8, Ordering::Relaxed);
        self.reading.current.store(table, Ordering::Release);
        self.reading.version.fetch_add(1, Ordering::AcqRel);
        true
    }

    /// How full it is, 0 to 1; inserts that met another entry; bytes of memory.
    pub(super) fn figures(&self) -> (f64, u64, usize) {
        let places = self.table().map_or(1, |table| table.places);
        let load = self.changing.used.load(Ordering::Relaxed) as f64 / places as f64;
        let bytes = self.reading.bytes.load(Ordering::Relaxed);
        (load, self.changing.collisions.load(Ordering::Relaxed), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed() {
        let index = Index::new();
        assert_eq!(index.find(4096), Found::Nothing);
        for entry in 1..20_000_u32 {
            assert!(index.insert(u64::from(entry) * 4096, entry));
        }

        assert_eq!(index.find(4096 * 777), Found::Entry(777));
        assert_eq!(index.find(4096 * 777 + 16), Found::Nothing);
        assert_eq!(index.remove(4096 * 777), Some(777));
        assert_eq!(index.find(4096 * 777), Found::Nothing);
        assert_eq!(index.remove(4096 * 777), None);
    }

    #[test]
    fn churn_does_not_grow_the_table() {
        let index = Index::new();
        for round in 0..200_000_u64 {
            let address = 0x7f00_0000_0000 + round * 4096;
            assert!(index.insert(address, 5));
            assert_eq!(index.remove(address), Some(5));
        }

        assert!(index.figures().2 <= 2 * FIRST_PLACES * 8, "{:?}", index.figures());
    }

    #[test]
    fn a_removed_word_leaves_no_stone_at_the_end_of_a_row() {
        let index = Index::new();
        // Addresses that begin at the same place stand in a row.
        let same: Vec<u64> = (1_u64..)
            .map(|at| at * 4096)
            .filter(|at| start(*at) % FIRST_PLACES == start(4096) % FIRST_PLACES)
            .take(3)
            .collect();
        for (entry, address) in (1..).zip(&same) {
            assert!(index.insert(*address, entry));
        }
        let used = || index.changing.used.load(Ordering::Relaxed);

        assert_eq!(index.remove(same[1]), Some(2));
        assert_eq!((used(), index.find(same[2])), (3, Found::Entry(3)), "a stone holds the row");
        assert_eq!(index.remove(same[2]), Some(3));
        assert_eq!((used(), index.find(same[0])), (1, Found::Entry(1)), "both stones are gone");
        assert_eq!(index.remove(same[0]), Some(1));
        assert_eq!(used(), 0);
    }

    #[test]
    fn a_reader_always_finds_what_stays() {
        static INDEX: Index = Index::new();
        for entry in 0..500_u32 {
            assert!(INDEX.insert(0x1000_0000 + u64::from(entry) * 4096, entry + 1));
        }
        let reader = std::thread::spawn(|| {
            for round in 0..200_000_u32 {
                let entry = round % 500;
                let found = INDEX.find(0x1000_0000 + u64::from(entry) * 4096);
                assert!(matches!(found, Found::Unsure) || found == Found::Entry(entry + 1));
            }
        });
        let mut at = 0x7f00_0000_0000_u64;
        while !reader.is_finished() {
            at += 4096;
            INDEX.insert(at, 9);
            INDEX.remove(at);
        }
        reader.join().unwrap();
    }
}
