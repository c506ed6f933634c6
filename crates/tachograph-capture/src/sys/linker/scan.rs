//! Writes hooks into the slots of loaded objects.
//!
//! The loader puts an object on its list first and relocates it afterwards, so
//! a walk over the list meets objects that another thread is still relocating.
//! Their read-only pages must not be touched: making one writable and
//! read-only again makes the loader's next write to it fault. So an object is
//! left **pending** until the kernel shows the pages that the loader protects
//! last as read-only, and comes up again in the next scan.
//!
//! A slot is written only if it holds the real function, or the object's own
//! stub for a call that was not made yet. Anything else belongs to somebody
//! else, is counted and left alone. An allocator in the C library's place is not
//! hooked, and slots of it that lead to us get the real functions.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::done::Done;
use super::object::{Object, Slot};
use super::protection::Protection;
use super::{Hook, hook_for, symbols};
use crate::sys::native;
use crate::sys::native::fork::Turn;

/// Objects with unfinished business are looked at again this often, in nanoseconds.
const AGAIN_NS: u64 = 1_000_000_000;

/// Names of pending objects that are kept for the report.
const MOST_NAMES: usize = 4;

/// What the last scan left undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Slots that hold our hooks.
    pub(crate) slots: u64,
    /// Objects that were left for a later scan.
    pub(crate) pending: u64,
    /// What some of them are called.
    pub(crate) pending_names: Vec<String>,
    /// Slots that hold neither ours nor the real function.
    pub(crate) foreign: u64,
}

/// What a scan keeps; only whoever has the turn touches it.
struct State {
    done: Done,
    protection: Protection,
    subs: u64,
    program: (u64, u64),
    patched: u64,
    pending: u64,
    foreign: u64,
    names: [[u8; 128]; MOST_NAMES],
    /// The page that was made writable; 0 when none is.
    open_page: u64,
}

struct Guarded(UnsafeCell<State>);

// SAFETY: only `with_state` hands out the inside, and its caller has the turn,
// of which there is one.
unsafe impl Sync for Guarded {}

static STATE: Guarded = Guarded(UnsafeCell::new(State {
    done: Done::new(),
    protection: Protection::new(),
    subs: 0,
    program: (0, 0),
    patched: 0,
    pending: 0,
    foreign: 0,
    names: [[0; 128]; MOST_NAMES],
    open_page: 0,
}));

static ADDS: AtomicU64 = AtomicU64::new(0);
static SCANNED_AT: AtomicU64 = AtomicU64::new(0);
static UNFINISHED: AtomicBool = AtomicBool::new(false);
static FORGET: AtomicBool = AtomicBool::new(false);
static HOOKED_SLOTS: AtomicUsize = AtomicUsize::new(0);

/// A function in the object whose calls are not hooked; 0 when there is no such object.
static LEFT_ALONE: AtomicUsize = AtomicUsize::new(0);

/// Hooks nothing that the object with `function` calls, from the next scan on.
pub(crate) fn leave_alone(function: usize) {
    LEFT_ALONE.store(function, Ordering::Release);
}

/// Runs `work` on the scan's state.
fn with_state<T>(_turn: &Turn, work: impl FnOnce(&mut State) -> T) -> T {
    // SAFETY: there is one turn and the caller has it, so this is the only
    // reference; `work` does not call back into here.
    work(unsafe { &mut *STATE.0.get() })
}

/// Looks at every object again in the next scan.
pub(super) fn forget() {
    FORGET.store(true, Ordering::Release);
}

/// Writes the registered hooks into every object that can be written.
///
/// Not for hooks or handlers: takes the loader's list lock.
pub(crate) fn scan() {
    scan_with(&Turn::take());
}

/// Scans if a library was loaded since the last time, or something was left undone
/// a while ago. One short question to the loader otherwise.
pub(crate) fn rescan_if_changed() {
    rescan_with(&Turn::take());
}

/// The same, unless someone else is talking to the loader just now.
///
/// Context: a call to `dlsym`.
pub(crate) fn try_rescan_if_changed() {
    if let Some(turn) = Turn::try_take() {
        rescan_with(&turn);
    }
}

