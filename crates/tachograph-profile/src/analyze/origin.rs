//! Whose code a frame is, and what to call it and its file.
//!
//! Own code is decided by the recorder (`Meta::roots`), never guessed from
//! names. Files are shortened the way people say them: relative to where the
//! program was started, `package/file.py` for an installed package, the module
//! file for the standard library.

use std::borrow::Cow;

use crate::{Frame, FrameKind, Profile, Roots};

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The user's own Python code.
    Own,
    /// Python's standard library.
    StandardLibrary,
    /// An installed package, or code made at run time.
    Package,
    /// Machine code.
    Native,
    /// The operating system's kernel.
    Kernel,
    /// Not code: a word that says why there is none.
    Label,
}

impl Origin {
    /// Whose code `frame` is.
    #[must_use]
    pub fn of(profile: &Profile, frame: &Frame) -> Self {
        match frame.kind {
            FrameKind::Python => Self::of_file(&profile.meta.roots, profile.text(frame.file)),
            FrameKind::Native => Self::Native,
            FrameKind::Kernel => Self::Kernel,
            FrameKind::Label => Self::Label,
        }
    }

    /// Whose Python code `file` holds.
    #[must_use]
    pub fn of_file(roots: &Roots, file: &str) -> Self {
        if roots.is_own(file) {
            return Self::Own;
        }
        let installed = below_any(&roots.site_packages, file).is_some();
        let standard = below_any(&roots.standard_library, file).is_some();
        if file.starts_with("<frozen ") || (standard && !installed) {
            return Self::StandardLibrary;
        }
        Self::Package
    }

    /// How a legend calls it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Own => "your code",
            Self::StandardLibrary => "standard library",
            Self::Package => "package",
            Self::Native => "native",
            Self::Kernel => "kernel",
            Self::Label => "no code",
        }
    }
}

/// The part of `file` below `root`; `None` when it lies elsewhere.
fn below<'a>(root: &str, file: &'a str) -> Option<&'a str> {
    let root = root.strip_suffix('/').unwrap_or(root);
    if root.is_empty() {
        return None;
    }
    file.strip_prefix(root)?.strip_prefix('/')
}

/// The shortest part of `file` below one of `roots`: roots may be nested.
fn below_any<'a>(roots: &[String], file: &'a str) -> Option<&'a str> {
    roots.iter().filter_map(|root| below(root, file)).min_by_key(|rest| rest.len())
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// What to call the function of `frame`.
///
/// A native frame without a symbol is called by its object file and address,
/// so two unknown places never look like one function.
#[must_use]
pub fn frame_name<'a>(profile: &'a Profile, frame: &Frame) -> Cow<'a, str> {
    let name = profile.text(frame.function);
    if !name.is_empty() {
        return Cow::Borrowed(name);
    }
    let mapping = frame
        .mapping
        .and_then(|id| profile.tables.mappings.get(id.index()))
        .map_or("", |mapping| profile.text(mapping.path));
    let object = if mapping.is_empty() { profile.text(frame.file) } else { mapping };
    match (object.is_empty(), frame.address) {
        (true, 0) => Cow::Borrowed("<unknown>"),
        (true, address) => Cow::Owned(format!("{address:#x}")),
        (false, address) => Cow::Owned(format!("{}+{address:#x}", last_part(object))),
    }
}

