//! What must hold for every profile of memory.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::analyze::{functions, stacks, tree};
use crate::{Measure, Profile, Time};

fn profiles() -> impl Strategy<Value = Profile> {
    let row = (0..60_u64, prop_oneof![Just(None), (0..40_u64).prop_map(Some)], 0..50_u64, 0..4_u32);
    vec(row, 0..60).prop_map(|rows| {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(time, lived, weight, line)| {
                let freed = lived.map(|lived| time + lived);
                (time, freed, weight, [("main", "a.py", 1), ("work", "a.py", line)])
            })
            .collect();
        let rows: Vec<_> =
            rows.iter().map(|(t, f, w, stack)| (*t, *f, *w, stack.as_slice())).collect();
        from_rows(&rows)
    })
}

fn whole(profile: &Profile, measure: Measure) -> u64 {
    profile.weights(measure).map(|weight| weight.weight).sum()
}

const MEASURES: [Measure; 4] =
    [Measure::BytesAllocated, Measure::BytesLive, Measure::BytesAtPeak, Measure::Allocations];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn shares_at_the_peak_add_up_to_the_peak(profile in profiles()) {
        let peak = profile.peak();
        prop_assert_eq!(whole(&profile, Measure::BytesAtPeak), peak.bytes);
        // No other moment holds more.
        for time in 0..120 {
            let live: u64 = profile
                .allocations
                .iter()
                .filter(|block| block.is_live_at(Time(time)))
                .map(|block| block.weight_bytes)
                .sum();
            prop_assert!(live <= peak.bytes, "{} at {}", live, time);
        }
    }

    #[test]
    fn sites_functions_stacks_and_trees_keep_the_whole(profile in profiles()) {
        for measure in MEASURES {
            let whole = whole(&profile, measure);
            let rows = sites(&profile, measure);
            // A block of no bytes still is a block.
            prop_assert_eq!(rows.iter().map(|row| row.weight(measure)).sum::<u64>(), whole);
            let own = functions(&profile, measure).iter().map(|row| row.self_weight).sum::<u64>();
            prop_assert_eq!(own, whole);
            prop_assert_eq!(stacks(&profile, measure).iter().map(|row| row.weight).sum::<u64>(), whole);
            prop_assert_eq!(tree(&profile, measure).nodes[0].total_weight, whole);
        }
    }

    #[test]
    fn live_is_allocated_minus_freed(profile in profiles()) {
        let freed: u64 = profile
            .allocations
            .iter()
            .filter(|block| block.freed.is_some())
            .map(|block| block.weight_bytes)
            .sum();
        let (all, live) = (whole(&profile, Measure::BytesAllocated), whole(&profile, Measure::BytesLive));
        prop_assert_eq!(all, live + freed);
        prop_assert!(profile.peak().bytes >= live && profile.peak().bytes <= all);
        for row in sites(&profile, Measure::BytesAllocated) {
            prop_assert!(row.live_bytes <= row.allocated_bytes);
            prop_assert!(row.peak_bytes <= row.allocated_bytes);
            prop_assert_eq!(row.freed_bytes() > 0, row.median_lifetime_ns.is_some() && row.freed_bytes() > 0);
        }
    }

    #[test]
    fn differences_add_up_to_the_difference(a in profiles(), b in profiles()) {
        let change: i64 = diff(&a, &b).iter().map(DiffRow::change_bytes).sum();
        let live = |profile: &Profile| whole(profile, Measure::BytesLive) as i64;
        prop_assert_eq!(change, live(&b) - live(&a));
    }

    #[test]
    fn parts_and_the_unexplained_add_up_to_the_resident_size(
        numbers in vec(0..1_000_000_u64, 18),
    ) {
        let facts = |n: &[u64]| MemoryFacts {
            resident_bytes: n[0],
            file_bytes: n[1],
            stack_bytes: n[2],
            heap_bytes: n[3],
            other_bytes: n[4],
            malloc_used_bytes: n[5],
            malloc_mapped_bytes: n[6],
        };
        let sites = SiteMemory {
            resident_bytes: numbers[14],
            slack_bytes: numbers[15],
            python_bytes: numbers[16],
            profiler_bytes: numbers[17],
        };
        let found = explain(&facts(&numbers[..7]), &facts(&numbers[7..14]), &sites);
        let sum: i64 = found.parts.iter().map(|(_, bytes)| *bytes as i64).sum();
        prop_assert_eq!(sum + found.unexplained_bytes, found.resident_bytes as i64);
    }
}
