//! Code objects already read, by address and fingerprint.
//!
//! The same few hundred code objects make up nearly all samples. An address
//! alone does not name a code object: after an import or an `exec` it is soon
//! used for another one, hence the fingerprint.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;

use super::CodeInfo;

/// How many code objects one generation of the cache holds.
///
/// Two generations exist at most. A large program has about 20,000 code
/// objects on its stacks, at about 300 bytes each.
const GENERATION: usize = 16 * 1024;

/// How long a failure to read a code object is believed, in nanoseconds.
///
/// A permanent "unknown" would mislabel what later lives at the address; trying
/// again for each of a thousand samples a second would cost 5 µs each.
const FAILURE_LIFETIME: u64 = 200_000_000;

/// One code object at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    code: u64,
    fingerprint: u32,
}

#[derive(Clone, Debug)]
enum Entry {
    Known(Arc<CodeInfo>),
    /// Could not be read; not tried again before this time.
    Unknown {
        retry_at: u64,
    },
}

/// What is known of the code objects on sampled stacks.
///
/// Holds at most two generations: when the younger is full it becomes the older
/// and what only the old one held is forgotten.
#[derive(Debug, Default)]
pub struct CodeCache {
    young: FxHashMap<Key, Entry>,
    old: FxHashMap<Key, Entry>,
}

impl CodeCache {
    /// The code object at `code` with this fingerprint, read if need be.
    ///
    /// `now` is any clock in nanoseconds. `None` if the code object is gone, or
    /// was gone a moment ago.
    pub fn resolve<M: ReadMemory>(
        &mut self,
        memory: &M,
        layout: &Layout,
        code: u64,
        fingerprint: u32,
        now: u64,
    ) -> Option<Arc<CodeInfo>> {
        let key = Key { code, fingerprint };
        let told = match self.find(key) {
            Some(Entry::Known(info)) if info.has_lines() => return Some(info),
            Some(Entry::Unknown { retry_at }) if now < retry_at => return None,
            Some(Entry::Known(told)) => Some(told),
            _ => None,
        };
        let info = CodeInfo::read(memory, layout, code, fingerprint).map(Arc::new).or(told);
        let entry = match &info {
            Some(info) => Entry::Known(Arc::clone(info)),
            None => Entry::Unknown { retry_at: now.saturating_add(FAILURE_LIFETIME) },
        };
        self.keep(key, entry);
        info
    }

    /// Keeps what someone else read of a code object, unless as much is known.
    pub fn tell(&mut self, code: u64, fingerprint: u32, info: impl Into<Arc<CodeInfo>>) {
        let (key, info) = (Key { code, fingerprint }, info.into());
        let known = self.find(key);
        let suffices = |known: &CodeInfo| known.has_lines() || !info.has_lines();
        if !matches!(known, Some(Entry::Known(known)) if suffices(&known)) {
            self.keep(key, Entry::Known(info));
        }
    }

    /// What is known of a code object without reading it.
    pub fn get(&mut self, code: u64, fingerprint: u32) -> Option<Arc<CodeInfo>> {
        match self.find(Key { code, fingerprint })? {
            Entry::Known(info) => Some(info),
            Entry::Unknown { .. } => None,
        }
    }

    /// Forgets everything, as after a fork into a program that reads anew.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    fn find(&mut self, key: Key) -> Option<Entry> {
        if let Some(entry) = self.young.get(&key) {
            return Some(entry.clone());
        }
        let entry = self.old.remove(&key)?;
        self.keep(key, entry.clone());
        Some(entry)
    }

    fn keep(&mut self, key: Key, entry: Entry) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, entry);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Memory in which nothing can be read, and how often someone tried.
    #[derive(Default)]
    struct Nothing {
        tries: Cell<usize>,
    }

    impl ReadMemory for Nothing {
        fn word(&self, _address: u64) -> Option<u64> {
            self.tries.set(self.tries.get() + 1);
            None
        }

        fn bytes(&self, address: u64, _out: &mut [u8]) -> bool {
            self.word(address).is_some()
        }
    }

    fn layout() -> Layout {
        Layout::of_table(12, false).unwrap()
    }

    #[test]
    fn a_failure_is_believed_for_a_while_and_then_tried_again() {
        let (memory, mut cache) = (Nothing::default(), CodeCache::default());
        let mut look = |now| cache.resolve(&memory, &layout(), 0x1000, 7, now);

        assert_eq!((look(0), look(1000)), (None, None));
        let early = memory.tries.get();
        assert_eq!(look(FAILURE_LIFETIME), None);

        assert_eq!((early, memory.tries.get()), (1, 2));
    }

    #[test]
    fn what_was_told_names_code_that_is_gone() {
        let (memory, mut cache) = (Nothing::default(), CodeCache::default());
        assert_eq!(cache.resolve(&memory, &layout(), 0x1000, 7, 0), None);

        cache.tell(0x1000, 7, CodeInfo::told("<module>".into(), "setup.py".into(), 1));

        let named = cache.resolve(&memory, &layout(), 0x1000, 7, 0).unwrap();
        assert_eq!((named.qualname.as_str(), named.line(40)), ("<module>", 1));
        assert!(cache.get(0x1000, 7).is_some());
        assert!(cache.get(0x1000, 8).is_none());
    }

    #[test]
    fn the_cache_never_holds_more_than_two_generations() {
        let (memory, mut cache) = (Nothing::default(), CodeCache::default());

        for code in 0..3 * GENERATION as u64 {
            cache.resolve(&memory, &layout(), code * 64, 7, 0);
        }

        assert!(cache.young.len() + cache.old.len() <= 2 * GENERATION);
    }
}
