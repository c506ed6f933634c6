//! Everything that was sampled and is live, and news of it for the collector.
//!
//! A hook adds an entry and takes its address out again when the block is freed;
//! both put the entry on the list of news. An entry is used again only after the
//! collector has heard of its end, so no free is ever lost. A stack travels once,
//! through a ring, and is known by a key afterwards. What finds no room is not
//! sampled, and counted: the rate drops for a moment, and the picture says so.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tachograph_probe::introduce::{TEXT_BYTES, introduce};
use tachograph_probe::known::Known;
use tachograph_probe::record;
use tachograph_probe::ring::Ring;
use tachograph_profile::Allocator;

use super::apart::Apart;
use super::control;
use super::desk::Stack;
use super::index::{Found, Index};
use super::lock::STORE;
use super::room::Room;
use super::table::{Entry, entry};
use crate::sys::{clock, handler};

/// Words of the ring that stacks travel through: 512 KB.
const RING_WORDS: usize = 1 << 16;

/// Keys of stacks that were told; a power of two.
const TOLD: usize = 1 << 14;

/// Entries that the collector takes at a time, with the lock held.
const AT_ONCE: usize = 512;

/// The entry is on the list of news.
const LISTED: u32 = 1 << 8;
/// The collector knows the block.
const HEARD: u32 = 1 << 9;
/// The block came from the pool of small marked blocks.
const POOLED: u32 = 1 << 10;
const ALLOCATOR: u32 = 0xff;

/// A block that is about to be handed out.
pub(super) struct New {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) weight: u64,
    pub(super) allocator: Allocator,
    pub(super) is_pooled: bool,
}

/// What happened to a sampled block since the last look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Names the block until its end was told.
    pub(crate) number: u32,
    /// It was not told before.
    pub(crate) is_new: bool,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) weight: u64,
    /// Nanoseconds on the monotonic clock.
    pub(crate) time: u64,
    /// The same; 0 while it is live.
    pub(crate) freed: u64,
    /// The key of its stack.
    pub(crate) stack: u64,
    pub(crate) tid: i32,
    pub(crate) allocator: Allocator,
}

/// What only the holder of the lock touches.
struct State {
    /// Entries that can be used again.
    free: u32,
    /// Entries that have news.
    news: u32,
    /// The next entry that was never used. 0 stands for none.
    fresh: u32,
    room: Room,
    told: [u64; TOLD],
    known: Known,
    text: [u8; TEXT_BYTES],
}

struct Store(UnsafeCell<State>);

// SAFETY: `locked` hands the inside out to one thread at a time.
unsafe impl Sync for Store {}

static STATE: Apart<Store> = Apart(Store(UnsafeCell::new(State {
    free: 0,
    news: 0,
    fresh: 1,
    room: Room::new(),
    told: [0; TOLD],
    known: Known::new(),
    text: [0; TEXT_BYTES],
})));
static INDEX: Index = Index::new();
static RING: Apart<Ring<RING_WORDS>> = Apart(Ring::new());

pub(super) static TAKEN: Apart<AtomicU64> = Apart(AtomicU64::new(0));
pub(super) static DROPPED: Apart<AtomicU64> = Apart(AtomicU64::new(0));

/// Runs `work` with the lock held.
fn locked<T>(work: impl FnOnce(&mut State) -> T) -> T {
    STORE.take();
    // SAFETY: the lock makes this the only reference until it is given back;
    // `work` never comes here again.
    let outcome = work(unsafe { &mut *STATE.0.0.get() });
    STORE.give_back();
    outcome
}

/// Keeps a sampled block; false when there is no room.
///
/// Context: allocator hook.
pub(super) fn insert(new: &New, stack: &Stack<'_>, tid: i32) -> bool {
    let now = clock::monotonic();
    locked(|state| state.insert(new, stack, tid, now).is_some())
}

/// Sends a stack to the collector if it does not know it; its key, unless there
/// is no room or no frame.
///
/// Context: allocator hook.
pub(super) fn tell(stack: &Stack<'_>) -> Option<u64> {
    (stack.key != 0 && locked(|state| state.tell(stack))).then_some(stack.key)
}

/// Whether there may be a sampled block at `address`. Takes no lock.
///
/// Context: allocator hook.
pub(super) fn may_hold(address: u64) -> bool {
    INDEX.find(address) != Found::Nothing
}

