//! How the three kinds of caller wait for an operation.
//!
//! An operation is tried under the network's lock, and again with each answer of its policy
//! (`choices.rs`). If it cannot be done yet, it says where to wait, and when time alone will make it
//! possible. It comes into line there under the same lock in which it has looked, so that no
//! wake-up is lost; then a coroutine parks, a thread blocks, a future leaves its waker and sets an
//! alarm. Trying again in vain changes nothing.
//!
//! A wait has up to two nodes, one in each line of its place ([`Standing`]). They lie on the heap, for all three kinds of
//! caller: the queue uses their memory again, and a wait for reading or writing stands in two lines, of which a frame
//! would hold the first only. Whatever has ended the park, the nodes are withdrawn and it is tried again, so nothing
//! depends on which of them was settled.
//!
//! Between coming into line and parking, wakers of others and the clock are called. One that parks may take the wake that is
//! meant for this wait, and one that moves a member of a ring leaves its nodes with the bell of another thread. So if
//! there was a park, or the thread is another one, the nodes get a new waiter, and it is looked whether they were settled,
//! before it parks.
//!
//! Nobody works for the network: what is on its way arrives when someone looks, and whoever waits for
//! it wakes itself at that time.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use leno_kernel::layer::queue::Stage;
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::{
    Alarm, Sign, common_now, park_on, park_on_until, parks, thread_number, world,
};
use leno_kernel::log::{self, What};
use leno_kernel::{Object, Reason, Time, Waiter, Wake, exit, log::Operation as Kind, now};

use super::choices::Decided;
use super::lines::{Locked, Node};
use super::network::Inner;
use super::state::{Place, State, Waiters, waiters};
use crate::user::raise;

/// What one try has come to.
#[derive(Debug)]
pub(super) enum Attempt<R> {
    Done(io::Result<R>),
    /// Not yet; worth another try then, or when someone says so.
    Later(Option<Time>),
}

/// Something that may have to wait.
pub(super) trait Operation {
    type Output;

    /// Tries it.
    ///
    /// # Errors
    /// If an answer of the policy is missing; nothing has changed then, and it is tried again with the answer.
    fn attempt(&mut self, state: &mut State, now: Time) -> Decided<Attempt<Self::Output>>;

    /// Where to wait after a try in vain.
    fn place(&self) -> Place;

    /// What it is called in logs, and what it touches; `None` if that is anything.
    fn kind(&self) -> (Kind, Option<Object>);

    /// What is shown of whoever waits.
    fn sign(&self) -> &Arc<Sign>;

    /// Whether it is part of something else, of which nothing need be said.
    fn is_quiet(&self) -> bool {
        false
    }

    /// What a log says of it.
    fn tell(&self, output: &Self::Output) -> Option<String>;

    /// It took too long.
    fn late(&self) -> io::Error;

    fn reason(&self) -> Reason {
        match self.kind().0 {
            Kind::Send => Reason::Blocked(self.sign().object()),
            _ => Reason::Hungry(self.sign().object()),
        }
    }
}

impl Inner {
    /// An operation begins: other threads of an explored program may run first.
    pub(super) fn begins<O: Operation>(&self, operation: &O) {
        if world::is_observed() && !operation.is_quiet() {
            let (kind, touches) = operation.kind();
            if !self.is_local() {
                world::point(kind, touches);
            }
            let object = operation.sign().object();
            log::add(|| What::Begins(kind, object));
        }
    }

    /// It has ended like this.
    fn ends<O: Operation>(&self, operation: &O, result: &io::Result<O::Output>) {
        if operation.is_quiet() || !world::is_observed() || !log::is_on() {
            return;
        }
        let ((kind, _), object) = (operation.kind(), operation.sign().object());
        match result {
            Ok(output) => {
                log::add(|| What::Does(kind, object));
                operation.tell(output).into_iter().for_each(log::mark);
            }
            Err(error) => {
                log::add(|| What::Fails(kind, object));
                log::mark(error.to_string());
            }
        }
    }

    /// Does an operation for a coroutine or a thread, waiting until `deadline` at most.
    #[track_caller]
    pub(super) fn wait<O: Operation>(
        &self,
        mut operation: O,
        deadline: Option<Time>,
    ) -> io::Result<O::Output> {
        self.check_caller()?;
        self.begins(&operation);
        let result = self.wait_for(&mut operation, deadline);
        self.ends(&operation, &result);
        result
    }