fn rescan_with(turn: &Turn) {
    let changed = native::objects::changes().0 != ADDS.load(Ordering::Acquire);
    let is_time = || {
        let since = SCANNED_AT.load(Ordering::Acquire);
        crate::sys::clock::monotonic().saturating_sub(since) >= AGAIN_NS
    };
    if changed || UNFINISHED.load(Ordering::Acquire) && is_time() {
        scan_with(turn);
    }
}

/// What the last scan left undone.
pub(crate) fn report() -> Report {
    let turn = Turn::take();
    with_state(&turn, |state| {
        let named = |name: &[u8; 128]| {
            let text = CStr::from_bytes_until_nul(name).unwrap_or_default();
            text.to_string_lossy().into_owned()
        };
        let names = state.names.iter().take(usize::try_from(state.pending).unwrap_or(0));
        Report {
            slots: HOOKED_SLOTS.load(Ordering::Relaxed) as u64,
            pending: state.pending,
            pending_names: names.map(named).collect(),
            foreign: state.foreign,
        }
    })
}

fn scan_with(turn: &Turn) {
    with_state(turn, |state| {
        if FORGET.swap(false, Ordering::AcqRel) {
            state.done.clear();
        }
        state.protection.forget();
        (state.pending, state.foreign, state.program) = (0, 0, (0, 0));
        UNFINISHED.store(false, Ordering::Release);
        SCANNED_AT.store(crate::sys::clock::monotonic(), Ordering::Release);
        let state = std::ptr::from_mut(state);
        // SAFETY: the callback gets the state, to which nobody else refers until
        // the call returns.
        unsafe { libc::dl_iterate_phdr(Some(visit), state.cast()) };
    });
}

/// The word of a slot.
fn cell_of(slot: &Slot) -> &AtomicUsize {
    // SAFETY: an aligned word inside the object's mapped segments, which the
    // loader's list lock keeps mapped while a scan looks at it; the loader writes it
    // as one word too.
    unsafe { &*(slot.address as *const AtomicUsize) }
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, state: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description for the time of the call.
    let info = unsafe { &*info };
    // SAFETY: `state` is what `scan_with` lent to this call.
    let state = unsafe { &mut *state.cast::<State>() };
    state.visit(info);
    0
}

impl State {
    fn visit(&mut self, info: &libc::dl_phdr_info) {
        let is_first = self.program == (0, 0);
        if is_first {
            ADDS.store(info.dlpi_adds, Ordering::Release);
            if std::mem::replace(&mut self.subs, info.dlpi_subs) != info.dlpi_subs {
                self.done.clear();
            }
        }
        let Some(object) = Object::of(info) else { return };
        if is_first {
            self.program = (object.range.start, object.range.end);
        }
        let key = (object.dynamic, info.dlpi_name as u64);
        let is_left_alone = object.range.contains(&(LEFT_ALONE.load(Ordering::Acquire) as u64));
        if symbols::is_ours(&object) || is_loader(info) || self.done.has(key) {
            return;
        }
        if !self.protection.is_read_only(&object.relro) {
            if !is_left_alone {
                self.put_off(info);
            }
            return;
        }
        if self.write(&object, is_left_alone) {
            self.done.add(key);
        } else {
            UNFINISHED.store(true, Ordering::Release);
        }
    }

    /// Leaves an object for the next scan.
    fn put_off(&mut self, info: &libc::dl_phdr_info) {
        UNFINISHED.store(true, Ordering::Release);
        let place = usize::try_from(self.pending).ok().and_then(|at| self.names.get_mut(at));
        self.pending += 1;
        if let Some(place) = place
            && !info.dlpi_name.is_null()
        {
            // SAFETY: the loader keeps a terminated string here while the object is loaded.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
            // The end of a path says more than its beginning.
            let tail = name.get(name.len().saturating_sub(127)..).unwrap_or_default();
            place.fill(0);
            place.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        }
    }

