//! Any bytes are an error or a profile that keeps the rules, and a profile
//! that was read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachograph_profile::file::{encode, read};

fuzz_target!(|bytes: &[u8]| {
    let Ok(profile) = read(bytes, "fuzz") else {
        return;
    };
    assert_eq!(profile.check(), Ok(()));
    let again = read(&encode(&profile), "fuzz").expect("a profile that was read can be written");
    assert_eq!(again.samples, profile.samples);
    assert_eq!(again.tables, profile.tables);
});
