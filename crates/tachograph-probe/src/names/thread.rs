//! What a `threading.Thread` is called.

use super::NameBuf;
use super::attribute::attribute;
use super::object::{is_kind_of, is_text};
use crate::layout::Layout;
use crate::memory::ReadMemory;

/// The name of the `threading.Thread` at `thread`.
///
/// `None` if it is not one. Meant for the collector: the thread may be ending
/// while this looks.
pub fn thread_name<M: ReadMemory>(memory: &M, layout: &Layout, thread: u64) -> Option<NameBuf> {
    if !is_kind_of(memory, layout, thread, b"Thread")? {
        return None;
    }
    let name = attribute(memory, layout, thread, b"_name")?;
    is_text(memory, layout, name)?.then(|| NameBuf::of_text(memory, layout, name))?
}