/// What was known of a block that is being freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removed {
    pub(super) number: u32,
    pub(super) is_pooled: bool,
}

/// Takes the block at `address` out, before it is freed.
///
/// Context: allocator hook.
pub(super) fn remove(address: u64) -> Option<Removed> {
    let now = clock::monotonic();
    locked(|state| state.remove(address, now))
}

/// The block at `address` was not freed after all.
///
/// Context: allocator hook.
pub(super) fn put_back(address: u64, removed: Removed) {
    locked(|_| {
        // Its entry cannot have been used again: the collector may have heard of its
        // end, and then the block counts as freed.
        let Some(entry) = entry(removed.number) else { return };
        let is_same = entry.address.load(Relaxed) == address && entry.freed.load(Relaxed) != 0;
        if is_same
            && entry.flags.load(Relaxed) & LISTED != 0
            && INDEX.insert(address, removed.number)
        {
            entry.freed.store(0, Relaxed);
        }
    });
}

/// Another size for a block that stays where it is, as after a part of a mapping is
/// gone; false when there is no room.
///
/// Context: allocator hook.
pub(super) fn again(removed: Removed, address: u64, size: u64) -> bool {
    let now = clock::monotonic();
    locked(|state| {
        let Some(old) = entry(removed.number) else { return false };
        let (old_size, weight) = (old.size.load(Relaxed).max(1), old.weight.load(Relaxed));
        let weight = u128::from(weight) * u128::from(size) / u128::from(old_size);
        let (stack, tid, flags) =
            (old.stack.load(Relaxed), old.tid.load(Relaxed), old.flags.load(Relaxed));
        let Some((number, place)) = state.unused() else { return false };
        let is_kept = INDEX.insert(address, number);
        if is_kept {
            fill(place, [address, size, weight as u64, now, stack], tid, flags & ALLOCATOR);
            state.list(number, place);
        } else {
            state.release(number, place);
        }
        is_kept
    })
}

fn fill(place: &Entry, words: [u64; 5], tid: u32, flags: u32) {
    let [address, size, weight, time, stack] = words;
    place.address.store(address, Relaxed);
    place.size.store(size, Relaxed);
    place.weight.store(weight, Relaxed);
    place.time.store(time, Relaxed);
    place.freed.store(0, Relaxed);
    place.stack.store(stack, Relaxed);
    place.tid.store(tid, Relaxed);
    place.flags.store(flags, Relaxed);
}

impl State {
    fn insert(&mut self, new: &New, stack: &Stack<'_>, tid: i32, now: u64) -> Option<()> {
        if !self.tell(stack) {
            return None;
        }
        // A block that went through a `free` we did not see, and came again.
        self.remove(new.address, now);
        let (number, place) = self.unused()?;
        if !INDEX.insert(new.address, number) {
            self.release(number, place);
            return None;
        }
        let allocator = code(new.allocator) | if new.is_pooled { POOLED } else { 0 };
        let words = [new.address, new.size, new.weight, now, stack.key];
        fill(place, words, tid.cast_unsigned(), allocator);
        self.list(number, place);
        TAKEN.store(TAKEN.load(Relaxed) + 1, Relaxed);
        Some(())
    }

    /// Sends a stack to the collector the first time; false when there is no room.
    fn tell(&mut self, stack: &Stack<'_>) -> bool {
        let at = (stack.key >> 32) as usize & (TOLD - 1);
        let Some(told) = self.told.get_mut(at) else { return false };
        if *told == stack.key || stack.key == 0 {
            return true;
        }
        if let Some(python) = handler::python() {
            let (known, text) = (&mut self.known, &mut self.text);
            introduce(&handler::Guarded, &python.layout, &RING, known, text, stack.entries);
        }
        let sample = record::Sample {
            time: stack.key,
            truncated: stack.truncated,
            partial_native: stack.partial_native,
            ..record::Sample::default()
        };
        let native = stack.native.iter().copied();
        let sent = record::push(&RING, &sample, 0, stack.entries, native);
        if sent {
            *told = stack.key;
        }
        sent
    }

    fn remove(&mut self, address: u64, now: u64) -> Option<Removed> {
        let number = INDEX.remove(address)?;
        let place = entry(number)?;
        place.freed.store(now.max(place.time.load(Relaxed)).max(1), Relaxed);
        let flags = place.flags.load(Relaxed);
        if flags & LISTED == 0 {
            self.list(number, place);
        }
        Some(Removed { number, is_pooled: flags & POOLED != 0 })
    }

