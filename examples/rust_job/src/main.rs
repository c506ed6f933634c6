//! A small data job that records itself: two phases, two threads, a future.
//!
//! `cargo run --release -p rust_job` prints where the time went and writes
//! `rust_job.tacho` and `rust_job.svg` into the current folder.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use tachograph::{InSpan, Spec, span};

/// One line of the log: who, and how long it took.
type Line = (u64, f64);

#[inline(never)]
fn parse(batch: u64) -> Vec<Line> {
    let mut state = batch.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let lines = (0..120_000).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 1000, (state >> 44) as f64 / 1e4)
    });
    lines.collect()
}

#[inline(never)]
fn aggregate(lines: &[Line]) -> HashMap<u64, f64> {
    let mut totals = HashMap::new();
    for (user, took) in lines {
        *totals.entry(*user).or_insert(0.0) += took;
    }
    totals
}

#[inline(never)]
fn rank(totals: &HashMap<u64, f64>) -> Vec<(u64, f64)> {
    let mut ranked: Vec<_> = totals.iter().map(|(user, took)| (*user, *took)).collect();
    ranked.sort_by(|left, right| right.1.total_cmp(&left.1));
    ranked
}

fn batch(number: u64) -> f64 {
    let _span = span!("batch", number = number);
    let lines = {
        let _span = span!("parse");
        parse(number)
    };
    let totals = {
        let _span = span!("aggregate", lines = lines.len());
        aggregate(&lines)
    };
    let ranked = tachograph::timed("rank", || rank(&totals));
    ranked.first().map_or(0.0, |(_, took)| *took)
}

/// A request that waits between two steps.
async fn request() -> usize {
    let found = parse(7).len();
    let mut waited = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    found
}

/// Steps a future until it is done, pausing in between as an executor would.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let recorder = tachograph::record("rust_job.tacho")?;
    tachograph::set_profiling(true);
    let slowest = tachograph::metric("slowest user, ms");

    thread::scope(|scope| {
        for worker in 0..2 {
            let slowest = &slowest;
            scope.spawn(move || {
                for number in 0..400 {
                    slowest.record(batch(worker * 1000 + number));
                }
            });
        }
    });
    let request = request().in_span(Spec::new("request").with("path", "/top"));
    black_box(block_on(request));

    println!("{}", tachograph::report());
    let recording = recorder.finish()?;
    println!("{}", recording.summary());
    println!("inside parse:");
    for row in recording.within("parse")?.functions().iter().take(3) {
        println!("  {:>6.1} ms  {}", row.self_weight as f64 / 1e6, row.function);
    }
    recording.save("rust_job.svg")?;
    println!(
        "\nrust_job.tacho  the recording, for the Python package too\nrust_job.svg    a flame graph"
    );
    Ok(())
}
