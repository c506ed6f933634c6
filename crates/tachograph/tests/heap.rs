//! A Rust program with our allocator: who holds memory, who held it at the
//! peak, and who leaks.

use std::hint::black_box;
use std::sync::Mutex;

use tachograph::profile::{Allocation, Measure, Profile};
use tachograph::{HeapPicture, Recorder};

#[global_allocator]
static ALLOCATOR: tachograph::Allocator = tachograph::Allocator;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[inline(never)]
fn leak_a_little(leaked: &mut Vec<Vec<u8>>) {
    for _ in 0..100 {
        leaked.push(black_box(vec![1; 300]));
    }
}

#[inline(never)]
fn spike() {
    let blocks: Vec<Vec<u8>> = (0..40).map(|_| black_box(vec![1_u8; 1 << 20])).collect();
    drop(black_box(blocks));
}

#[inline(never)]
fn churn() {
    for size in 1..2_000_usize {
        drop(black_box(vec![0_u8; size]));
        drop(black_box(format!("{size} bytes")));
    }
}

fn named<'a>(
    profile: &'a Profile,
    rows: impl IntoIterator<Item = &'a Allocation>,
    function: &str,
) -> u64 {
    let has = |row: &&Allocation| {
        profile.frames_of(row.stack).any(|frame| profile.text(frame.function).contains(function))
    };
    rows.into_iter().filter(has).map(|row| row.weight_bytes).sum()
}

fn live(picture: &HeapPicture, function: &str) -> u64 {
    named(&picture.profile, &picture.profile.allocations, function)
}

#[test]
fn the_leak_and_the_spike_are_found_and_the_churn_is_not_blamed() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let recorder = Recorder::new().without_samples().heap(8 << 10).start().unwrap();
    let mut leaked = Vec::with_capacity(20_000);
    for _ in 0..100 {
        leak_a_little(&mut leaked);
        churn();
    }
    spike();
    let picture = recorder.heap_picture().unwrap();
    let recording = recorder.finish().unwrap();

    // 3 MB at 8 KB a sample: 366 samples whose gaps vary by 0.29, 1.5 %; the rest of the
    // program takes turns in the count, so they are drawn by chance: 5 %.
    let truth = 10_000.0 * 300.0;
    let found = live(&picture, "heap::leak_a_little") as f64;
    assert!((found / truth - 1.0).abs() < 0.25, "{found}");
    assert_eq!(live(&picture, "heap::churn"), 0);
    assert_eq!(live(&picture, "heap::spike"), 0);

    let profile = recording.profile();
    let at_peak = profile.weights(Measure::BytesAtPeak);
    let spiked: u64 = at_peak
        .filter(|weight| {
            profile
                .frames_of(weight.stack)
                .any(|f| profile.text(f.function).contains("heap::spike"))
        })
        .map(|weight| weight.weight)
        .sum();
    assert_eq!(spiked, 40 << 20, "blocks of more than one and a half periods are exact");
    let in_picture: u64 = picture.at_peak.iter().map(|row| row.bytes).sum();
    assert!(in_picture >= 40 << 20);
    drop(leaked);
}

#[test]
fn aligned_blocks_and_threads_are_served_right() {
    #[repr(align(256))]
    struct Wide([u8; 700]);
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let recorder = Recorder::new().heap(1 << 10).start().unwrap();

    let threads: Vec<_> = (0..8)
        .map(|seed: usize| {
            std::thread::spawn(move || {
                for round in 0..2_000 {
                    let wide = black_box(Box::new(Wide([seed as u8; 700])));
                    assert_eq!(std::ptr::from_ref(&*wide) as usize % 256, 0);
                    let mut bytes = vec![seed as u8; round % 3_000 + 1];
                    bytes.resize(round % 5_000 + 1, 7);
                    assert!(bytes.first().is_some_and(|byte| *byte == seed as u8));
                    assert!(vec![0_u8; 5_000].iter().all(|byte| *byte == 0));
                    assert!(wide.0.iter().all(|byte| *byte == seed as u8));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());

    let recording = recorder.finish().unwrap();
    recording.profile().check().unwrap();
    assert!(recording.profile().allocations.len() > 10_000);
}
