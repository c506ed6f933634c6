//! Which CPython it is, and why a layout for it may be missing.

use core::fmt;

/// The newest minor version whose layout is known.
pub(super) const NEWEST_MINOR: u8 = 15;

/// The oldest minor version whose layout is known.
pub(super) const OLDEST_MINOR: u8 = 9;

/// A CPython version as `PY_VERSION_HEX` packs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    hex: u32,
}

impl Version {
    /// Takes the value of `Py_Version` or `PY_VERSION_HEX`.
    #[must_use]
    pub fn from_hex(hex: u32) -> Self {
        Self { hex }
    }

    /// 3 for every CPython we can read.
    #[must_use]
    pub fn major(self) -> u8 {
        self.byte(3)
    }

    /// 12 for CPython 3.12.1.
    #[must_use]
    pub fn minor(self) -> u8 {
        self.byte(2)
    }

    /// 1 for CPython 3.12.1.
    #[must_use]
    pub fn micro(self) -> u8 {
        self.byte(1)
    }

    fn byte(self, index: usize) -> u8 {
        self.hex.to_le_bytes().get(index).copied().unwrap_or(0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major(), self.minor(), self.micro())
    }
}

/// Why an interpreter's stacks cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// The interpreter is newer than the newest one we know.
    TooNew(Version),
    /// The interpreter is older than the oldest one we know.
    TooOld(Version),
    /// The interpreter should describe itself and does not.
    NoDescription(Version),
    /// The interpreter describes itself, but not in a way that can be true.
    Implausible {
        /// The version it says it is.
        version: Version,
        /// Which word of the description cannot be true.
        word: u16,
        /// What that word holds.
        value: u64,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNew(version) => write!(
                f,
                "this is CPython {version}, and the newest one whose stacks are understood is \
                 3.{NEWEST_MINOR}; upgrade tachograph"
            ),
            Self::TooOld(version) => write!(
                f,
                "this is CPython {version}, and the oldest one whose stacks are understood is \
                 3.{OLDEST_MINOR}; use a newer Python"
            ),
            Self::NoDescription(version) => write!(
                f,
                "CPython {version} does not describe its memory layout where every CPython of \
                 that version does; is this a modified interpreter?"
            ),
            Self::Implausible { version, word, value } => write!(
                f,
                "CPython {version} describes its memory layout with an impossible offset, {value} \
                 in word {word}; is this a modified interpreter?"
            ),
        }
    }
}

impl core::error::Error for LayoutError {}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::{LayoutError, Version};

    #[test]
    fn a_version_reads_like_people_write_it() {
        assert_eq!(Version::from_hex(0x030c_01f0).to_string(), "3.12.1");
    }

    #[test]
    fn a_version_that_is_too_new_is_named_with_the_remedy() {
        let text = LayoutError::TooNew(Version::from_hex(0x0310_00f0)).to_string();

        assert!(text.contains("CPython 3.16.0"), "{text}");
        assert!(text.contains("upgrade tachograph"), "{text}");
    }
}
