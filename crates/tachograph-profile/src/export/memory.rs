//! A picture of memory in the formats its users know.

use std::path::Path;

use super::collapsed::collapsed;
use super::formats::{Format, export};
use super::speedscope::speedscope_as_one;
use crate::file::replace;
use crate::{Error, FrameKind, Measure, Profile, StringId};

/// Turns a picture of memory into `format`.
///
/// Memory belongs to no thread: Speedscope shows one profile called `Memory
/// Profile`. Collapsed stacks are bare names of functions, as other memory
/// profilers write them. Anything else is what [`export`] makes of it.
///
/// # Errors
///
/// As [`export`].
///
/// ```
/// use tachograph_profile::Measure;
/// use tachograph_profile::analyze::heap::from_rows;
/// use tachograph_profile::export::{Format, export_memory};
///
/// let profile = from_rows(&[(0, None, 512, &[("main", "a.py", 1), ("load", "b.py", 7)])]);
/// let text = export_memory(&profile, Format::Collapsed, Measure::BytesLive).unwrap();
/// assert_eq!(text, b"main;load 512");
/// ```
pub fn export_memory(
    profile: &Profile,
    format: Format,
    measure: Measure,
) -> Result<Vec<u8>, Error> {
    match format {
        Format::Speedscope => Ok(speedscope_as_one(profile, measure, "Memory Profile")),
        Format::Collapsed => Ok(collapsed(&bare(profile), measure).into_bytes()),
        format => export(profile, format, Some(measure)),
    }
}

/// Writes a picture of memory to `path`, whole or not at all. Without a
/// `format` the ending of `path` decides; an unknown one means speedscope.
///
/// # Errors
///
/// [`Error::Write`] names the file; what was there before is untouched.
pub fn save_memory(
    profile: &Profile,
    path: &Path,
    format: Option<Format>,
    measure: Measure,
) -> Result<(), Error> {
    let format = format.or_else(|| Format::from_path(path)).unwrap_or(Format::Speedscope);
    let bytes = export_memory(profile, format, measure)?;
    replace(path, &bytes).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// The same profile with nothing but names on its frames.
fn bare(profile: &Profile) -> Profile {
    let mut bare = profile.clone();
    for frame in &mut bare.tables.frames {
        frame.line = 0;
        if !profile.text(frame.function).is_empty() {
            (frame.file, frame.kind) = (StringId(0), FrameKind::Python);
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::heap::from_rows;

    #[test]
    fn a_picture_is_one_profile_even_when_it_is_empty() {
        for profile in [Profile::default(), from_rows(&[(0, None, 64, &[("f", "a.py", 1)])])] {
            let json = export_memory(&profile, Format::Speedscope, Measure::BytesLive).unwrap();
            let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
            let profiles = json["profiles"].as_array().unwrap();
            assert_eq!(profiles.len(), 1);
            assert_eq!(
                (&profiles[0]["name"], &profiles[0]["unit"]),
                (&"Memory Profile".into(), &"bytes".into())
            );
        }
    }
}
