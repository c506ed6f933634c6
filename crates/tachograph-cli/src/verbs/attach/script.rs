//! The script that a process runs for us.
//!
//! It leaves no name behind: the interpreter runs it in the program's own
//! `__main__`, so it is one call with a namespace of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The whole script but for its first three lines. Backslashes and double
/// quotes would end the text that holds it.
const BODY: &str = "\
def tell(why):
    import socket
    try:
        with socket.socket(socket.AF_UNIX) as said:
            said.connect(line)
            said.sendall(('failed ' + why + chr(10)).encode(errors='replace'))
    except OSError:
        pass

is_missing = bool(home) and home not in sys.path
if is_missing:
    sys.path.append(home)
try:
    import tachograph
    if tachograph.__version__ != version:
        raise ImportError('it has version ' + tachograph.__version__ + ', and this is ' + version)
    from tachograph._doors.attached import start
    start(wishes)
except Exception as error:
    why = getattr(error, 'strerror', None) or str(error) or type(error).__name__
    tell(' '.join(why.split()))
finally:
    if is_missing and home in sys.path:
        sys.path.remove(home)
";

/// The script: `wishes` are for the recorder, which writes to `output` and
/// connects to `socket`; `home` holds a package for a process without one.
pub(super) fn script(
    wishes: &[(&str, String)],
    output: &Path,
    socket: &Path,
    home: Option<&Path>,
) -> String {
    let mut entries = vec![
        format!("'output': {}", text(output.as_os_str())),
        format!("'line': {}", text(socket.as_os_str())),
    ];
    entries.extend(wishes.iter().map(|(name, value)| format!("'{name}': '{value}'")));
    let line = text(socket.as_os_str());
    let home = text(home.map(Path::as_os_str).unwrap_or_default());
    let version = env!("CARGO_PKG_VERSION");
    let entries = entries.join(", ");
    format!(
        "exec(\"\"\"\nimport os, sys\n\
         line, home, version = {line}, {home}, '{version}'\nwishes = {{{entries}}}\n{BODY}\"\"\", \
         {{'__name__': 'tachograph attach'}})\n"
    )
}

/// `text` as Python's `os` reads file names, whatever bytes it holds.
fn text(text: &OsStr) -> String {
    let digits: String = text.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("os.fsdecode(bytes.fromhex('{digits}'))")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_can_end_the_text_that_holds_the_script() {
        let strange = Path::new("/a\"\"\"\\b\n");

        let script = script(&[("heap", "1".to_owned())], strange, strange, None);

        assert_eq!(script.matches("\"\"\"").count(), 2);
        assert!(!script.contains('\\'));
        assert!(script.contains("'heap': '1'"), "{script}");
    }
}
