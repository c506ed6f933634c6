//! How well the streams of an accelerator were used, side by side.

use serde::Serialize;

/// Idle gaps kept per stream.
const MOST_GAPS: usize = 5;

/// A stretch of time in which a stream had work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The stream's place, from 0.
    pub stream: u32,
    /// When the work began.
    pub start_ns: u64,
    /// When it was done.
    pub end_ns: u64,
}

/// The use of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StreamUse {
    /// Time in which it had work.
    pub busy_ns: u64,
    /// The same as a share of the window, 0 to 1.
    pub busy: f64,
    /// Pieces of work.
    pub pieces: u64,
    /// Idle stretches between pieces of work, the longest first: start and
    /// end since the window began.
    pub gaps: Vec<(u64, u64)>,
    /// Time in those, all of them.
    pub idle_between_ns: u64,
    /// When it had work, since the window began: in order, none touching another.
    #[serde(skip)]
    pub work: Vec<(u64, u64)>,
}

/// The use of all streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StreamsUse {
    /// How long the window is.
    pub window_ns: u64,
    /// Time in which at least one stream had work.
    pub any_busy_ns: u64,
    /// Time in which at least two had work.
    pub overlap_ns: u64,
    /// How many had work at once, on average over the time in which any had.
    pub concurrency: f64,
    /// The share of all the streams' time that was used: 1 is every stream
    /// busy from the beginning to the end.
    pub efficiency: f64,
    /// Each stream.
    pub streams: Vec<StreamUse>,
}

/// What `stretches` add up to in the window from `start_ns` to `end_ns`, for
/// at least `streams` streams. Work outside the window does not count; pieces
/// of one stream that overlap count once.
///
/// ```
/// use tachograph_profile::analyze::{Stretch, streams};
///
/// let work = [
///     Stretch { stream: 0, start_ns: 0, end_ns: 60 },
///     Stretch { stream: 1, start_ns: 40, end_ns: 100 },
/// ];
///
/// let used = streams(&work, 2, 0, 100);
///
/// assert_eq!((used.any_busy_ns, used.overlap_ns), (100, 20));
/// assert_eq!((used.streams[0].busy, used.concurrency), (0.6, 1.2));
/// ```
#[must_use]
pub fn streams(stretches: &[Stretch], streams: u32, start_ns: u64, end_ns: u64) -> StreamsUse {
    let window_ns = end_ns.saturating_sub(start_ns);
    let most = stretches.iter().map(|stretch| stretch.stream + 1).max().unwrap_or(0);
    let many = usize::try_from(streams.max(most)).unwrap_or(0);
    let mut work: Vec<Vec<(u64, u64)>> = vec![Vec::new(); many];
    let mut pieces = vec![0; many];
    for stretch in stretches {
        let from = stretch.start_ns.clamp(start_ns, end_ns.max(start_ns)) - start_ns;
        let to = stretch.end_ns.clamp(start_ns, end_ns.max(start_ns)) - start_ns;
        let Ok(place) = usize::try_from(stretch.stream) else { continue };
        if from < to {
            work[place].push((from, to));
            pieces[place] += 1;
        }
    }
    let used = work.into_iter().zip(pieces).map(|(work, pieces)| one(work, pieces, window_ns));
    let used: Vec<StreamUse> = used.collect();
    let (any_busy_ns, overlap_ns) = together(&used);
    let sum: u64 = used.iter().map(|stream| stream.busy_ns).sum();
    StreamsUse {
        window_ns,
        any_busy_ns,
        overlap_ns,
        concurrency: ratio(sum, any_busy_ns),
        efficiency: ratio(sum, window_ns.saturating_mul(many as u64)),
        streams: used,
    }
}

