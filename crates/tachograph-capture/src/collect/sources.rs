//! The text of own source files that are on a stack, for pages that show lines.

use std::collections::BTreeSet;
use std::io::Read;

use tachograph_profile::{FrameKind, Roots, Source, Tables};

/// All source text of one recording together.
const LIMIT_BYTES: usize = 4 << 20;

/// Reads the own files that frames of `tables` name, up to 4 MB in all.
pub(crate) fn own_sources(tables: &Tables, roots: &Roots) -> Vec<Source> {
    own_sources_below("", tables, roots)
}

/// The same for a process whose file system begins at `root`.
pub(crate) fn own_sources_below(root: &str, tables: &Tables, roots: &Roots) -> Vec<Source> {
    let python = tables.frames.iter().filter(|frame| frame.kind == FrameKind::Python);
    let files: BTreeSet<_> = python.map(|frame| frame.file).collect();
    let mut left = LIMIT_BYTES;
    let mut sources = Vec::new();
    for file in files {
        let Some(path) = tables.strings.get(file.index()) else {
            continue;
        };
        if !roots.is_own(path) {
            continue;
        }
        if let Some(text) = read_text(&format!("{root}{path}"), left) {
            left -= text.len();
            sources.push(Source { file, text: text.into() });
        }
    }
    sources
}

/// The text of a regular file of at most `limit` bytes.
fn read_text(path: &str, limit: usize) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.len() > limit as u64 {
        return None;
    }
    let mut text = String::new();
    file.take(limit as u64).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tachograph_profile::Interner;

    #[test]
    fn own_files_are_kept_and_libraries_are_not() {
        let mut tables = Interner::default();
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
        let library = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        tables.python_frame("main", own, 1, 1);
        tables.python_frame("parse", library, 1, 1);
        tables.python_frame("made", "<string>", 1, 1);
        let roots = Roots { site_packages: vec![library.to_owned()], ..Roots::default() };

        let sources = own_sources(tables.tables(), &roots);

        assert_eq!(sources.len(), 1);
        assert!(sources[0].text.contains("deny(unsafe_code)"));
    }
}
