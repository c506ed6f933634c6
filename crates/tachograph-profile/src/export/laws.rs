//! What must hold for every profile: no weight appears or disappears between
//! a profile and its tables, pictures and exports.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::{Format, Style, collapsed, export, speedscope, summary};
use crate::analyze::{flame_boxes, functions, lines, stacks, threads, tree};
use crate::{FrameKind, Measure, Profile, ThreadState};

const MEASURES: [Measure; 3] = [Measure::CpuTime, Measure::WallTime, Measure::Samples];

/// Profiles with few names, so that recursion and equal frames are common.
fn profiles() -> impl Strategy<Value = Profile> {
    let frame = (0..6usize, 0..3usize, 0..4u32);
    let sample = (0..1000u64, 0..50u64, vec(frame, 1..8), 0..5usize, any::<bool>());
    (vec(sample, 0..40), vec(0..4usize, 24)).prop_map(|(rows, kinds)| {
        const NAMES: [&str; 6] = ["main", "load", "a;b", "\"q\"\n", "", "<module>"];
        const FILES: [&str; 3] = ["/job/a.py", "/py/b.py", ""];
        let stacks: Vec<_> = rows
            .iter()
            .map(|(time, weight, frames, _, _)| {
                let frames: Vec<_> = frames
                    .iter()
                    .map(|(name, file, line)| (NAMES[*name], FILES[*file], *line))
                    .collect();
                (*time, *weight, frames)
            })
            .collect();
        let stacks: Vec<_> = stacks
            .iter()
            .map(|(time, weight, frames)| (*time, *weight, frames.as_slice()))
            .collect();
        let mut profile = Profile::from_stacks(&stacks);
        let states = [
            ThreadState::Running,
            ThreadState::RunningWithGil,
            ThreadState::WaitingForGil,
            ThreadState::Idle,
            ThreadState::Unknown,
        ];
        for (sample, (_, _, _, state, on_cpu)) in profile.samples.iter_mut().zip(&rows) {
            sample.state = states[*state];
            if !on_cpu {
                sample.cpu_ns = 0;
            }
        }
        let all = [FrameKind::Python, FrameKind::Native, FrameKind::Kernel, FrameKind::Label];
        for (frame, kind) in profile.tables.frames.iter_mut().zip(kinds) {
            frame.kind = all[kind];
        }
        profile
    })
}

fn whole(profile: &Profile, measure: Measure) -> u64 {
    profile.weights(measure).map(|w| w.weight).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn self_weights_of_functions_add_up_to_the_whole(profile in profiles()) {
        for measure in MEASURES {
            let whole = whole(&profile, measure);
            let rows = functions(&profile, measure);
            prop_assert_eq!(rows.iter().map(|r| r.self_weight).sum::<u64>(), whole);
            prop_assert!(rows.iter().all(|r| r.self_weight <= r.total_weight));
            prop_assert!(rows.iter().all(|r| r.total_weight <= whole));
        }
    }

    #[test]
    fn lines_never_weigh_more_than_the_whole(profile in profiles()) {
        for measure in MEASURES {
            let with_line: u64 = profile
                .weights(measure)
                .filter(|w| {
                    let mut frames = profile.frames_of(w.stack);
                    frames.any(|f| f.kind == FrameKind::Python && f.line > 0)
                })
                .map(|w| w.weight)
                .sum();
            let rows = lines(&profile, measure);
            prop_assert_eq!(rows.iter().map(|r| r.self_weight).sum::<u64>(), with_line);
            prop_assert!(rows.iter().all(|r| r.self_weight <= r.total_weight));
            prop_assert!(rows.iter().all(|r| r.total_weight <= with_line));
        }
    }

    #[test]
    fn stacks_threads_and_trees_keep_the_whole(profile in profiles()) {
        for measure in MEASURES {
            let whole = whole(&profile, measure);
            let rows = stacks(&profile, measure);
            prop_assert_eq!(rows.iter().map(|r| r.weight).sum::<u64>(), whole);
            let tree = tree(&profile, measure);
            prop_assert_eq!(tree.nodes[0].total_weight, whole);
            prop_assert_eq!(tree.nodes.iter().map(|n| n.self_weight).sum::<u64>(), whole);
            for shown in flame_boxes(&tree, 3) {
                prop_assert!(shown.start + shown.weight <= whole);
            }
        }
        let cpu: u64 = threads(&profile).iter().map(|row| row.cpu_ns).sum();
        prop_assert_eq!(cpu, whole(&profile, Measure::CpuTime));
    }

    #[test]
    fn boxes_of_a_row_do_not_overlap(profile in profiles(), narrowest in 0..30u64) {
        let tree = tree(&profile, Measure::CpuTime);
        let mut boxes = flame_boxes(&tree, narrowest);
        boxes.sort_by_key(|b| (b.depth, b.start));
        for pair in boxes.windows(2) {
            let apart = pair[0].start + pair[0].weight <= pair[1].start;
            prop_assert!(pair[0].depth != pair[1].depth || apart);
        }
    }

    #[test]
    fn speedscope_and_collapsed_keep_the_whole(profile in profiles()) {
        for measure in MEASURES {
            let whole = whole(&profile, measure);
            let json: Value = serde_json::from_slice(&speedscope(&profile, measure)).unwrap();
            let threads = json["profiles"].as_array().unwrap();
            let ends: u64 = threads.iter().filter_map(|t| t["endValue"].as_u64()).sum();
            prop_assert_eq!(ends, whole);
            for thread in threads {
                let weights = thread["weights"].as_array().unwrap();
                let sum: u64 = weights.iter().filter_map(Value::as_u64).sum();
                prop_assert_eq!(Some(sum), thread["endValue"].as_u64());
                prop_assert_eq!(weights.len(), thread["samples"].as_array().unwrap().len());
            }
            let text = collapsed(&profile, measure);
            let counts = text.lines().map(|line| line.rsplit_once(' ').unwrap().1);
            let sum: u64 = counts.map(|count| count.parse::<u64>().unwrap()).sum();
            prop_assert_eq!(sum, whole);
        }
    }

    #[test]
    fn the_same_profile_gives_the_same_bytes(profile in profiles(), width in 0..200usize) {
        for format in Format::ALL {
            let first = export(&profile, format, None).unwrap();
            prop_assert_eq!(first, export(&profile.clone(), format, None).unwrap());
        }
        let style = Style { width, ..Style::default() };
        prop_assert_eq!(summary(&profile, &style), summary(&profile.clone(), &style));
    }
}
