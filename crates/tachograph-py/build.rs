//! Puts the library for `LD_PRELOAD` next to the Python modules, so that a wheel
//! has it.
//!
//! It is a program's first library and cannot be this extension module, which
//! needs an interpreter to load. Cargo cannot build one library because of
//! another, so it is asked to here: for release builds only, into a folder of its
//! own. Where that fails the wheel is complete but for this one file, and
//! `memprof.preload_path()` says so.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "_preload.so";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // Asked when it runs: a build folder that was moved or copied has it compiled already.
    let Some(package) = env::var_os("CARGO_MANIFEST_DIR") else { return };
    let root = Path::new(&package).join("../..");
    for source in ["preload", "capture", "probe", "profile"] {
        let folder = root.join(format!("crates/tachograph-{source}"));
        println!("cargo:rerun-if-changed={}", folder.join("src").display());
        println!("cargo:rerun-if-changed={}", folder.join("Cargo.toml").display());
    }
    if let Err(reason) = put(&root) {
        println!("cargo:warning=the wheel has no library for LD_PRELOAD: {reason}");
    }
}

fn put(root: &Path) -> Result<(), String> {
    let python = root.join("python/tachograph");
    if !root.join("crates/tachograph-preload").is_dir() || !python.is_dir() {
        return Err("its sources are not here".to_owned());
    }
    let library = build(root)?;
    let (new, place) = (python.join(format!("{NAME}.new")), python.join(NAME));
    // At once, because another program may have it loaded.
    fs::copy(&library, &new).map_err(|error| format!("cannot copy {library:?}: {error}"))?;
    fs::rename(&new, &place).map_err(|error| format!("cannot write {place:?}: {error}"))
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    // <target>/release/build/<package>/out: next to `release`, where its lock does not matter.
    let target = Path::new(&out).ancestors().nth(4).ok_or("OUT_DIR is too short")?.join("preload");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--package", "tachograph-preload", "--target-dir"])
        .arg(&target)
        .current_dir(root)
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_TARGET_DIR")
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let library = target.join("release/libtachograph_preload.so");
    if status.success() { Ok(library) } else { Err(format!("cargo ended with {status}")) }
}
