//! A process without a free file descriptor: said at once, and nothing stays behind.

use std::fs::File;
use std::hint::black_box;
use std::time::{Duration, Instant};

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

fn spin(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
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
    assert!(profile.samples.len() > 50, "{} samples", profile.samples.len());
}
