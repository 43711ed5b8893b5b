//! What the cores of a system share: work that any of them may do, and who is idle.
//!
//! Each core has a *pile*. On it are bodies that were spawned and not started yet: its owner takes the
//! newest, so that what a body spawns is done soon and few stacks are in use at a time, and now and
//! then the oldest, so that none waits for ever. And there are movable futures that were woken, which
//! have their turns in order. An idle core robs another of the older half. Everything else stays on
//! its core.
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
//! thousand spawns wake each sleeper once. A core that adds the only piece of work it has to its own
//! pile, between two turns, need not look for idle ones: it takes that piece next, itself.
//!
//! # The end
//! Stopping cancels all movable futures, and so puts them on piles. A core leaves when it has no
//! coroutines of its own, no pile has work, and every movable future that is left is being polled, by
//! another core; the last core only when none is left. What is put on the pile of a core that has left
//! is robbed by one that is still there.

mod rest;

use rest::Resting;
pub(crate) use rest::{Left, Rest};

use std::sync::Arc;

use leno_context::user;

use super::movable::Movable;
use super::movables::Movables;
use super::pile::{Pile, Work};
use crate::core::Core;
use crate::mailbox::{self, Address, Mailbox, Message};
use crate::policy::{Candidate, Choice, ChoiceKind};
use crate::sync::{
    AtomicBool, AtomicUsize, Mutex,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence, lock,
};
use crate::window::Title;
use crate::{Co, Name, Object, RealTime, world};

/// See the module.
pub(crate) struct Team {
    pub(crate) name: Object,
    /// The same as its cores'.
    pub(crate) clock: RealTime,
    pub(crate) title: Arc<Title>,
    places: Box<[Place]>,
    pub(crate) movables: Movables,
    /// How many cores have not left.
    cores: AtomicUsize,
    /// How many are idle.
    idle: AtomicUsize,
    /// Whose pile the next work from outside goes to.
    turn: AtomicUsize,
    /// How often a core was roused.
    roused: AtomicUsize,
    stopping: AtomicBool,
    /// How many wait for quiescence, and who is to be woken when all are idle.
    watched: AtomicUsize,
    resting: Resting,
}

/// What a team knows of one core.
pub(crate) struct Place {
    pub(crate) mailbox: &'static Mailbox,
    pile: Mutex<Pile>,
    /// How long the pile is, roughly, and how much of it was woken.
    length: AtomicUsize,
    woken: AtomicUsize,
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

impl Place {
    fn with_pile<R>(&self, f: impl FnOnce(&mut Pile) -> R) -> R {
        let mut pile = lock(&self.pile);
        let result = f(&mut pile);
        // In this order: whoever sees the length sees how much of it was woken.
        self.woken.store(pile.woken.len(), Relaxed);
        self.length.store(pile.len(), Release);
        result
    }
}

impl Team {
    /// `address` is for its movable futures.
    pub(crate) fn new(
        mailboxes: impl Iterator<Item = &'static Mailbox>,
        address: Address,
        clock: RealTime,
        title: Arc<Title>,
    ) -> Team {
        let places: Box<[Place]> = mailboxes
            .map(|mailbox| Place {
                mailbox,
                pile: Mutex::new(Pile::default()),
                length: AtomicUsize::new(0),
                woken: AtomicUsize::new(0),
                idle: AtomicBool::new(false),
                live: AtomicUsize::new(0),
                open: AtomicBool::new(false),
                read: AtomicUsize::new(0),
                told: AtomicBool::new(false),
            })
            .collect();
        Team {
            name: Object::shared(),
            clock,
            title,
            movables: Movables::new(address, places.len()),
            places,
            cores: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            roused: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            watched: AtomicUsize::new(0),
            resting: Resting::new(()),
        }
    }

    /// Names the system.
    pub(crate) fn system(&self) -> Object {
        self.name
    }

    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// A core, or, from outside, one after the other.
    pub(crate) fn place_or_next(&self, place: Option<usize>) -> usize {
        place.unwrap_or_else(|| self.turn.fetch_add(1, Relaxed) % self.places.len())
    }

    /// Puts work on the pile of a core, or, from outside, on one after the other's.
    pub(crate) fn add(&self, to: Option<usize>, work: Work) {
        let to = self.place_or_next(to);
        self.places[to].with_pile(|pile| pile.fresh.push_back(work));
        self.call_help(to);
    }

