//! Policies that do what they should not.
#![cfg(not(any(loom, leno_baton)))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use leno_coroutine::{Coroutine, Suspender};
use leno_kernel::policy::{Fifo, Policy, Ready, Why};
use leno_kernel::{Co, LocalSystem, yield_now};

thread_local!(static INNER: Cell<Option<*const Suspender<(), ()>>> = const { Cell::new(None) });

/// Suspends the generator in which whoever yields runs.
#[derive(Default)]
struct Intruder(Fifo);

impl Policy for Intruder {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.ready(ready);
        if let (Why::Yielded, Some(inner)) = (ready.why, INNER.take()) {
            // SAFETY: the generator is around this call. It stands for whatever hands references
            // down a call in a thread-local, which others offer safely.
            unsafe { &*inner }.suspend(());
        }
    }
    fn pick(&mut self) -> Option<Co> {
        self.0.pick()
    }
    fn forget(&mut self, co: Co) {
        self.0.forget(co);
    }
}

#[test]
fn a_policy_that_suspends_who_asked_it_breaks_nothing() {
    type Kept = Rc<RefCell<Option<Coroutine<(), ()>>>>;
    let (kept, system): (Kept, _) =
        (Rc::default(), LocalSystem::builder().policy(Intruder::default()).build());
    let keeps = kept.clone();
    drop(system.spawn(move || {
        let generator = Coroutine::new(|co: &Suspender<(), ()>, ()| {
            INNER.set(Some(co));
            yield_now();
        });
        generator.resume(());
        // In the middle of the yield; and the coroutine that is to yield ends.
        *keeps.borrow_mut() = Some(generator);
    }));
    assert!(system.run().is_ok(), "nobody is left");
    drop(system);
    let generator = kept.take().unwrap();
    let resumed = catch_unwind(AssertUnwindSafe(|| generator.resume(())));
    let message = *resumed.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("a policy suspended the code that asked it"), "{message}");
}
