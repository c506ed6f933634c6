//! What the dynamic loader knows about the objects in this process.
//!
//! Two doors. [`loaded_objects`] lists everything, takes the loader's list
//! lock for some microseconds and allocates: for a background thread. [`find`]
//! asks about one address, lock-free and without allocating: for a signal
//! handler. An object is the same as before when the loader still says the
//! same of it and its build id still stands at the same place in memory.

use std::ffi::{CStr, c_int, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::memory::{read_bytes, read_word};
use crate::native::elf::{self, Segment};

/// What the loader says about the object that holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// First address of the object.
    pub start: u64,
    /// First address past it.
    pub end: u64,
    /// The loader's own record of the object.
    link: u64,
    /// Where its unwind table index lies.
    pub index: u64,
}

impl Found {
    /// Whether both speak of the same object, perhaps of different segments.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        (self.link, self.index) == (other.link, other.index)
    }
}

/// One loaded object with everything unwinding needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadedObject {
    /// The loader's name; empty for the program itself.
    pub name: String,
    /// Distance between addresses in the file and addresses in memory.
    pub bias: u64,
    /// What [`find`] answers for it.
    pub found: Found,
    /// The unwind table index, `.eh_frame_hdr`.
    pub index: Range<u64>,
    /// The unwind table, `.eh_frame`; its end is the end of its segment.
    pub table: Range<u64>,
    /// The build id; empty when the object has none.
    pub build_id: Vec<u8>,
    /// What must still stand in memory for the object to be the same.
    pub mark: Mark,
}

/// Sixteen bytes of an object that tell it from another one in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Where the bytes are, a multiple of eight.
    pub address: u64,
    /// What they are.
    pub words: [u64; 2],
}

impl Mark {
    /// Whether the bytes stand in memory at this moment.
    ///
    /// Context: signal handler.
    pub(crate) fn stands(&self, read: &mut impl FnMut(u64) -> Option<u64>) -> bool {
        let [first, second] = self.words;
        read(self.address) == Some(first) && read(self.address.wrapping_add(8)) == Some(second)
    }
}

/// How often the loader has added and removed an object.
pub(crate) type Changes = (u64, u64);

/// The loader's answer, as glibc lays it out.
#[repr(C)]
struct DlFindObject {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *mut c_void,
    eh_frame: *mut c_void,
    reserved: [u64; 8],
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut DlFindObject) -> c_int;

/// `_dl_find_object`, or null before [`prepare`] and where it is missing.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Looks for the loader's lock-free search; false when this C library has none.
///
/// Takes the loader's lock, so it must not run in a handler.
pub(crate) fn prepare() -> bool {
    if FIND_OBJECT.load(Ordering::Acquire).is_null() {
        let found = crate::sys::dynamic::symbol(c"_dl_find_object").unwrap_or(0);
        FIND_OBJECT.store(found as *mut c_void, Ordering::Release);
    }
    !FIND_OBJECT.load(Ordering::Acquire).is_null()
}

/// The object that holds `address` at this moment.
///
/// Context: signal handler.
pub(crate) fn find(address: u64) -> Option<Found> {
    let function = FIND_OBJECT.load(Ordering::Acquire);
    if function.is_null() {
        return None;
    }
    // SAFETY: the pointer is not null, so `prepare` stored the address of
    // `_dl_find_object`, which has this signature since glibc 2.35.
    let function = unsafe { transmute::<*mut c_void, FindObject>(function) };
    let mut answer = MaybeUninit::<DlFindObject>::zeroed();
    // SAFETY: `answer` is at least as large as the loader's structure on
    // every 64-bit machine. The address is searched for, never dereferenced.
    let status = unsafe { function(address as *mut c_void, answer.as_mut_ptr()) };
    if status != 0 {
        return None;
    }
    // SAFETY: integers and raw pointers, zeroed above and filled by the loader.
    let answer = unsafe { answer.assume_init() };
    Some(Found {
        start: answer.map_start as u64,
        end: answer.map_end as u64,
        link: answer.link_map as u64,
        index: answer.eh_frame as u64,
    })
}

/// How often the loader's list has changed since the program started.
pub(crate) fn changes() -> Changes {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        out: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description for the time of the call.
        let info = unsafe { &*info };
        // SAFETY: `out` is the pair the outer function lent to this call.
        let out = unsafe { &mut *out.cast::<Changes>() };
        *out = (info.dlpi_adds, info.dlpi_subs);
        1
    }
    let mut out: Changes = (0, 0);
    // SAFETY: the callback gets the pair it expects and does not outlive it.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut out).cast()) };
    out
}

