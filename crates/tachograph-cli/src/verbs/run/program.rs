//! What is to be run, and what to call it.

use std::ffi::OsString;
use std::path::Path;

use crate::failure::Failure;

/// The program of `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// What it is called in reports: `train.py`.
    pub(super) name: String,
    /// What its recording is called, without the ending: `train`.
    pub(super) stem: String,
    /// The script, if it is one.
    pub(super) script: Option<OsString>,
    /// A whole command, or arguments for the interpreter.
    pub(super) words: Vec<OsString>,
    /// The words are a whole command.
    pub(super) is_command: bool,
}

impl Program {
    /// Understands what stands after our options.
    pub(super) fn from_words(words: &[OsString]) -> Result<Self, Failure> {
        let first = words.first().and_then(|word| word.to_str()).unwrap_or_default();
        match first {
            "--" => Self::command(&words[1..]),
            "-" => Ok(Self::python(words, "standard input", "stdin")),
            _ if first.starts_with("-m") => Self::module(words, first),
            _ if first.starts_with("-c") => Ok(Self::python(words, "python -c", "python")),
            _ => Self::script(words),
        }
    }

    fn python(words: &[OsString], name: &str, stem: &str) -> Self {
        let (name, stem, words) = (name.to_owned(), stem.to_owned(), words.to_vec());
        Self { name, stem, script: None, words, is_command: false }
    }

    fn script(words: &[OsString]) -> Result<Self, Failure> {
        let script = words.first().cloned().unwrap_or_default();
        let path = Path::new(&script);
        if !path.exists() {
            return Err(Failure::usage(
                format!("there is no script {}", path.display()),
                "check the path; for a module write -m MODULE, for another command -- COMMAND",
            ));
        }
        let stem = path.file_stem().unwrap_or(&script).to_string_lossy().into_owned();
        let name = path.file_name().unwrap_or(&script).to_string_lossy().into_owned();
        Ok(Self { script: Some(script.clone()), ..Self::python(words, &name, &stem) })
    }

    fn module(words: &[OsString], first: &str) -> Result<Self, Failure> {
        let glued = first.strip_prefix("-m").filter(|name| !name.is_empty());
        let next = || words.get(1).map(|word| word.to_string_lossy().into_owned());
        let module = glued.map(str::to_owned).or_else(next).ok_or_else(|| {
            Failure::usage("-m needs the name of a module", "write it after -m: -m http.server")
        })?;
        Ok(Self::python(words, &format!("python -m {module}"), &module))
    }

    fn command(words: &[OsString]) -> Result<Self, Failure> {
        let first = words.first().ok_or_else(|| {
            Failure::usage("-- needs a command", "write it after --: -- python train.py")
        })?;
        let called = |word: &OsString| {
            let path = Path::new(word);
            let pick = |part: Option<&std::ffi::OsStr>| {
                part.unwrap_or(word.as_os_str()).to_string_lossy().into_owned()
            };
            (pick(path.file_name()), pick(path.file_stem()))
        };
        let (mut name, mut stem) = called(first);
        if name.starts_with("python") {
            // The script says more than the interpreter.
            let script = words[1..].iter().find(|word| !word.as_encoded_bytes().starts_with(b"-"));
            let is_script = script.is_some_and(|word| word.to_string_lossy().ends_with(".py"));
            if let Some(script) = script.filter(|_| is_script) {
                (name, stem) = called(script);
            } else {
                stem = "python".to_owned();
            }
        }
        Ok(Self { name, stem, script: None, words: words.to_vec(), is_command: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(line: &[&str]) -> Result<Program, Failure> {
        Program::from_words(&line.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_program_is_called_by_what_it_is() {
        let named = |line: &[&str]| program(line).map(|found| (found.name, found.stem)).unwrap();
        let pair = |name: &str, stem: &str| (name.to_owned(), stem.to_owned());

        assert_eq!(
            named(&["-m", "http.server", "8000"]),
            pair("python -m http.server", "http.server")
        );
        assert_eq!(named(&["-mjson.tool"]), pair("python -m json.tool", "json.tool"));
        assert_eq!(named(&["-c", "pass"]), pair("python -c", "python"));
        assert_eq!(named(&["--", "/usr/bin/gunicorn", "app"]), pair("gunicorn", "gunicorn"));
        assert_eq!(named(&["--", "python3", "-O", "a/train.py", "x"]), pair("train.py", "train"));
        assert_eq!(named(&["--", "python3.12", "-m", "x"]), pair("python3.12", "python"));
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_the_other_forms() {
        let failure = program(&["no/such/train.py"]).unwrap_err();
        assert_eq!(failure.what, "there is no script no/such/train.py");
        assert!(failure.remedy.is_some_and(|text| text.contains("-m MODULE")));
        assert_eq!(program(&["-m"]).unwrap_err().what, "-m needs the name of a module");
        assert_eq!(program(&["--"]).unwrap_err().what, "-- needs a command");
    }
}
