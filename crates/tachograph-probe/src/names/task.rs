//! The asyncio task an event loop is running, from the handle it calls.

use super::NameBuf;
use super::object::{is_called, is_kind_of, is_number, is_text, type_of};
use crate::layout::Layout;
use crate::memory::ReadMemory;

/// A running task and what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRef {
    /// The address of the task.
    pub task: u64,
    /// What it is called.
    pub name: TaskName,
}

/// The name of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskName {
    /// A name as text, its beginning if it is long.
    Text(NameBuf),
    /// No name was given: the task is called `Task-` and this number.
    Number(u64),
}

/// The task whose step the `asyncio.Handle` at `handle` runs.
///
/// `None` if `handle` is no handle, or calls something that is not a task's
/// step. Only tasks of the C implementation are found.
///
/// Context: signal handler.
pub fn task_of_handle<M: ReadMemory>(memory: &M, layout: &Layout, handle: u64) -> Option<TaskRef> {
    if !is_kind_of(memory, layout, handle, b"Handle")? {
        return None;
    }
    let callback = memory.word(handle.wrapping_add(u64::from(layout.handle_callback)))?;
    let task = task_of_callback(memory, layout, callback)?;
    Some(TaskRef { task, name: name_of_task(memory, layout, task)? })
}

/// What the task at `task` is called.
///
/// Context: signal handler.
pub fn name_of_task<M: ReadMemory>(memory: &M, layout: &Layout, task: u64) -> Option<TaskName> {
    let name = memory.word(task.wrapping_add(u64::from(layout.task_name)))?;
    Some(if is_text(memory, layout, name)? {
        TaskName::Text(NameBuf::of_text(memory, layout, name)?)
    } else if is_number(memory, layout, name)? {
        TaskName::Number(small_number(memory, layout, name)?)
    } else {
        return None;
    })
}

/// The task that `callback` makes go on.
///
/// Its first step is called through a wrapper object, every later one through
/// the bound method that woke it up.
fn task_of_callback<M: ReadMemory>(memory: &M, layout: &Layout, callback: u64) -> Option<u64> {
    let kind = type_of(memory, layout, callback)?;
    // 3.11 leaves the module out of this one type's name.
    let wrapper: &[u8] = match layout.minor {
        ..12 => b"TaskStepMethWrapper",
        _ => b"_asyncio.TaskStepMethWrapper",
    };
    if is_called(memory, layout, kind, wrapper)? {
        return memory.word(callback.wrapping_add(u64::from(layout.step_task)));
    }
    if is_called(memory, layout, kind, b"builtin_function_or_method")? {
        let bound_to = memory.word(callback.wrapping_add(u64::from(layout.method_self)))?;
        return is_kind_of(memory, layout, bound_to, b"_asyncio.Task")?.then_some(bound_to);
    }
    None
}

/// The value of a non-negative integer of at most two digits of 30 bits.
///
/// The tag holds the sign below and the number of digits above bit 3.
fn small_number<M: ReadMemory>(memory: &M, layout: &Layout, number: u64) -> Option<u64> {
    let tag = memory.word(number.wrapping_add(u64::from(layout.number_tag)))?;
    let digits = number.wrapping_add(u64::from(layout.number_digits));
    let digit = |index: u64| memory.half(digits.wrapping_add(4 * index)).map(u64::from);
    match (tag >> 3, tag & 3) {
        (_, 1) => Some(0),
        (1, 0) => digit(0),
        (2, 0) => Some(digit(0)? | (digit(1)? << 30)),
        _ => None,
    }
}
