//! What each thread did with its time.

use rustc_hash::FxHashMap;

use super::origin::{Origin, frame_name};
use crate::{FrameKind, Profile, StackId, ThreadState, TrackId, TrackKind};

/// One thread and how it spent its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// The thread's track.
    pub track: TrackId,
    /// The id the operating system knows it by.
    pub os_id: u64,
    /// Its name; `Thread-<id>` when it has none.
    pub name: String,
    /// How often it was seen.
    pub samples: u64,
    /// Time on a processor.
    pub cpu_ns: u64,
    /// Elapsed time that was sampled; 0 when only CPU time was.
    pub wall_ns: u64,
    /// Elapsed time on a processor; CPU time when only that was sampled.
    pub running_ns: u64,
    /// Elapsed time waiting for the interpreter lock.
    pub gil_wait_ns: u64,
    /// Elapsed time waiting for something else.
    pub idle_ns: u64,
    /// Where it waited most.
    pub waiting_at: Option<WaitingAt>,
}

/// A place where a thread waited.
///
/// The place is the innermost own line, because that is what a user can
/// change; the function is what that line called, because that says what was
/// waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingAt {
    /// What was called there.
    pub function: String,
    /// The file, as recorded.
    pub file: String,
    /// The line; 0 when unknown.
    pub line: u32,
    /// How long the thread waited there.
    pub wall_ns: u64,
}

/// The threads of `profile`, the one with most CPU time first.
///
/// Threads of equal CPU time are in the order they appeared. A thread that was
/// never seen running is there too, with nothing but its name.
///
/// ```
/// use tachograph_profile::{Profile, analyze::threads};
///
/// let profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 12)])]);
/// let rows = threads(&profile);
/// assert_eq!((rows[0].name.as_str(), rows[0].cpu_ns), ("MainThread", 30));
/// ```
#[must_use]
pub fn threads(profile: &Profile) -> Vec<ThreadRow> {
    let mut rows = Vec::new();
    let mut row_of_track = FxHashMap::default();
    for (index, track) in profile.tables.tracks.iter().enumerate() {
        if track.kind != TrackKind::Thread {
            continue;
        }
        let track_id = TrackId::from(index);
        row_of_track.insert(track_id, rows.len());
        rows.push(ThreadRow {
            track: track_id,
            os_id: track.os_id,
            name: track_name(profile, track_id),
            samples: 0,
            cpu_ns: 0,
            wall_ns: 0,
            running_ns: 0,
            gil_wait_ns: 0,
            idle_ns: 0,
            waiting_at: None,
        });
    }
    let mut waits: Vec<FxHashMap<StackId, u64>> = vec![FxHashMap::default(); rows.len()];
    for sample in &profile.samples {
        let Some(&index) = row_of_track.get(&sample.track) else {
            continue;
        };
        let row: &mut ThreadRow = &mut rows[index];
        row.samples += 1;
        add(&mut row.cpu_ns, sample.cpu_ns);
        add(&mut row.wall_ns, sample.wall_ns);
        let elapsed = if sample.wall_ns > 0 { sample.wall_ns } else { sample.cpu_ns };
        match sample.state {
            ThreadState::Running | ThreadState::RunningWithGil => add(&mut row.running_ns, elapsed),
            ThreadState::WaitingForGil => add(&mut row.gil_wait_ns, sample.wall_ns),
            ThreadState::Idle => {
                add(&mut row.idle_ns, sample.wall_ns);
                add(waits[index].entry(sample.stack).or_default(), sample.wall_ns);
            }
            ThreadState::Unknown => {}
        }
    }
    for (row, waits) in rows.iter_mut().zip(waits) {
        row.waiting_at = longest_wait(profile, waits);
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.cpu_ns));
    rows
}

/// The name of a track; `Thread-<id>` when it has none.
#[must_use]
pub(crate) fn track_name(profile: &Profile, track: TrackId) -> String {
    let Some(row) = profile.tables.tracks.get(track.index()) else {
        return format!("Thread-{}", track.0);
    };
    match profile.text(row.name) {
        "" => format!("Thread-{}", row.os_id),
        name => name.to_owned(),
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// The place with the longest wait; among equals, the first by file and line.
fn longest_wait(profile: &Profile, waits: FxHashMap<StackId, u64>) -> Option<WaitingAt> {
    let mut places: FxHashMap<(String, u32, String), u64> = FxHashMap::default();
    for (stack, wall_ns) in waits {
        if let Some(place) = waiting_place(profile, stack) {
            add(places.entry(place).or_default(), wall_ns);
        }
    }
    let longest = places
        .into_iter()
        .filter(|(_, wall_ns)| *wall_ns > 0)
        .min_by(|(a, a_ns), (b, b_ns)| b_ns.cmp(a_ns).then_with(|| a.cmp(b)))?;
    let ((file, line, function), wall_ns) = longest;
    Some(WaitingAt { function, file, line, wall_ns })
}

fn waiting_place(profile: &Profile, stack: StackId) -> Option<(String, u32, String)> {
    let frames: Vec<_> = profile.frames_of(stack).collect();
    let own = |kind: Option<Origin>| {
        frames.iter().position(|frame| {
            kind.is_none_or(|kind| Origin::of(profile, frame) == kind)
                && frame.kind == FrameKind::Python
        })
    };
    let place = own(Some(Origin::Own)).or_else(|| own(None)).unwrap_or(0);
    let frame = frames.get(place)?;
    let called = place.checked_sub(1).and_then(|below| frames.get(below));
    let function = frame_name(profile, called.unwrap_or(frame)).into_owned();
    Some((profile.text(frame.file).to_owned(), frame.line, function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Roots;

    fn waiting_profile() -> Profile {
        let mut profile = Profile::from_stacks(&[
            (0, 10, &[("worker", "/job/data.py", 88), ("Queue.get", "/py/queue.py", 171)]),
            (10, 30, &[("worker", "/job/data.py", 90)]),
            (40, 5, &[("worker", "/job/data.py", 91)]),
        ]);
        profile.meta.roots = Roots { standard_library: vec!["/py".to_owned()], ..Roots::default() };
        profile
    }

    #[test]
    fn a_wait_is_told_by_what_the_own_line_called() {
        let mut profile = waiting_profile();
        profile.samples[0].state = ThreadState::Idle;
        profile.samples[0].cpu_ns = 0;
        profile.samples[2].state = ThreadState::WaitingForGil;

        let rows = threads(&profile);

        let row = &rows[0];
        assert_eq!((row.running_ns, row.gil_wait_ns, row.idle_ns), (30, 5, 10));
        let wait = row.waiting_at.as_ref().unwrap();
        assert_eq!((wait.function.as_str(), wait.file.as_str()), ("Queue.get", "/job/data.py"));
        assert_eq!((wait.line, wait.wall_ns), (88, 10));
    }

    #[test]
    fn without_wall_time_running_is_the_cpu_time() {
        let mut profile = waiting_profile();
        for sample in &mut profile.samples {
            sample.wall_ns = 0;
        }

        let rows = threads(&profile);

        assert_eq!((rows[0].running_ns, rows[0].wall_ns, rows[0].samples), (45, 0, 3));
        assert_eq!(rows[0].waiting_at, None);
    }

    #[test]
    fn a_thread_without_a_name_is_called_by_its_id() {
        let mut profile = waiting_profile();
        profile.tables.tracks[1].name = crate::StringId(0);
        profile.tables.tracks[1].os_id = 4242;

        assert_eq!(threads(&profile)[0].name, "Thread-4242");
    }
}
