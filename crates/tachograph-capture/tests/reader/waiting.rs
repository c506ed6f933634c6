//! Threads that wait: every frame, name and task as the program states it.

use tachograph_probe::names::{TaskName, task_of_handle, thread_name};
use tachograph_probe::walk::{EntryKind, WalkState};

use crate::target::{Target, interpreters};

const ROOM: usize = 512;

fn for_every_interpreter(check: impl Fn(&mut Target)) {
    for python in interpreters() {
        let mut target = Target::start(&python, "waiting_stacks.py");
        check(&mut target);
    }
}

#[test]
fn every_frame_and_line_is_the_one_the_program_states() {
    for_every_interpreter(|target| {
        for thread in target.threads.clone() {
            let (walk, entries) = target.walk(thread.native_id, false, ROOM);

            assert_eq!((walk.state, walk.truncated), (WalkState::Complete, false), "{walk:?}");
            let version = target.interpreter.version;
            assert_eq!(target.frames(&entries), thread.frames, "{version} {}", thread.name);
        }
    });
}

#[test]
fn a_deep_stack_keeps_its_inner_frames_and_says_it_was_cut() {
    for_every_interpreter(|target| {
        let deep = target.threads.iter().find(|thread| thread.name == "deep").unwrap().clone();

        let (walk, entries) = target.walk(deep.native_id, false, 40);

        assert!(walk.truncated);
        assert_eq!(target.frames(&entries), deep.frames[..40]);
        assert_ne!(walk.thread_object, 0);
    });
}

#[test]
fn boundaries_close_every_eval_loop_and_change_no_frame() {
    for_every_interpreter(|target| {
        for thread in target.threads.clone() {
            let (_, entries) = target.walk(thread.native_id, true, ROOM);

            assert_eq!(target.frames(&entries), thread.frames);
            let markers: Vec<u64> = entries
                .iter()
                .filter(|entry| entry.kind() == EntryKind::Boundary)
                .map(|entry| entry.marker())
                .collect();
            let loops = if thread.name == "größer" { 3 } else { 1 };
            assert!(markers.len() >= loops, "{}: {markers:x?}", thread.name);
            assert!(markers.is_sorted(), "outer C frames are higher: {markers:x?}");
            assert_eq!(entries.last().unwrap().kind(), EntryKind::Boundary);
        }
    });
}

#[test]
fn a_thread_is_called_what_it_calls_itself() {
    for_every_interpreter(|target| {
        for thread in &target.threads {
            let (walk, _) = target.walk(thread.native_id, false, ROOM);

            let name =
                thread_name(&target.memory(), &target.interpreter.layout, walk.thread_object);

            let version = target.interpreter.version;
            let name = name.unwrap_or_else(|| panic!("{version}: no name for {}", thread.name));
            let kept: String = thread.name.chars().take(64).collect();
            assert_eq!(name.as_str(), kept, "{version}");
        }
    });
}

#[test]
fn a_task_is_called_what_it_calls_itself() {
    for_every_interpreter(|target| {
        for thread in &target.threads {
            let (walk, _) = target.walk(thread.native_id, false, ROOM);

            let handle = walk.coroutine_handle;
            let task = task_of_handle(&target.memory(), &target.interpreter.layout, handle);

            let version = target.interpreter.version;
            match (thread.task.as_str(), task.map(|task| task.name)) {
                ("-", None) => {}
                // Asking a task for its number would turn it into text.
                ("?", Some(TaskName::Number(number))) if version.minor() >= 12 => {
                    assert!((1..1000).contains(&number), "{version}: Task-{number}");
                }
                ("?", Some(TaskName::Text(name))) => {
                    assert!(version.minor() < 12 && name.as_str().starts_with("Task-"), "{name:?}");
                }
                (expected, Some(TaskName::Text(name))) => assert_eq!(name.as_str(), expected),
                (expected, found) => panic!("{version}: {found:?} instead of {expected:?}"),
            }
        }
    });
}
