//! User code that panics, with payloads whose `Drop` panics, where values are stored, restored and dropped.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use leno_frame::journal::{JournalError, Journaled, RecordError};
use leno_frame::{Co, Format, Image, Options, Resumable, Shared, State, resumable};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A payload whose `Drop` panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload's drop");
    }
}

/// What [`Bad`] does.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bad(u8);

const WRITE: u8 = 1;
const READ: u8 = 2;

impl Serialize for Bad {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == WRITE {
            panic_any(Bomb);
        }
        serializer.serialize_u8(self.0)
    }
}

impl<'de> Deserialize<'de> for Bad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bad = u8::deserialize(deserializer)?;
        if bad == READ {
            panic_any(Bomb);
        }
        Ok(Bad(bad))
    }
}

#[resumable]
async fn outer(co: &mut Co<u32>, bad: u8) -> u32 {
    let x = 5;
    inner(co, bad).await;
    x
}

#[resumable]
async fn inner(co: &mut Co<u32>, bad: u8) {
    let bad = Bad(bad);
    co.suspend(1).await;
    assert!(bad != Bad(9));
    co.suspend(2).await;
}

#[test]
fn a_coroutine_goes_on_after_a_serialize_whose_payload_panics() {
    for format in [Format::Postcard, Format::Json] {
        let (mut co, _) = Resumable::start(&mut (), outer, (WRITE,));
        let error = co.snapshot(format).unwrap_err();
        assert!(error.to_string().contains("its `Serialize` panicked"), "{error}");
        assert!(!co.is_poisoned());
        assert_eq!(co.resume(&mut (), ()), State::Suspended(2));
        co.snapshot(format).unwrap();
        assert_eq!(co.resume(&mut (), ()), State::Complete(5));
    }
}

#[test]
fn a_deserialize_whose_payload_panics_is_an_error() {
    for format in [Format::Postcard, Format::Json] {
        let (mut co, _) = Resumable::start(&mut (), outer, (READ,));
        let image = co.snapshot(format).unwrap();
        let error = Resumable::<u32, (), u32>::restore(outer, &image, &Options::new()).unwrap_err();
        assert!(error.to_string().contains("its `Deserialize` panicked"), "{error}");
    }
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

#[derive(Serialize, Deserialize)]
struct Fragile(u8);

impl Drop for Fragile {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
        if self.0 == 1 {
            panic_any(Bomb);
        }
    }
}

#[resumable]
async fn fragile(co: &mut Co<u32>, depth: u32) {
    let first = Fragile(1);
    if depth > 0 {
        fragile(co, depth - 1).await;
    }
    co.suspend(1).await;
    assert!(first.0 < 2);
}

#[test]
fn all_frames_are_dropped_although_each_panics() {
    let (co, _) = Resumable::start(&mut (), fragile, (9,));
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(co)));
    std::mem::forget(dropped.expect_err("the first panic is raised when all are dropped"));
    assert_eq!(DROPPED.load(Relaxed), 10);
}

#[resumable]
async fn sharing(co: &mut Co<u32>, at: u8) -> u32 {
    let shared = Shared::new(Bad(at));
    let (one, other) = (shared.clone(), shared);
    co.suspend(1).await;
    u32::from(one.same(&other))
}

#[test]
fn shared_values_are_kept_apart_after_a_failed_snapshot() {
    let (mut failing, _) = Resumable::start(&mut (), sharing, (WRITE,));
    let (mut going, _) = Resumable::start(&mut (), sharing, (0,));
    failing.snapshot(Format::Json).unwrap_err();
    let image = going.snapshot(Format::Json).unwrap();
    let mut restored = Resumable::restore(sharing, &image, &Options::new()).unwrap();
    assert_eq!(restored.resume(&mut (), ()), State::Complete(1));
    assert_eq!(failing.resume(&mut (), ()), State::Complete(1));
}

#[derive(Debug, PartialEq)]
struct Answer(u32);

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == 2 {
            panic_any(Bomb);
        }
        serializer.serialize_u32(self.0)
    }
}

#[test]
fn a_journal_is_that_of_the_time_before_if_an_answer_cannot_be_written() {
    let body = |from: u32| {
        let mut sum = from;
        let go = move |by: u32| {
            sum += by;
            State::<Answer, Answer>::Suspended(Answer(sum))
        };
        (go, State::Suspended(Answer(from)))
    };
    let (mut first, _) = Journaled::start("sum", 0u32, body).unwrap();
    first.resume(1u32).unwrap();
    let before = first.journal().clone();
    let failed = catch_unwind(AssertUnwindSafe(|| first.resume(1u32)));
    std::mem::forget(failed.expect_err("the `Serialize` of the answer panics"));
    assert_eq!(*first.journal(), before);
    assert!(matches!(first.resume(1), Err(RecordError::Poisoned(1))));
    let (mut again, state) = Journaled::replay("sum", &before, body).unwrap();
    assert_eq!(state, State::Suspended(Answer(1)));
    assert_eq!(again.resume(2u32).unwrap(), State::Suspended(Answer(3)));
}

