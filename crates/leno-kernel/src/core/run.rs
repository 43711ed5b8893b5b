//! The loop of a core: mail, timers, whoever is ready.

use core::time::Duration;
use std::sync::Arc;

use leno_context::unwind;

use super::{Core, Exit, Membership, Task};
use crate::ledger::Verdict;
use crate::mailbox::Message;
use crate::policy::{Candidate, Choice, ChoiceKind, Hint, Why};
use crate::system::{Movable, Work};
use crate::user;
use crate::{Co, Outcome, Reason, State, Time, io, system, world};

/// How many turns are taken between two looks at the mail and the clock.
pub(super) const TURNS: usize = 64;
/// Queues longer than this are loaded early.
pub(super) const FITS_CACHE: usize = 512;
/// How many turns before its own a coroutine is loaded; what it knows of it, twice as many.
pub(super) const AHEAD: usize = 8;
/// How long a core listens before it sleeps.
const SPIN: Duration = Duration::from_micros(20);

/// Whose turn it is.
enum Next {
    Co(Co),
    Movable(Arc<Movable>),
}

/// Why the loop has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What was waited for has happened.
    Done,
    /// Nobody can ever run again.
    Quiescent,
}

impl Core {
    /// Runs whoever is ready until `done`, or until nobody can ever run again.
    pub(crate) fn run_until(&self, done: impl Fn(&Core) -> bool) -> Stop {
        let _attending = io::attend(self);
        // A loop that was left by a panic may have used up the ring that announced them.
        self.read_messages();
        loop {
            self.window.loops();
            self.attached.set(0);
            self.read_mail();
            self.fire_timers();
            self.attention.poll_if_due(self.roughly_now());
            self.adopt();
            self.remove_unreachable_if_many();
            if self.orphans.replace(false) {
                self.take_orphans();
                self.do_chores();
            }
            let mut turn = 0;
            while turn < TURNS {
                if done(self) {
                    return Stop::Done;
                }
                match self.next(turn) {
                    Some(Next::Co(co)) => turn += self.take_turns(co, turn),
                    Some(Next::Movable(movable)) => self.run_movable(movable),
                    None => break,
                }
                turn += 1;
            }
            if self.is_busy() {
                continue;
            }
            if done(self) {
                return Stop::Done;
            }
            let deadline = self.timers.borrow().next();
            if let Some(Membership { team, place }) = &self.team {
                if team.is_stopping() {
                    self.refuse_circle();
                }
                if !team.rob(*place, self) {
                    team.rest(*place, self.is_empty(), || self.left(), || self.idle(deadline));
                }
                continue;
            }
            if deadline.is_none() && !self.is_open() {
                // A message may have been on its way; whoever sends one later is not waited for.
                if !self.mailbox.bell.is_rung() {
                    return Stop::Quiescent;
                }
                continue;
            }
            self.idle(deadline);
        }
    }

    /// Does nothing, until the bell or the deadline, or until a descriptor is ready.
    fn idle(&self, deadline: Option<Time>) {
        self.window.loops();
        if !io::end_others(self) && !self.spin() {
            self.platform.idle(&self.mailbox.bell, deadline);
        }
        // Idling may have used up the ring that announced them.
        self.read_messages();
    }

    /// Listens for a moment before it sleeps, if other threads have written since it last did: one who
    /// writes often is woken without the machine's help. Whether the bell was rung, or someone is
    /// ready.
    ///
    /// It does not give its processor away meanwhile: Linux lets a thread that has yielded wait long
    /// when it is woken next, and this one is about to sleep.
    fn spin(&self) -> bool {
        let read = self.read.get();
        if self.read_before.replace(read) == read || self.is_virtual {
            return false;
        }
        // With `LENO_PLANTED=spin` it takes the ring, and sleeps all the same: exploration must notice.
        let is_lost = || leno_context::is_planted("spin") && !world::is_ending();
        let is_rung = || self.mailbox.bell.take() && !is_lost();
        if world::listens() {
            return is_rung();
        }
        let start = std::time::Instant::now();
        while start.elapsed() < SPIN {
            for _ in 0..64 {
                if is_rung() {
                    return true;
                }
                core::hint::spin_loop();
            }
            if self.attention.is_on() {
                io::poll_all();
                if self.ready.get() > 0 {
                    return true;
                }
            }
        }
        false
    }