    #[track_caller]
    fn wait_for<O: Operation>(
        &self,
        operation: &mut O,
        deadline: Option<Time>,
    ) -> io::Result<O::Output> {
        let mut standing = Standing::new(self);
        // Known at the second try: finding out may panic, which is not for the first.
        let (mut own, mut here) = ([None, None], here());
        loop {
            standing.leave();
            let now = common_now();
            let attempt = |state: &mut State| {
                Ok(match operation.attempt(state.at(now), now)? {
                    Attempt::Done(result) => Err(result),
                    Attempt::Later(_) if deadline.is_some_and(|deadline| deadline <= now) => {
                        Err(Err(operation.late()))
                    }
                    Attempt::Later(at) => Ok((at, operation.place())),
                })
            };
            let (tried, raised) = self.decide_then(attempt, |network, tried| {
                if let Ok((_, place)) = tried {
                    standing.enter(network, *place, &mut own);
                }
            });
            let at = match tried {
                Ok((at, _)) => at,
                Err(result) => return kept(result, raised),
            };
            raise(raised);
            if !standing.is_in_line() {
                let waiter = Waiter::current();
                self.check_thread(&waiter, deadline, operation)?;
                (own, here) = (waiters(operation.place(), waiter), self::here());
                continue;
            }
            let (reason, sign) = (operation.reason(), operation.sign());
            let until = first(at, deadline).map(|at| own_time(at, now));
            if self::here() != here && standing.look_as(operation.place()) {
                (own, here) = (waiters(operation.place(), Waiter::current()), self::here());
                continue;
            }
            let wake = match until {
                None => park_on(reason, sign),
                Some(until) => park_on_until(reason, sign, until),
            };
            if wake == Wake::Exit {
                standing.leave();
                return Err(io::Error::other(exit()));
            }
            (own, here) = (waiters(operation.place(), Waiter::current()), self::here());
        }
    }

    /// Whoever is to be woken for a future. A local network's coroutines are known by name, so that
    /// their system sees that nobody else can wake them.
    pub(super) fn waiter(&self, context: &Context<'_>) -> Waiter {
        match self.is_local() {
            true => Waiter::of(context),
            false => Waiter::Waker(context.waker().clone()),
        }
    }

    /// Does an operation if it need not wait.
    pub(super) fn try_now<O: Operation>(&self, mut operation: O) -> io::Result<O::Output> {
        self.check_caller()?;
        if world::is_observed() && !self.is_local() {
            world::point(operation.kind().0, operation.kind().1);
        }
        let now = common_now();
        let (tried, raised) = self.decide_raised(|state| operation.attempt(state.at(now), now));
        match tried {
            Attempt::Done(result) => {
                let result = kept(result, raised);
                self.ends(&operation, &result);
                result
            }
            // Whoever tries again says nothing of it.
            Attempt::Later(_) => {
                raise(raised);
                Err(ErrorKind::WouldBlock.into())
            }
        }
    }

    fn check_thread<O: Operation>(
        &self,
        waiter: &Waiter,
        deadline: Option<Time>,
        operation: &O,
    ) -> io::Result<()> {
        let is_alone = self.is_local() && deadline.is_none();
        if !is_alone || !matches!(waiter, Waiter::Thread(_)) {
            return Ok(());
        }
        let message = format!(
            "a thread is {} of a local network: only the thread's own coroutines could end the wait, \
             and they cannot run meanwhile; use Network::new, or coroutines",
            operation.reason(),
        );
        Err(io::Error::new(ErrorKind::Deadlock, message))
    }
}

/// What an operation has come to, unless an exit that came out of a waker goes on now. What was read, written or accepted
/// must not be lost for it: the coroutine hears of its exit when it waits next.
fn kept<R>(result: io::Result<R>, raised: Option<Panic>) -> io::Result<R> {
    if result.is_err() {
        raise(raised);
    }
    result
}

/// How often the calling code has parked, and on which thread it is: user code may change both.
fn here() -> (u32, u32) {
    (parks(), thread_number())
}