#[test]
fn a_replayed_body_whose_payload_panics_is_an_error() {
    static FAILS: AtomicUsize = AtomicUsize::new(0);
    let body = |(): ()| {
        let go = |_: u32| {
            if FAILS.load(Relaxed) == 1 {
                panic_any(Bomb);
            }
            State::<u32, u32>::Suspended(1)
        };
        (go, State::Suspended(0))
    };
    let (mut first, _) = Journaled::start("fails", (), body).unwrap();
    first.resume(1u32).unwrap();
    FAILS.store(1, Relaxed);
    let error = Journaled::replay("fails", first.journal(), body).err().unwrap();
    assert!(matches!(error, JournalError::Panicked { step: 1, .. }), "{error}");
}

#[test]
fn a_value_it_is_suspended_with_whose_payload_panics_is_an_error() {
    #[resumable]
    async fn yields(co: &mut Co<Bad>) {
        co.suspend(Bad(WRITE)).await;
    }
    let (mut co, state) = Resumable::start(&mut (), yields, ());
    let bad = state.suspended().unwrap();
    assert!(co.snapshot_with(Format::Postcard, &bad).is_err());
    let image = co.snapshot_with(Format::Postcard, &Bad(READ)).unwrap();
    let image = Image::from_bytes(image.into_bytes()).unwrap();
    assert!(image.yielded::<Bad>(&Options::new()).is_err());
}

/// Its `Drop` panics unless it is defused; so does that of a sample, by which the shape of the type is found out.
#[derive(Serialize, Deserialize)]
struct Fused(u8);

impl Drop for Fused {
    fn drop(&mut self) {
        if self.0 == 0 && !std::thread::panicking() {
            panic_any(Bomb);
        }
    }
}

#[resumable]
async fn holds(co: &mut Co<u32>) -> u8 {
    let fused = Fused(7);
    co.suspend(1).await;
    fused.0
}

#[test]
fn a_type_of_which_a_sample_panics_when_it_is_dropped_is_stored() {
    for format in [Format::Postcard, Format::Json] {
        let (mut co, _) = Resumable::start(&mut (), holds, ());
        let image = co.snapshot(format).unwrap();
        assert_eq!(co.resume(&mut (), ()), State::Complete(7));
        let mut co = Resumable::<u32, (), u8>::restore(holds, &image, &Options::new()).unwrap();
        assert_eq!(co.resume(&mut (), ()), State::Complete(7));
    }
}

#[resumable]
async fn shares(co: &mut Co<u32>, text: String) -> bool {
    let one = Shared::new(text);
    let (two, same) = (Shared::new("other".to_string()), one.clone());
    co.suspend(1).await;
    one.same(&same) && !one.same(&two) && **two == *"other"
}

/// Stores and restores another coroutine when it is read.
#[derive(Serialize)]
struct Nests;

impl<'de> Deserialize<'de> for Nests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer)?;
        let (mut inner, _) = Resumable::start(&mut (), shares, ("inner".to_string(),));
        let image = inner.snapshot(Format::Postcard).unwrap();
        let mut inner =
            Resumable::<u32, (), bool>::restore(shares, &image, &Options::new()).unwrap();
        assert_eq!(inner.resume(&mut (), ()), State::Complete(true));
        Ok(Nests)
    }
}

#[resumable]
async fn nesting(co: &mut Co<u32>) -> bool {
    let one = Shared::new("one".to_string());
    let nests = Nests;
    let (two, same) = (Shared::new("two".to_string()), one.clone());
    co.suspend(1).await;
    drop(nests);
    one.same(&same) && !one.same(&two) && **one == *"one" && **two == *"two"
}

#[test]
fn shared_values_are_not_mixed_with_samples_of_types_that_are_looked_at_meanwhile() {
    // On a thread of its own, which has looked at no type yet.
    for format in [Format::Json, Format::Postcard] {
        let thread = std::thread::spawn(move || {
            let (mut co, _) = Resumable::start(&mut (), nesting, ());
            let image = co.snapshot(Format::Json).unwrap();
            let image = match format {
                Format::Json => image,
                _ => co.snapshot(format).unwrap(),
            };
            let restore = move || {
                let mut co =
                    Resumable::<u32, (), bool>::restore(nesting, &image, &Options::new()).unwrap();
                assert_eq!(co.resume(&mut (), ()), State::Complete(true));
            };
            restore();
            std::thread::spawn(restore).join().unwrap();
        });
        thread.join().unwrap();
    }
}
