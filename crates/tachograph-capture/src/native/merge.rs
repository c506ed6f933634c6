//! Puts the native and the Python frames of one sample into one stack.
//!
//! One native frame, the eval loop, runs one *segment* of Python frames. Which
//! native frames are eval loops is known by stack address: each loop keeps an
//! object of its own in its C frame, and the walker of the Python stack passes
//! those objects. No symbol is needed, so it works on stripped interpreters.
//!
//! Everything is innermost first. The eval loop's own frame is never shown; its
//! segment stands in its place.

use std::cmp::Ordering;

use super::Role;

/// What the merge needs to know of a native frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativePlace {
    /// The frame is an eval loop: it holds an object the Python walker passed.
    pub boundary: bool,
    /// What it is to a reader.
    pub role: Role,
}

/// One frame of the merged stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The native frame with this index.
    Native(usize),
    /// The Python frame with this index, counted through all segments.
    Python(usize),
}

/// How well eval loops and segments fitted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Every loop has its segment.
    Exact,
    /// More loops than segments.
    ///
    /// One too many is a loop that was just entered or is about to leave, so the
    /// innermost loop is the one without frames. More mean that the Python walk
    /// ended early; then loops and segments are paired from the innermost on.
    SpareLoops,
    /// More segments than loops.
    ///
    /// Empty segments go first: a loop that is being entered can be seen twice.
    /// If the native stack reaches its start, the loops that are missing are the
    /// innermost ones, not yet or no longer there, and their segments stand
    /// innermost. If it was cut, they stand at the root.
    SpareSegments,
}

/// Merges `native` frames with `segments`, the numbers of Python frames per eval
/// loop, into `out`; all innermost first. A segment may have no frame.
///
/// Shown are: all Python frames; frames of other objects everywhere; functions
/// of the interpreter only inside the innermost loop and only if their name says
/// something; the start of the program or thread never, unless there is nothing
/// else.
///
/// ```
/// use tachograph_capture::native::{Alignment, NativePlace, Place, Role, merge};
///
/// // deflate, called by an eval loop that runs two Python frames, in `main`.
/// let native = [
///     NativePlace { boundary: false, role: Role::Foreign },
///     NativePlace { boundary: true, role: Role::Plumbing },
///     NativePlace { boundary: false, role: Role::Startup },
/// ];
/// let mut stack = Vec::new();
///
/// assert_eq!(merge(&native, &[2], &mut stack), Alignment::Exact);
/// assert_eq!(stack, [Place::Native(0), Place::Python(0), Place::Python(1)]);
/// ```
pub fn merge(native: &[NativePlace], segments: &[usize], out: &mut Vec<Place>) -> Alignment {
    out.clear();
    let loops = native.iter().filter(|frame| frame.boundary).count();
    let mut spare_loops = usize::from(loops == segments.len() + 1);
    let mut spare_segments = segments.len().saturating_sub(loops);
    let mut next = 0;
    let mut segments_left = segments
        .iter()
        .filter(|count| {
            let is_dropped = **count == 0 && spare_segments > 0;
            spare_segments -= usize::from(is_dropped);
            !is_dropped
        })
        .map(|count| {
            let first = next;
            next += count;
            (first..next).map(Place::Python)
        })
        .collect::<Vec<_>>()
        .into_iter();
    let is_whole = native.last().is_some_and(|frame| frame.role == Role::Startup);
    if loops > 0 && is_whole {
        let missing = segments_left.len().saturating_sub(loops);
        out.extend(segments_left.by_ref().take(missing).flatten());
    }
    let mut passed = 0;
    for (index, frame) in native.iter().enumerate() {
        if !frame.boundary {
            if is_shown(frame.role, Part::of(passed, loops)) {
                out.push(Place::Native(index));
            }
            continue;
        }
        passed += 1;
        if spare_loops > 0 {
            spare_loops -= 1;
        } else if let Some(segment) = segments_left.next() {
            out.extend(segment);
        }
    }
    out.extend(segments_left.flatten());
    if out.is_empty() {
        out.extend((0..native.len()).map(Place::Native));
    }
    match loops.cmp(&segments.len()) {
        Ordering::Equal => Alignment::Exact,
        Ordering::Greater => Alignment::SpareLoops,
        Ordering::Less => Alignment::SpareSegments,
    }
}

/// Where a native frame stands among the eval loops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Called by the innermost loop.
    Innermost,
    /// Between two loops.
    Between,
    /// Below the outermost loop.
    Root,
    /// On a stack without any loop.
    Alone,
}

impl Part {
    fn of(passed: usize, loops: usize) -> Self {
        match passed {
            0 if loops == 0 => Self::Alone,
            0 => Self::Innermost,
            passed if passed == loops => Self::Root,
            _ => Self::Between,
        }
    }
}

