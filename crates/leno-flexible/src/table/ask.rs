//! What policies and the observer are asked and told. They are user code, and run when the lock is free; here is
//! what is locked before and after.
//!
//! # Protocol
//! ```text
//!   serve     A1  locked: n could serve one of several requests: it is put among the undecided
//!             A2  locked: takes n's policy out, with a copy of n's requests
//!             A3  not locked: asks
//!             A4  locked: puts the policy back. If n cannot serve any more, done: who makes it idle again is
//!                 at A1. If its requests have changed, A2. Else attaches the one that was chosen
//!   schedule  Q1  locked: several wait: takes the policy out, with a copy of the queue
//!             Q2  not locked: asks
//!             Q3  locked: puts the policy back. If the queue has changed, Q1. Else schedules the chosen one
//!   tell      T1  locked: takes the observer out, and all events; if it is out already, done
//!             T2  not locked: tells it
//!             T3  locked: puts it back; if there are events by now, T1
//! ```
//! A2 to A4 and T1 to T3 are done by the one who has performed the operation, before it returns; Q1 to Q3 by the
//! one who schedules, and there is one of them at a time. n is marked from A1 to A4, so nobody else asks for it.
//! Whoever finds the observer out at T1 leaves its events to the one who has it, and that one looks again at T3.
//!
//! Between A1 and A4 n is idle and has requests, a state in which the rules leave it to rest in any case: 4.17
//! and 4.18 are steps of their own. If others call or kick it meanwhile, it serves its requests later.
//!
//! A policy that never returns keeps its coroutine, or its system, from going on; everyone who was to be woken
//! was, and the system can be looked at and stopped.

use leno_kernel::Co;
use leno_kernel::layer::{choose, thread_number, who};
use leno_kernel::policy::{Candidate, Choice, ChoiceKind};

use super::{Id, Next, Request, Table};
use crate::State;
use crate::event::{Events, Observer};
use crate::policy::{Pending, Schedule, Serve, Waiting};
use crate::raw::place::Place;

/// How often a policy is asked again because what it was asked about has changed.
const ROUNDS: u32 = 16;

/// Who runs a policy or an observer, and on which stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    runner: Runner,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Co(Co),
    Thread(u32),
}

impl Runner {
    fn here() -> Runner {
        who().map_or_else(|| Runner::Thread(thread_number()), |(co, _)| Runner::Co(co))
    }
}

impl Asker {
    pub(crate) fn here() -> Asker {
        Asker { runner: Runner::here(), place: Place::here() }
    }

    /// Whether it has called the calling code.
    pub(crate) fn is_around(&self) -> bool {
        self.runner == Runner::here() && self.place.is_around()
    }

    /// Whether it does not go on while the calling code waits: it has called that, or is another member of its ring.
    pub(crate) fn is_kept(&self) -> bool {
        self.runner == Runner::here()
    }
}

/// Who is scheduled next?
pub(crate) struct Question {
    policy: Option<Box<dyn Schedule>>,
    ids: Vec<Id>,
    waiting: Vec<Waiting>,
    round: u32,
}

impl Question {
    /// Asks. This runs code of a user.
    ///
    /// # Panics
    /// If it does, or chooses one that is not there.
    pub(crate) fn ask(&mut self) -> usize {
        let len = self.waiting.len();
        let Some(policy) = &mut self.policy else { return pick_by_kernel(len) };
        let place = policy.pick(&self.waiting);
        assert!(place < len, "a policy picked number {place} of {len} waiting coroutines");
        place
    }
}

/// Which request does it serve next?
pub(crate) struct Undecided {
    id: Id,
    policy: Option<Box<dyn Serve>>,
    numbers: Vec<u64>,
    pending: Vec<Pending>,
    round: u32,
}

impl Undecided {
    /// Asks. This runs code of a user.
    ///
    /// # Panics
    /// If it does, or chooses one that is not there.
    pub(crate) fn ask(&mut self) -> usize {
        let len = self.pending.len();
        let Some(policy) = &mut self.policy else { return pick_by_kernel(len) };
        let place = policy.pick(&self.pending);
        assert!(place < len, "a policy picked number {place} of {len} requests");
        place
    }

    /// Its policy has panicked, and is gone: the first request is served.
    pub(crate) fn depose(&mut self) -> Option<Box<dyn Serve>> {
        self.round = ROUNDS;
        self.policy.take()
    }
}

