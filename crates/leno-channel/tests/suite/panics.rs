//! A select whose source panics on the way out: every line is left, and what another alternative has
//! received goes back, to whoever comes next and in order.
#![cfg(not(loom))]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use leno_channel::{Flavour, Receiver, Select, Sender, Source, bounded, shared};
use leno_kernel::{LocalSystem, Options, Waiter, try_spawn_local, yield_now};

/// Never ready, and panics when it is left.
struct Mine;

impl Source for Mine {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        None
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {
        panic!("a mine was left");
    }
}

/// Sends once it is waited for, and so takes the alternative before it from a select on the way in.
struct Sends<F: Flavour>(Sender<u32, F>);

impl<F: Flavour> Source for Sends<F> {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        None
    }

    fn wait(&mut self, _: &Waiter) {
        let _ = self.0.try_send(1);
    }

    fn leave(&mut self, _: &Waiter) {}
}

fn fails(select: impl FnOnce()) {
    let failure = catch_unwind(AssertUnwindSafe(select)).expect_err("the mine was left");
    assert_eq!(failure.downcast_ref::<&str>(), Some(&"a mine was left"));
}

fn all<F: Flavour + 'static>(
    channel: impl Fn(usize) -> (Sender<u32, F>, Receiver<u32, F>) + 'static,
) {
    let system = LocalSystem::new();
    // Panics take room where sanitizers look on.
    let options = Options::new().stack_size(256 << 10);
    let inner = options.clone();
    let runs = system.spawn_with(&options, move || {
        // A partner completes the alternative of a select that waits.
        let (tx, rx) = channel(4);
        let rx = Rc::new(rx);
        let theirs = rx.clone();
        let handled = Rc::new(Cell::new(false));
        let sees = handled.clone();
        let waits = try_spawn_local(&inner, move || {
            fails(|| {
                let select = Select::new().source(Mine, |()| ()).recv(&*theirs, |_| sees.set(true));
                select.wait().expect("it fails");
            });
        });
        yield_now();
        (1..4).for_each(|value| tx.send(value).unwrap());
        waits.unwrap().join().unwrap();
        assert!(!handled.get());
        let got: Vec<_> = (0..3).map(|_| rx.recv().unwrap()).collect();
        assert_eq!(got, [1, 2, 3]);
        assert!(rx.is_empty());

        // It takes the alternative itself, while it stands in the line before.
        let (first, second) = (channel(4), channel(4));
        let sends = Sends(second.0.clone());
        fails(|| {
            let select = Select::new().source(Mine, |()| ()).source(sends, |()| ());
            let select = select.recv(&first.1, |_| ()).recv(&second.1, |_| ());
            select.wait().expect("it fails");
        });
        second.0.send(2).unwrap();
        assert_eq!((second.1.recv(), second.1.recv()), (Ok(1), Ok(2)));
        first.0.send(7).unwrap();
        assert_eq!(first.1.recv(), Ok(7), "nobody stands in line any more");

        // It takes one of each of several.
        let (left, right) = (channel(4), channel(4));
        left.0.send(1).unwrap();
        left.0.send(2).unwrap();
        let sends = Sends(right.0.clone());
        fails(|| {
            let select = Select::new().source(Mine, |()| ()).source(sends, |()| ());
            select.join((&left.1, &right.1), |_| ()).wait().expect("it fails");
        });
        assert_eq!((left.1.recv(), left.1.recv(), right.1.recv()), (Ok(1), Ok(2), Ok(1)));
    });
    system.run().unwrap();
    runs.unwrap().join().unwrap();
}

#[test]
fn what_was_received_goes_back_if_a_source_panics_on_the_way_out() {
    all(bounded);
    all(shared::bounded);
}