    /// Takes the oldest of those that were spawned and have not started; what it does not take, others
    /// can. With a policy all, so that it can decide.
    fn adopt(&self) {
        let Some(Membership { team, place }) = &self.team else { return };
        let limit = if self.is_policed.get() { usize::MAX } else { 1 };
        team.take(*place, limit, |work| match work {
            Work::Closure(closure) => self.adopt_closure(closure),
            Work::Movable(movable) => {
                self.welcome(movable).into_iter().for_each(|movable| self.run_movable(movable));
            }
        });
        if limit > 1 {
            while let Some(movable) = team.take_woken(*place) {
                self.welcome(movable);
            }
        }
        // Also those that were spawned since the system began to stop.
        if team.is_stopping() {
            self.cancel_all();
            if world::is_ending() {
                team.cancel_all();
            }
        }
    }

    /// A turn of `co`, and of those to whom it is handed on: as many as there are before the loop has
    /// something else to look at. Says how many these were.
    #[inline(always)]
    fn take_turns(&self, co: Co, turn: usize) -> usize {
        let hands = if self.team.is_none() { TURNS - 1 - turn } else { 1 - turn % 2 };
        self.hands.set(hands);
        let attached = self.attached.get();
        self.take_turn(co);
        let taken = hands - self.hands.replace(0);
        // Turns that were attached are turns; those before a look meanwhile are not counted any more.
        taken + self.attached.get().saturating_sub(attached)
    }

    /// Who has the next turn: by turns a movable future that was woken, and someone else: who is
    /// ready here, or, if nobody is, what was spawned last.
    #[inline(always)]
    fn next(&self, turn: usize) -> Option<Next> {
        if let Some(own) = &self.team
            && (turn.is_multiple_of(2) || self.ready.get() == 0)
            && let Some(movable) = self.take_from_pile(own, turn)
        {
            return Some(Next::Movable(movable));
        }
        self.pick().map(Next::Co)
    }

    #[inline(always)]
    fn take_from_pile(&self, own: &Membership, turn: usize) -> Option<Arc<Movable>> {
        let (team, place) = (&own.team, own.place);
        if turn.is_multiple_of(2)
            && let Some(movable) = team.take_woken(place)
        {
            return self.welcome(movable);
        }
        if self.ready.get() > 0 || !team.has_work(place) {
            return None;
        }
        if self.is_policed.get() {
            self.adopt();
            return None;
        }
        match team.take_newest(place) {
            Some(Work::Closure(closure)) => {
                self.adopt_closure(closure);
                None
            }
            Some(Work::Movable(movable)) => self.welcome(movable),
            None => team.take_woken(place).and_then(|movable| self.welcome(movable)),
        }
    }

    /// Who runs next. In a long queue those who run soon are in no cache: starts loading them.
    #[inline(always)]
    pub(super) fn pick(&self) -> Option<Co> {
        if self.is_policed.get() {
            return self.ask_policy();
        }
        let mut queue = self.queue.borrow_mut();
        let next = queue.pick();
        if self.ready.get() > FITS_CACHE {
            self.load_early(queue.peek(2 * AHEAD), queue.peek(AHEAD));
        }
        next
    }

    /// Starts loading those who run later, and soon.
    #[inline(always)]
    pub(super) fn load_early(&self, later: Option<Co>, soon: Option<Co>) {
        if let Some(later) = later {
            self.tasks.prefetch(later);
        }
        if let Some(task) = soon.and_then(|soon| self.tasks.get(soon)) {
            task.seat.prefetch();
        }
    }

    /// What time it is, for whoever does not need to know exactly.
    pub(crate) fn roughly_now(&self) -> Time {
        self.now.get()
    }

    fn look_at_clock(&self) -> Time {
        let now = self.platform.now();
        self.now.set(now);
        self.window.looked(now);
        now
    }

    /// Whether someone is ready, mail has come, a sink has gone, or something has not started.
    pub(super) fn is_busy(&self) -> bool {
        self.mailbox.bell.is_rung()
            || self.ready.get() > 0
            || self.orphans.get()
            || self.team.as_ref().is_some_and(|own| own.team.has_work(own.place))
    }

    /// Whether someone may be due to be woken by now. The clock of a user is not asked in the middle of an
    /// operation: the loop does, if anyone waits for it.
    pub(super) fn is_timer_due(&self) -> bool {
        let next = self.timers.borrow().next();
        next.is_some_and(|when| self.has_foreign_clock || when <= self.now_in_operation())
    }

    /// Whether someone is due to be woken by time.
    pub(crate) fn has_timers(&self) -> bool {
        self.timers.borrow().next().is_some()
    }

    /// What others may know of it while it rests.
    fn left(&self) -> system::Left {
        system::Left {
            live: self.tasks.live(),
            open: self.has_timers() || self.is_open(),
            read: self.read.get(),
        }
    }

