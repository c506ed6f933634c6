//! One rule, one test, on every version it concerns.

use tachograph_probe::walk::WalkState;

use crate::fake::{Planned, Thread, layouts};

const COROUTINE: u16 = 0x80;
const GENERATOR_OWNED: u8 = 1;

/// A new thread of every version, with the frames that end its stack.
fn threads() -> impl Iterator<Item = (Thread, Vec<Planned>)> {
    layouts().into_iter().map(|layout| {
        let mut thread = Thread::new(layout);
        let root = thread.root();
        (thread, root)
    })
}

#[test]
fn frames_come_innermost_first() {
    for (mut thread, root) in threads() {
        let (inner, outer) = (thread.plain(), thread.plain());
        thread.stack(&[&[inner, outer], root.as_slice()].concat());

        let (walk, codes) = thread.walk(8);

        assert_eq!(walk.state, WalkState::Complete, "{:?}", thread.layout);
        assert_eq!(codes, [inner.code, outer.code, root[0].code]);
    }
}

#[test]
fn a_frame_that_has_not_begun_is_not_on_the_stack() {
    for (mut thread, root) in threads() {
        let code = thread.code(3, 0);
        let beginning = Planned { code, offset: 4, ..thread.plain() };
        let begun = Planned { code, offset: 6, ..beginning };

        thread.stack(&[&[beginning], root.as_slice()].concat());
        assert_eq!(thread.walk(8).1, [root[0].code]);

        thread.stack(&[&[begun], root.as_slice()].concat());
        assert_eq!(thread.walk(8).1, [code, root[0].code]);
    }
}

#[test]
fn a_generator_has_begun_wherever_it_stands() {
    for (mut thread, root) in threads() {
        let code = thread.code(3, 0);
        let fresh = Planned { code, owner: GENERATOR_OWNED, offset: 0, ..thread.plain() };
        thread.stack(&[&[fresh], root.as_slice()].concat());

        assert_eq!(thread.walk(8).1, [code, root[0].code]);
    }
}

#[test]
fn a_stack_that_ends_with_a_generator_is_not_believed() {
    for (mut thread, _) in threads() {
        let generator = Planned { owner: GENERATOR_OWNED, is_entry: true, ..thread.plain() };
        thread.stack(&[generator]);

        assert_eq!(thread.walk(8).0.state, WalkState::Unreadable, "{:?}", thread.layout);
    }
}

#[test]
fn a_stack_without_a_shim_at_its_end_is_believed_where_greenlet_hides_them() {
    for (mut thread, root) in threads() {
        thread.stack(&root[..1]);

        assert_eq!(thread.walk(8).0.state, WalkState::Complete);
    }
}

#[test]
fn an_owner_that_does_not_exist_is_not_believed() {
    for (mut thread, root) in threads().filter(|(thread, _)| !thread.layout.has_cframes()) {
        let odd = Planned { owner: 9, ..thread.plain() };
        thread.stack(&[&[odd], root.as_slice()].concat());

        assert_eq!(thread.walk(8).0.state, WalkState::Unreadable);
    }
}

#[test]
fn an_instruction_outside_of_the_bytecode_is_not_believed() {
    for (mut thread, root) in threads() {
        for offset in [-4, 1 << 40] {
            let odd = Planned { offset, ..thread.plain() };
            thread.stack(&[&[odd], root.as_slice()].concat());

            assert_eq!(thread.walk(8).0.state, WalkState::Unreadable);
        }
    }
}

#[test]
fn a_stack_that_runs_in_a_circle_ends_as_truncated() {
    for (mut thread, _) in threads() {
        let (inner, outer) = (thread.plain(), thread.plain());
        thread.stack(&[inner, outer]);
        let (first, last) = (thread.frames[0], thread.frames[1]);
        let previous = thread.layout.frame_previous;
        thread.memory.set(last, previous, first);

        let (walk, codes) = thread.walk(4);

        assert!(walk.truncated);
        assert_eq!(codes, [inner.code, outer.code, inner.code, outer.code]);
    }
}

#[test]
fn no_frames_is_empty_not_an_error() {
    for (mut thread, _) in threads() {
        thread.stack(&[]);

        assert_eq!(thread.walk(8).0.state, WalkState::Empty);
    }
}

#[test]
fn the_handle_is_the_first_local_of_whoever_runs_the_outermost_coroutine() {
    for (mut thread, root) in threads() {
        let inner = thread.plain();
        let owner = GENERATOR_OWNED;
        let awaited = Planned { code: thread.code(0, COROUTINE), owner, ..thread.plain() };
        let coroutine = Planned { code: thread.code(0, COROUTINE), owner, ..thread.plain() };
        let runner = Planned { first_local: 0x7f00_0000_1110, ..thread.plain() };
        let generator = Planned { owner, ..thread.plain() };
        let mut root = root;
        root[0].first_local = 0x7f00_0000_2220;
        let around = [inner, awaited, coroutine, runner, generator];
        thread.stack(&[around.as_slice(), root.as_slice()].concat());

        let (walk, _) = thread.walk(16);

        assert_eq!(walk.coroutine_handle, 0x7f00_0000_1110);
        assert_eq!(walk.thread_object, 0x7f00_0000_2220);
    }
}

