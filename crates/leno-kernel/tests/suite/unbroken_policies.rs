//! Policies that break their contract: the system goes on without them.
#![cfg(not(any(loom, leno_baton)))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use leno_kernel::layer::choose;
use leno_kernel::policy::{Choice, Fifo, Policy, Ready, Why};
use leno_kernel::{
    Co, LocalSystem, Options, Reason, Start, System, park, sleep, spawn_local, unpark, yield_now,
};

/// How a policy misbehaves; each once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Twice,
    Gone,
    Nobody,
    OutOfRange,
    PanicsWhenTold,
    PanicsWhenAsked,
    PanicsWhenChoosing,
    PanicsWhenDropped,
}

struct Bad {
    how: How,
    after: u32,
    last: Option<Co>,
    gone: Rc<Cell<Option<Co>>>,
    good: Fifo,
}

impl Bad {
    fn is_time(&mut self, how: How) -> bool {
        self.after = self.after.saturating_sub(u32::from(self.how == how));
        self.how == how && self.after == 0
    }
}

impl Policy for Bad {
    fn ready(&mut self, ready: &Ready<'_>) {
        assert!(!self.is_time(How::PanicsWhenTold), "told");
        self.good.ready(ready);
    }
    fn pick(&mut self) -> Option<Co> {
        assert!(!self.is_time(How::PanicsWhenAsked), "asked");
        if self.is_time(How::Nobody) {
            return None;
        }
        if self.is_time(How::Gone) {
            return self.gone.get();
        }
        let again = self.last.filter(|_| self.is_time(How::Twice));
        self.last = again.or_else(|| self.good.pick());
        self.last
    }
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        assert!(!self.is_time(How::PanicsWhenChoosing), "choosing");
        if self.is_time(How::OutOfRange) { choice.candidates.len() } else { 0 }
    }
    fn forget(&mut self, co: Co) {
        self.good.forget(co);
    }
    fn name(&self) -> &str {
        "bad"
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        assert!(self.how != How::PanicsWhenDropped, "dropped");
    }
}

#[test]
fn a_policy_that_breaks_its_contract_leaves_run_once() {
    for (how, says) in [
        (How::Twice, "which is not ready"),
        (How::Gone, "which is not ready"),
        (How::Nobody, "gave back nobody"),
        (How::OutOfRange, "chose 2 of 2"),
        (How::PanicsWhenTold, "told"),
        (How::PanicsWhenAsked, "asked"),
        (How::PanicsWhenChoosing, "choosing"),
    ] {
        let gone: Rc<Cell<Option<Co>>> = Rc::default();
        let bad = Bad { how, after: 5, last: None, gone: gone.clone(), good: Fifo::new() };
        let system = LocalSystem::builder().policy(bad).virtual_time().build();
        let ended = system.spawn(|| ());
        gone.set(ended.co());
        let turns = Rc::new(Cell::new(0));
        for _ in 0..4 {
            let turns = turns.clone();
            drop(system.spawn(move || {
                for _ in 0..5 {
                    turns.set(turns.get() + 1);
                    sleep(Duration::from_secs(1));
                    drop(spawn_local(yield_now));
                    yield_now();
                }
            }));
        }
        let asks = system.spawn(|| {
            use leno_kernel::policy::{Candidate, ChoiceKind};
            (0..9)
                .map(|_| {
                    yield_now();
                    let two = [Candidate::Number(0), Candidate::Number(1)];
                    choose(&Choice::new(ChoiceKind::Alternative, None, &two))
                })
                .sum::<usize>()
        });
        let ran = catch_unwind(AssertUnwindSafe(|| system.run().map(|_| ())));
        let panic = ran.expect_err("it breaks its contract");
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        assert!(text.as_ref().is_some_and(|text| text.contains(says)), "{how:?}: {text:?}");
        let report = system.run().unwrap();
        assert_eq!((turns.get(), report.alive.len()), (20, 0), "{how:?}");
        assert_eq!(asks.join().unwrap(), 0);
        drop(system);
    }
}

#[test]
fn a_policy_whose_last_call_panics_does_not_leave_drop() {
    for how in [How::PanicsWhenTold, How::PanicsWhenAsked, How::PanicsWhenDropped, How::Nobody] {
        let gone = Rc::default();
        let bad = Bad { how, after: 1, last: None, gone, good: Fifo::new() };
        let system = LocalSystem::builder().policy(bad).build();
        let ended = Rc::new(Cell::new(false));
        struct Ends(Rc<Cell<bool>>);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.set(true);
            }
        }
        let ends = Ends(ended.clone());
        drop(system.spawn(move || {
            let _ends = ends;
            park(Reason::Passive);
        }));
        drop(system);
        assert!(ended.get(), "{how:?}");
    }
}

