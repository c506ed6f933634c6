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
    pub(super) fn line(&mut self, file: &str, line: u32) -> Option<String> {
        if !file.starts_with('/') {
            return None;
        }
        let root = &self.root;
        let text = self.files.entry(file.to_owned()).or_insert_with(|| {
            let path = format!("{root}{file}");
            let is_file = std::fs::metadata(&path).is_ok_and(|facts| facts.is_file());
            is_file.then(|| std::fs::read_to_string(&path).ok()).flatten()
        });
        let found = text.as_ref()?.lines().nth((line as usize).checked_sub(1)?)?;
        Some(found.trim().to_owned()).filter(|found| !found.is_empty())
    }
}