/// `file` as people say it; empty for a frame without a file.
///
/// ```
/// use tachograph_profile::{FrameKind, Roots, analyze::place_name};
///
/// let roots = Roots {
///     working_directory: "/home/ada/job".to_owned(),
///     standard_library: vec!["/usr/lib/python3.12".to_owned()],
///     site_packages: vec!["/usr/lib/python3.12/site-packages".to_owned()],
///     ..Roots::default()
/// };
/// let name = |file| place_name(&roots, FrameKind::Python, file);
/// assert_eq!(name("/home/ada/job/src/train.py"), "src/train.py");
/// assert_eq!(name("/usr/lib/python3.12/json/decoder.py"), "json/decoder.py");
/// assert_eq!(name("/usr/lib/python3.12/site-packages/numpy/core.py"), "numpy/core.py");
/// assert_eq!(name("/home/ada/other/tool.py"), "/home/ada/other/tool.py");
/// ```
#[must_use]
pub fn place_name<'a>(roots: &Roots, kind: FrameKind, file: &'a str) -> &'a str {
    if kind != FrameKind::Python {
        return last_part(file);
    }
    if let Some(module) = file.strip_prefix("<frozen ").and_then(|rest| rest.strip_suffix('>')) {
        return module;
    }
    below_any(&roots.site_packages, file)
        .or_else(|| below_any(&roots.standard_library, file))
        .or_else(|| below(&roots.working_directory, file))
        .or_else(|| {
            let folder = roots.script.rsplit_once('/').map_or("", |(folder, _)| folder);
            below(folder, file)
        })
        .unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interner, Mapping, StringId};

    fn roots() -> Roots {
        Roots {
            working_directory: "/home/ada/job".to_owned(),
            script: "/home/ada/tools/run.py".to_owned(),
            standard_library: vec!["/py/lib/python3.12".to_owned()],
            site_packages: vec![
                "/py/lib/python3.12/site-packages".to_owned(),
                "/home/ada/job/.venv/lib/site-packages/".to_owned(),
            ],
        }
    }

    #[test]
    fn a_package_inside_the_standard_library_folder_is_a_package() {
        let roots = roots();
        let of = |file| Origin::of_file(&roots, file);

        assert_eq!(of("/home/ada/job/train.py"), Origin::Own);
        assert_eq!(of("/py/lib/python3.12/json/decoder.py"), Origin::StandardLibrary);
        assert_eq!(of("/py/lib/python3.12/site-packages/x/y.py"), Origin::Package);
        assert_eq!(of("/home/ada/job/.venv/lib/site-packages/x.py"), Origin::Package);
        assert_eq!(of("<frozen importlib._bootstrap>"), Origin::StandardLibrary);
        assert_eq!(of("<string>"), Origin::Package);
    }

    #[test]
    fn files_are_named_from_the_nearest_root() {
        let roots = roots();
        let name = |file| place_name(&roots, FrameKind::Python, file);

        assert_eq!(name("/home/ada/job/.venv/lib/site-packages/a/b.py"), "a/b.py");
        assert_eq!(name("/home/ada/tools/run.py"), "run.py");
        assert_eq!(name("/home/ada/jobs/x.py"), "/home/ada/jobs/x.py");
        assert_eq!(name("<string>"), "<string>");
        assert_eq!(name("<frozen importlib._bootstrap>"), "importlib._bootstrap");
        assert_eq!(place_name(&roots, FrameKind::Native, "/usr/lib/libz.so.1"), "libz.so.1");
    }

    #[test]
    fn empty_roots_leave_files_as_they_are() {
        let roots = Roots::default();

        assert_eq!(place_name(&roots, FrameKind::Python, "/a/b.py"), "/a/b.py");
        assert_eq!(Origin::of_file(&roots, "/a/b.py"), Origin::Own);
    }

    #[test]
    fn a_native_frame_without_a_symbol_is_called_by_its_address() {
        let mut tables = Interner::default();
        let path = tables.string("/usr/lib/libz.so.1");
        let mapping = tables.mapping(Mapping { path, build_id: StringId(0), start: 0, end: 4096 });
        let mut frame = Frame {
            function: StringId(0),
            file: StringId(0),
            line: 0,
            first_line: 0,
            kind: FrameKind::Native,
            mapping: Some(mapping),
            address: 0x1234,
        };
        let profile = Profile { tables: tables.into_tables(), ..Profile::default() };

        assert_eq!(frame_name(&profile, &frame), "libz.so.1+0x1234");
        frame.mapping = None;
        assert_eq!(frame_name(&profile, &frame), "0x1234");
        frame.address = 0;
        assert_eq!(frame_name(&profile, &frame), "<unknown>");
    }
}