    /// The same for a movable future that was woken. If it is at hand, because its core is between two
    /// turns and has nothing else to do, that core needs no help.
    pub(crate) fn add_woken(&self, to: Option<usize>, movable: Arc<Movable>, is_at_hand: bool) {
        let to = self.place_or_next(to);
        let length = self.places[to].with_pile(|pile| {
            pile.woken.push_back(movable);
            pile.len()
        });
        if !is_at_hand || length > 1 {
            self.call_help(to);
        }
    }

    /// The same, before all others.
    pub(crate) fn add_first(&self, to: Option<usize>, movable: Arc<Movable>) {
        let to = self.place_or_next(to);
        self.places[to].with_pile(|pile| pile.woken.push_front(movable));
        self.call_help(to);
    }

    /// A2 and A3.
    fn call_help(&self, to: usize) {
        if !leno_context::is_planted("pile") {
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
        if !place.idle.load(Relaxed) {
            return false;
        }
        // Before it is busy, so that whoever has seen it idle and finds this unchanged is right.
        self.roused.fetch_add(1, SeqCst);
        let was = place.idle.swap(false, AcqRel);
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
        place.with_pile(|pile| pile.fresh.pop_back())
    }

    /// Takes the movable future that was woken first from a core's own pile.
    #[inline(always)]
    pub(crate) fn take_woken(&self, place: usize) -> Option<Arc<Movable>> {
        let place = &self.places[place];
        if place.woken.load(Relaxed) == 0 {
            return None;
        }
        place.with_pile(|pile| pile.woken.pop_front())
    }

    /// Takes up to `limit` pieces of work from a core's own pile, the oldest first.
    pub(crate) fn take(&self, place: usize, limit: usize, mut f: impl FnMut(Work)) {
        let place = &self.places[place];
        if place.length.load(Relaxed) == 0 {
            return;
        }
        if limit == 1 {
            return place.with_pile(|pile| pile.fresh.pop_front()).into_iter().for_each(f);
        }
        let works: Vec<Work> =
            place.with_pile(|pile| pile.fresh.drain(..limit.min(pile.fresh.len())).collect());
        works.into_iter().for_each(&mut f);
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
            let loot = victim.with_pile(Pile::older_half);
            if loot.len() > 0 {
                // On the own pile others can rob it in turn.
                self.places[own].with_pile(|pile| pile.extend(loot));
                return true;
            }
        }
        false
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire) || world::is_ending()
    }

    /// Makes all movable futures exit, and lets the cores end when their coroutines have.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        for place in &self.places {
            place.mailbox.bell.ring();
        }
        self.cancel_all();
    }

    /// Makes all movable futures exit.
    pub(crate) fn cancel_all(&self) {
        for movable in self.movables.all() {
            if movable.cancel() {
                self.add_woken(None, movable, false);
            }
        }
    }

    /// One more core is there, or, if its thread could not be started, one less.
    pub(crate) fn count_core(&self, by: isize) {
        self.cores.fetch_add(by.cast_unsigned(), SeqCst);
    }

    /// Whether a core without coroutines may leave a team that is stopping; then it has left.
    pub(crate) fn leave(&self) -> bool {
        let is_busy = |place: &Place| place.length.load(Acquire) > 0;
        if self.places.iter().any(is_busy) {
            return false;
        }
        let (live, polled) = self.movables.live();
        let may = |cores: usize| live == 0 || live == polled && cores > 1;
        let leave = |cores: usize| may(cores).then(|| cores - 1);
        self.cores.fetch_update(SeqCst, SeqCst, leave).is_ok()
    }

    /// Does what is asked of a movable future.
    pub(crate) fn answer(&self, message: &Message) {
        let (co, exits) = match message {
            Message::Unpark(co) => (*co, false),
            Message::Cancel(co) => (*co, true),
            // For a core that has ended, and had this number before.
            Message::Run(_) => return,
        };
        let Some(movable) = self.movables.get(co) else { return };
        let is_idle = if exits { movable.cancel() } else { movable.rouse() };
        if is_idle {
            let from_outside = super::put_on_own_pile(movable);
            from_outside.into_iter().for_each(|movable| self.add_woken(None, movable, false));
        }
    }

    /// What a coroutine of this team that is no core's is called.
    pub(crate) fn name_of(&self, co: Co) -> Name {
        self.movables.get(co).map_or(Name::NONE, |movable| movable.about.name.clone())
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // The cores have ended all, unless one of them was lost.
        self.movables.all().iter().for_each(|movable| movable.drop_body());
        for place in &self.places {
            let pile = core::mem::take(&mut *lock(&place.pile));
            pile.fresh.into_iter().for_each(user::dispose);
        }
        world::leaves(self.movables.address.mailbox, 0);
        mailbox::close(self.movables.address.mailbox, self.movables.unused_generation());
    }
}
