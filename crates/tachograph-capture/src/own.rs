//! Our own threads: started here, known by id, never part of a recording.
//!
//! A thread is listed by the kernel a moment before it can say that it is ours,
//! and a moment longer than it runs. So arrivals are counted before a thread is
//! made, and one that ends stays known until the kernel lists it no more.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crate::sys::{clock, threads};

/// Room for every thread of ours: its id, or the negative id of one that has
/// done its work; 0 marks a free place.
static OWN: [AtomicI32; 16] = [const { AtomicI32::new(0) }; 16];

/// Threads that are being made and are not in [`OWN`] yet.
static ARRIVING: AtomicUsize = AtomicUsize::new(0);

/// Which of `ids`, just listed by the kernel, are threads of the program;
/// `None` while a thread of ours is being made, which could be any of them.
pub(crate) fn without_own(ids: Vec<i32>) -> Option<Vec<i32>> {
    if ARRIVING.load(Ordering::Acquire) > 0 {
        return None;
    }
    Some(ids.into_iter().filter(|tid| !is_own(*tid)).collect())
}

fn is_own(tid: i32) -> bool {
    OWN.iter().any(|own| own.load(Ordering::Acquire).abs() == tid)
}

/// Starts a thread of ours. It is known as such before this returns, and a
/// panic in it ends the thread and nothing else.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (send, receive) = std::sync::mpsc::channel();
    let label = name.to_owned();
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(1 << 20);
    ARRIVING.fetch_add(1, Ordering::AcqRel);
    let thread = builder.spawn(move || {
        crate::sys::signals::block_all();
        crate::sys::heap::exempt_this_thread();
        let tid = threads::own_id();
        let place = OWN.iter().find(|place| take(place, tid));
        ARRIVING.fetch_sub(1, Ordering::AcqRel);
        threads::name_own(&label);
        let _ = send.send(());
        let _ = catch_unwind(AssertUnwindSafe(work));
        if let Some(place) = place {
            place.store(-tid, Ordering::Release);
        }
    });
    match thread {
        Ok(_) => drop(receive.recv()),
        Err(_) => drop(ARRIVING.fetch_sub(1, Ordering::AcqRel)),
    }
    thread
}

/// Takes `place` if it is free, or was left by a thread that is gone.
fn take(place: &AtomicI32, tid: i32) -> bool {
    let before = place.load(Ordering::Acquire);
    let is_free = before == 0 || (before < 0 && clock::thread_cpu(-before).is_none());
    is_free && place.compare_exchange(before, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// In a forked child none of our threads lives on.
pub(crate) fn forget() {
    ARRIVING.store(0, Ordering::Release);
    for place in &OWN {
        place.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::sys::threads::TaskDirectory;

    #[test]
    fn a_thread_of_ours_is_never_taken_for_one_of_the_program() {
        static DONE: AtomicBool = AtomicBool::new(false);
        let tasks = TaskDirectory::open().unwrap();
        let named_ours = |tid: &i32| {
            let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm"));
            name.is_ok_and(|name| name.starts_with("tacho-brief"))
        };
        let maker = std::thread::spawn(|| {
            for _ in 0..2_000 {
                spawn("tacho-brief", || {}).unwrap().join().unwrap();
            }
            DONE.store(true, Ordering::Release);
        });

        let mut looks = 0;
        while !DONE.load(Ordering::Acquire) {
            let Some(ids) = without_own(tasks.ids().unwrap()) else { continue };
            looks += 1;
            let mistaken: Vec<i32> = ids.into_iter().filter(named_ours).collect();
            assert!(mistaken.is_empty(), "{mistaken:?} after {looks} looks");
        }

        maker.join().unwrap();
        assert!(looks > 0);
    }
}
