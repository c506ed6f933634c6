//! The recording file, `*.tacho`: how a profile is kept on disk.
//!
//! A recording is append-only. A session writes about one chunk a second with
//! a [`Writer`]; a program that is killed leaves a file that [`read`] opens up
//! to the last whole chunk. Every count in a file is distrusted: a truncated,
//! corrupted or hostile file is an error or a shorter profile.
//!
//! `docs/reference/file-format.md` is normative; this module follows it.

mod bytes;
mod chunk;
mod codes;
mod columns;
mod event_rows;
mod reader;
mod sample_rows;
mod save;
mod sections;
mod table_rows;
mod writer;

pub use chunk::VERSION;
pub use reader::read;
pub(crate) use save::replace;
pub use save::{encode, open, write};
pub use writer::Writer;
