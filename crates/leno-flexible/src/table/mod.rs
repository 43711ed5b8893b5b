//! What a system knows of its coroutines: one table, under one lock.
//!
//! Every operation is one critical section, whoever performs it, so operations are atomic (F64). In it
//! the rules of [`model`](crate::model) are applied, with the same names: `coroutine.rs` has what the
//! active coroutine does, `outside.rs` what threads do, `schedule.rs` what happens by itself, `end.rs`
//! how bodies end, `direct.rs` several of them at once, where nothing can come between. A request is attached in the very operation that makes that possible; scheduling is a
//! step of its own.
//!
//! Invariants, besides those of [`Configuration::check`](crate::model::Configuration::check):
//! - `active` is the one whose state is active;
//! - no code of users runs under the lock. Calls whose callers are to be woken are `spent`, what is to be dropped is
//!   put into `garbage`, what the observer is to be told into `events`, and those of whose requests a policy has to choose one into
//!   `undecided`; all of it is seen to when the lock is free (`ask.rs`).
//!
//! Deliberately not here: stacks, cores, parking.

mod ask;
mod coroutine;
mod direct;
mod end;
mod outside;
mod schedule;
mod snapshot;
mod stackless;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Waker;

use leno_kernel::Co;
use leno_kernel::layer::user;

use crate::call::AnyCall;
use crate::event::{Event, Events, Observer, What};
use crate::party::{Outsider, Party};
use crate::policy::{Pending, Schedule, Serve};
use crate::{Label, Rule, State};

pub(crate) use ask::{Asker, Question, Undecided};
pub(crate) use end::Ending;
pub(crate) use schedule::{Body, Next};
pub(crate) use stackless::{Leave, Stackless};

/// What an operation leaves for when the lock is free.
pub(crate) struct Leavings {
    garbage: Vec<Box<dyn Send>>,
    spent: Option<Spent>,
    more: Vec<Spent>,
}

/// A call that is to be dropped, and whether its caller is woken before.
struct Spent {
    call: Arc<dyn AnyCall>,
    wakes: bool,
}

impl Leavings {
    /// Wakes all who are to be woken, and drops all that is to be dropped, whatever a waker or a destructor
    /// does.
    pub(crate) fn see_to(self) {
        let calls = self.spent.iter().chain(&self.more).filter(|spent| spent.wakes);
        let wakes = calls.filter_map(|spent| spent.call.waiter());
        if leno_context::is_planted("threadless-stops") {
            wakes.for_each(user::wake_unguarded);
        } else {
            user::wake_all(wakes);
        }
    }
}

impl Drop for Leavings {
    fn drop(&mut self) {
        if !self.garbage.is_empty() {
            user::discard_all(core::mem::take(&mut self.garbage));
        }
        user::discard(self.spent.take());
        if !self.more.is_empty() {
            user::discard_all(core::mem::take(&mut self.more));
        }
    }
}

/// Which coroutine of a table. One that is gone leaves a number that nobody else gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    slot: usize,
    generation: u32,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Table {
    slots: Vec<(u32, Option<Cell>)>,
    free: Vec<usize>,
    /// Those that are waiting, in order of arrival.
    queue: VecDeque<Id>,
    active: Option<Id>,
    by_co: HashMap<Co, Id>,
    schedule: Option<Box<dyn Schedule>>,
    /// Whom events are told, while nobody tells it of some.
    observer: Option<Observer>,
    is_observed: bool,
    wants_snapshots: bool,
    /// What it is to be told.
    events: Events,
    /// Those that could serve one of several requests, which a policy has to choose.
    undecided: Vec<Id>,
    /// The number of the next request.
    next_request: u64,
    is_simula: bool,
    /// Where a detach without a caller goes in Simula mode: the first that was created.
    main: Option<Id>,
    is_stopped: bool,
    /// The same, for those who do not lock.
    pub(crate) has_ended: Arc<AtomicBool>,
    /// What is to be dropped when the lock is free: it belongs to users, whose destructors may operate.
    garbage: Vec<Box<dyn Send>>,
    /// A call to be dropped then, or whose caller is to be woken; and more of them, if there is one.
    spent: Option<Spent>,
    more: Vec<Spent>,
    /// The coroutine that schedules, on a home core.
    pub(crate) scheduler: Option<Co>,
    /// Whether that one looks by itself, so that nobody need wake it.
    pub(crate) is_listening: bool,
    /// How often somebody was scheduled and became active.
    pub(crate) turns: u64,
    /// Whether somebody steers, without a home core; see [`helm`](crate::helm).
    pub(crate) is_steered: bool,
}

