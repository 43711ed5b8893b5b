//! User code in the middle of a wait: futures that park while they are polled, destructors that block, formatters that
//! use what they print, reports whose payloads panic.
#![cfg(not(loom))]

use std::cell::Cell;
use std::fmt::{self, Write};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use leno_kernel::layer::Sign;
use leno_kernel::policy::{Fifo, Recorded, Recording};
use leno_kernel::{LocalSystem, Object, block_on, blocking, cancel, current, sleep, yield_now};

const SHORT: Duration = Duration::from_millis(10);

#[test]
fn a_future_that_parks_while_it_is_polled_does_not_lose_its_wake() {
    let system = LocalSystem::builder().virtual_time().build();
    let shared: Rc<(Cell<bool>, Cell<Option<Waker>>)> = Rc::default();
    let own = shared.clone();
    let waits = system.spawn(move || {
        block_on(poll_fn(|context| {
            own.1.set(Some(context.waker().clone()));
            if own.0.get() {
                return Poll::Ready("woken");
            }
            sleep(SHORT);
            Poll::Pending
        }))
    });
    drop(system.spawn(move || {
        // While the future sleeps.
        sleep(SHORT / 2);
        shared.0.set(true);
        shared.1.take().expect("it was polled").wake();
    }));
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), "woken");
}

#[test]
fn what_blocks_in_a_destructor_is_called_in_place_while_its_coroutine_exits() {
    /// Whether it was called by the thread that drops it.
    struct Blocks(Arc<Mutex<Option<bool>>>);
    impl Drop for Blocks {
        fn drop(&mut self) {
            let (is_here, own) = (self.0.clone(), thread::current().id());
            blocking(move || *is_here.lock().unwrap() = Some(thread::current().id() == own));
        }
    }

    let is_here = Arc::default();
    let blocks = Blocks(Arc::clone(&is_here));
    let system = LocalSystem::new();
    let exits = system.spawn(move || {
        let _blocks = blocks;
        cancel(current().unwrap());
        yield_now();
    });
    system.run().unwrap();
    assert!(exits.join().is_err());
    // A helper could not be waited for.
    assert_eq!(*is_here.lock().unwrap(), Some(true));
}

/// Uses `f` whenever something is written to it.
struct Uses<F: FnMut()>(F);

impl<F: FnMut()> Write for Uses<F> {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        (self.0)();
        Ok(())
    }
}

#[test]
fn what_is_formatted_may_be_used_meanwhile() {
    let recording = Recording::new();
    let own = recording.clone();
    let system = LocalSystem::builder().policy(Recorded::new(Fifo::new(), &recording)).build();
    let prints = system.spawn(move || {
        let decided = own.log().len();
        // Others run, which is decided and recorded.
        let mut uses = Uses(|| {
            yield_now();
            assert!(own.log().len() > decided);
        });
        write!(uses, "{own} {own:?}").unwrap();
    });
    drop(system.spawn(yield_now));
    system.run().unwrap();
    prints.join().unwrap();

    let sign = Sign::new(Object::local());
    sign.set_name("door");
    write!(Uses(|| sign.set_name("gate")), "{sign:?}").unwrap();
    assert!(format!("{:?}", sign.name()).contains("gate"));
}

/// A payload whose own destructor panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("of a payload");
    }
}

#[test]
fn failures_are_dropped_by_code_that_unwinds_although_their_payloads_panic() {
    let system = LocalSystem::new();
    for _ in 0..3 {
        drop(system.spawn(|| panic_any(Payload)));
    }
    let report = system.run().unwrap();
    assert_eq!(report.failures.len(), 3);
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _report = report;
        panic!("it unwinds");
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"it unwinds"));
}
