//! Worlds, by themselves.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leno_coroutine::{Builder, Coroutine, Suspender};
use leno_kernel::layer::world::{self, Driver, Setup, Trouble};
use leno_kernel::log::Operation;
use leno_kernel::policy::Choice;
use leno_kernel::{Co, Name, Object, yield_now};

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

/// Runs the thread that was made last.
struct Last;

impl Driver for Last {
    fn pick(&mut self, among: &[world::Step]) -> usize {
        among.len() - 1
    }
    fn choose(&mut self, _: &Choice<'_>) -> usize {
        0
    }
    fn about_to(&mut self, _: Co, _: Option<(Operation, Object)>) -> Option<Trouble> {
        None
    }
}

thread_local!(static AROUND: Cell<Option<*const Suspender<(), ()>>> = const { Cell::new(None) });

#[test]
#[cfg_attr(leno_baton, ignore = "the thread backend gives each coroutine thread-locals of its own")]
fn code_outside_of_a_world_that_was_left_by_a_generator_is_no_thread_of_it() {
    thread_local!(static STEPS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) });
    let note = |step| STEPS.with_borrow_mut(|steps| steps.push(step));
    let body = move |co: &Suspender<(), ()>, ()| {
        AROUND.set(Some(co));
        let driver = Rc::new(RefCell::new(Last));
        let (baggage, grace) = (Rc::new(()), Duration::ZERO);
        let setup = Setup { driver, log: 0, most_points: 1 << 20, baggage, grace };
        let ending = world::run(setup, move || {
            drop(world::spawn("second", move || note("second")));
            let around = AROUND.take().unwrap();
            // SAFETY: the generator is around this call. It stands for whatever hands references down a
            // call in a thread-local, which others offer safely.
            unsafe { &*around }.suspend(());
            note("first");
        });
        assert!(ending.unwrap().trouble.is_none());
        note("end");
    };
    let builder = Builder::new().stack_size(1 << 20);
    let generator: Coroutine<(), ()> = builder.coroutine(body).unwrap();
    generator.resume(());
    note("outside");
    yield_now();
    note("still outside");
    generator.resume(());
    assert!(generator.is_finished());
    let steps = STEPS.take();
    assert_eq!(steps[..2], ["outside", "still outside"], "{steps:?}");
    assert_eq!(steps[2..].last(), Some(&"end"), "{steps:?}");
}
