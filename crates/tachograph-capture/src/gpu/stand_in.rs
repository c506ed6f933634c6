//! Builds the stand-in libraries for tests; Python's tests use the same sources.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A library built from `tests/stand_ins/<name>.c`; `label` tells builds apart.
pub(super) fn build(name: &str, label: &str, flags: &[&str]) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stand_ins");
    let file = format!("tachograph-{name}-{label}-{}.so", std::process::id());
    let library = std::env::temp_dir().join(file);
    let status = Command::new("gcc")
        .args(["-O1", "-shared", "-fPIC", "-pthread"])
        .args(flags)
        .arg("-o")
        .arg(&library)
        .arg(sources.join(format!("{name}.c")))
        .status()
        .expect("gcc is needed to build the stand-in library");
    assert!(status.success());
    library
}