fn is_shown(role: Role, part: Part) -> bool {
    match role {
        Role::Foreign => true,
        Role::Telling => matches!(part, Part::Innermost | Part::Alone),
        Role::Plumbing => false,
        Role::Startup => matches!(part, Part::Innermost | Part::Between),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A native stack from letters: Foreign, Telling, Plumbing, Startup, eval Loop.
    fn native(letters: &str) -> Vec<NativePlace> {
        let frame = |letter| NativePlace {
            boundary: letter == 'L',
            role: match letter {
                'F' => Role::Foreign,
                'T' => Role::Telling,
                'S' => Role::Startup,
                _ => Role::Plumbing,
            },
        };
        letters.chars().map(frame).collect()
    }

    /// The merged stack as text: the place of native frames, the letter of
    /// Python ones. `|` closes a segment.
    fn merged(native_letters: &str, python_letters: &str) -> (String, Alignment) {
        let segments = python_letters.split_inclusive('|');
        let segments: Vec<usize> = segments.map(|part| part.trim_end_matches('|').len()).collect();
        let python: Vec<char> = python_letters.chars().filter(|letter| *letter != '|').collect();
        let mut out = vec![Place::Native(99)];

        let alignment = merge(&native(native_letters), &segments, &mut out);

        let letter = |place| match place {
            Place::Native(index) => char::from_digit(index as u32, 36).unwrap(),
            Place::Python(index) => python[index],
        };
        (out.into_iter().map(letter).collect(), alignment)
    }

    #[test]
    fn a_callback_from_c_stands_between_the_python_frames_it_joins() {
        // A lambda in a loop, called by qsort and its glue, called by f and g.
        let (stack, alignment) = merged("LPFFPLPS", "l|fg|");

        assert_eq!((stack.as_str(), alignment), ("l23fg", Alignment::Exact));
    }

    #[test]
    fn work_of_the_interpreter_shows_in_the_innermost_loop_only() {
        assert_eq!(merged("TPLTL", "a|b|").0, "0ab");
    }

    #[test]
    fn the_start_of_the_program_is_hidden_below_python_but_not_inside_it() {
        assert_eq!(merged("SLFS", "a|").0, "0a2");
    }

    #[test]
    fn a_thread_without_python_keeps_what_it_does() {
        assert_eq!(merged("FFS", "").0, "01");
        assert_eq!(merged("S", "").0, "0", "an empty stack says nothing");
    }

    #[test]
    fn a_loop_just_entered_has_no_frames_yet() {
        let (stack, alignment) = merged("LPFLS", "ab|");

        assert_eq!((stack.as_str(), alignment), ("2ab", Alignment::SpareLoops));
    }

    #[test]
    fn an_empty_segment_takes_its_loop() {
        let (stack, alignment) = merged("LFL", "|a|");

        assert_eq!((stack.as_str(), alignment), ("1a", Alignment::Exact));
    }

    #[test]
    fn segments_beyond_a_cut_native_stack_stand_at_the_root() {
        let (stack, alignment) = merged("FLF", "a|bc|");

        assert_eq!((stack.as_str(), alignment), ("0a2bc", Alignment::SpareSegments));
    }

    #[test]
    fn a_segment_whose_loop_has_not_begun_stands_innermost() {
        // The lambda's frame exists, its loop does not: sqlite called it from f.
        let (stack, alignment) = merged("PFFPLPS", "l|f|");

        assert_eq!((stack.as_str(), alignment), ("l12f", Alignment::SpareSegments));
    }

    #[test]
    fn a_loop_that_was_seen_twice_takes_one_segment() {
        let (stack, alignment) = merged("LPFFPLPS", "|l|fg|");

        assert_eq!((stack.as_str(), alignment), ("l23fg", Alignment::SpareSegments));
    }

    #[test]
    fn a_python_walk_that_was_cut_pairs_from_the_innermost() {
        let (stack, alignment) = merged("FLFLFL", "ab");

        assert_eq!((stack.as_str(), alignment), ("0ab24", Alignment::SpareLoops));
    }

    #[test]
    fn no_native_frames_leave_the_python_stack_alone() {
        assert_eq!(merged("", "ab|c|").0, "abc");
        assert_eq!(merged("", "").0, "");
    }

    #[test]
    fn every_python_frame_appears_once_and_in_order_whatever_the_loops() {
        let mut state = 1u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) % below) as usize
        };
        for _ in 0..2_000 {
            let natives: String =
                (0..random(12)).map(|_| ['F', 'T', 'P', 'S', 'L'][random(5)]).collect();
            let mut walked: String =
                (0..random(9)).map(|_| ['|', 'x', 'y', 'z'][random(4)]).collect();

            let (stack, _) = merged(&natives, &walked);

            walked.retain(|letter| letter != '|');
            let shown: String = stack.chars().filter(|letter| "xyz".contains(*letter)).collect();
            assert_eq!(shown, walked, "{natives} {walked}");
        }
    }
}