/// A coroutine of a table.
pub(crate) struct Cell {
    pub(crate) name: Arc<str>,
    pub(crate) state: State,
    pub(crate) caller: Option<Caller>,
    pub(crate) callee: Option<Id>,
    /// Whom it has called though that one was busy; then it is not attached yet.
    waits_for: Option<Id>,
    /// Whether it has terminated by a panic.
    has_panicked: bool,
    requests: Vec<Request>,
    attached_only: bool,
    priority: i32,
    serve: Option<Box<dyn Serve>>,
    /// Whether it is among the undecided, or its policy is being asked.
    is_undecided: bool,
    /// What it runs, until it first does.
    body: Option<Body>,
    /// What it runs if it has no stack, while nobody polls it.
    stackless: Option<Stackless>,
    /// A wake-up that came while it was polled.
    is_woken: bool,
    /// What wakes its body, and what has to be woken in that, to be polled in the next turn.
    waker: Option<Waker>,
    inner: Option<Waker>,
    co: Option<Co>,
    stack_size: Option<usize>,
    /// A kick that the next passivate takes.
    permit: bool,
    /// Whether someone outside still names it.
    has_handle: bool,
}

/// What a coroutine runs.
pub(crate) enum Runs {
    /// With a stack.
    Closure(Body),
    /// Without.
    Future(Stackless),
}

/// What a coroutine to be made is like.
pub(crate) struct Plan {
    pub(crate) name: Arc<str>,
    pub(crate) attached_only: bool,
    pub(crate) priority: i32,
    pub(crate) serve: Option<Box<dyn Serve>>,
    pub(crate) stack_size: Option<usize>,
}

/// To whom a coroutine is attached.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) from: Requester,
    pub(crate) call: Arc<dyn AnyCall>,
}

/// Who asks for something.
#[derive(Clone)]
pub(crate) enum Requester {
    Coroutine(Id, Arc<str>),
    Outside(Outsider),
}

impl Requester {
    pub(crate) fn party(&self) -> Party {
        match self {
            Requester::Coroutine(_, name) => Party::Coroutine(name.clone()),
            Requester::Outside(outsider) => outsider.party(),
        }
    }
}

/// A request in a local set: a call, which is there then, or a kick.
struct Request {
    /// Which one it is.
    number: u64,
    from: Requester,
    call: Option<Arc<dyn AnyCall>>,
}

impl Request {
    fn as_pending(&self) -> Pending {
        let label = if self.call.is_some() { Label::Call } else { Label::Kick };
        Pending { label, from: self.from.party() }
    }
}

impl Table {
    pub(crate) fn new(
        schedule: Option<Box<dyn Schedule>>,
        observer: Option<Observer>,
        is_simula: bool,
    ) -> Table {
        let is_observed = observer.is_some();
        let wants_snapshots = observer.as_ref().is_some_and(|observer| observer.wants_snapshots);
        Table { schedule, observer, is_observed, wants_snapshots, is_simula, ..Table::default() }
    }

