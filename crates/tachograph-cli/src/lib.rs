//! The command `tachograph`: one file per verb, one list that names them.
//!
//! The binary and the Python package call the same function, [`main`]: what a
//! verb does never depends on how it was installed. The one difference is
//! which interpreter `run` starts, and the caller says that with an
//! [`Installation`].
#![forbid(unsafe_code)]

mod clock;
mod commands;
mod console;
mod end;
mod failure;
mod help;
mod outside;
mod part;
mod rate;
mod remedies;
mod split;
mod tables;
mod words;

mod verbs;

use std::ffi::OsString;

pub use commands::command;
pub use console::Console;
pub use end::{End, Installation};
pub use failure::Failure;

/// Does what the words say; `words` begin with the name of the program.
///
/// Help, results and errors are printed. The caller ends its process as the
/// returned [`End`] says.
#[must_use]
pub fn main(words: Vec<OsString>, installation: Option<Installation>) -> End {
    commands::run(words, installation)
}
