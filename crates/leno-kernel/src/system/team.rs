//! What the cores of a system share: work that has not started, and who is idle.
//!
//! Each core has a *pile* of bodies that were spawned and not started yet. Its owner takes the newest,
//! so that what a body spawns is done soon and few stacks are in use at a time, and now and then the
//! oldest, so that none waits for ever. An idle core robs another of the older half. Everything else
//! stays on its core.
//!
//! # Protocol: nobody sleeps while there is work
//! ```text
//!   whoever adds                          a core that finds nothing
//!   A1  put the work on a pile            I1  idle := true
//!   A2  fence                             I2  fence
//!   A3  if someone is idle, its           I3  look at all piles and the mail again;
//!       idle := false, ring its bell          if there is anything: idle := false, go on
//!                                         I4  sleep until the bell; idle := false
//! ```
//! The race it must win: work that is added while a core goes to sleep. The fences exclude that A3
//! looks before I1 and I3 before A1. Only whoever changes `idle` from true to false rings, so a
//! thousand spawns wake each sleeper once.
//!
//! # Quiescence
//! When the last core becomes idle it wakes those who wait for that. They look at every core: idle,
//! with an empty pile, and as many messages read as were sent; and then at all of that once more. If
//! nothing has changed in between, it was so at one time between the two looks.

use std::collections::VecDeque;

use crate::core::{About, Body, Core};
use crate::join::Adoption;
use crate::mailbox::Mailbox;
use crate::policy::{Candidate, Choice, ChoiceKind, Hint};
use crate::sync::{
    AtomicBool, AtomicUsize, Mutex,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence, lock,
};
use crate::{Object, Waiter};

/// A body that was spawned and has not started.
pub(crate) struct Work {
    pub(crate) about: About,
    pub(crate) hint: Hint,
    pub(crate) body: SendBody,
    pub(crate) adoption: std::sync::Arc<dyn Adoption + Send + Sync>,
}

/// What such a body is: any core may run it.
pub(crate) enum SendBody {
    Closure(Box<dyn FnOnce() + Send>),
    Future(core::pin::Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl From<SendBody> for Body {
    fn from(body: SendBody) -> Body {
        match body {
            SendBody::Closure(closure) => Body::Closure(closure),
            SendBody::Future(future) => Body::Future(future),
        }
    }
}

/// See the module.
pub(crate) struct Team {
    pub(crate) name: Object,
    places: Box<[Place]>,
    /// How many are idle.
    idle: AtomicUsize,
    /// Whose pile the next work from outside goes to.
    turn: AtomicUsize,
    stopping: AtomicBool,
    /// How many wait for quiescence, and who is to be woken when all are idle.
    watched: AtomicUsize,
    waiters: Mutex<Vec<Waiter>>,
}

/// What a team knows of one core.
pub(crate) struct Place {
    pub(crate) mailbox: &'static Mailbox,
    pile: Mutex<VecDeque<Work>>,
    /// How long the pile is, roughly.
    length: AtomicUsize,
    idle: AtomicBool,
    /// Written by the core before it becomes idle: how many coroutines it has,
    live: AtomicUsize,
    /// whether one of them may be woken from outside or by time,
    open: AtomicBool,
    /// how many messages it has read,
    read: AtomicUsize,
    /// and whether it has written all that.
    told: AtomicBool,
}

/// What a core leaves behind when it rests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// How many coroutines it has.
    pub(crate) live: usize,
    /// Whether one of them may be woken from outside or by time.
    pub(crate) open: bool,
    /// How many messages it has read.
    pub(crate) read: usize,
}

/// Someone waits for quiescence.
pub(crate) struct Watch<'a>(&'a Team);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.watched.fetch_sub(1, SeqCst);
    }
}

/// What an idle team is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is not idle.
    Busy,
    /// Some wait for what may still come: time, I/O, something outside.
    Open,
    /// Nobody can ever run again; so many are left.
    Quiescent { live: usize },
}

