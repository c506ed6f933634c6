//! The interpreter that `run` would start.

use std::path::Path;
use std::process::{Command, Stdio};

use super::finding::{Finding, Verdict};
use crate::end::Installation;

/// Asks for the version, whether libpython is shared, whether the interpreter
/// lock is gone, and whether the package is there; one a line.
const QUESTION: &str = "\
import sys, sysconfig
print('.'.join(map(str, sys.version_info[:3])))
print(sys.implementation.name)
print(int(bool(sysconfig.get_config_var('Py_ENABLE_SHARED'))))
print(int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))
try:
    import tachograph
    print(tachograph.__version__)
except Exception:
    print('')
";

/// The oldest version the package runs on.
const OLDEST: (u32, u32) = (3, 11);

/// What there is to know about the interpreter that `run` would start.
pub(super) fn interpreter(installation: Option<&Installation>) -> Finding {
    let python = installation.map_or(Path::new("python3"), |here| &here.python);
    let mut command = Command::new(python);
    command.args(["-c", QUESTION]).stdin(Stdio::null()).stderr(Stdio::null());
    let answer = command.output().ok().filter(|answer| answer.status.success());
    let said = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
    judge(&python.display().to_string(), said.as_deref())
}

fn judge(python: &str, said: Option<&str>) -> Finding {
    let Some(said) = said else {
        let what = format!("{python} cannot be started");
        return Finding::new("python", Verdict::Improvable, what, "`tachograph run` needs one")
            .with_remedy("name an interpreter: tachograph run --python PATH …");
    };
    let mut lines = said.lines();
    let mut next = || lines.next().unwrap_or_default();
    let (version, name, shared, free, package) = (next(), next(), next(), next(), next());
    let mut what = match name {
        "cpython" => format!("CPython {version}"),
        other => format!("{other} {version}"),
    };
    what.push_str(if shared == "1" { ", shared libpython" } else { ", static" });
    if free == "1" {
        what.push_str(", free-threaded");
    }
    if name != "cpython" || number(version) < OLDEST {
        let effect = "`tachograph run` needs CPython 3.11 or newer";
        return Finding::new("python", Verdict::Improvable, what, effect)
            .with_remedy("name another interpreter: tachograph run --python PATH …");
    }
    if package.is_empty() {
        let effect = "the package is missing: `tachograph run` cannot record with it";
        return Finding::new("python", Verdict::Improvable, what, effect)
            .with_remedy(format!("{python} -m pip install tachograph"));
    }
    Finding::new(
        "python",
        Verdict::Good,
        what,
        format!("`tachograph run` uses it, package {package}"),
    )
}

/// Major and minor version: `(3, 12)`.
fn number(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_judged_by_its_version_and_its_package() {
        let good = judge("python3", Some("3.12.1\ncpython\n1\n0\n0.1.0\n"));
        assert_eq!(good.what, "CPython 3.12.1, shared libpython");
        assert_eq!(good.verdict, Verdict::Good);

        let bare = judge("/opt/py", Some("3.13.0\ncpython\n0\n1\n\n"));
        assert_eq!(bare.what, "CPython 3.13.0, static, free-threaded");
        assert_eq!(bare.remedy.as_deref(), Some("/opt/py -m pip install tachograph"));

        assert_eq!(judge("python3", Some("3.9.2\ncpython\n1\n0\n\n")).verdict, Verdict::Improvable);
        assert!(judge("python3", None).what.ends_with("cannot be started"));
    }
}
