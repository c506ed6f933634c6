//! Writes an export to disk: whole or not at all.

use std::path::Path;

use super::formats::{Format, export};
use crate::file::replace;
use crate::{Error, Measure, Profile};

/// Writes `profile` to `path`.
///
/// Without a `format` the ending of `path` decides, and an ending we do not
/// know means speedscope. The file appears whole or not at all: it is written
/// beside its place and then renamed. A pipe or a device is written directly.
///
/// # Errors
///
/// [`Error::Write`] names the file; what was there before is untouched.
pub fn save(
    profile: &Profile,
    path: &Path,
    format: Option<Format>,
    measure: Option<Measure>,
) -> Result<(), Error> {
    let format = format.or_else(|| Format::from_path(path)).unwrap_or(Format::Speedscope);
    let bytes = export(profile, format, measure)?;
    replace(path, &bytes).map_err(|source| Error::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tacho-save-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn profile() -> Profile {
        Profile::from_stacks(&[(0, 5, &[("main", "a.py", 1)])])
    }

    #[test]
    fn the_ending_decides_and_an_unknown_one_means_speedscope() {
        let folder = folder("ending");

        save(&profile(), &folder.join("a.folded"), None, None).unwrap();
        save(&profile(), &folder.join("a.prof"), None, None).unwrap();

        let folded = fs::read_to_string(folder.join("a.folded")).unwrap();
        assert_eq!(folded, "main (a.py:1) 1");
        let other = fs::read_to_string(folder.join("a.prof")).unwrap();
        assert!(other.contains("speedscope.app"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_named_format_overrides_the_ending() {
        let folder = folder("format");
        let path = folder.join("a.json");

        save(&profile(), &path, Some(Format::Collapsed), Some(Measure::CpuTime)).unwrap();

        assert_eq!(fs::read_to_string(&path).unwrap(), "main (a.py:1) 5");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_in_the_error() {
        let folder = folder("missing");
        let path = folder.join("no/such/folder/a.json");

        let error = save(&profile(), &path, None, None).unwrap_err();

        assert!(error.to_string().contains("no/such/folder/a.json"), "{error}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn saving_over_a_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder("mode");
        let path = folder.join("a.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

        save(&profile(), &path, None, None).unwrap();

        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert!(fs::read_to_string(&path).unwrap().starts_with('{'));
        fs::remove_dir_all(folder).unwrap();
    }
}
