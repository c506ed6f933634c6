//! `attach --heap`: the recorder goes into the process.
//!
//! The interpreter runs a script of ours through the hook it has for debuggers.
//! The script opens the recording and a line to us, a socket; the recording is
//! closed inside when we say so or are gone, by a thread that needs no Python.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tachograph_capture::attach::{Hook, Target};

use super::script::script;
use crate::failure::{Failure, without_number};
use crate::outside::Interrupt;

/// A main thread that has not looked after this long waits in native code.
const PATIENCE: Duration = Duration::from_secs(5);

/// What imports and opens a recording, or writes its end, has no more time.
const LONGEST: Duration = Duration::from_secs(30);

/// Between two looks at a process that is silent.
const PAUSE: Duration = Duration::from_millis(10);

/// A recorder that runs inside of a process.
#[derive(Debug)]
pub(super) struct Inside {
    target: Target,
    line: UnixStream,
    _room: Room,
}

impl Inside {
    /// Starts the recorder in `target`. `home` is the folder that holds our own
    /// package, for a process without one.
    pub(super) fn start(
        target: Target,
        wishes: &[(&str, String)],
        output: &Path,
        home: Option<&Path>,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let hook = target.hook().map_err(|error| Failure::from_error(&error))?;
        refuse_other_root(target.pid)?;
        let room = Room::new(target.pid).map_err(|error| no_room(&error))?;
        let socket = room.0.join("line");
        let listener = UnixListener::bind(&socket).map_err(|error| no_room(&error))?;
        listener.set_nonblocking(true).map_err(|error| no_room(&error))?;
        let path = room.0.join("start.py");
        fs::write(&path, script(wishes, output, &socket, home)).map_err(|error| no_room(&error))?;
        room.give_to(target.pid, &[&socket, &path]).map_err(|error| no_room(&error))?;
        hook.run(&path).map_err(|error| Failure::from_error(&error))?;
        let line = wait_for_line(&listener, &hook, &target, interrupt)?;
        let mut inside = Self { target, line, _room: room };
        match inside.answer()? {
            Ok(()) => Ok(inside),
            Err(why) => Err(cannot_record(inside.target.pid, &why)),
        }
    }

    /// What has become of the process, if it is not here any more.
    pub(super) fn absence(&self) -> Option<Failure> {
        self.target.absence().map(|error| Failure::from_error(&error))
    }

    /// Closes the recording.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.line.write_all(b"end\n").is_err()
            && let Some(failure) = self.absence()
        {
            return Err(failure);
        }
        let pid = self.target.pid;
        self.answer()?.map_err(|why| {
            Failure::failed(
                format!("the recording of process {pid} is not complete: {why}"),
                "choose a place with more room with -o",
            )
        })
    }

    /// Waits for what the process says: that it was done, or why not.
    fn answer(&mut self) -> Result<Result<(), String>, Failure> {
        let begun = Instant::now();
        let lost = |error: io::Error| silent(self.target.pid, &error);
        self.line.set_nonblocking(false).map_err(lost)?;
        self.line.set_read_timeout(Some(PAUSE * 10)).map_err(lost)?;
        let mut lines = BufReader::new(&self.line);
        let mut said = String::new();
        loop {
            match lines.read_line(&mut said) {
                Ok(_) => break,
                Err(error) if is_later(&error) && begun.elapsed() < LONGEST => {
                    if let Some(failure) = self.absence() {
                        return Err(failure);
                    }
                }
                Err(error) => return Err(lost(error)),
            }
        }
        let said = said.trim_end();
        match (said, said.strip_prefix("failed ")) {
            ("", _) => Err(self.absence().unwrap_or_else(|| lost(ErrorKind::UnexpectedEof.into()))),
            (_, Some(why)) => Ok(Err(why.to_owned())),
            _ => Ok(Ok(())),
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Waits until the script calls us.
fn wait_for_line(
    listener: &UnixListener,
    hook: &Hook,
    target: &Target,
    interrupt: &Interrupt,
) -> Result<UnixStream, Failure> {
    let begun = Instant::now();
    loop {
        match listener.accept() {
            Ok((line, _)) => return Ok(line),
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(no_room(&error)),
        }
        if let Some(error) = target.absence() {
            return Err(Failure::from_error(&error));
        }
        let (passed, is_waiting) = (begun.elapsed(), hook.is_waiting());
        if interrupt.came() || passed > LONGEST || is_waiting && passed > PATIENCE {
            hook.take_back();
            return Err(never_came(target.pid, is_waiting, interrupt.came()));
        }
        std::thread::sleep(PAUSE);
    }
}

fn never_came(pid: i32, is_waiting: bool, is_interrupted: bool) -> Failure {
    let remedy = "repeat it while Python code runs there, or leave --heap out: that needs none";
    let what = match (is_interrupted, is_waiting) {
        (true, _) => format!("the recorder was not started in process {pid}: interrupted"),
        (_, true) => format!(
            "the main thread of process {pid} ran no Python code for {} seconds, so the recorder \
             could not be started there",
            PATIENCE.as_secs()
        ),
        (_, false) => format!("process {pid} began to load the recorder and said no more"),
    };
    Failure::failed(what, remedy)
}

fn cannot_record(pid: i32, why: &str) -> Failure {
    match why.split_once("; ") {
        Some((what, remedy)) => {
            Failure::failed(format!("process {pid} cannot be recorded: {what}"), remedy)
        }
        None => Failure::failed(
            format!("process {pid} cannot load tachograph: {why}"),
            format!(
                "install this version for its interpreter: \
                 /proc/{pid}/exe -m pip install tachograph=={}",
                env!("CARGO_PKG_VERSION")
            ),
        ),
    }
}

fn silent(pid: i32, error: &io::Error) -> Failure {
    Failure::failed(
        format!("process {pid} does not answer: {}", without_number(&error.to_string())),
        "its recording is complete up to the last second",
    )
}

fn no_room(error: &io::Error) -> Failure {
    Failure::failed(
        format!("cannot talk to the process: {}", without_number(&error.to_string())),
        "set TMPDIR to a folder that both can use",
    )
}

/// A process in a container has other files under the same names.
fn refuse_other_root(pid: i32) -> Result<(), Failure> {
    let root = |path: String| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let space = |who: &str| fs::read_link(format!("/proc/{who}/ns/mnt")).ok();
    if root(format!("/proc/{pid}/root/")) == root("/".to_owned())
        && space(&pid.to_string()) == space("self")
    {
        return Ok(());
    }
    Err(Failure::failed(
        format!("process {pid} is in a container or has another root, where our files are not"),
        "run tachograph attach --heap in there, or leave --heap out",
    ))
}

/// A folder for the script and the socket, gone at the end.
#[derive(Debug)]
struct Room(PathBuf);

impl Room {
    fn new(pid: i32) -> io::Result<Self> {
        let name = format!("tachograph-{pid}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// The process may belong to another user than root, who we are then.
    fn give_to(&self, pid: i32, files: &[&Path]) -> io::Result<()> {
        let (owner, own) = (fs::metadata(format!("/proc/{pid}"))?, fs::metadata(&self.0)?);
        if (owner.uid(), owner.gid()) == (own.uid(), own.gid()) {
            return Ok(());
        }
        for path in files.iter().copied().chain([self.0.as_path()]) {
            chown(path, Some(owner.uid()), Some(owner.gid()))?;
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