/// The earlier of two times, if there is one.
pub(super) fn first(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A time of the common clock by the calling code's own.
pub(super) fn own_time(at: Time, common: Time) -> Time {
    now() + at.since(common)
}

/// A time of the calling code's own clock by the common one.
pub(super) fn common_time(at: Time) -> Time {
    common_now() + at.since(now())
}

/// Drops waiters that were not needed.
pub(super) fn discard(waiters: Waiters) {
    user::discard_all(waiters.into_iter().flatten());
}

/// A wait in the lines of a place, left when it is dropped.
struct Standing<'a> {
    network: &'a Inner,
    nodes: [Option<Node<'a>>; 2],
}

impl<'a> Standing<'a> {
    fn new(network: &'a Inner) -> Self {
        Standing { network, nodes: [None, None] }
    }

    fn is_in_line(&self) -> bool {
        self.nodes.iter().any(Option::is_some)
    }

    /// Comes into line, with all the waiters. It is in no line yet.
    fn enter(&mut self, network: &mut Locked<'a>, place: Place, waiters: &mut Waiters) {
        let lines = network.lines_at(place).into_iter().zip(waiters);
        for (node, (line, waiter)) in self.nodes.iter_mut().zip(lines) {
            if let Some(waiter) = waiter.take() {
                // Nobody waits at a place that is gone. If one did, healing would wake it.
                let line = line.unwrap_or(network.healing);
                *node = Some(network.link_on_heap(line.number(), waiter, ()));
            }
        }
    }

    /// Has the calling code woken from now on. Whether it was woken before: code of others has run since it came into
    /// line, which may have parked and taken that wake, or have brought a member of a ring to another thread.
    fn look_as(&mut self, place: Place) -> bool {
        let mut waiters = waiters(place, Waiter::current());
        let mut network = self.network.lock();
        let mut is_settled = false;
        for (node, waiter) in self.nodes.iter().zip(&mut waiters) {
            let Some(node) = node else { continue };
            is_settled |= network.stage(node.handle()) != Stage::Waiting;
            if let Some(own) = waiter.take() {
                *waiter = network.set_waiter(node.handle(), own);
            }
        }
        drop(network);
        discard(waiters);
        is_settled
    }

    fn leave(&mut self) {
        if !self.is_in_line() {
            return;
        }
        let nodes = core::mem::take(&mut self.nodes);
        let mut network = self.network.lock();
        let left = nodes.map(|node| node.map(|node| network.leave(node)));
        drop(network);
        user::discard_all(left.into_iter().flatten());
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// An operation for a future.
pub(super) struct Waiting<'a, O> {
    standing: Standing<'a>,
    operation: O,
    limit: Option<Time>,
    alarm: Option<Alarm>,
    has_begun: bool,
}

impl<'a, O: Operation> Waiting<'a, O> {
    pub(super) fn new(network: &'a Inner, operation: O, deadline: Option<Time>) -> Self {
        let standing = Standing::new(network);
        Waiting { standing, operation, limit: deadline, alarm: None, has_begun: false }
    }

    pub(super) fn parts(&self) -> (&'a Inner, &O) {
        (self.standing.network, &self.operation)
    }

    /// Has someone woken who looks by itself.
    pub(super) fn enlist(&mut self, waiter: Waiter) {
        self.leave();
        let place = self.operation.place();
        let mut waiters = waiters(place, waiter);
        let mut network = self.standing.network.lock();
        self.standing.enter(&mut network, place, &mut waiters);
    }

    pub(super) fn leave(&mut self) {
        self.standing.leave();
    }
}

impl<O: Operation + Unpin> Future for Waiting<'_, O> {
    type Output = io::Result<O::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let network = this.standing.network;
        network.check_caller()?;
        if !this.has_begun {
            this.has_begun = true;
            network.begins(&this.operation);
        }
        let waiter = network.waiter(context);
        // Taken only if it is used: else it is dropped below, without the lock.
        let mut waiters = waiters(this.operation.place(), waiter);
        this.alarm = None;
        this.standing.leave();
        let now = common_now();
        let Waiting { standing, operation, limit, .. } = this;
        let attempt = |state: &mut State| {
            Ok(match operation.attempt(state.at(now), now)? {
                Attempt::Done(result) => Err(result),
                Attempt::Later(_) if limit.is_some_and(|limit| limit <= now) => {
                    Err(Err(operation.late()))
                }
                Attempt::Later(at) => Ok((at, operation.place())),
            })
        };
        let (tried, raised) = network.decide_then(attempt, |network, tried| {
            if let Ok((_, place)) = tried {
                standing.enter(network, *place, &mut waiters);
            }
        });
        match tried {
            Ok((at, _)) => {
                raise(raised);
                let at = first(at, this.limit);
                this.alarm = at.map(|at| Alarm::set(own_time(at, now), context));
                Poll::Pending
            }
            Err(result) => {
                let result = kept(result, raised);
                // Its exit, too, waits for the next wait.
                drop(user::call(|| discard(waiters)));
                network.ends(&this.operation, &result);
                Poll::Ready(result)
            }
        }
    }
}
