//! Images come from anywhere: whatever their bytes, restoring gives a coroutine or an error, never a panic,
//! and takes memory in proportion to their number.
//!
//! Bytes are changed by a seeded generator, with the checksum mended or not. `LENO_SEED` repeats a run,
//! `LENO_STRESS_SECONDS` makes it longer.
//!
//! Not in `suite`: the leg of frames builds it with optimisations.
#![forbid(unsafe_code)]

mod hostile;

use std::time::{Duration, Instant};

use hostile::image::{Tree, outer};
use hostile::{image, journal, mended};
use leno_frame::{Co, Format, Image, ImageError, Options, Resumable, State, resumable};

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Damages bytes in one of several ways.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.remove(at)),
        4 => bytes.insert(at, random.next() as u8),
        5 => bytes[at] = [0, 0x7f, 0x80, 0xff][random.below(4)],
        6 => {
            // A length of many bytes.
            let many = [0xff; 9].into_iter().take(1 + random.below(9));
            drop(bytes.splice(at..at, many));
        }
        _ => {
            let (from, count) = (random.below(bytes.len()), random.below(16));
            let piece: Vec<u8> = bytes[from..].iter().take(count).copied().collect();
            drop(bytes.splice(at..at, piece));
        }
    }
    if bytes.is_empty() {
        bytes.push(b'L');
    }
}

