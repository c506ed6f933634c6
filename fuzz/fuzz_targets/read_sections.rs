//! Rows of every kind under a checksum that fits: what a hostile writer, or
//! one with a mistake, could make. The checksum keeps random bytes out of
//! this code, so the fuzzer is let in behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachograph_profile::file::{VERSION, encode, read};

const META: u8 = 1;
const DATA: u8 = 2;

/// Appends a chunk that is not compressed.
fn store(out: &mut Vec<u8>, kind: u8, plain: &[u8]) {
    let len = (plain.len() as u32).to_le_bytes();
    let header = [&[kind, 0][..], &len, &len].concat();
    let checksum = crc32fast::hash(&[&header, plain].concat());
    out.extend(header);
    out.extend(checksum.to_le_bytes());
    out.extend_from_slice(plain);
}

fuzz_target!(|sections: &[u8]| {
    let mut file = b"\x89TACHO\r\n".to_vec();
    file.push(VERSION);
    store(&mut file, META, b"{}");
    store(&mut file, DATA, sections);

    let Ok(profile) = read(&file, "fuzz") else {
        return;
    };
    assert_eq!(profile.check(), Ok(()));
    read(&encode(&profile), "fuzz").expect("a profile that was read can be written");
});