/// All objects with an unwind table, and the state of the list they were read in.
///
/// Their headers are read while the loader's list lock is held, so none can
/// disappear meanwhile.
pub(crate) fn loaded_objects() -> (Changes, Vec<LoadedObject>) {
    unsafe extern "C" fn each(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        out: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description for the time of the call.
        let info = unsafe { &*info };
        // SAFETY: `out` is the list the outer function lent to this call.
        let out = unsafe { &mut *out.cast::<(Changes, Vec<LoadedObject>)>() };
        out.0 = (info.dlpi_adds, info.dlpi_subs);
        out.1.extend(describe(info));
        0
    }
    let mut out: (Changes, Vec<LoadedObject>) = ((0, 0), Vec::with_capacity(64));
    // SAFETY: the callback gets the list it expects and does not outlive it.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut out).cast()) };
    out
}

/// Reads one object's headers; `None` when it cannot be unwound through.
fn describe(info: &libc::dl_phdr_info) -> Option<LoadedObject> {
    if info.dlpi_phdr.is_null() {
        return None;
    }
    // SAFETY: the loader's description names this many program headers, mapped
    // as long as the object is, which the caller's list lock guarantees.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let segments: Vec<Segment> = headers
        .iter()
        .map(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            Segment { kind: header.p_type, range: start..start.saturating_add(header.p_memsz) }
        })
        .collect();
    let index = elf::unwind_index(&segments)?;
    let found = find(index.start).filter(|found| found.index == index.start)?;
    // Of an object with a hole between its segments the loader tells one segment.
    let whole = elf::extent(&segments)?;
    let found =
        Found { start: found.start.min(whole.start), end: found.end.max(whole.end), ..found };
    let table = elf::unwind_table(&segments, &index, &read_bytes)?;
    let (build_id, note) = elf::build_id(&segments, &read_bytes).unwrap_or_default();
    let address = if build_id.is_empty() { index.start } else { note } & !7;
    let words = [read_word(address)?, read_word(address + 8)?];
    Some(LoadedObject {
        name: name(info),
        bias: info.dlpi_addr,
        found,
        index,
        table,
        build_id,
        mark: Mark { address, words },
    })
}

fn name(info: &libc::dl_phdr_info) -> String {
    if info.dlpi_name.is_null() {
        return String::new();
    }
    // SAFETY: the loader keeps a terminated string here while the object is loaded.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) };
    name.to_string_lossy().into_owned()
}

/// Whether an unwinder finds a rule for the instruction at `address`.
#[cfg(test)]
pub(crate) fn has_rule(address: usize) -> bool {
    unsafe extern "C" {
        fn _Unwind_Find_FDE(pc: *const c_void, bases: *mut [usize; 3]) -> *const c_void;
    }
    let mut bases = [0; 3];
    // SAFETY: the address is only looked up; `bases` has the three words that are written.
    !unsafe { _Unwind_Find_FDE(address as *const c_void, &raw mut bases) }.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_finds_the_object_that_holds_this_function() {
        assert!(prepare(), "glibc 2.35 or newer is expected on a test machine");
        let here = changes as fn() -> Changes as usize as u64;

        let found = find(here).expect("this program is loaded");

        assert!((found.start..found.end).contains(&here));
        assert!(loaded_objects().1.iter().any(|object| object.found.is_same_object(&found)));
    }

    #[test]
    fn an_address_outside_every_object_is_not_found() {
        assert!(prepare());
        let on_the_heap = Box::new(0u64);

        assert_eq!(find(8), None);
        assert_eq!(find(&raw const *on_the_heap as u64), None);
    }

    #[test]
    fn nothing_changes_while_nothing_is_loaded() {
        prepare();
        let (counted, objects) = loaded_objects();

        assert_eq!(changes(), counted);
        assert!(objects.len() >= 2, "the program and its C library: {objects:?}");
    }

    #[test]
    fn the_c_library_has_a_build_id_and_a_mark() {
        prepare();
        let (_, objects) = loaded_objects();
        let libc = objects.iter().find(|object| object.name.contains("libc.so")).unwrap();

        assert_eq!(libc.build_id.len(), 20);
        assert_ne!(libc.mark.words, [0, 0]);
        assert!(libc.table.contains(&(libc.table.start + 16)));
    }
}
