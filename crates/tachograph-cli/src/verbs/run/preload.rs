//! Whether a command needs the library for `LD_PRELOAD`.
//!
//! A Python program is recorded from inside, by its own interpreter: that sees
//! Python frames and every allocator, and nothing is preloaded. For a program
//! without Python the library is the only way in. What a command becomes is not
//! known before it runs, a shell or a launcher may start Python yet; so the
//! library is given to every program that is not an interpreter itself, steps
//! aside where it meets one, and what Python recorded comes first in the end.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The library's name in the package.
const LIBRARY: &str = "_preload.so";

/// As much of a file as the first line or the table of an ELF file takes.
const HEAD_BYTES: usize = 4096;

/// A script's interpreter may be a script again; not for ever.
const MOST_SCRIPTS: u32 = 4;

/// What to do about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Preload {
    /// It is Python: the recorder starts inside of it.
    Python,
    /// Put this library before all others.
    Library(PathBuf),
    /// It cannot be recorded unless it starts Python, and why.
    Impossible(String),
}

/// What to do about the command that begins with `word`, with the package in `package`.
pub(super) fn decide(word: &OsStr, package: &Path) -> Preload {
    let Some(program) = find(word, env::var_os("PATH").as_deref()) else {
        return Preload::Python; // starting it will fail, and say why
    };
    let Some(program) = interpreter_of(program) else { return Preload::Python };
    let real = fs::canonicalize(&program).unwrap_or_else(|_| program.clone());
    if is_python(&program) || is_python(&real) {
        return Preload::Python;
    }
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let library = package.join(LIBRARY);
    let of_program = head(&real).and_then(|head| loader(&head).map(<[u8]>::to_vec));
    let ours = head(Path::new("/proc/self/exe")).and_then(|head| loader(&head).map(<[u8]>::to_vec));
    let obstacle = if !library.is_file() {
        "this build of tachograph has no library to preload"
    } else if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        "a library cannot be preloaded from a folder with a blank or a colon in its name"
    } else if of_program.is_none() {
        "it is linked statically, so nothing can be loaded into it"
    } else if of_program != ours {
        "it has another C library than tachograph, so nothing of ours can be loaded into it"
    } else {
        return Preload::Library(library);
    };
    Preload::Impossible(format!("{name} is not Python: {obstacle}"))
}

/// The variables that put `library` into a program: what stood in `LD_PRELOAD`
/// stays behind it.
pub(super) fn preloading(library: &Path, inherited: Option<&OsStr>) -> OsString {
    match inherited.filter(|text| !text.is_empty()) {
        Some(more) => [library.as_os_str(), more].join(OsStr::new(":")),
        None => library.as_os_str().to_owned(),
    }
}

/// The file that a shell would run for `word`.
fn find(word: &OsStr, search: Option<&OsStr>) -> Option<PathBuf> {
    let path = Path::new(word);
    if word.as_bytes().contains(&b'/') {
        return path.is_file().then(|| path.to_owned());
    }
    let folders = env::split_paths(search?).collect::<Vec<_>>();
    folders.into_iter().map(|folder| folder.join(path)).find(|path| path.is_file())
}

/// A version manager's script is called as what it starts.
fn is_python(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("python") || name.starts_with("pypy")
}