    /// Adds a coroutine: `m⟨Q⟩⁻₋`.
    pub(crate) fn add(&mut self, plan: Plan, runs: impl FnOnce(Id) -> Runs) -> Id {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        let id = Id { slot, generation: self.slots[slot].0 };
        let Plan { name, attached_only, priority, serve, stack_size } = plan;
        self.slots[slot].1 = Some(Cell {
            name,
            state: State::Idle,
            caller: None,
            callee: None,
            waits_for: None,
            has_panicked: false,
            requests: Vec::new(),
            attached_only,
            priority,
            serve,
            is_undecided: false,
            body: None,
            stackless: None,
            is_woken: false,
            waker: None,
            inner: None,
            co: None,
            stack_size,
            permit: false,
            has_handle: true,
        });
        let runs = runs(id);
        if self.is_stopped {
            self.cell_mut(id).state = State::Terminated;
            self.garbage.push(Box::new(runs));
        } else {
            match runs {
                Runs::Closure(body) => self.cell_mut(id).body = Some(body),
                Runs::Future(stackless) => {
                    self.cell_mut(id).waker = Some(stackless.waker.clone());
                    self.cell_mut(id).stackless = Some(stackless);
                }
            }
        }
        if self.is_simula && self.main.is_none() {
            self.main = Some(id);
        }
        id
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Cell> {
        let (generation, cell) = self.slots.get(id.slot)?;
        cell.as_ref().filter(|_| *generation == id.generation)
    }

    pub(crate) fn cell(&self, id: Id) -> &Cell {
        self.get(id).expect("whoever names it keeps it")
    }

    fn get_mut(&mut self, id: Id) -> Option<&mut Cell> {
        let (generation, cell) = self.slots.get_mut(id.slot)?;
        cell.as_mut().filter(|_| *generation == id.generation)
    }

    fn cell_mut(&mut self, id: Id) -> &mut Cell {
        self.get_mut(id).expect("whoever names it keeps it")
    }

    /// The coroutine of this system that this one of the kernel is.
    pub(crate) fn of_co(&self, co: Co) -> Option<Id> {
        self.by_co.get(&co).copied()
    }

    pub(crate) fn co_of(&self, id: Id) -> Option<Co> {
        self.cell(id).co
    }

    pub(crate) fn is_active(&self, id: Id) -> bool {
        self.active == Some(id)
    }

    /// The last of its chain of callees.
    pub(crate) fn bottom(&self, m: Id) -> Id {
        let mut k = m;
        while let Some(callee) = self.cell(k).callee {
            k = callee;
        }
        k
    }

    fn state(&self, id: Id) -> State {
        self.cell(id).state
    }

    fn set(&mut self, id: Id, state: State) {
        let cell = self.cell_mut(id);
        let before = cell.state;
        debug_assert!(before.may_become(state), "'{}' was {before}, is {state}", cell.name);
        cell.state = state;
        match state {
            State::Active => self.active = Some(id),
            _ if self.active == Some(id) => self.active = None,
            _ => {}
        }
        debug_assert!(
            state != State::Active || self.cell(id).callee.is_none(),
            "an active coroutine has a callee"
        );
    }

    /// Puts it into the queue.
    fn wait(&mut self, id: Id) {
        self.set(id, State::Waiting);
        debug_assert!(!self.queue.contains(&id), "it is in the queue already");
        self.queue.push_back(id);
    }

    fn name(&self, id: Id) -> Arc<str> {
        self.cell(id).name.clone()
    }

    /// Notes what the observer is to be told, if there is one.
    fn tell(&mut self, make: impl FnOnce(&Table) -> (Party, What, Option<Arc<str>>)) {
        if self.is_observed {
            let (by, what, on) = make(self);
            let snapshot = self.wants_snapshots.then(|| self.snapshot());
            self.events.push_back((Event { by, what, on }, snapshot));
        }
    }

    /// Tells it of a rule.
    fn tell_rule(&mut self, rule: Rule, by: &Requester, on: Option<Id>) {
        self.tell(|table| (by.party(), What::Applied(rule), on.map(|on| table.name(on))));
    }

    /// Tells it of a rule that a coroutine has applied.
    fn tell_own(&mut self, rule: Rule, by: Id, on: Option<Id>) {
        if self.is_observed {
            let by = self.as_requester(by);
            self.tell_rule(rule, &by, on);
        }
    }

    /// A coroutine as the one who asks.
    pub(crate) fn as_requester(&self, id: Id) -> Requester {
        Requester::Coroutine(id, self.name(id))
    }

    /// Whoever is to be woken, and what is to be dropped, when the lock is free: mostly nothing.
    pub(crate) fn take_leavings(&mut self) -> Option<Leavings> {
        let is_nothing = self.garbage.is_empty() && self.spent.is_none();
        (!is_nothing).then(|| Leavings {
            garbage: core::mem::take(&mut self.garbage),
            spent: self.spent.take(),
            more: core::mem::take(&mut self.more),
        })
    }

    /// What belongs to users, each for itself, when the table goes.
    pub(crate) fn take_rest(&mut self) -> Vec<Box<dyn Send>> {
        let mut rest = core::mem::take(&mut self.garbage);
        rest.push(Box::new(self.schedule.take()));
        let spent = self.spent.take().into_iter().chain(core::mem::take(&mut self.more));
        rest.extend(spent.map(|spent| Box::new(spent.call) as Box<dyn Send>));
        rest.push(Box::new(self.observer.take()));
        for (_, cell) in core::mem::take(&mut self.slots) {
            let Some(cell) = cell else { continue };
            rest.push(Box::new(cell.serve));
            rest.push(Box::new((cell.body, cell.stackless, cell.inner)));
            rest.extend(cell.caller.map(|own| Box::new(own.call) as Box<dyn Send>));
            rest.extend(cell.requests.into_iter().map(|own| Box::new(own.call) as Box<dyn Send>));
        }
        rest
    }

    /// A call was answered. If its caller has gone by now, what it carries is dropped with this.
    fn spend(&mut self, call: Arc<dyn AnyCall>) {
        self.leave_call(Spent { call, wakes: false });
    }

    /// Does the same, and has its caller woken, if that waits.
    fn wake_caller(&mut self, call: Arc<dyn AnyCall>) {
        self.leave_call(Spent { call, wakes: true });
    }

    fn leave_call(&mut self, spent: Spent) {
        match self.spent {
            None => self.spent = Some(spent),
            Some(_) => self.more.push(spent),
        }
    }

    /// Puts a request into the local set of m.
    fn request(&mut self, m: Id, from: Requester, call: Option<Arc<dyn AnyCall>>) {
        let number = self.next_request;
        self.next_request += 1;
        self.cell_mut(m).requests.push(Request { number, from, call });
    }

    /// Whether somebody could be scheduled.
    pub(crate) fn is_ready(&self) -> bool {
        self.active.is_none() && !self.queue.is_empty() && !self.is_stopped
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Nobody outside names it any more.
    pub(crate) fn forget(&mut self, id: Id) {
        if self.get(id).is_some() {
            self.cell_mut(id).has_handle = false;
            self.free_if_gone(id);
        }
    }

    fn free_if_gone(&mut self, id: Id) {
        let cell = self.cell(id);
        if cell.state == State::Terminated && !cell.has_handle && cell.co.is_none() {
            let gone = core::mem::replace(&mut self.slots[id.slot], (id.generation + 1, None));
            self.garbage.push(Box::new(gone));
            self.free.push(id.slot);
        }
    }
}
