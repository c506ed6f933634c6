//! Collapsed stacks: one line per distinct stack, for flame graph scripts.
//!
//! `root (file:line);…;leaf (file:line) weight`. Lines are sorted, so two
//! exports of one profile are equal byte by byte. The last line has no line
//! end, and a profile without stacks is an empty text.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::analyze::{frame_name, stacks};
use crate::{Frame, FrameKind, Measure, Profile, StackId};

/// The stacks of all threads of `profile`, equal ones added up.
///
/// Native frames carry the prefix `[native] ` and no place; a frame without a
/// file or a line has no parentheses. A `;` in a name becomes `:` and a control
/// character a space, because both would tear the line apart.
///
/// ```
/// use tachograph_profile::{Measure, Profile, export::collapsed};
///
/// let profile = Profile::from_stacks(&[
///     (0, 30, &[("main", "train.py", 12), ("load", "data.py", 7)]),
///     (30, 10, &[("main", "train.py", 12), ("load", "data.py", 7)]),
/// ]);
/// assert_eq!(
///     collapsed(&profile, Measure::Samples),
///     "main (train.py:12);load (data.py:7) 2",
/// );
/// ```
#[must_use]
pub fn collapsed(profile: &Profile, measure: Measure) -> String {
    let names: Vec<String> =
        profile.tables.frames.iter().map(|frame| frame_text(profile, frame)).collect();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for row in stacks(profile, measure) {
        let line = stack_text(profile, &names, row.stack);
        if !line.is_empty() {
            let weight = lines.entry(line).or_default();
            *weight = weight.saturating_add(row.weight);
        }
    }
    let mut text = String::new();
    for (line, weight) in lines {
        let separator = if text.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{line} {weight}");
    }
    text
}

fn stack_text(profile: &Profile, names: &[String], stack: StackId) -> String {
    let mut frames = Vec::new();
    let mut next = Some(stack);
    while let Some(node) = next.and_then(|id| profile.tables.stacks.get(id.index())) {
        frames.extend(names.get(node.frame.index()));
        next = node.caller.filter(|caller| next.is_some_and(|own| *caller < own));
    }
    let mut line = String::with_capacity(frames.iter().map(|name| name.len() + 1).sum());
    for name in frames.into_iter().rev() {
        if !line.is_empty() {
            line.push(';');
        }
        line.push_str(name);
    }
    line
}

fn frame_text(profile: &Profile, frame: &Frame) -> String {
    let mut text = String::new();
    if frame.kind == FrameKind::Native {
        text.push_str("[native] ");
    }
    push_safe(&mut text, &frame_name(profile, frame));
    let file = profile.text(frame.file);
    if frame.kind != FrameKind::Native && !file.is_empty() && frame.line > 0 {
        text.push_str(" (");
        push_safe(&mut text, file);
        let _ = write!(text, ":{})", frame.line);
    }
    text
}

fn push_safe(text: &mut String, name: &str) {
    text.extend(name.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_tear_a_line_apart() {
        let profile = Profile::from_stacks(&[(0, 1, &[("a;b\nc", "x;y.py", 3)])]);

        assert_eq!(collapsed(&profile, Measure::Samples), "a:b c (x:y.py:3) 1");
    }

    #[test]
    fn native_frames_are_marked_and_frames_without_a_file_are_bare() {
        let mut profile = Profile::from_stacks(&[(
            0,
            1,
            &[("main", "a.py", 3), ("<idle>", "", 0), ("adler32", "libz.so.1", 0)],
        )]);
        profile.tables.frames[1].kind = FrameKind::Label;
        profile.tables.frames[2].kind = FrameKind::Native;

        let text = collapsed(&profile, Measure::Samples);

        assert_eq!(text, "main (a.py:3);<idle>;[native] adler32 1");
    }

    #[test]
    fn lines_are_sorted_and_weights_follow_the_measure() {
        let profile = Profile::from_stacks(&[
            (0, 30, &[("z", "a.py", 1)]),
            (30, 20, &[("a", "a.py", 2)]),
            (50, 1, &[("z", "a.py", 1)]),
        ]);

        assert_eq!(collapsed(&profile, Measure::CpuTime), "a (a.py:2) 20\nz (a.py:1) 31");
    }

    #[test]
    fn a_profile_without_samples_is_an_empty_text() {
        assert_eq!(collapsed(&Profile::default(), Measure::Samples), "");
    }
}
