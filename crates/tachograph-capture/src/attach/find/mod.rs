//! Finds the interpreter of a process: what is mapped, where its variables are,
//! which CPython it is.

pub(crate) mod image;
pub(crate) mod maps;
pub(crate) mod process;
pub(crate) mod sections;
pub(crate) mod target;
pub(crate) mod version;