/// The first, unless the kernel's policy says otherwise, as in tests that explore.
fn pick_by_kernel(len: usize) -> usize {
    let candidates: Vec<_> = (0..len as u64).map(Candidate::Other).collect();
    choose(&Choice::new(ChoiceKind::Waiter, None, &candidates))
}

impl Table {
    /// Whether user code is to be asked or told, when the lock is free.
    #[inline]
    pub(crate) fn has_questions(&self) -> bool {
        !self.undecided.is_empty() || (!self.events.is_empty() && self.observer.is_some())
    }

    /// Q1.
    pub(super) fn question(&mut self) -> Question {
        let ids: Vec<_> = self.queue.iter().copied().collect();
        let waiting = ids.iter().map(|id| self.as_waiting(*id)).collect();
        Question { policy: self.schedule.take(), ids, waiting, round: 0 }
    }

    /// Q3.
    pub(crate) fn schedule_chosen(&mut self, question: Question, place: usize) -> Next {
        let Question { policy, ids, waiting: _, round } = question;
        self.schedule = policy;
        if !self.is_ready() {
            return Next::Nobody;
        }
        if self.queue.iter().eq(&ids) {
            return self.schedule_at(place);
        }
        let chosen = self.queue.iter().position(|id| *id == ids[place]);
        match chosen.filter(|_| round >= ROUNDS) {
            Some(place) => self.schedule_at(place),
            None => match self.schedule() {
                Next::Ask(question) => Next::Ask(Question { round: round + 1, ..question }),
                next => next,
            },
        }
    }

    /// Does Q3 without an answer: nobody is scheduled.
    pub(crate) fn put_back_policy(&mut self, question: Question) {
        self.schedule = question.policy;
    }

    /// A2.
    pub(crate) fn next_undecided(&mut self) -> Option<Undecided> {
        while let Some(id) = self.undecided.pop() {
            if self.get(id).is_none_or(|cell| cell.state == State::Terminated) {
                continue;
            }
            if self.can_attach(id) && self.cell(id).requests.len() > 1 {
                return Some(self.ask_about(id, 0));
            }
            self.cell_mut(id).is_undecided = false;
            self.attach(id);
        }
        None
    }

    fn ask_about(&mut self, id: Id, round: u32) -> Undecided {
        let cell = self.cell_mut(id);
        let policy = cell.serve.take();
        let numbers = cell.requests.iter().map(|own| own.number).collect();
        let pending = cell.requests.iter().map(Request::as_pending).collect();
        Undecided { id, policy, numbers, pending, round }
    }

    /// A4. What is to be asked again, if something has changed.
    pub(crate) fn decide(&mut self, asked: Undecided, place: usize) -> Option<Undecided> {
        let Undecided { id, policy, numbers, pending: _, round } = asked;
        if self.get(id).is_none_or(|cell| cell.state == State::Terminated) {
            self.garbage.push(Box::new(policy));
            return None;
        }
        self.cell_mut(id).serve = policy;
        if !self.can_attach(id) {
            self.cell_mut(id).is_undecided = false;
            return None;
        }
        let requests = &self.cell(id).requests;
        let is_same = requests.iter().map(|own| own.number).eq(numbers.iter().copied());
        if !is_same && round < ROUNDS && requests.len() > 1 {
            return Some(self.ask_about(id, round + 1));
        }
        let chosen = requests.iter().position(|own| own.number == numbers[place]);
        self.cell_mut(id).is_undecided = false;
        self.attach_at(id, chosen.unwrap_or(0));
        None
    }

    /// T1.
    pub(crate) fn take_events(&mut self) -> Option<(Observer, Events)> {
        let observer = self.observer.take_if(|_| !self.events.is_empty())?;
        Some((observer, core::mem::take(&mut self.events)))
    }

    /// T3. It is given back to be dropped, if nothing will be told any more.
    pub(crate) fn put_back(&mut self, observer: Observer) -> Option<Observer> {
        if self.is_observed || !self.events.is_empty() {
            self.observer = Some(observer);
            return None;
        }
        Some(observer)
    }

    /// It has panicked, and is told nothing any more.
    pub(crate) fn is_unobserved(&mut self) {
        self.is_observed = false;
        self.events.clear();
    }
}