#[test]
fn a_policy_that_breaks_its_contract_ends_no_core() {
    for how in [How::Twice, How::Nobody, How::PanicsWhenTold, How::PanicsWhenAsked] {
        let make =
            move |_| Bad { how, after: 9, last: None, gone: Rc::default(), good: Fifo::new() };
        let system = System::builder().cores(2).policy(make).build().unwrap();
        let all: Vec<_> = (0..40)
            .map(|n| {
                system.spawn(move || {
                    yield_now();
                    n
                })
            })
            .collect();
        assert_eq!(all.into_iter().map(|one| one.join().unwrap()).sum::<u32>(), 780);
        let report = system.wait().unwrap();
        assert!(!report.failures.is_empty(), "{how:?}");
        let of_policy = |name: &str| name.starts_with("the policy of core ");
        assert!(report.failures.iter().all(|it| it.name.as_str().is_some_and(of_policy)));
    }
}

#[test]
fn a_policy_that_cannot_be_made_ends_no_core() {
    let system = System::builder().cores(2).policy(|place| -> Fifo { panic!("no policy {place}") });
    let system = system.build().unwrap();
    assert_eq!(system.spawn(|| 5).join().unwrap(), 5);
    assert_eq!(system.wait().unwrap().failures.len(), 2);
}

/// Uses its own system whenever it is called.
struct Reenters {
    good: Fifo,
    system: Rc<RefCell<Option<Rc<LocalSystem>>>>,
    waits: Rc<Cell<Option<Co>>>,
    left: u32,
}

impl Reenters {
    fn reenter(&mut self) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if let Some(co) = self.waits.get() {
            unpark(co);
        }
        let system = self.system.borrow().clone();
        if let Some(system) = system {
            let eager = Options::new().start(Start::Eager);
            drop(system.spawn(yield_now));
            drop(system.spawn_with(&eager, yield_now).unwrap());
            let cancelled = system.spawn(|| ());
            cancelled.cancel();
        }
    }
}

impl Policy for Reenters {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.good.ready(ready);
        self.reenter();
    }
    fn pick(&mut self) -> Option<Co> {
        self.reenter();
        self.good.pick()
    }
    fn choose(&mut self, _: &Choice<'_>) -> usize {
        self.reenter();
        0
    }
    fn forget(&mut self, co: Co) {
        self.good.forget(co);
        self.reenter();
    }
}

#[test]
fn a_policy_may_use_its_own_system() {
    let (own, waits) = (Rc::new(RefCell::new(None)), Rc::new(Cell::new(None)));
    let policy =
        Reenters { good: Fifo::new(), system: own.clone(), waits: waits.clone(), left: 100 };
    let system = Rc::new(LocalSystem::builder().policy(policy).virtual_time().build());
    let waiter = system.spawn(|| {
        park(Reason::Passive);
    });
    waits.set(waiter.co());
    own.replace(Some(system.clone()));
    for _ in 0..5 {
        drop(system.spawn(|| {
            sleep(Duration::from_secs(1));
            drop(spawn_local(yield_now));
            yield_now();
        }));
    }
    let report = system.run().unwrap();
    assert_eq!((report.failures.len(), report.alive.len()), (0, 0));
    waiter.join().unwrap();
    own.take();
}

/// Suspends the coroutine that tells it of its yield, once.
struct Suspends {
    good: Fifo,
    is_done: bool,
}

impl Policy for Suspends {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.good.ready(ready);
        if ready.why == Why::Yielded && !std::mem::replace(&mut self.is_done, true) {
            yield_now();
        }
    }
    fn pick(&mut self) -> Option<Co> {
        self.good.pick()
    }
    fn forget(&mut self, co: Co) {
        self.good.forget(co);
    }
}

#[test]
fn a_coroutine_that_a_policy_suspends_is_not_lost() {
    let policy = Suspends { good: Fifo::new(), is_done: false };
    let system = LocalSystem::builder().policy(policy).build();
    let handles: Vec<_> = (0..3)
        .map(|n| {
            system.spawn(move || {
                yield_now();
                n
            })
        })
        .collect();
    let raised = catch_unwind(AssertUnwindSafe(|| drop(system.run())));
    assert!(raised.is_err(), "the policy is deposed");
    system.run().unwrap();
    let joined: Vec<_> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
    assert_eq!(joined, [0, 1, 2]);
}
