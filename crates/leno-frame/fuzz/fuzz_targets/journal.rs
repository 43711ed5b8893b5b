//! Whatever the bytes, a journal is replayed or refused.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/hostile/mod.rs"]
mod hostile;

use std::sync::LazyLock;

use hostile::journal;
use libfuzzer_sys::fuzz_target;

static HONEST: LazyLock<[Vec<u8>; 2]> = LazyLock::new(journal::honest);

fuzz_target!(|data: &[u8]| {
    let honest = &HONEST[usize::from(data.first().is_some_and(|kind| kind & 4 != 0))];
    if let Some(bytes) = hostile::hostile(data, honest) {
        journal::try_bytes(&bytes);
    }
});
