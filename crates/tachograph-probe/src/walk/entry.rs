//! One entry of a walked stack, small enough to be copied in a handler.

/// The bits of an entry's first word that hold an address.
const ADDRESS: u64 = (1 << 48) - 1;

/// The tag of an entry lies above its address.
const TAG_SHIFT: u32 = 56;

/// No address of a process lies above this on the platforms we know.
const HIGHEST_ADDRESS: u64 = 1 << 47;

/// Whether `address` can be that of a frame or an object.
#[inline]
pub(super) fn is_plausible(address: u64) -> bool {
    address != 0 && address & 7 == 0 && address < HIGHEST_ADDRESS
}

/// What an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A Python frame.
    Python,
    /// Where one eval loop ends: the Python frames before it ran in the C frame
    /// that holds the address [`RawFrame::marker`].
    Boundary,
}

/// A Python frame or the boundary of an eval loop, as two words.
///
/// `code` is the address of the code object, with the kind in the top byte.
/// `place` holds the position in the bytecode below and the fingerprint of the
/// code object above; for a boundary it is the address on the C stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// Kind and code object.
    pub code: u64,
    /// Position and fingerprint, or the C stack address of a boundary.
    pub place: u64,
}

impl RawFrame {
    /// A frame of the code object at `code`, `offset` bytes into its bytecode.
    #[must_use]
    #[inline]
    pub fn python(code: u64, offset: i32, fingerprint: u32) -> Self {
        let place = (u64::from(fingerprint) << 32) | u64::from(offset.cast_unsigned());
        Self { code: code & ADDRESS, place }
    }

    /// The end of the eval loop whose C frame holds `marker`.
    #[must_use]
    #[inline]
    pub fn boundary(marker: u64) -> Self {
        Self { code: 1 << TAG_SHIFT, place: marker }
    }

    /// Whether this is a frame or a boundary.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> EntryKind {
        if self.code >> TAG_SHIFT == 0 { EntryKind::Python } else { EntryKind::Boundary }
    }

    /// The address of the code object.
    #[must_use]
    #[inline]
    pub fn code_address(&self) -> u64 {
        self.code & ADDRESS
    }

    /// How many bytes into its bytecode the frame stands.
    ///
    /// Negative in a generator that has not begun.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> i32 {
        // The lower half of the word is the offset, so cutting it off is meant.
        (self.place as u32).cast_signed()
    }

    /// What told this code object from others at the same address.
    #[must_use]
    #[inline]
    pub fn fingerprint(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// The C stack address a boundary carries.
    #[must_use]
    #[inline]
    pub fn marker(&self) -> u64 {
        self.place
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryKind, RawFrame};

    #[test]
    fn a_frame_gives_back_what_it_was_made_of() {
        let frame = RawFrame::python(0x7f12_3456_7890, -2, 0xdead_beef);

        assert_eq!(frame.kind(), EntryKind::Python);
        assert_eq!(frame.code_address(), 0x7f12_3456_7890);
        assert_eq!((frame.offset(), frame.fingerprint()), (-2, 0xdead_beef));
    }

    #[test]
    fn a_boundary_is_no_frame() {
        let boundary = RawFrame::boundary(0x7ffc_0000_1000);

        assert_eq!(boundary.kind(), EntryKind::Boundary);
        assert_eq!(boundary.marker(), 0x7ffc_0000_1000);
    }
}
