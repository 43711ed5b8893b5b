//! The loop of a core: mail, timers, turns of those that are ready.

use core::time::Duration;
use std::sync::Arc;

use leno_context::unwind;

use super::turns::TURNS;
use super::{Core, Exit, Task, TeamPlace};
use crate::ledger::Verdict;
use crate::system::{Movable, Work};
use crate::{Co, Outcome, Reason, State, Time, io, system, world};

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
            self.observation.window().loops();
            self.turns.looked();
            self.read_mail();
            self.fire_timers();
            self.attention.poll_if_due(self.roughly_now());
            self.adopt();
            self.remove_unreachable_if_many();
            if self.chores.begin() {
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
            let deadline = self.clock.next_timer();
            if let Some(TeamPlace { team, place }) = self.membership.place() {
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
                if !self.mail.bell().is_rung() {
                    return Stop::Quiescent;
                }
                continue;
            }
            self.idle(deadline);
        }
    }

    /// Does nothing, until the bell or the deadline, or until a descriptor is ready.
    fn idle(&self, deadline: Option<Time>) {
        self.observation.window().loops();
        if !io::end_others(self) && !self.spin() {
            self.clock.platform().idle(self.mail.bell(), deadline);
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
        if !self.mail.has_read_since() || self.clock.is_virtual() {
            return false;
        }
        // With `LENO_PLANTED=spin` it takes the ring, and sleeps all the same: exploration must notice.
        let is_lost = || leno_context::is_planted("spin") && !world::is_ending();
        let is_rung = || self.mail.bell().take() && !is_lost();
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
                if !self.ready.is_empty() {
                    return true;
                }
            }
        }
        false
    }

    /// Takes the oldest of those that were spawned and have not started; what it does not take, others
    /// can. With a policy all, so that it can decide.
    fn adopt(&self) {
        let Some(TeamPlace { team, place }) = self.membership.place() else { return };
        let limit = if self.ready.is_policed() { usize::MAX } else { 1 };
        team.take(*place, limit, |work| match work {
            Work::Closure(closure) => self.adopt_closure(closure),
            Work::Movable(movable) => {
                self.take_in(movable).into_iter().for_each(|movable| self.run_movable(movable));
            }
        });
        if limit > 1 {
            while let Some(movable) = team.take_woken(*place) {
                self.take_in(movable);
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
        let hands = if self.membership.has_team() { 1 - turn % 2 } else { TURNS - 1 - turn };
        let begun = self.turns.begin(hands);
        self.take_turn(co);
        self.turns.end(begun)
    }

    /// Who has the next turn: by turns a movable future that was woken, and someone else: who is
    /// ready here, or, if nobody is, what was spawned last.
    #[inline(always)]
    fn next(&self, turn: usize) -> Option<Next> {
        if let Some(own) = self.membership.place()
            && (turn.is_multiple_of(2) || self.ready.is_empty())
            && let Some(movable) = self.take_from_pile(own, turn)
        {
            return Some(Next::Movable(movable));
        }
        self.pick().map(Next::Co)
    }

    #[inline(always)]
    fn take_from_pile(&self, own: &TeamPlace, turn: usize) -> Option<Arc<Movable>> {
        let (team, place) = (&own.team, own.place);
        if turn.is_multiple_of(2)
            && let Some(movable) = team.take_woken(place)
        {
            return self.take_in(movable);
        }
        if !self.ready.is_empty() || !team.has_work(place) {
            return None;
        }
        if self.ready.is_policed() {
            self.adopt();
            return None;
        }
        match team.take_newest(place) {
            Some(Work::Closure(closure)) => {
                self.adopt_closure(closure);
                None
            }
            Some(Work::Movable(movable)) => self.take_in(movable),
            None => team.take_woken(place).and_then(|movable| self.take_in(movable)),
        }
    }

    /// Whether someone is ready, mail has come, a sink has gone, or something has not started.
    pub(super) fn is_busy(&self) -> bool {
        self.mail.bell().is_rung()
            || !self.ready.is_empty()
            || self.chores.are_due()
            || self.membership.has_work()
    }

    /// What others may know of it while it rests.
    fn left(&self) -> system::Left {
        system::Left {
            live: self.tasks.live(),
            open: self.has_timers() || self.is_open(),
            read: self.mail.read(),
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
                self.observation.count_zombie();
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
}