    /// Writes the slots of one object; true when none needs another look. Those of
    /// the object that `is_left_alone` get the real functions, if we export ours: what
    /// an allocator calls itself is part of what its caller asked for.
    fn write(&mut self, object: &Object, is_left_alone: bool) -> bool {
        let mut is_done = true;
        let mut last: (u32, Option<&'static Hook>) = (0, None);
        for slot in object.slots() {
            if slot.symbol != last.0 {
                last = (slot.symbol, object.name(slot.symbol).and_then(hook_for));
            }
            if let Some(hook) = last.1 {
                is_done &= if is_left_alone {
                    self.give_back_slot(object, &slot, hook)
                } else {
                    self.write_slot(object, &slot, hook)
                };
            }
        }
        self.close_page();
        is_done
    }

    fn write_slot(&mut self, object: &Object, slot: &Slot, hook: &Hook) -> bool {
        let held = cell_of(slot).load(Ordering::Acquire);
        let real = hook.real.load(Ordering::Acquire);
        if held == hook.address() || symbols::is_in_ours(held as u64) {
            return true;
        }
        let own_stub =
            slot.is_jump && object.range.contains(&(held as u64)) && !object.defines(slot.symbol);
        let program_stub = (self.program.0..self.program.1).contains(&(held as u64))
            && !object.defines(slot.symbol);
        if real == 0 && hook.adopt && !own_stub && !program_stub && held != 0 {
            hook.real.store(held, Ordering::Release);
        } else if real == 0 || held != real && !own_stub && !program_stub {
            // Someone else's, or not relocated yet: it is looked at again.
            self.foreign += u64::from(held != 0);
            return false;
        }
        let is_written = self.replace(object, slot, held, hook.address());
        if is_written {
            self.patched += 1;
            HOOKED_SLOTS.fetch_add(1, Ordering::Relaxed);
        }
        // A stub may be overwritten by a call that is resolving it right now.
        is_written && !own_stub
    }

    /// Lets a slot that leads to us lead to the real function.
    fn give_back_slot(&mut self, object: &Object, slot: &Slot, hook: &Hook) -> bool {
        let held = cell_of(slot).load(Ordering::Acquire);
        let real = hook.real.load(Ordering::Acquire);
        let is_stub = slot.is_jump && object.range.contains(&(held as u64)) && held != real;
        if real == 0 || !is_stub && !symbols::is_in_ours(held as u64) {
            return true;
        }
        self.replace(object, slot, held, real) && !is_stub
    }

    /// Writes `new` to a slot that holds `held`; false when that cannot be done.
    fn replace(&mut self, object: &Object, slot: &Slot, held: usize, new: usize) -> bool {
        if object.relro.contains(&slot.address) {
            self.open_page(slot.address & !4095);
            if self.open_page == 0 {
                return false;
            }
        }
        let cell = cell_of(slot);
        cell.compare_exchange(held, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Makes a read-only page writable until the next one is, or `close_page`.
    fn open_page(&mut self, page: u64) {
        if self.open_page == page {
            return;
        }
        self.close_page();
        // SAFETY: a whole page of an object's RELRO range, which the kernel showed as
        // read-only: the loader is finished with it. It is writable until `close_page`.
        let status = unsafe {
            libc::mprotect(page as *mut c_void, 4096, libc::PROT_READ | libc::PROT_WRITE)
        };
        if status == 0 {
            self.open_page = page;
        }
    }

    fn close_page(&mut self) {
        let page = std::mem::take(&mut self.open_page);
        if page != 0 {
            // SAFETY: the page that `open_page` made writable, back to what it was.
            unsafe { libc::mprotect(page as *mut c_void, 4096, libc::PROT_READ) };
        }
    }
}

/// The dynamic loader itself and the kernel's own object.
fn is_loader(info: &libc::dl_phdr_info) -> bool {
    let base = info.dlpi_addr;
    // SAFETY: only looks a number up that the kernel gave to the process.
    let loader = unsafe { libc::getauxval(libc::AT_BASE) };
    // SAFETY: as above.
    let kernel = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    base != 0 && (base == loader || base == kernel)
}
