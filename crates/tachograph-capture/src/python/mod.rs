//! The Python interpreter as seen from outside: where it is, which threads it
//! has, and what its code objects are called.
//!
//! Nothing here calls into Python or takes its lock. Everything is read through
//! a [`ReadMemory`](tachograph_probe::memory::ReadMemory), so the same code
//! serves our own process and another one.

mod code_cache;
mod code_info;
mod copy;
mod interpreter;
mod process_memory;
mod text;
mod threads;

pub use code_cache::CodeCache;
pub use code_info::CodeInfo;
pub use interpreter::Interpreter;
pub use process_memory::ProcessMemory;
pub use threads::{ThreadState, thread_states};
