//! What a task or a thread is called, read without running Python.
//!
//! The walker hands over the object it found where asyncio or `threading` keep
//! theirs. These functions check that it is one before they believe it.

mod attribute;
mod name;
mod object;
mod task;
mod thread;

pub use attribute::{attribute, dict_item};
pub use name::{NAME_BYTES, NameBuf};
pub use object::{is_called, is_kind_of, type_flags, type_of};
pub use task::{TaskName, TaskRef, name_of_task, task_of_handle};
pub use thread::thread_name;
