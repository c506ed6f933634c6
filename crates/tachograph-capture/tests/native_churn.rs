//! Libraries come and go while stacks are walked, at the same addresses and
//! with other frames: no crash, no list freed while in use, no wrong rule.

mod native_library;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use native_library::{Loaded, Scratch, build};
use tachograph_capture::native::{Symbolizer, Walked, Walker, refresh};

const FOR: Duration = Duration::from_millis(1500);
/// A busy machine may need longer until something has happened at all.
const AT_MOST: Duration = Duration::from_secs(60);

struct Walk {
    walker: Walker,
    words: [u64; 64],
    walked: Walked,
}

extern "C" fn walk_here(data: *mut c_void) {
    // SAFETY: the test passes its own `Walk`, used by nobody meanwhile.
    let walk = unsafe { &mut *data.cast::<Walk>() };
    walk.walked = walk.walker.walk(&mut walk.words);
}

#[test]
fn walks_stay_true_while_libraries_come_and_go() {
    let directory = Scratch::new("churn");
    // The same functions at the same places, with frames of different sizes.
    let paths = [200, 208, 3000].map(|size| build(&directory.0, &format!("churn{size}"), size));
    let stop = AtomicBool::new(false);
    let (whole, cut, refreshed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let new_walk = || Walk { walker: Walker::new(), words: [0; 64], walked: Walked::default() };
    refresh();

    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                refreshed.fetch_add(u64::from(refresh()), Ordering::Relaxed);
            }
        });
        for first in 0..2 {
            let (paths, stop, whole, cut) = (&paths, &stop, &whole, &cut);
            scope.spawn(move || {
                let mut symbolizer = Symbolizer::new();
                let mut walk = new_walk();
                for round in first.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let library = Loaded::new(&paths[round % paths.len()]);
                    for _ in 0..20 {
                        library.call(walk_here, std::ptr::from_mut(&mut walk).cast());
                        if !walk.walked.complete {
                            cut.fetch_add(1, Ordering::Relaxed);
                            continue;
                        }
                        whole.fetch_add(1, Ordering::Relaxed);
                        let symbols = symbolizer.resolve(&walk.words[..walk.walked.depth]);
                        let names: Vec<&str> =
                            symbols.iter().map(|symbol| symbol.function.as_str()).collect();
                        let inner = names.iter().position(|name| *name == "tachograph_test_inner");
                        let inner = inner.unwrap_or_else(|| panic!("{names:#?}"));
                        assert_eq!(names[inner + 1], "tachograph_test_outer", "{names:#?}");
                    }
                }
            });
        }
        // A stack that no library of these is on is never cut.
        let mut walk = new_walk();
        let start = Instant::now();
        let enough =
            || refreshed.load(Ordering::Relaxed) > 10 && whole.load(Ordering::Relaxed) > 100;
        while start.elapsed() < FOR || (!enough() && start.elapsed() < AT_MOST) {
            walk_here(std::ptr::from_mut(&mut walk).cast());
            assert!(walk.walked.complete);
        }
        stop.store(true, Ordering::Relaxed);
    });

    let (whole, cut) = (whole.into_inner(), cut.into_inner());
    assert!(refreshed.into_inner() > 10);
    assert!(whole > 100, "{whole} whole walks, {cut} cut ones");
}
