//! Lines of the program's source files, as the program sees its files.

use std::collections::HashMap;

/// Source files that were read.
#[derive(Debug)]
pub(super) struct Lines {
    root: String,
    files: HashMap<String, Option<String>>,
}

impl Lines {
    /// Files of process `pid`, whatever its root is.
    pub(super) fn of(pid: i32) -> Self {
        Self { root: format!("/proc/{pid}/root"), files: HashMap::new() }
    }

    /// Line number `line` of `file`, without the blanks around it.
    ///
    /// A native frame has line 0, and its file, a library that may be large, is not read.
    pub(super) fn line(&mut self, file: &str, line: u32) -> Option<String> {
        let before = (line as usize).checked_sub(1)?;
        if !file.starts_with('/') {
            return None;
        }
        let root = &self.root;
        let text = self.files.entry(file.to_owned()).or_insert_with(|| {
            let path = format!("{root}{file}");
            let is_file = std::fs::metadata(&path).is_ok_and(|facts| facts.is_file());
            is_file.then(|| std::fs::read_to_string(&path).ok()).flatten()
        });
        let found = text.as_ref()?.lines().nth(before)?;
        Some(found.trim().to_owned()).filter(|found| !found.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_has_the_line_is_read() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let (mut lines, here) =
            (Lines::of(pid), format!("{}/Cargo.toml", env!("CARGO_MANIFEST_DIR")));

        assert_eq!(lines.line(&here, 0), None);
        assert!(lines.files.is_empty());

        assert_eq!(lines.line(&here, 1).as_deref(), Some("[package]"));
    }
}
