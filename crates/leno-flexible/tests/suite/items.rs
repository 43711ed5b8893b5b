//! Public functions hold their own, whatever they are given and whenever they are called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use leno_flexible::synchroniser::NWay;
use leno_flexible::{AsyncMe, Flexible, Threadless};

/// Kicks when it is dropped.
struct Kicks(Flexible<(), ()>);

impl Drop for Kicks {
    fn drop(&mut self) {
        self.0.kick().expect("it is there");
    }
}

#[test]
fn an_answer_that_nobody_gets_is_dropped_where_it_may_do_anything() {
    let system = Threadless::new();
    let other = system.create("other", |mut me: AsyncMe<(), ()>| async move {
        loop {
            me.detach(()).await;
        }
    });
    let kicked = other.clone();
    let answers = system.create("answers", |mut me: AsyncMe<(), Kicks>| async move {
        me.detach(Kicks(kicked)).await;
        me.passivate().await;
    });
    answers.kick().unwrap();
    // Whoever calls runs those who are ready.
    other.call(()).unwrap();
    system.stop();
    let failures = system.failures();
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn what_is_kept_of_a_coroutine_after_its_end_names_nobody() {
    let (system, kept) = (Threadless::new(), Arc::new(Mutex::new(None)));
    let keep = kept.clone();
    let ends = system.create("ends", move |me: AsyncMe<u32, u32>| async move {
        *keep.lock().unwrap() = Some(me);
    });
    assert!(ends.call(7).is_err());
    drop(ends);
    let mut me = kept.lock().unwrap().take().expect("it was kept");
    assert_eq!((&*me.name(), me.parameter()), ("(ended)", None));
    assert!(me.caller().is_none());
}

#[test]
fn more_than_can_meet_are_refused() {
    let system = Threadless::new();
    let made = catch_unwind(AssertUnwindSafe(|| NWay::<(), ()>::new(&system, "all", usize::MAX)));
    let text = made.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(text.contains("is of at most 16777216"), "{text}");
}
