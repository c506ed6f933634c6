//! One slot per watched thread: where its handler puts what it saw.
//!
//! Slots are mapped once, handed from thread to thread, and never unmapped: a
//! signal that is still on its way may always look one up. The number a signal
//! carries names a slot and the generation it was sent for; a signal for an
//! earlier owner finds another generation and is ignored.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use tachograph_probe::introduce::TEXT_BYTES;
use tachograph_probe::known::Known;
use tachograph_probe::ring::Ring;
use tachograph_probe::walk::RawFrame;

use super::native;
use super::perf::TrapHandle;

/// Most entries a stack can have in a slot: frames plus eval-loop markers.
pub(crate) const MAX_ENTRIES: usize = 2048;
/// Most native frames of one sample.
pub(crate) const MAX_NATIVE: usize = 256;
/// Words a thread's ring holds: 64 KB. A sample takes some 20 words when most
/// of its stack is as before, so half a ring is about 200 samples.
pub(crate) const RING_WORDS: usize = 8192;
/// Threads that can be watched at once.
pub(crate) const MAX_SLOTS: usize = 4096;

const COOKIE: u64 = 0x7ac0;

/// What one thread's handler shares with the sampler and the collector.
pub(crate) struct Slot {
    generation: AtomicU32,
    index: AtomicU32,
    /// The thread that owns the slot; 0 while it is free.
    pub(crate) tid: AtomicI32,
    /// A sample was asked for and has not been taken.
    pub(crate) pending: AtomicBool,
    /// When it was asked for, on the monotonic clock.
    pub(crate) asked: AtomicU64,
    /// Leave the sample out if the thread stands just after a system call.
    pub(crate) unless_waiting: AtomicBool,
    /// A handler is at work in this slot.
    pub(crate) busy: AtomicBool,
    /// The performance event that traps this thread.
    pub(crate) trap: TrapHandle,
    /// Stacks that could not be read as one piece.
    pub(crate) unreadable: AtomicU64,
    /// Samples left out because the thread stood in a finished wait.
    pub(crate) waiting: AtomicU64,
    /// Samples that reached the ring.
    pub(crate) taken: AtomicU64,
    /// Of these, the ones that may show a system call the thread was not in yet.
    pub(crate) doubtful: AtomicU64,
    /// What was seen, on its way to the collector.
    pub(crate) ring: Ring<RING_WORDS>,
    /// Memory only the handler of the owning thread touches.
    inside: UnsafeCell<Inside>,
    native: AtomicPtr<native::unwind::Scratch>,
}

/// Working memory of the handler.
pub(crate) struct Inside {
    /// This stack and the one before, innermost first.
    pub(crate) stacks: [[RawFrame; MAX_ENTRIES]; 2],
    /// Which of the two holds the one before.
    pub(crate) last: usize,
    /// Entries of the one before.
    pub(crate) depth: usize,
    /// The task of the sample before; 0 when there was none.
    pub(crate) task: u64,
    /// The thread object has been reported.
    pub(crate) introduced: bool,
    /// Entries of stacks whose names the collector has been told.
    pub(crate) known: Known,
    /// Some entries of the stack before were not told for lack of time or room.
    pub(crate) owes_names: bool,
    /// Text of the code object that is being told.
    pub(crate) text: [u8; TEXT_BYTES],
    /// Traps so far, and the state of the numbers their periods are drawn from.
    pub(crate) traps: (u64, u64),
    /// Native frames of this sample.
    pub(crate) frames: [native::unwind::NativeRaw; MAX_NATIVE],
}

// SAFETY: every field but `inside` is atomic. `inside` is touched only by
// `Slot::enter`, which the `busy` flag makes exclusive.
unsafe impl Sync for Slot {}

static SLOTS: [AtomicPtr<Slot>; MAX_SLOTS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_SLOTS];

impl Slot {
    /// The number that a signal for the current owner carries.
    pub(crate) fn ticket(&self) -> u64 {
        let generation = u64::from(self.generation.load(Ordering::SeqCst));
        COOKIE << 48 | generation << 16 | u64::from(self.index.load(Ordering::Relaxed))
    }

    /// Runs `work` with the handler's memory for the owner that `ticket` names;
    /// false when a handler is already at work here, or the owner changed
    /// between `find` and this call.
    ///
    /// Context: signal handler.
    pub(crate) fn enter(
        &self,
        ticket: u64,
        work: impl FnOnce(&mut Inside, Option<&mut native::unwind::Scratch>),
    ) -> bool {
        if self.busy.swap(true, Ordering::SeqCst) {
            return false;
        }
        // Either the ticket is still good here, or `is_free` sees the flag.
        if self.ticket() != ticket {
            self.busy.store(false, Ordering::Release);
            return false;
        }
        // SAFETY: the flag above makes this the only reference until it is
        // cleared below.
        let inside = unsafe { &mut *self.inside.get() };
        let native = self.native.load(Ordering::Acquire);
        // SAFETY: the pointer is null or a box leaked by `give_native`, used by
        // nobody but whoever holds the flag above.
        let native = unsafe { native.as_mut() };
        work(inside, native);
        self.busy.store(false, Ordering::Release);
        true
    }

