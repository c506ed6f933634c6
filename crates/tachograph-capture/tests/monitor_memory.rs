//! Peaks of this process's memory. One test at a time: the memory is everyone's.

use std::sync::Mutex;

use tachograph_capture::monitor::{Watch, Window};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const PEAK: Watch = Watch { peak: true, io: false, series_interval_ns: None, memory_points: false };

/// Holds `mb` megabytes for a moment.
fn hold(mb: usize) {
    drop(std::hint::black_box(vec![1_u8; mb << 20]));
}

#[test]
fn a_peak_shorter_than_any_interval_is_seen() {
    let _alone = ONE_AT_A_TIME.lock();
    let window = Window::open(PEAK);
    hold(96);

    let measured = window.close();

    assert!(measured.peak_is_exact);
    assert!(measured.resident_peak >= measured.resident_start + (90 << 20), "{measured:?}");
    assert!(measured.resident_end < measured.resident_start + (32 << 20), "{measured:?}");
}

#[test]
fn the_peak_of_before_is_not_the_windows() {
    let _alone = ONE_AT_A_TIME.lock();
    hold(96);

    let measured = Window::open(PEAK).close();

    assert!(measured.peak_is_exact);
    assert!(measured.resident_peak < measured.resident_start + (32 << 20), "{measured:?}");
}

#[test]
fn windows_in_windows_each_have_their_own_peak() {
    let _alone = ONE_AT_A_TIME.lock();
    let outer = Window::open(PEAK);
    hold(200);
    let inner = Window::open(PEAK);
    hold(80);
    let inner = inner.close();
    let after = Window::open(PEAK).close();
    let outer = outer.close();

    let above = |peak: u64, start: u64| peak.saturating_sub(start) >> 20;
    assert!(above(outer.resident_peak, outer.resident_start) >= 190, "{outer:?}");
    let inner_peak = above(inner.resident_peak, inner.resident_start);
    assert!((70..150).contains(&inner_peak), "{inner:?}");
    assert!(above(after.resident_peak, after.resident_start) < 32, "{after:?}");
}