/// Tries some thousand times, and as long as `LENO_STRESS_SECONDS` says. `try_once` says whether it found something
/// to restore.
fn try_often(mut try_once: impl FnMut(&mut Random) -> bool) {
    let seed = std::env::var("LENO_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let seconds = std::env::var("LENO_STRESS_SECONDS").ok().and_then(|s| s.parse().ok());
    let long = |start: Instant| {
        seconds.is_some_and(|seconds| start.elapsed() < Duration::from_secs(seconds))
    };
    let rounds = if cfg!(miri) { 2 } else { 3_000 };
    let (mut random, start) = (Random(seed), Instant::now());
    let (mut tried, mut restored) = (0, 0);
    while tried < rounds || long(start) {
        restored += usize::from(try_once(&mut random));
        tried += 1;
    }
    println!("{tried} tried, {restored} of them could still be restored, seed {seed}");
    // A handful, as where this is interpreted, may all be damaged beyond repair.
    assert!(
        restored > 0 || tried < 100,
        "the damage is so great that nothing behind the checksum is reached"
    );
}

#[test]
fn damaged_images_give_errors() {
    let originals = [Format::Postcard, Format::Json].map(image::honest);
    try_often(|random| {
        let mut bytes = originals[random.below(2)].clone();
        for _ in 0..=random.below(4) {
            damage(&mut bytes, random);
        }
        let binary = bytes[0] == b'L';
        let whole = binary && image::try_bytes(mended(bytes.clone()));
        whole | image::try_bytes(bytes)
    });
}

/// What the fuzz targets do, with bytes of a generator instead of those of a fuzzer.
#[test]
fn hostile_images_and_journals_are_restored_or_refused() {
    let (honest, journals) = (image::honest(Format::Postcard), journal::honest());
    try_often(|random| {
        let data: Vec<u8> = (0..random.below(96)).map(|_| random.next() as u8).collect();
        let image = hostile::hostile(&data, &honest).is_some_and(image::try_bytes);
        let journal = hostile::hostile(&data, &journals[random.below(2)]);
        image | journal.is_some_and(|bytes| journal::try_bytes(&bytes))
    });
}

#[test]
fn each_cause_has_its_error() {
    let good = image::honest(Format::Postcard);
    // Each byte is looked at for each; the interpreter takes some of them.
    let some = if cfg!(miri) { 29 } else { 1 };
    let error = |bytes: &[u8]| Image::from_bytes(bytes).unwrap_err();
    assert_eq!(error(b""), ImageError::NotAnImage);
    assert_eq!(error(b"PNG and so on"), ImageError::NotAnImage);
    assert_eq!(error(b"LF"), ImageError::Truncated);
    assert_eq!(error(b"LF\x02and so on"), ImageError::Version(2));
    for end in (3..good.len()).step_by(some) {
        assert!(
            matches!(error(&good[..end]), ImageError::Truncated | ImageError::Corrupt),
            "{end}"
        );
    }
    for place in (3..good.len()).step_by(some) {
        let mut bytes = good.clone();
        bytes[place] ^= 0x10;
        assert!(matches!(error(&bytes), ImageError::Truncated | ImageError::Corrupt), "{place}");
    }
    let mut longer = good.clone();
    longer.push(0);
    assert_eq!(error(&longer), ImageError::Corrupt);
    assert!(matches!(error(b"{\"frames\":[]}"), ImageError::Json(_)));
    assert!(matches!(error(b"{\"leno\":9,\"frames\":[]}"), ImageError::Version(9)));
    let empty = Image::from_frames(Vec::new());
    assert!(Resumable::restore(outer, &empty, &Options::new()).is_err());
}

#[resumable]
async fn growing(co: &mut Co<u32, u32>, tree: Tree, units: Vec<()>, words: Vec<u64>) -> u32 {
    co.suspend(1).await
        + units.len() as u32
        + words.len() as u32
        + u32::from(matches!(tree, Tree::Leaf))
}

/// An image of `growing` whose locals are these bytes.
fn growing_with(locals: [&[u8]; 3]) -> Image {
    let (mut co, _) = Resumable::start(&mut (), growing, (Tree::Leaf, vec![], vec![]));
    let mut bytes = co.snapshot(Format::Postcard).unwrap().into_bytes();
    // Header, number of frames, three numbers of the frame, number of locals.
    bytes.truncate(7 + 1 + 12 + 1);
    for local in locals {
        let mut length = local.len();
        while length >= 0x80 {
            bytes.push(length as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend_from_slice(local);
    }
    Image::from_bytes(mended(bytes)).unwrap()
}

#[test]
fn what_is_honest_is_restored() {
    let image = growing_with([&[0], &[2], &[2, 1, 2]]);
    let mut co = Resumable::restore(growing, &image, &Options::new()).unwrap();
    assert_eq!(co.resume(&mut (), 0), State::Complete(5));
}

#[test]
fn a_length_that_lies_allocates_nothing() {
    let huge: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2];
    let image = growing_with([&[0], &[0], huge]);
    assert!(Resumable::restore(growing, &image, &Options::new()).is_err());
}

/// A million boxes in one another would overflow the stack while they are read.
#[test]
fn depth_is_bounded() {
    let deep = vec![1; if cfg!(miri) { 1 << 12 } else { 1 << 20 }];
    let image = growing_with([&deep, &[0], &[0]]);
    let error = Resumable::restore(growing, &image, &Options::new()).unwrap_err();
    assert!(error.to_string().contains("deep"), "{error}");
}

/// Values without a size cost no bytes, so their number is bounded on its own.
#[test]
#[cfg_attr(miri, ignore = "it gives up after 65,536 items, which takes the interpreter minutes")]
fn nothing_a_quintillion_times_is_refused() {
    let huge: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let image = growing_with([&[0], huge, &[0]]);
    assert!(Resumable::restore(growing, &image, &Options::new()).is_err());
}

/// Takes no byte of an image, and a KiB of memory.
#[derive(serde::Serialize, serde::Deserialize, Clone)]
struct Hollow {
    #[serde(skip, default = "empty")]
    cache: [u64; 128],
}

fn empty() -> [u64; 128] {
    [0; 128]
}

#[resumable]
async fn hollow(co: &mut Co<u32, u32>, count: usize, deeper: u32) -> usize {
    let all = vec![Hollow { cache: [0; 128] }; count];
    if deeper > 0 {
        hollow(co, count, deeper - 1).await;
    } else {
        co.suspend(1).await;
    }
    all.iter().map(|hollow| hollow.cache.len()).sum()
}

fn hollow_image(count: usize, deeper: u32) -> Image {
    let (mut co, _) = Resumable::start(&mut (), hollow, (count, deeper));
    co.snapshot(Format::Postcard).unwrap()
}

/// Memory is bounded on its own, where items take more of it than bytes: of a local, and of all frames together.
#[test]
#[cfg_attr(miri, ignore = "it makes some ten thousand items, which takes the interpreter minutes")]
fn items_that_take_memory_but_no_bytes_are_bounded() {
    let restore = |image: &Image, options: &Options| {
        Resumable::<u32, u32, usize>::restore(hollow, image, options).map(|co| co.depth())
    };
    assert_eq!(restore(&hollow_image(1_000, 0), &Options::new()), Ok(1));
    for image in [hollow_image(30_000, 0), hollow_image(1_000, 50)] {
        let error = restore(&image, &Options::new()).unwrap_err().to_string();
        assert!(error.contains("`Options::memory`"), "{error}");
        assert!(restore(&image, &Options::new().memory(usize::MAX)).is_ok());
    }
}

/// What is said to come, as its `Deserialize` hears it.
#[derive(serde::Serialize, Default)]
struct Hinted(Vec<u8>);

impl<'de> serde::Deserialize<'de> for Hinted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hears;
        impl<'de> serde::de::Visitor<'de> for Hears {
            type Value = Hinted;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<Hinted, A::Error> {
                let hint = items.size_hint().unwrap_or_default();
                assert!(hint < 1_000, "room for {hint} items is asked for");
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    all.push(item);
                }
                Ok(Hinted(all))
            }
        }
        deserializer.deserialize_seq(Hears)
    }
}

#[resumable]
async fn hinted(co: &mut Co<u32, u32>) -> usize {
    let all = Hinted(vec![1, 2, 3]);
    co.suspend(1).await;
    all.0.len()
}

/// Room is made in advance for as many items as the image has bytes, and not for as many as it says.
#[test]
fn no_room_is_made_in_advance_for_items_that_cannot_be_there() {
    let (mut co, _) = Resumable::start(&mut (), hinted, ());
    let mut bytes = co.snapshot(Format::Postcard).unwrap().into_bytes();
    let list = bytes.len() - 5;
    assert_eq!(bytes[list..], [4, 3, 1, 2, 3]);
    bytes.splice(list.., [8, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3]);
    let image = Image::from_bytes(mended(bytes)).unwrap();
    let error = Resumable::restore(hinted, &image, &Options::new()).unwrap_err().to_string();
    assert!(!error.contains("asked for"), "{error}");
}

/// A `main` that returns an error prints its `Debug`.
#[test]
fn errors_are_printed_as_they_are_told() {
    let error = Image::from_bytes(b"PNG".to_vec()).unwrap_err();
    assert_eq!(format!("{error:?}"), "these bytes are not an image of a coroutine");
    let error = leno_frame::RestoreError::from(error);
    assert_eq!(format!("{error:?}"), error.to_string());
}