    /// A handler is at work in this slot.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst)
    }

    /// No thread owns it and no late handler is still at work in it.
    fn is_free(&self) -> bool {
        self.tid.load(Ordering::Acquire) == 0 && !self.is_busy()
    }

    /// Gives the slot what native unwinding needs, once.
    pub(crate) fn give_native(&self) {
        if self.native.load(Ordering::Acquire).is_null() {
            let scratch = Box::into_raw(Box::<native::unwind::Scratch>::default());
            self.native.store(scratch, Ordering::Release);
        }
    }

    /// Hands the slot to thread `tid`. Signals for earlier owners no longer find
    /// it; false when a late one is just finding that out.
    fn take_over(&self, tid: i32) -> bool {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.pending.store(false, Ordering::Relaxed);
        self.unless_waiting.store(false, Ordering::Relaxed);
        for count in [&self.unreadable, &self.waiting, &self.taken, &self.doubtful] {
            count.store(0, Ordering::Relaxed);
        }
        self.ring.reset();
        let cleared = self.enter(self.ticket(), |inside, _| {
            (inside.depth, inside.task, inside.introduced) = (0, 0, false);
            inside.owes_names = false;
            inside.known.forget();
        });
        if cleared {
            self.tid.store(tid, Ordering::Release);
        }
        cleared
    }

    /// Gives the slot back; its memory goes back to the kernel until the next owner.
    pub(crate) fn release(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.tid.store(0, Ordering::Release);
    }
}

/// A free slot, handed to thread `tid`; `None` when all are taken.
pub(crate) fn acquire(tid: i32) -> Option<&'static Slot> {
    for (index, place) in SLOTS.iter().enumerate() {
        let Some(slot) = at(place) else {
            let slot = map_one()?;
            slot.index.store(index as u32, Ordering::Relaxed);
            slot.take_over(tid);
            place.store(std::ptr::from_ref(slot).cast_mut(), Ordering::Release);
            return Some(slot);
        };
        if slot.is_free() && slot.take_over(tid) {
            return Some(slot);
        }
    }
    None
}

/// The slot that the number in a signal names, if it is still meant.
///
/// Context: signal handler.
pub(crate) fn find(ticket: u64) -> Option<&'static Slot> {
    if ticket >> 48 != COOKIE {
        return None;
    }
    let slot = at(SLOTS.get((ticket & 0xffff) as usize)?)?;
    (slot.ticket() == ticket).then_some(slot)
}

/// Whether a number is one of ours, meant for a current owner or not.
///
/// Context: signal handler.
pub(crate) fn is_ticket(ticket: u64) -> bool {
    ticket >> 48 == COOKIE && ticket & 0xffff < MAX_SLOTS as u64
}

/// Makes every slot free: in a forked child no thread owns one.
///
/// Context: the child of a fork, on its only thread.
pub(crate) fn forget_owners() {
    for slot in SLOTS.iter().map_while(at) {
        slot.release();
        if slot.busy.swap(false, Ordering::AcqRel) {
            // Its handler did not come along; what it was writing is of no use.
            slot.native.store(std::ptr::null_mut(), Ordering::Release);
        }
    }
}

/// Returns the memory of free slots to the kernel.
pub(crate) fn trim() {
    for slot in SLOTS.iter().map_while(at) {
        if !slot.is_free() {
            continue;
        }
        for (from, length) in [
            (std::ptr::from_ref(&slot.ring) as usize, size_of::<Ring<RING_WORDS>>()),
            (slot.inside.get() as usize, size_of::<Inside>()),
        ] {
            let (start, end) = (from.next_multiple_of(4096), (from + length) & !4095);
            if start < end {
                // SAFETY: the pages lie wholly inside this slot's own private
                // mapping, nobody owns the slot, and all-zero is a valid state
                // of both fields.
                unsafe {
                    libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED)
                };
            }
        }
    }
}

fn at(place: &AtomicPtr<Slot>) -> Option<&'static Slot> {
    // SAFETY: only mapped, never unmapped slots are stored.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

/// Maps one slot. Fresh pages are zero, and all-zero is a valid slot.
fn map_one() -> Option<&'static Slot> {
    // SAFETY: an anonymous private mapping touches no existing memory.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Slot>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is large enough, page aligned, zeroed and never unmapped.
    Some(unsafe { &*memory.cast::<Slot>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_for_an_earlier_owner_finds_nothing() {
        let slot = acquire(1).unwrap();
        let old = slot.ticket();
        assert!(std::ptr::eq(find(old).unwrap(), slot));

        slot.release();

        assert!(find(old).is_none());
        assert!(is_ticket(old));
        assert!(find(old ^ (1 << 60)).is_none());
        // A handler that found the slot before and comes late does not enter.
        assert!(!slot.enter(old, |_, _| panic!("the slot is no longer its own")));
        assert!(slot.is_free() && slot.enter(slot.ticket(), |_, _| ()));
    }
}