fn one(mut work: Vec<(u64, u64)>, pieces: u64, window_ns: u64) -> StreamUse {
    work.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (from, to) in work {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    let mut gaps: Vec<_> = merged.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect();
    let busy_ns = merged.iter().map(|(from, to)| to - from).sum();
    let idle_between_ns = gaps.iter().map(|(from, to)| to - from).sum();
    gaps.sort_by_key(|(from, to)| std::cmp::Reverse(to - from));
    gaps.truncate(MOST_GAPS);
    let busy = ratio(busy_ns, window_ns);
    StreamUse { busy_ns, busy, pieces, gaps, idle_between_ns, work: merged }
}

/// Time with any stream at work, and with two or more.
fn together(streams: &[StreamUse]) -> (u64, u64) {
    let work = || streams.iter().flat_map(|stream| &stream.work);
    let mut turns: Vec<(u64, i32)> = work().map(|(from, _)| (*from, 1)).collect();
    turns.extend(work().map(|(_, to)| (*to, -1)));
    turns.sort_unstable();
    let (mut any, mut several, mut busy, mut last) = (0, 0, 0, 0);
    for (time, turn) in turns {
        any += if busy > 0 { time - last } else { 0 };
        several += if busy > 1 { time - last } else { 0 };
        busy += turn;
        last = time;
    }
    (any, several)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stretch(stream: u32, start_ns: u64, end_ns: u64) -> Stretch {
        Stretch { stream, start_ns, end_ns }
    }

    #[test]
    fn a_stream_without_work_is_idle_and_lowers_the_efficiency() {
        let used = streams(&[stretch(0, 10, 20)], 4, 10, 20);

        assert_eq!(used.streams.len(), 4);
        assert_eq!((used.streams[0].busy, used.streams[3].busy), (1.0, 0.0));
        assert_eq!((used.efficiency, used.concurrency, used.overlap_ns), (0.25, 1.0, 0));
    }

    #[test]
    fn gaps_are_between_pieces_of_work_and_the_longest_comes_first() {
        let used =
            streams(&[stretch(0, 10, 20), stretch(0, 25, 30), stretch(0, 50, 60)], 1, 0, 100);

        assert_eq!(used.streams[0].gaps, [(30, 50), (20, 25)]);
        assert_eq!((used.streams[0].idle_between_ns, used.streams[0].busy_ns), (25, 25));
    }

    #[test]
    fn pieces_that_overlap_on_one_stream_count_once() {
        let used = streams(&[stretch(0, 0, 50), stretch(0, 30, 80)], 1, 0, 100);

        assert_eq!((used.streams[0].busy_ns, used.streams[0].pieces), (80, 2));
        assert_eq!(used.overlap_ns, 0);
    }

    #[test]
    fn work_outside_the_window_does_not_count() {
        let used = streams(&[stretch(0, 0, 15), stretch(1, 90, 200)], 1, 10, 100);

        assert_eq!((used.streams[0].busy_ns, used.streams[1].busy_ns), (5, 10));
    }

    #[test]
    fn no_work_and_no_window_give_zeros() {
        let used = streams(&[], 2, 7, 7);

        assert_eq!((used.window_ns, used.efficiency, used.concurrency), (0, 0.0, 0.0));
    }

    proptest! {
        #[test]
        fn shares_are_shares_and_times_add_up(
            rows in prop::collection::vec((0..4_u32, 0..1000_u64, 0..200_u64), 0..40)
        ) {
            let work: Vec<_> =
                rows.iter().map(|(at, from, took)| stretch(*at, *from, from + took)).collect();

            let used = streams(&work, 4, 100, 900);

            let sum: u64 = used.streams.iter().map(|stream| stream.busy_ns).sum();
            prop_assert!(used.any_busy_ns <= used.window_ns && used.overlap_ns <= used.any_busy_ns);
            prop_assert!(sum >= used.any_busy_ns + used.overlap_ns);
            prop_assert!((0.0..=1.0).contains(&used.efficiency));
            prop_assert!(used.streams.iter().all(|s| s.busy_ns + s.idle_between_ns <= 800));
        }
    }
}
