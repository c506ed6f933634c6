//! A running program, read from outside.
//!
//! The program runs no code of ours and needs no package. Its memory is read
//! through the kernel with the walker that also runs inside of a program. A
//! thread that runs is stopped while it is read, for some tens of microseconds:
//! what is read of a running interpreter is wrong more often than not. A thread
//! that waits is not disturbed.

mod dump;
mod find;
mod hook;
mod inspect;
mod log;
mod options;
mod pace;
mod read;
mod recorder;

pub use dump::{Dump, DumpOptions, FrameDump, ThreadDump, dump};
pub use find::process::{resident_bytes, title, uptime_ns};
pub use find::target::{Presence, Target};
pub use hook::Hook;
pub use inspect::tasks::{Await, Task};
pub use options::{AttachOptions, Progress};
pub use recorder::Recorder;
