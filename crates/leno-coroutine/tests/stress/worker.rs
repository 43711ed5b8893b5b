//! A thread that does things at random and checks all it gets.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError};
use std::time::Instant;

use leno_coroutine::{Builder, Coroutine, Status, Step, Suspender, Unstarted, list, ring};

use crate::plan::{Counted, Plan, Planned};
use crate::random::Random;

const MOST_HELD: usize = 40;

/// A body that may move between threads.
pub(crate) type Body = Box<dyn FnOnce(&Suspender<u64, u64>, u64) -> u64 + Send>;
/// A coroutine to be started by whoever gets it.
pub(crate) type Parcel = (Unstarted<Body, u64, u64, u64>, Plan);

/// A coroutine and what is to be expected of it.
struct Held {
    coroutine: Coroutine<u64, u64, u64>,
    plan: Plan,
    resumed: u64,
}

/// See the module.
pub(crate) struct Worker {
    random: Random,
    held: Vec<Held>,
    parcels: Receiver<Parcel>,
    others: Vec<SyncSender<Parcel>>,
    watcher: Sender<Status>,
}

impl Worker {
    pub(crate) fn new(
        seed: u64,
        parcels: Receiver<Parcel>,
        others: Vec<SyncSender<Parcel>>,
        watcher: Sender<Status>,
    ) -> Worker {
        Worker { random: Random::new(seed), held: Vec::new(), parcels, others, watcher }
    }

    /// Works until the limit is reached; returns the number of steps done.
    pub(crate) fn run(mut self, limit: &Limit) -> usize {
        let mut done = 0;
        while !limit.is_reached(done) {
            match self.random.below(20) {
                0..3 => self.create(),
                3..12 => self.resume(),
                12 | 13 => self.drop_one(),
                14 => self.ring_scope(),
                15 => self.thread_ring(),
                16 => self.send(),
                17 | 18 => self.receive(),
                _ => self.list(),
            }
            done += 1;
        }
        done
    }

    fn unstarted(&mut self) -> Parcel {
        let plan = Plan::random(&mut self.random);
        let captured = Counted::new();
        let body: Body = Box::new(move |co, input| {
            let _captured = captured;
            plan.run(co, input)
        });
        let builder = match self.random.below(4) {
            0 => Builder::new().name("static").stack_size(64 * 1024),
            1 => Builder::new().name(format!("shared {}", plan.steps)).stack_size(256 * 1024),
            _ => Builder::new(),
        };
        (builder.unstarted(body), plan)
    }

    fn hold(&mut self, (unstarted, plan): Parcel) {
        let coroutine = unstarted.start().expect("a stack");
        self.watcher.send(coroutine.status()).expect("the watcher waits for all workers");
        self.held.push(Held { coroutine, plan, resumed: 0 });
    }

    fn create(&mut self) {
        let parcel = self.unstarted();
        self.hold(parcel);
        if self.held.len() > MOST_HELD {
            self.drop_one();
        }
    }

    fn resume(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let at = self.random.below(self.held.len());
        let input = self.random.next();
        let held = &mut self.held[at];
        let (step, plan) = (held.resumed, held.plan);
        let answer = Plan::answer(step, input);
        held.resumed += 1;
        let result = catch_unwind(AssertUnwindSafe(|| held.coroutine.resume(input)));
        match result {
            Ok(Step::Suspended(out)) => assert_eq!((step < plan.steps, out), (true, answer)),
            Ok(Step::Finished(out)) => {
                assert_eq!((step, plan.panics, out), (plan.steps, false, answer));
            }
            Err(payload) => {
                assert_eq!((step, planned(payload)), (plan.steps, answer));
                assert!(plan.panics);
            }
        }
        if step == plan.steps {
            let held = self.held.swap_remove(at);
            assert!(held.coroutine.is_finished());
            assert!(held.coroutine.try_resume(0).is_err());
        }
    }

    fn drop_one(&mut self) {
        if !self.held.is_empty() {
            let at = self.random.below(self.held.len());
            let held = self.held.swap_remove(at);
            let status = held.coroutine.status();
            drop(held);
            assert!(status.is_finished());
        }
    }

    /// Members that borrow, some of which panic; those left are ended by the scope.
    fn ring_scope(&mut self) {
        let members = self.random.below(6);
        let rounds = self.random.below(5);
        let turns = Cell::new(0);
        let panicking = ring::scope(|s| {
            let mut panicking = 0;
            for _ in 0..members {
                let (until, panics) = (self.random.below(6), self.random.below(3) == 0);
                panicking += usize::from(panics && until < rounds);
                let turns = &turns;
                let member = s.spawn(move || {
                    let _counted = Counted::new();
                    for _ in 0..until {
                        turns.set(turns.get() + 1);
                        ring::yield_now();
                    }
                    if panics {
                        resume_unwind(Box::new(Planned(7)));
                    }
                });
                self.watcher.send(member.status()).expect("the watcher waits for all workers");
            }
            (0..rounds).for_each(|_| ring::yield_now());
            assert_eq!(ring::failures().expect("inside a ring").len(), panicking);
            panicking
        });
        assert!(panicking <= members && turns.get() <= members * rounds);
    }

    /// Members of the thread's own ring, ended by draining it.
    fn thread_ring(&mut self) {
        let members = self.random.below(6);
        let rounds = self.random.below(4);
        for _ in 0..members {
            let captured = Counted::new();
            ring::spawn(move || {
                let _captured = captured;
                loop {
                    let _turn = Counted::new();
                    ring::yield_now();
                }
            });
        }
        (0..rounds).for_each(|_| ring::yield_now());
        let drained = ring::drain().expect("this is the initial member");
        assert_eq!((drained.ended, drained.leaked), (members, 0));
    }

    fn send(&mut self) {
        let parcel = self.unstarted();
        let to = self.random.below(self.others.len());
        match self.others[to].try_send(parcel) {
            Ok(()) => {}
            Err(TrySendError::Full(parcel)) => self.hold(parcel),
            // That worker has stopped already.
            Err(TrySendError::Disconnected((unstarted, _))) => drop(unstarted.into_body()),
        }
    }

    fn receive(&mut self) {
        if self.held.len() < MOST_HELD
            && let Ok(parcel) = self.parcels.try_recv()
        {
            self.hold(parcel);
        }
    }

    fn list(&mut self) {
        let all = list::coroutines();
        for held in &self.held {
            let id = held.coroutine.id();
            assert!(all.binary_search_by_key(&id, |info| info.id).is_ok(), "{id} is not listed");
        }
    }
}

fn planned(payload: Box<dyn Any + Send>) -> u64 {
    match payload.downcast::<Planned>() {
        Ok(planned) => planned.0,
        Err(other) => resume_unwind(other),
    }
}

/// When workers stop: after some time, or under miri, whose clock says little, after some steps.
pub(crate) struct Limit(pub(crate) Instant);

impl Limit {
    fn is_reached(&self, done: usize) -> bool {
        if cfg!(miri) { done >= 40 } else { done.is_multiple_of(16) && Instant::now() >= self.0 }
    }
}
