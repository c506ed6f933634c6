//! The heap source when its tables are full: less is sampled, sums stay right or what
//! they lack is told.

#[expect(dead_code, reason = "other tests of the heap need the rest")]
mod heap_ground;

use std::time::{Duration, Instant};

use heap_ground::{Loaded, Scratch, alone, build, call, live, near, open, open_with, profile};
use tachograph_capture::{Client, HeapOptions};
use tachograph_profile::Profile;
use tachograph_profile::export::{Style, summary};

/// The summary without its line ends.
fn text_of(profile: &Profile) -> String {
    let text = summary(profile, &Style::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_table_that_fills_up_lowers_the_rate_and_sums_stay_right() {
    let _alone = alone();
    let scratch = Scratch::new("heap-full");
    let library = Loaded::new(&build(&scratch.0, "full", &[]));
    let tight = HeapOptions { rate_bytes: 1 << 10, most_live: 2_000, ..HeapOptions::default() };
    let client = open_with(tight);

    let first = call(&library, c"by_malloc", 40_000);
    let second = call(&library, c"by_calloc", 40_000);
    let picture = client.heap_picture().unwrap();

    // A thousand samples at 1 KB, then 62 at each period twice as long. The last parts
    // decide: 3.7 % of each, together 2.1 % of all. Five of these are a chance of one in
    // a million.
    near(live(&picture, "by_malloc"), first, 0.11);
    // 70 samples.
    near(live(&picture, "by_calloc"), second, 0.18);
    assert!(picture.stats.live_samples <= 2_000, "{:?}", picture.stats);
    assert!(picture.stats.effective_rate_bytes >= 128 << 10, "{:?}", picture.stats);
    assert_eq!((picture.stats.rate_bytes, picture.stats.dropped_samples), (1 << 10, 0));

    call(&library, c"free_all", 0);
    assert_eq!(live(&client.heap_picture().unwrap(), "by_malloc"), 0);
    // With room again the rate is the one asked for, once the collector has seen the room and
    // this thread's long gap is over: one block that is larger ends it. Each picture lets the
    // collector hear of what was freed.
    let sampled = || {
        call(&library, c"large_block", 16 << 20);
        call(&library, c"free_all", 0);
        let before = client.heap_picture().unwrap().stats.total_samples;
        call(&library, c"by_malloc", 800);
        let after = client.heap_picture().unwrap().stats.total_samples;
        call(&library, c"free_all", 0);
        assert_eq!(live(&client.heap_picture().unwrap(), "by_malloc"), 0);
        after - before
    };
    let begin = Instant::now();
    while sampled() < 100 && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let again = sampled();
    // A block of 1000 bytes is taken with a chance of 0.863 at this rate: 690 of 800, and
    // five times 9.7. At the lower rate it would have been one or two.
    assert!((641..=739).contains(&again), "{again} samples of 800 KB at 1 KB");

    let profile = profile(&client.finish(&[]));
    let report = profile.meta.settings.heap.as_ref().unwrap().report;
    assert!(report.effective_rate_bytes >= 128 << 10, "{report:?}");
    assert_eq!(profile.loss.dropped_allocations, 0);
    let text = text_of(&profile);
    assert!(text.contains("in effect"), "{text}");
    assert!(text.contains("raise heap_rate_kb"), "{text}");
}

#[test]
fn a_table_without_any_room_counts_what_it_lost() {
    let _alone = alone();
    let scratch = Scratch::new("heap-none");
    let library = Loaded::new(&build(&scratch.0, "none", &[]));
    // So few that blocks which are always sampled fill it before any gap is longer.
    let none = HeapOptions { rate_bytes: 1 << 10, most_live: 4, ..HeapOptions::default() };
    let client = open_with(none);

    for _ in 0..100 {
        call(&library, c"large_block", 16 << 20);
    }
    let stats = client.heap_picture().unwrap().stats;
    call(&library, c"free_all", 0);
    let profile = profile(&client.finish(&[]));

    assert_eq!(stats.live_samples, 4);
    assert_eq!(stats.dropped_samples, 96);
    assert_eq!(stats.effective_rate_bytes / stats.rate_bytes, 25 * 8, "{stats:?}");
    assert_eq!(profile.loss.dropped_allocations, 96);
    let text = text_of(&profile);
    assert!(text.contains("96 blocks dropped for lack of room"), "{text}");
}

/// A door; what this thread drew before it was opened is used up.
fn open_afresh(library: &Loaded) -> Client {
    let client = open(1 << 10);
    call(library, c"by_malloc", 400);
    call(library, c"free_all", 0);
    client
}

#[test]
fn mappings_that_find_no_room_are_counted_and_leave_none_behind() {
    let _alone = alone();
    let scratch = Scratch::new("heap-mappings");
    let library = Loaded::new(&build(&scratch.0, "mappings", &[]));
    for _ in 0..2 {
        let client = open_afresh(&library);

        let mapped = call(&library, c"map_many", 9_000);
        let picture = client.heap_picture().unwrap();
        call(&library, c"unmap_many", 9_000);

        assert_eq!(picture.stats.dropped_samples, 9_000 - 8_192);
        assert_eq!(live(&picture, "map_many"), mapped / 9_000 * 8_192);
        assert_eq!(live(&client.heap_picture().unwrap(), "map_many"), 0);
    }
    // Mappings that are still there when nobody watches any more take no room later.
    let client = open_afresh(&library);
    call(&library, c"map_many", 9_000);
    drop(client);
    call(&library, c"unmap_many", 9_000);
    let client = open_afresh(&library);
    call(&library, c"map_many", 8_000);
    assert_eq!(client.heap_picture().unwrap().stats.dropped_samples, 0);
    call(&library, c"unmap_many", 8_000);
}