impl Team {
    pub(crate) fn new(mailboxes: impl Iterator<Item = &'static Mailbox>) -> Team {
        let places = mailboxes.map(|mailbox| Place {
            mailbox,
            pile: Mutex::new(VecDeque::new()),
            length: AtomicUsize::new(0),
            idle: AtomicBool::new(false),
            live: AtomicUsize::new(0),
            open: AtomicBool::new(false),
            read: AtomicUsize::new(0),
            told: AtomicBool::new(false),
        });
        Team {
            name: Object::shared(),
            places: places.collect(),
            idle: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            watched: AtomicUsize::new(0),
            waiters: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Puts work on the pile of a core, or, from outside, on one after the other's.
    pub(crate) fn add(&self, to: Option<usize>, work: Work) {
        let to = to.unwrap_or_else(|| self.turn.fetch_add(1, Relaxed) % self.places.len());
        let place = &self.places[to];
        {
            let mut pile = lock(&place.pile);
            pile.push_back(work);
            place.length.store(pile.len(), Relaxed);
        }
        if !cfg!(leno_planted = "pile") {
            fence(SeqCst);
        }
        if self.idle.load(Relaxed) > 0 {
            self.wake_one(to);
        }
    }

    /// Wakes an idle core, if there is one; `first` if that one is.
    #[cold]
    fn wake_one(&self, first: usize) {
        let all = self.places.len();
        for place in (0..all).map(|n| &self.places[(first + n) % all]) {
            if self.rouse(place) {
                return place.mailbox.bell.ring();
            }
        }
    }

    /// Makes a core count as not idle; whether it was.
    fn rouse(&self, place: &Place) -> bool {
        let was = place.idle.load(Relaxed) && place.idle.swap(false, AcqRel);
        if was {
            self.idle.fetch_sub(1, AcqRel);
        }
        was
    }

    /// Whether there is work on a core's own pile.
    pub(crate) fn has_work(&self, place: usize) -> bool {
        self.places[place].length.load(Relaxed) > 0
    }

    /// Takes the newest piece of work from a core's own pile.
    pub(crate) fn take_newest(&self, place: usize) -> Option<Work> {
        let place = &self.places[place];
        if place.length.load(Relaxed) == 0 {
            return None;
        }
        let mut pile = lock(&place.pile);
        let work = pile.pop_back();
        place.length.store(pile.len(), Relaxed);
        work
    }

    /// Takes up to `limit` pieces of work from a core's own pile, the oldest first.
    pub(crate) fn take(&self, place: usize, limit: usize, mut f: impl FnMut(Work)) {
        let place = &self.places[place];
        if place.length.load(Relaxed) == 0 {
            return;
        }
        let mut pile = lock(&place.pile);
        let taken = limit.min(pile.len());
        if taken == 1 {
            let work = pile.pop_front().expect("there is one");
            place.length.store(pile.len(), Relaxed);
            drop(pile);
            return f(work);
        }
        let works: Vec<Work> = pile.drain(..taken).collect();
        place.length.store(pile.len(), Relaxed);
        drop(pile);
        works.into_iter().for_each(f);
    }

    /// Robs another core of half its pile; whether there was anything.
    pub(crate) fn rob(&self, own: usize, core: &Core) -> bool {
        let length = |n: &usize| self.places[*n].length.load(Relaxed);
        let mut victims: Vec<usize> =
            (1..self.places.len()).map(|n| (own + n) % self.places.len()).collect();
        victims.retain(|n| length(n) > 0);
        while !victims.is_empty() {
            let chosen = if victims.len() == 1 {
                0
            } else {
                let number = |n: &usize| Candidate::Core(self.places[*n].mailbox.number);
                let candidates: Vec<_> = victims.iter().map(number).collect();
                core.choose(&Choice::new(ChoiceKind::Victim, Some(self.name), &candidates))
            };
            let victim = &self.places[victims.swap_remove(chosen)];
            let mut pile = lock(&victim.pile);
            let half = pile.len().div_ceil(2);
            let loot: Vec<Work> = pile.drain(..half).collect();
            victim.length.store(pile.len(), Relaxed);
            drop(pile);
            if !loot.is_empty() {
                // On the own pile others can rob it in turn.
                let mut pile = lock(&self.places[own].pile);
                pile.extend(loot);
                self.places[own].length.store(pile.len(), Relaxed);
                return true;
            }
        }
        false
    }

    /// A core has found nothing to do: `sleep` is called, unless something has come meanwhile.
    pub(crate) fn rest(&self, own: usize, left: impl FnOnce() -> Left, sleep: impl FnOnce()) {
        let place = &self.places[own];
        // It costs a look at everyone, so only if someone wants to know.
        let watched = self.watched.load(SeqCst) > 0;
        if watched {
            let left = left();
            place.live.store(left.live, Relaxed);
            place.open.store(left.open, Relaxed);
            place.read.store(left.read, Release);
        }
        place.told.store(watched, SeqCst);
        place.idle.store(true, Release);
        let idle = self.idle.fetch_add(1, AcqRel) + 1;
        fence(SeqCst);
        let busy = self.is_stopping()
            || place.mailbox.bell.is_rung()
            || self.places.iter().any(|place| place.length.load(Relaxed) > 0);
        if !busy {
            if idle == self.places.len() {
                self.wake_waiters();
            }
            sleep();
        }
        self.rouse(place);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }

    /// Lets the cores end when their coroutines have.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        for place in &self.places {
            place.mailbox.bell.ring();
        }
    }

    /// Leaves a waiter that is woken when the team next becomes idle.
    pub(crate) fn wait_for_rest(&self, waiter: Waiter) {
        lock(&self.waiters).push(waiter);
    }

    /// Lets cores tell what they have when they rest, as long as the result lives.
    pub(crate) fn watch(&self) -> Watch<'_> {
        self.watched.fetch_add(1, SeqCst);
        for place in self.places.iter().filter(|place| !place.told.load(SeqCst)) {
            place.mailbox.bell.ring();
        }
        Watch(self)
    }

    pub(crate) fn wake_waiters(&self) {
        let waiters = core::mem::take(&mut *lock(&self.waiters));
        waiters.into_iter().for_each(Waiter::wake);
    }

    /// What the team is doing; see the module.
    pub(crate) fn look(&self) -> Rest {
        match (self.look_once(), self.look_once()) {
            (Some(first), Some(second)) if first == second => {
                let (_, live, open) = first;
                if open && live > 0 { Rest::Open } else { Rest::Quiescent { live } }
            }
            _ => Rest::Busy,
        }
    }

    /// Messages sent, coroutines alive, whether any may be woken from outside.
    fn look_once(&self) -> Option<(usize, usize, bool)> {
        let mut seen = (0, 0, false);
        for place in &self.places {
            fence(SeqCst);
            let sent = place.mailbox.sent();
            let idle = place.idle.load(Acquire)
                && place.told.load(Acquire)
                && place.length.load(Acquire) == 0;
            if !idle || sent != place.read.load(Acquire) || place.mailbox.bell.is_rung() {
                return None;
            }
            seen.0 += sent;
            seen.1 += place.live.load(Relaxed);
            seen.2 |= place.open.load(Relaxed);
        }
        Some(seen)
    }
}
