//! Symbols of the running process.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The address of `name` as the dynamic linker sees it, if anything exports it.
pub(crate) fn symbol(name: &CStr) -> Option<usize> {
    // SAFETY: `name` is a terminated string; dlsym only looks it up.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

/// The addresses that the variable `name` covers, by its size in the symbol table.
pub(crate) fn symbol_range(name: &CStr) -> Option<Range<u64>> {
    /// Asks for the symbol's entry in the table.
    const SYMBOL_ENTRY: libc::c_int = 1;
    unsafe extern "C" {
        fn dladdr1(
            address: *const libc::c_void,
            info: *mut libc::Dl_info,
            extra: *mut *const libc::Elf64_Sym,
            flags: libc::c_int,
        ) -> libc::c_int;
    }
    let start = symbol(name)?;
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    let mut entry = std::ptr::null();
    // SAFETY: `info` and `entry` live until the call returns; the address is
    // only looked up.
    let found = unsafe {
        dladdr1(start as *const libc::c_void, info.as_mut_ptr(), &raw mut entry, SYMBOL_ENTRY)
    };
    if found == 0 {
        return None;
    }
    // SAFETY: on success the linker points into the object's own symbol table,
    // or gives null.
    let size = unsafe { entry.as_ref() }?.st_size;
    Some(start as u64..(start as u64).checked_add(size)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_of_the_c_library_is_found_and_a_made_up_one_is_not() {
        assert!(symbol(c"malloc").is_some());
        assert!(symbol(c"tachograph_has_no_such_symbol").is_none());
    }
}
