//! Worlds, by themselves: while there is one in a process, nobody listens.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use leno_coroutine::{Coroutine, Suspender};
use leno_kernel::log::Operation;
use leno_kernel::policy::Choice;
use leno_kernel::world::{self, Driver, Setup, Trouble};
use leno_kernel::{Co, Name, Object};

/// Decides for the first.
struct First;

impl Driver for First {
    fn pick(&mut self, _: &[world::Step]) -> usize {
        0
    }

    fn choose(&mut self, _: &Choice<'_>) -> usize {
        0
    }

    fn about_to(&mut self, _: Co, _: Option<(Operation, Object)>) -> Option<Trouble> {
        None
    }
}

/// A name that suspends a coroutine before it is one.
struct Late<'a>(&'a Suspender<(), ()>);

impl From<Late<'_>> for Name {
    fn from(late: Late<'_>) -> Name {
        late.0.suspend(());
        Name::from("late")
    }
}

#[test]
fn a_name_that_suspends_who_makes_a_thread_keeps_no_world() {
    let kept = Rc::new(RefCell::new(None));
    let keep = kept.clone();
    let setup = Setup {
        driver: Rc::new(RefCell::new(First)),
        log: 0,
        most_points: 1_000,
        baggage: Rc::new(()),
        grace: Duration::ZERO,
    };
    let ending = world::run(setup, move || {
        let body = |co: &Suspender<(), ()>, ()| world::spawn(Late(co), || ()).is_some();
        let generator = Coroutine::new(body);
        generator.resume(());
        *keep.borrow_mut() = Some(generator);
    });
    assert!(ending.unwrap().trouble.is_none());
    let generator = kept.take().expect("it was kept");
    assert_eq!(generator.resume(()).finished(), Some(false), "there is no world here");
}