/// The program that the kernel starts for `program`: its own file, or of a
/// script the interpreter in its first line; `None` when that leads nowhere.
fn interpreter_of(program: PathBuf) -> Option<PathBuf> {
    let mut program = program;
    for _ in 0..MOST_SCRIPTS {
        if is_python(&program) {
            return Some(program);
        }
        let head = head(&program)?;
        let Some(rest) = head.strip_prefix(b"#!") else { return Some(program) };
        let line = rest.split(|byte| *byte == b'\n').next()?;
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|w| !w.is_empty());
        let first = OsStr::from_bytes(words.next()?);
        let is_env = Path::new(first).file_name() == Some(OsStr::new("env"));
        let next = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
        program = match next.filter(|_| is_env) {
            Some(word) => find(OsStr::from_bytes(word), env::var_os("PATH").as_deref())?,
            None => PathBuf::from(first),
        };
    }
    None
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The loader that an ELF file names, which brings its libraries.
///
/// One loader, one C library: what fits one program fits all that have it.
fn loader(head: &[u8]) -> Option<&[u8]> {
    const HEADER_BYTES: usize = 56;
    const LOADER: u32 = 3;
    // 64 bits, little-endian: all that we are built for.
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let (table, count) = (word(32)? as usize, usize::from(half(56)?));
    let headers = (0..count).map(|number| table + number * HEADER_BYTES);
    let header = headers.into_iter().find(|at| word(*at) == Some(LOADER))?;
    let (offset, length) = (word(header + 8)? as usize, word(header + 32)? as usize);
    head.get(offset..offset.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a package that has the library, and one file.
    fn made(name: &str, file: &str, text: &str) -> (PathBuf, PathBuf) {
        let folder = env::temp_dir().join(format!("tacho-preload-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(LIBRARY), "").unwrap();
        fs::write(folder.join(file), text).unwrap();
        (folder.clone(), folder.join(file))
    }

    #[test]
    fn a_program_without_python_gets_the_library() {
        let (package, script) = made("sh", "go", "#!/bin/sh -e\n");
        let library = Preload::Library(package.join(LIBRARY));

        assert_eq!(decide(OsStr::new("sh"), &package), library);
        assert_eq!(decide(script.as_os_str(), &package), library);
        fs::remove_file(package.join(LIBRARY)).unwrap();
        assert!(matches!(decide(OsStr::new("sh"), &package), Preload::Impossible(_)));
        fs::remove_dir_all(package).unwrap();
    }

    #[test]
    fn python_and_its_scripts_get_nothing() {
        let (package, script) = made("python", "gunicorn", "#!/usr/bin/env -S python3 -u\n");
        let (other, python) = made("pythons", "python3.12", "\x7fELF");

        assert_eq!(decide(python.as_os_str(), &package), Preload::Python);
        assert_eq!(decide(OsStr::new("/no/such/thing"), &package), Preload::Python);
        let found = decide(script.as_os_str(), &package);
        assert!(matches!(found, Preload::Python), "{found:?}");
        fs::write(&script, format!("#!{}\n", python.display())).unwrap();
        assert_eq!(decide(script.as_os_str(), &package), Preload::Python);
        fs::remove_dir_all(package).unwrap();
        fs::remove_dir_all(other).unwrap();
    }

    #[test]
    fn what_no_loader_starts_is_told_apart() {
        let (package, program) = made("static", "prog", "\x7fELF\x02\x01");

        let found = decide(program.as_os_str(), &package);

        let why = "prog is not Python: it is linked statically";
        assert!(matches!(&found, Preload::Impossible(told) if told.starts_with(why)), "{found:?}");
        fs::remove_dir_all(package).unwrap();
    }

    #[test]
    fn a_program_of_another_c_library_is_left_alone() {
        let (package, program) = made("musl", "prog", "");
        let mut elf = vec![0_u8; 256];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[32], elf[56]) = (64, 1);
        (elf[64], elf[72], elf[96]) = (3, 200, 15);
        elf[200..215].copy_from_slice(b"/lib/ld-musl.so");
        fs::write(&program, &elf).unwrap();

        assert_eq!(loader(&elf), Some(&b"/lib/ld-musl.so"[..]));
        let found = decide(program.as_os_str(), &package);
        let why = "another C library";
        assert!(matches!(&found, Preload::Impossible(told) if told.contains(why)), "{found:?}");
        fs::remove_dir_all(package).unwrap();
    }

    #[test]
    fn what_was_preloaded_before_stays() {
        let library = Path::new("/a/b.so");

        assert_eq!(preloading(library, None), "/a/b.so");
        assert_eq!(preloading(library, Some(OsStr::new("/c.so"))), "/a/b.so:/c.so");
    }
}
