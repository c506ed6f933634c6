//! A process without a free file descriptor: said at once, and nothing stays behind.

use std::fs::File;
use std::hint::black_box;
use std::time::Duration;

use tachograph_capture::{Client, CpuOptions, Error, Host, Options};

fn open() -> Result<Client, Error> {
    let cpu = CpuOptions { interval_ns: 1_000_000, ..CpuOptions::default() };
    Client::open(Options { cpu: Some(cpu), ..Options::default() }, Host::default())
}

/// Opens files until no descriptor is left.
fn all_descriptors() -> Vec<File> {
    let few = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: `few` lives until the call returns.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const few) };
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// CPU time of this thread: on a busy machine elapsed time says little.
fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn spin(time: Duration) {
    let end = cpu_time() + time;
    while cpu_time() < end {
        black_box((0..1000_u64).sum::<u64>());
    }
}

#[test]
fn a_session_without_a_descriptor_is_refused_and_the_next_one_works() {
    let taken = all_descriptors();
    assert!(matches!(open(), Err(Error::NoThread(_))));
    drop(taken);

    let client = open().unwrap();
    spin(Duration::from_millis(200));
    let finished = client.finish(&[]);

    let profile = tachograph_profile::file::read(&finished.bytes, "test").unwrap();
    let looks = profile.samples.len() as u64 + profile.loss.late_ticks;
    assert!(!profile.samples.is_empty() && looks > 50, "{looks} samples");
}
