//! A flame graph in one file: open it in a browser, or show it as a picture.
//!
//! The file is a complete still picture, so it works as an `<img>` and on
//! paper. Its script adds pointing, zooming and searching. Colours follow the
//! reader's light or dark theme. Every name is hostile: text is escaped, and
//! the script only ever writes `textContent`.

mod chart;
mod label;
mod page;

pub use page::svg;
