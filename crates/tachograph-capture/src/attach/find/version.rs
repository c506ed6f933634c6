//! Which CPython an object holds.

use std::ops::Range;

use tachograph_probe::memory::ReadMemory;

use crate::attach::find::image::Image;
use crate::attach::find::maps::Mapped;
use crate::python::ProcessMemory;

/// The first eight bytes of `_PyRuntime` from 3.13 on.
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

/// Bytes of an object's variables that are searched for its version.
const LONGEST_SEARCH: u64 = 16 << 20;

/// `sys.hexversion` of the interpreter in `object`.
///
/// 3.11 and newer export it, 3.13 and newer also keep it beside their variables.
/// 3.9 and 3.10 are asked for the text they made of it, and else known by the
/// name of their file.
pub(crate) fn version_hex(
    memory: &ProcessMemory,
    object: &Mapped,
    runtime: &Range<u64>,
) -> Option<u32> {
    let exported = || {
        let image = Image::at(memory, object.start)?;
        let at = image.symbol(memory, "Py_Version")?.start;
        memory.half(at).filter(|&version| version >> 24 == 3)
    };
    let described = || {
        (memory.word(runtime.start)? == COOKIE).then(|| memory.word(runtime.start + 8))?;
        u32::try_from(memory.word(runtime.start + 8)?).ok()
    };
    let written = || {
        object.writable.iter().find_map(|&(start, end)| {
            let length = usize::try_from((end - start).min(LONGEST_SEARCH)).ok()?;
            let mut bytes = vec![0; length];
            memory.bytes(start, &mut bytes).then(|| in_text(&bytes))?
        })
    };
    exported().or_else(described).or_else(written).or_else(|| in_name(object.file_name()))
}

/// The version in a text like `3.9.18 (main, …`, as 3.9 and 3.10 keep it.
fn in_text(bytes: &[u8]) -> Option<u32> {
    let starts = bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"3.");
    starts.map(|(at, _)| at).find_map(|at| {
        let text = bytes.get(at + 2..(at + 10).min(bytes.len()))?;
        let text = std::str::from_utf8(text.split(|byte| *byte == b' ').next()?).ok()?;
        let is_version = bytes.get(at + 2 + text.len()..)?.starts_with(b" (");
        let (minor, micro) = text.split_once('.')?;
        let digits: String = micro.chars().take_while(char::is_ascii_digit).collect();
        let (minor, micro): (u32, u32) = (minor.parse().ok()?, digits.parse().ok()?);
        (is_version && minor < 11).then_some(0x0300_00f0 | minor << 16 | (micro & 0xff) << 8)
    })
}

/// The version in a name like `libpython3.9.so.1.0` or `python3.10`.
fn in_name(name: &str) -> Option<u32> {
    let (_, rest) = name.split_once("python3.")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let minor: u32 = digits.parse().ok()?;
    Some(0x0300_00f0 | minor << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_its_text_and_from_a_name() {
        assert_eq!(in_text(b"\x003.5\x003.10.13 (main, Nov 17"), Some(0x030a_0df0));
        assert_eq!(in_text(b"3.9.1rc2 (main"), Some(0x0309_01f0));
        assert_eq!(in_text(b"3.9 is old, 3."), None);
        assert_eq!(in_name("libpython3.9.so.1.0"), Some(0x0309_00f0));
        assert_eq!(in_name("python3"), None);
    }
}
