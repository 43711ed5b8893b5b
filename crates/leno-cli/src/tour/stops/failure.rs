//! Panics and destructors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leno::{Suspender, scope};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "failure",
    shows: "A panic in a body reaches whoever resumed it; a dropped coroutine unwinds,\n\
            so destructors run. Nothing is lost, nothing else is harmed.",
    run: failure,
    read: "SAFETY.md, leno::Coroutine",
};

fn failure() -> Result<String, String> {
    struct Tell<'a>(&'a Cell<u32>);
    impl Drop for Tell<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let message = scope(|s| {
        let suspended = s.coroutine(|co, ()| {
            let _tell = Tell(&dropped);
            co.suspend(());
        });
        suspended.resume(());
        let fails = s.coroutine(|_: &Suspender<(), ()>, ()| {
            let _tell = Tell(&dropped);
            panic!("the valve is stuck");
        });
        let caught = catch_unwind(AssertUnwindSafe(|| fails.resume(())));
        let payload = caught.err().ok_or("the panic was lost".to_owned())?;
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        text.ok_or("the panic's text was lost".to_owned())
    });
    std::panic::set_hook(quiet);
    let message = message?;
    say!("the resumer caught: {message:?}; destructors run: {}", dropped.get());
    expect(&message, &"the valve is stuck".to_owned())?;
    expect(&dropped.get(), &2)?;
    Ok("a panic delivered, two stacks unwound".to_owned())
}