    fn unused(&mut self) -> Option<(u32, &'static Entry)> {
        let number = if self.free != 0 { self.free } else { self.fresh };
        let place = entry(number)?;
        if self.room.take()? {
            control::double_period();
        }
        if self.free != 0 {
            self.free = place.next.load(Relaxed);
        } else {
            self.fresh += 1;
        }
        Some((number, place))
    }

    fn release(&mut self, number: u32, place: &Entry) {
        self.room.give_back();
        place.next.store(self.free, Relaxed);
        self.free = number;
    }

    fn list(&mut self, number: u32, place: &Entry) {
        place.flags.store(place.flags.load(Relaxed) | LISTED, Relaxed);
        place.next.store(self.news, Relaxed);
        self.news = number;
    }

    /// The next news; entries of blocks that are gone can be used again.
    fn next_event(&mut self) -> Option<Event> {
        let number = self.news;
        let place = entry(number).filter(|_| number != 0)?;
        self.news = place.next.load(Relaxed);
        let flags = place.flags.load(Relaxed);
        let event = Event {
            number,
            is_new: flags & HEARD == 0,
            address: place.address.load(Relaxed),
            size: place.size.load(Relaxed),
            weight: place.weight.load(Relaxed),
            time: place.time.load(Relaxed),
            freed: place.freed.load(Relaxed),
            stack: place.stack.load(Relaxed),
            tid: place.tid.load(Relaxed).cast_signed(),
            allocator: decode(flags & ALLOCATOR),
        };
        if event.freed == 0 {
            place.flags.store(flags & !LISTED | HEARD, Relaxed);
        } else {
            place.flags.store(0, Relaxed);
            self.release(number, place);
        }
        Some(event)
    }
}

/// Appends what happened since the last call to `out`; the order is not that of time.
pub(crate) fn take_events(out: &mut Vec<Event>) {
    loop {
        // Room first: with the lock held nothing may be allocated.
        out.reserve(AT_ONCE);
        let before = out.len();
        locked(|state| {
            while out.len() < before + AT_ONCE
                && let Some(event) = state.next_event()
            {
                out.push(event);
            }
        });
        if out.len() < before + AT_ONCE {
            return;
        }
    }
}

/// Moves the stacks that were told since the last call to `out`, as words.
///
/// Called after [`take_events`], it has the stack of every event.
pub(crate) fn drain_stacks(out: &mut Vec<u64>) {
    out.reserve(RING.len());
    RING.drain(|word| out.push(word));
}

/// Lets `most` blocks be live samples at once; 0 means as many as there can be.
pub(super) fn set_most(most: u32) {
    locked(|state| state.room.set_most(most));
}

/// Whether the table, once it was tight, has room again.
pub(super) fn recovers() -> bool {
    locked(|state| state.room.recovers())
}

/// Forgets every block and stack, as when the last door closes.
pub(crate) fn clear() {
    locked(|state| {
        INDEX.clear();
        state.free = 0;
        state.news = 0;
        state.fresh = 1;
        state.told.fill(0);
        state.known.forget();
        state.room.clear();
        // The collector reads the ring; with the lock held nobody writes it.
        RING.drain(|_| ());
    });
}

/// Forgets everything, whatever another thread was doing to it. Context: the child of a
/// fork, on its only thread, after the lock was made free.
pub(super) fn forget_in_child() {
    INDEX.forget_in_child();
    clear();
}

/// How full the index is, its collisions, and bytes of all tables.
pub(super) fn figures() -> (f64, u64, usize) {
    let (load, collisions, bytes) = INDEX.figures();
    let ring = size_of::<Ring<RING_WORDS>>() + size_of::<State>();
    (load, collisions, bytes + super::table::bytes() + ring)
}

const ALLOCATORS: [Allocator; 4] =
    [Allocator::Malloc, Allocator::Mmap, Allocator::PyMem, Allocator::PyObject];

fn code(allocator: Allocator) -> u32 {
    ALLOCATORS.iter().position(|known| *known == allocator).unwrap_or(0) as u32
}

fn decode(code: u32) -> Allocator {
    ALLOCATORS.get(code as usize).copied().unwrap_or_default()
}
