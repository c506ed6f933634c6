//! The list of formats: their names, their file endings, their writers.

use std::path::Path;

use super::{collapsed, speedscope, svg};
use crate::analyze::main_measure;
use crate::{Error, Measure, Profile};

/// A format a profile can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The recording itself, with everything it holds.
    Tacho,
    /// JSON for <https://www.speedscope.app>; one profile per thread.
    Speedscope,
    /// One line per distinct stack, for flame graph scripts.
    Collapsed,
    /// A flame graph in one file, for any browser.
    Svg,
}

impl Format {
    /// All formats, in the order they are listed to people.
    pub const ALL: [Self; 4] = [Self::Tacho, Self::Speedscope, Self::Collapsed, Self::Svg];

    /// Its name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tacho => "tacho",
            Self::Speedscope => "speedscope",
            Self::Collapsed => "collapsed",
            Self::Svg => "svg",
        }
    }

    /// The format called `name`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFormat`] lists the names there are.
    ///
    /// ```
    /// use tachograph_profile::export::Format;
    ///
    /// assert_eq!(Format::from_name("svg").unwrap(), Format::Svg);
    /// let error = Format::from_name("png").unwrap_err();
    /// assert!(error.to_string().starts_with("Unknown format \"png\""));
    /// ```
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| Error::UnknownFormat {
            format: name.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }

    /// The format the ending of `path` stands for; `None` for any other ending.
    ///
    /// ```
    /// use std::path::Path;
    /// use tachograph_profile::export::Format;
    ///
    /// assert_eq!(Format::from_path(Path::new("a.speedscope.json")), Some(Format::Speedscope));
    /// assert_eq!(Format::from_path(Path::new("a.FOLDED")), Some(Format::Collapsed));
    /// assert_eq!(Format::from_path(Path::new("profile")), None);
    /// ```
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "tacho" => Self::Tacho,
            "json" => Self::Speedscope,
            "collapsed" | "folded" | "txt" => Self::Collapsed,
            "svg" => Self::Svg,
            _ => return None,
        })
    }

    /// What this format shows of `profile` when no measure is named.
    #[must_use]
    pub fn default_measure(self, profile: &Profile) -> Measure {
        match self {
            Self::Collapsed if !profile.samples.is_empty() => Measure::Samples,
            _ => main_measure(profile),
        }
    }
}

/// Turns `profile` into `format`.
///
/// Without a `measure` the format's own default counts: samples for
/// `collapsed`, otherwise the time that was sampled. A recording holds every
/// measure, so `tacho` does not look at it.
///
/// # Errors
///
/// None of today's formats can fail; the result leaves room for one that can.
///
/// ```
/// use tachograph_profile::Profile;
/// use tachograph_profile::export::{Format, export};
///
/// let profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 12)])]);
/// let bytes = export(&profile, Format::Collapsed, None).unwrap();
/// assert_eq!(bytes, b"main (train.py:12) 1");
/// ```
pub fn export(
    profile: &Profile,
    format: Format,
    measure: Option<Measure>,
) -> Result<Vec<u8>, Error> {
    let measure = measure.unwrap_or_else(|| format.default_measure(profile));
    Ok(match format {
        Format::Tacho => crate::file::encode(profile),
        Format::Speedscope => speedscope(profile, measure),
        Format::Collapsed => collapsed(profile, measure).into_bytes(),
        Format::Svg => svg(profile, measure).into_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()).unwrap(), format);
        }
    }

    #[test]
    fn an_unknown_format_is_refused_with_the_known_ones() {
        let text = Format::from_name("pprof").unwrap_err().to_string();

        assert!(text.contains("Unknown format \"pprof\""), "{text}");
        assert!(text.contains("tacho, speedscope, collapsed, svg"), "{text}");
    }

    #[test]
    fn the_ending_decides_the_format() {
        let of = |name: &str| Format::from_path(Path::new(name));

        assert_eq!(of("run.tacho"), Some(Format::Tacho));
        assert_eq!(of("run.json"), Some(Format::Speedscope));
        assert_eq!(of("run.speedscope.json"), Some(Format::Speedscope));
        assert_eq!(of("run.txt"), Some(Format::Collapsed));
        assert_eq!(of("run.collapsed"), Some(Format::Collapsed));
        assert_eq!(of("run.svg"), Some(Format::Svg));
        assert_eq!(of("run.prof"), None);
    }
}
