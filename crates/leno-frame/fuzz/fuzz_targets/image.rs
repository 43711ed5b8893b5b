//! Whatever the bytes, they are restored or refused: no panic, no overflow, no memory without bounds.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/hostile/mod.rs"]
mod hostile;

use std::sync::LazyLock;

use hostile::image;
use leno_frame::Format;
use libfuzzer_sys::fuzz_target;

static HONEST: LazyLock<Vec<u8>> = LazyLock::new(|| image::honest(Format::Postcard));

fuzz_target!(|data: &[u8]| {
    if let Some(bytes) = hostile::hostile(data, &HONEST) {
        image::try_bytes(bytes);
    }
});