    /// Makes all coroutines exit.
    pub(crate) fn cancel_all(&self) {
        let all: Vec<_> = self.tasks.iter().map(|(co, _)| co).collect();
        for co in all {
            self.cancel(co, Outcome::Exited);
        }
    }

    /// Nobody can run, and all are to exit. Ends the process if all that are left wait in scopes, deaf to that: they wait
    /// for each other, since a scope's children are of its core, and none of these scopes may end before its children.
    pub(crate) fn refuse_circle(&self) {
        let waits_in_scope = |(_, task): (Co, &Task)| {
            task.state() == State::Parked(Reason::Children)
                && task.masked.get() > 0
                && task.exit.get() != Exit::No
        };
        if self.tasks.live() > 0 && self.tasks.iter().all(waits_in_scope) {
            unwind::give_up(
                "coroutines of a system cannot be ended: each waits in a scope for a child that waits for it, because \
                 one of them has resumed or dropped a generator around the scope of another",
            );
        }
    }

    /// Nobody can run: removes those whom nobody can ever wake, or, if there are none, all who wait.
    /// Of these, the ones that the world could still wake are zombies.
    pub(crate) fn reap(&self) {
        if self.remove_unreachable_at_rest() > 0 {
            return;
        }
        for (co, verdict) in self.verdicts() {
            if verdict == Verdict::Zombie {
                self.count(|n| n.zombies += 1);
                self.cancel(co, Outcome::Exited);
            }
        }
        let all: Vec<_> = self.tasks.iter().map(|(co, task)| (co, task.state())).collect();
        for (co, state) in all {
            match state {
                State::Parked(reason) => drop(self.cancel(co, reason.when_nobody_comes())),
                State::Calling(_) | State::New => drop(self.cancel(co, Outcome::Exited)),
                _ => {}
            }
        }
    }

    /// Whether someone waits for what the outside may still do.
    pub(super) fn is_open(&self) -> bool {
        let held = |(_, task): (Co, &Task)| {
            task.state() == State::Parked(Reason::Future) && task.wakers_held() > 0
        };
        if self.is_of_world {
            return false;
        }
        self.open.get() > 0 || self.futures.get() > 0 && self.tasks.iter().any(held)
    }

    /// Counts a coroutine that parks (`1`) or no longer does (`-1`) for this reason.
    #[inline(always)]
    pub(super) fn count_parked(&self, reason: Reason, by: isize) {
        self.checks.count_parked(by);
        let count = match reason {
            Reason::Future => &self.futures,
            reason if reason.is_open() => &self.open,
            _ => return,
        };
        count.set(count.get().wrapping_add_signed(by));
    }

    /// Does what other threads have asked for.
    pub(crate) fn read_mail(&self) {
        if self.mailbox.bell.take() {
            self.read_messages();
        }
    }

    fn read_messages(&self) {
        let mut messages = self.reading.take();
        self.mailbox.receive(&mut messages);
        self.read.set(self.read.get() + messages.len());
        let mut raised = None;
        for message in messages.drain(..) {
            match message {
                Message::Unpark(co) => {
                    self.unpark(co, Why::Unparked, Hint::Back);
                }
                Message::Cancel(co) => drop(self.cancel(co, Outcome::Exited)),
                // It may ask the platform, which is code of a user: the others are read all the same.
                Message::Run(f) => raised = user::first(raised, user::call(|| f(self)).err()),
            }
        }
        self.reading.replace(messages);
        if let Some(panic) = raised {
            panic.resume();
        }
    }

    fn fire_timers(&self) {
        if self.timers.borrow().is_empty() {
            self.look_at_clock();
            return;
        }
        let now = self.look_at_clock();
        self.timers.borrow_mut().advance(now);
        loop {
            let due = self.take_due();
            let Some((_, co)) = due else { return };
            self.unpark(co, Why::Time, Hint::Back);
        }
    }

    /// The timer that fires next; which of those that are due at the same time, a policy says.
    fn take_due(&self) -> Option<(Time, Co)> {
        if !self.is_policed.get() {
            return self.timers.borrow_mut().pop_due();
        }
        let ties = self.due_now();
        if ties.len() < 2 {
            return self.timers.borrow_mut().pop_due();
        }
        let chosen = self.choose(&Choice::new(ChoiceKind::Timer, None, &ties));
        // What the policy did meanwhile may have set or removed timers.
        let chosen = if self.due_now() == ties { chosen } else { 0 };
        self.timers.borrow_mut().pop_due_nth(chosen)
    }

    /// Whose timers are due at the same time.
    fn due_now(&self) -> Vec<Candidate> {
        self.timers.borrow_mut().ties().map(|(_, co)| Candidate::Co(*co)).collect()
    }
}
