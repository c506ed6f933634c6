//! A whole profile to a file and back.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::reader::read;
use super::writer::Writer;
use crate::error::Error;
use crate::model::{Batch, Profile, Time};

/// Samples of one chunk when a whole profile is written: as many as a busy
/// program gives in a minute, so the file is compact and still reads in parts.
const SAMPLES_PER_BATCH: usize = 1 << 16;

/// Reads the recording at `path`.
///
/// # Errors
///
/// The file cannot be read, or is not a recording this release understands;
/// see [`read`].
pub fn open(path: &Path) -> Result<Profile, Error> {
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    read(&bytes, &path.display().to_string())
}

/// The bytes of a recording that holds `profile`.
///
/// Times are cut to whole microseconds; everything else comes back exactly,
/// except points that are not finite numbers, which are left out.
#[must_use]
pub fn encode(profile: &Profile) -> Vec<u8> {
    // A vector refuses nothing, so all bytes arrive or memory has run out.
    let mut bytes = Vec::new();
    if write_to(&mut bytes, profile).is_err() {
        bytes.clear();
    }
    bytes
}

/// Writes `profile` to `path`, replacing what is there in one step.
///
/// The bytes go to a new file beside `path` first: if the disk is full, or
/// the program dies half way, the old file is untouched. A `path` that is no
/// ordinary file, such as a pipe, is written directly.
///
/// # Errors
///
/// The file cannot be created or written.
pub fn write(path: &Path, profile: &Profile) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.into(), source };
    let mut bytes = Vec::new();
    write_to(&mut bytes, profile).map_err(failed)?;
    replace(path, &bytes).map_err(failed)
}

fn write_to(sink: impl Write, profile: &Profile) -> io::Result<()> {
    let mut writer = Writer::new(sink, &profile.meta)?;
    let whole = Time(profile.meta.duration_ns);
    for samples in profile.samples.chunks(SAMPLES_PER_BATCH) {
        let batch = Batch { samples: samples.to_vec(), loss: profile.loss, ..Batch::default() };
        writer.append(&profile.tables, &batch)?;
    }
    let rest = Batch {
        allocations: profile.allocations.clone(),
        spans: profile.spans.clone(),
        points: profile.points.clone(),
        notes: profile.notes.clone(),
        loss: profile.loss,
        until: whole,
        ..Batch::default()
    };
    writer.append(&profile.tables, &rest)?;
    writer.finish(&profile.tables, &profile.meta, &profile.loss)?;
    Ok(())
}

/// Puts `bytes` at `path`, whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link keeps pointing where it did; the file behind it is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let (beside, mut file) = create_beside(&target)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| old.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// A new file in the directory of `target`, so that renaming it is one step.
fn create_beside(target: &Path) -> io::Result<(PathBuf, fs::File)> {
    let Some(name) = target.file_name() else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let mut attempt = 0_u32;
    loop {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.{attempt}.part", std::process::id()));
        let beside = target.with_file_name(beside);
        match fs::File::create_new(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}
