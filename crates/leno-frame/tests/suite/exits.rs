//! Exits that user code raises where values are stored and restored, and that are not those of a coroutine around it.
#![forbid(unsafe_code)]

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use leno_coroutine::{Coroutine, Suspender};
use leno_frame::{Co, Format, Options, Resumable, State, resumable};
use serde::{Deserialize, Serialize, Serializer};

/// An exit of another coroutine than those around the calling code.
fn stolen_exit() -> Box<dyn Any + Send> {
    let stolen = Rc::new(Cell::new(None));
    let into = stolen.clone();
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        into.set(catch_unwind(AssertUnwindSafe(|| co.suspend(()))).err());
    });
    coroutine.resume(());
    drop(coroutine);
    stolen.take().expect("it was made to exit")
}

#[derive(Clone, Copy, PartialEq)]
struct Thief(u8);

const STEALS_WRITING: u8 = 1;
const STEALS_READING: u8 = 2;

impl Serialize for Thief {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == STEALS_WRITING {
            resume_unwind(stolen_exit());
        }
        serializer.serialize_u8(self.0)
    }
}

impl<'de> Deserialize<'de> for Thief {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let thief = Thief(u8::deserialize(deserializer)?);
        if thief.0 == STEALS_READING {
            resume_unwind(stolen_exit());
        }
        Ok(thief)
    }
}

#[resumable]
async fn keeps(co: &mut Co<u32>, thief: u8) -> u8 {
    let thief = Thief(thief);
    co.suspend(1).await;
    thief.0
}

#[test]
fn an_exit_of_another_coroutine_is_an_error_of_the_value_that_raises_it() {
    for format in [Format::Postcard, Format::Json] {
        let coroutine = Coroutine::new(move |_: &Suspender<(), ()>, ()| {
            let (mut co, _) = Resumable::start(&mut (), keeps, (STEALS_WRITING,));
            let stored = co.snapshot(format).unwrap_err().to_string();
            assert_eq!(co.resume(&mut (), ()), State::Complete(STEALS_WRITING));
            let (mut co, _) = Resumable::start(&mut (), keeps, (STEALS_READING,));
            let image = co.snapshot(format).unwrap();
            let restored = Resumable::<u32, (), u8>::restore(keeps, &image, &Options::new());
            (stored, restored.map(drop).unwrap_err().to_string())
        });
        let said = coroutine.resume(()).finished().unwrap();
        assert!(said.0.contains("its `Serialize` panicked"), "{}", said.0);
        assert!(said.1.contains("its `Deserialize` panicked"), "{}", said.1);
    }
}