#[test]
fn a_private_copy_of_the_bytecode_counts_like_the_original() {
    for (mut thread, root) in threads().filter(|(thread, _)| thread.layout.has_bytecode_copies()) {
        let code = thread.code(0, 0);
        let (copies, copy) = (thread.room(64), thread.room(256));
        let layout = thread.layout;
        thread.memory.set(code, layout.code_copies, copies);
        thread.memory.set(copies, 0, 2);
        thread.memory.set(copies, 8, thread.bytecode(code));
        thread.memory.set(copies, 16, copy);
        let planned = Planned { code, ..thread.plain() };
        thread.stack(&[&[planned], root.as_slice()].concat());
        let frame = thread.frames[0];
        thread.memory.set(frame, layout.frame_instruction, copy + 6);

        for named in [1, 0, 77] {
            thread.memory.set_bytes(frame, layout.frame_copy_index, &[named, 0, 0, 0]);
            let mut out = [tachograph_probe::walk::RawFrame::default(); 8];
            tachograph_probe::walk::walk(&thread.memory, &layout, thread.tstate, false, &mut out);
            assert_eq!((out[0].code_address(), out[0].offset()), (code, 6), "named {named}");
        }
    }
}

/// Threads of the versions whose eval loop publishes its C frame too early.
fn early_publishers() -> impl Iterator<Item = (Thread, Vec<Planned>)> {
    threads().filter(|(thread, _)| thread.layout.has_cframes())
}

#[test]
fn a_c_frame_that_is_not_filled_in_yet_leaves_the_stack_of_its_caller() {
    for (mut thread, root) in early_publishers() {
        let (inner, outer) = (thread.plain(), thread.plain());
        thread.stack(&[&[inner, outer], root.as_slice()].concat());
        let layout = thread.layout;
        let fresh = thread.room(64);
        thread.memory.set(thread.tstate, layout.thread_frame, fresh);

        for left_over in [0, 3, thread.frames[1], inner.code, u64::MAX] {
            thread.memory.set(fresh, layout.cframe_frame, left_over);
            thread.memory.set(fresh, layout.cframe_previous, left_over);
            let (walk, codes) = thread.walk(8);

            assert_eq!(walk.state, WalkState::Complete, "{left_over:x}");
            assert_eq!(codes, [inner.code, outer.code, root[0].code], "{left_over:x}");
        }
    }
}

#[test]
fn a_frame_pushed_for_a_call_in_the_making_is_passed_over() {
    for (mut thread, root) in early_publishers() {
        let code = thread.code(2, 0);
        let pushed = Planned { code, offset: -2, ..thread.plain() };
        let inner = thread.plain();
        thread.stack(&[&[pushed, inner], root.as_slice()].concat());
        let fresh = thread.room(64);
        thread.memory.set(thread.tstate, thread.layout.thread_frame, fresh);
        thread.memory.set(thread.frames[0], thread.layout.frame_previous, 24);

        assert_eq!(thread.walk(8).1, [inner.code, root[0].code]);
    }
}

#[test]
fn a_generator_taken_off_the_chain_leaves_the_stack_of_its_caller() {
    for (mut thread, root) in early_publishers().filter(|(thread, _)| thread.layout.has_shims()) {
        let generator = Planned { owner: GENERATOR_OWNED, ..thread.plain() };
        let caller = thread.plain();
        thread.stack(&[&[generator, caller], root.as_slice()].concat());
        thread.memory.set(thread.frames[0], thread.layout.frame_previous, 0);

        assert_eq!(thread.walk(8).1, [caller.code, root[0].code]);
    }
}

#[test]
fn what_an_empty_loop_says_of_its_caller_must_fit_the_data_stack() {
    for (mut thread, root) in early_publishers().filter(|(thread, _)| thread.layout.has_shims()) {
        let (inner, outer) = (thread.plain(), thread.plain());
        thread.stack(&[&[inner, outer], root.as_slice()].concat());
        let layout = thread.layout;
        let (fresh, around) = (thread.room(64), thread.room(64));
        let shim = thread.room(256);
        let left_over = thread.frames[1];
        thread.memory.set_bytes(shim, layout.frame_owner, &[3]);
        thread.memory.set(shim, layout.frame_previous, left_over);
        thread.memory.set(fresh, layout.cframe_frame, shim);
        thread.memory.set(fresh, layout.cframe_previous, around);
        thread.memory.set(around, layout.cframe_frame, left_over);
        thread.memory.set(thread.tstate, layout.thread_frame, fresh);

        assert_eq!(thread.walk(8).1, [inner.code, outer.code, root[0].code]);
    }
}
