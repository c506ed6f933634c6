//! A Python program that says where it stands, stopped to be read.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tachograph_capture::python::{CodeCache, Interpreter, ProcessMemory, thread_states};
use tachograph_probe::walk::{EntryKind, RawFrame, Walk, walk};

/// The interpreters to test.
pub(crate) fn interpreters() -> Vec<PathBuf> {
    match std::env::var_os("TACHOGRAPH_TEST_PYTHONS") {
        Some(list) if !list.is_empty() => std::env::split_paths(&list).collect(),
        _ => vec![PathBuf::from("python3")],
    }
}

/// Where the target programs are.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/targets").join(name)
}

/// A frame as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// What a target says of one of its threads.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) native_id: i32,
    pub(crate) name: String,
    pub(crate) task: String,
    pub(crate) frames: Vec<Frame>,
}

/// A running target.
pub(crate) struct Target {
    child: Child,
    /// The target runs until this is closed.
    _input: ChildStdin,
    _output: BufReader<ChildStdout>,
    pub(crate) interpreter: Interpreter,
    pub(crate) threads: Vec<Thread>,
    cache: CodeCache,
}

impl Target {
    /// Starts `program` under `python` and waits until it says it is ready.
    pub(crate) fn start(python: &Path, program: &str) -> Self {
        let mut child = Command::new(python)
            .arg(source(program))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", python.display()));
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let pid = i32::try_from(child.id()).unwrap();
        let mut interpreter = None;
        let mut threads: Vec<Thread> = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "{} ended", python.display());
            match line.trim_end().split('\t').collect::<Vec<_>>().as_slice() {
                ["runtime", address, version] => {
                    let (address, version) = (address.parse().unwrap(), version.parse().unwrap());
                    let memory = ProcessMemory::of(pid);
                    interpreter = Some(Interpreter::at(&memory, address, version).unwrap());
                }
                ["thread", native_id, name, task] => threads.push(Thread {
                    native_id: native_id.parse().unwrap(),
                    name: (*name).to_owned(),
                    task: (*task).to_owned(),
                    frames: Vec::new(),
                }),
                ["frame", function, file, line] => threads.last_mut().unwrap().frames.push(Frame {
                    function: (*function).to_owned(),
                    file: (*file).to_owned(),
                    line: line.parse().unwrap(),
                }),
                ["ready"] => break,
                other => panic!("the target says {other:?}"),
            }
        }
        let interpreter = interpreter.expect("the target states its runtime");
        let cache = CodeCache::default();
        Self { child, _input: input, _output: output, interpreter, threads, cache }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn memory(&self) -> ProcessMemory {
        ProcessMemory::of(self.pid())
    }

    /// Walks the thread with this native id.
    pub(crate) fn walk(
        &self,
        native_id: i32,
        boundaries: bool,
        room: usize,
    ) -> (Walk, Vec<RawFrame>) {
        let memory = self.memory();
        let layout = &self.interpreter.layout;
        let states = thread_states(&memory, layout, self.interpreter.runtime);
        let state = states.iter().find(|state| state.native_id == native_id);
        let state = state.unwrap_or_else(|| panic!("no thread {native_id} in {states:?}"));
        let mut entries = vec![RawFrame::default(); room];
        let walk = walk(&memory, layout, state.address, boundaries, &mut entries);
        entries.truncate(walk.depth);
        (walk, entries)
    }

    /// The Python frames among `entries`, with their names.
    pub(crate) fn frames(&mut self, entries: &[RawFrame]) -> Vec<Frame> {
        let memory = self.memory();
        let layout = self.interpreter.layout;
        let python = entries.iter().filter(|entry| entry.kind() == EntryKind::Python);
        python
            .map(|entry| {
                let (code, print) = (entry.code_address(), entry.fingerprint());
                let info = self.cache.resolve(&memory, &layout, code, print, 0);
                let info = info.unwrap_or_else(|| panic!("no code object for {entry:?}"));
                Frame {
                    function: info.qualname.clone(),
                    file: info.filename.clone(),
                    line: info.line(entry.offset()),
                }
            })
            .collect()
    }

    /// The threads of the target as the kernel lists them, with what they do.
    pub(crate) fn states(&self) -> Vec<char> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let stats = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("stat")));
        let letter = |stat: String| stat.rsplit_once(") ")?.1.chars().next();
        stats.filter_map(|stat| letter(stat.ok()?)).collect()
    }

    /// Waits until every thread of the target is stopped.
    pub(crate) fn wait_until_stopped(&self) {
        while self.states().iter().any(|&state| state != 'T') {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
