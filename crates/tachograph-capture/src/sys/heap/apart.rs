//! A value that shares no cache line with another.

use std::ops::Deref;

/// What hooks write at every sample lies in one of these, and so does what every call
/// reads: beside a word that is written, it would have to be fetched from another
/// processor's cache again and again. Together with another desk for each thread
/// (`desk.rs`) and fewer stones (`index.rs`) this took a sample from 1.2 to 0.6 µs with
/// eight threads on two processors that had other work too, at 64 KB; on two that had
/// none the gain was within the noise.
///
/// Processors fetch lines of 64 bytes in pairs, so it is 128 bytes.
#[repr(C, align(128))]
pub(super) struct Apart<T>(pub(super) T);

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
