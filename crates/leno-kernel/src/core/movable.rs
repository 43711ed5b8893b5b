//! Turns of movable futures, which any core of a team may take.
//!
//! First come, first served, a core takes one from a pile and polls it at once: until then others can
//! take it. With a policy it is in the core's queue from the moment that it is taken: the policy
//! knows it by its name, and decides when its turn comes. After its turn it is nobody's again.

use std::sync::Arc;
use std::task::Waker;

use leno_context::user::Panic;

use super::{Core, TeamPlace};
use crate::log::What;
use crate::policy::{Hint, Why};
use crate::raw::entered::Running;
use crate::system::{Movable, Turn};
use crate::{Co, Name, Outcome, Reason};

impl Core {
    /// Whether it has neither coroutines nor movable futures.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.live() == 0 && self.ready.movables() == 0
    }

    /// What wakes the coroutine, or the movable future, that runs here.
    pub(crate) fn waker_of(&self, co: Co) -> Option<Waker> {
        if let Some(task) = self.tasks.get(co) {
            return Some(task.waker(co));
        }
        self.membership.team()?.movables.get(co).map(Waker::from)
    }

    /// The name of the coroutine, or of the movable future, that runs here.
    pub(crate) fn name_of(&self, co: Co) -> Name {
        match (self.tasks.get(co), self.membership.team()) {
            (Some(task), _) => task.about.borrow().name.clone(),
            (None, Some(team)) => team.name_of(co),
            (None, None) => Name::NONE,
        }
    }

    /// A movable future from a pile: to be run now, or, with a policy, when that says so.
    pub(super) fn take_in(&self, movable: Arc<Movable>) -> Option<Arc<Movable>> {
        if !self.ready.is_policed() {
            return Some(movable);
        }
        let (why, hint) = match movable.is_new() {
            _ if movable.exits() => (Why::Exit, Hint::Back),
            true => (Why::Spawned, movable.hint),
            false => (Why::Unparked, Hint::Back),
        };
        self.ready.add_movable(movable, why, hint, || self.roughly_now());
        None
    }

    /// The turn of one that a policy has given back and that is none of the core's own.
    #[cold]
    pub(super) fn take_turn_of_movable(&self, co: Co) {
        match self.ready.take_movable(co) {
            Some(movable) => self.run_movable(movable),
            None => debug_assert!(false, "{co} was picked, which is not ready"),
        }
    }

    /// Polls a movable future, which is on no pile any more.
    #[inline(never)]
    pub(super) fn run_movable(&self, movable: Arc<Movable>) {
        let co = movable.co;
        if self.observation.log().is_some() && !movable.is_announced && movable.is_new() {
            self.log(None, || spawned(&movable));
        }
        self.log(Some(co), || What::Runs);
        self.observation.window().write(co, &movable.about.name, movable.about.site);
        self.observation.window().runs(co);
        let running = self.entry.running.replace(Running::Future(co));
        let turn = movable.turn();
        self.entry.running.set(running);
        match turn {
            Turn::Parked { woken } => {
                self.log(Some(co), || What::Parked(Reason::Future));
                movable.set_since(self.roughly_now());
                if woken {
                    self.put_on_pile(movable);
                }
            }
            Turn::Ended(panicked) => self.movable_ended(&movable, panicked),
        }
    }

    fn movable_ended(&self, movable: &Movable, panicked: Option<Panic>) {
        let co = movable.co;
        let mut outcome = self.endings.take().unwrap_or(Outcome::Exited);
        if let Some(panic) = panicked {
            outcome = Outcome::Panicked;
            let name = movable.about.name.clone();
            self.failed(co, name, panic);
        }
        self.count_end(co, outcome);
        let team = self.membership.team().expect("it was taken from a pile");
        team.movables.remove(co);
        self.pass_exit_on();
    }

    /// Runs a movable future that was just spawned on top of the code that has spawned it.
    pub(crate) fn run_new_movable(&self, movable: Arc<Movable>) {
        self.on_top(movable.co, || self.run_movable(movable));
    }

    /// Writes down that a movable future was spawned here.
    pub(crate) fn announce(&self, movable: &Movable) {
        self.log(self.entry.running.get().co(), || spawned(movable));
    }

    /// Puts a movable future of its team that was woken on its pile.
    pub(crate) fn put_on_pile(&self, movable: Arc<Movable>) {
        let Some(TeamPlace { team, place }) = self.membership.place() else { return };
        let running = self.entry.running.get();
        self.log(running.co(), || {
            let why = if movable.exits() { Why::Exit } else { Why::Unparked };
            What::Woke { co: movable.co, why }
        });
        let is_at_hand = running == Running::Nobody && self.ready.is_empty();
        team.add_woken(Some(*place), movable, is_at_hand);
    }
}

fn spawned(movable: &Movable) -> What {
    let (name, site) = (movable.about.name.clone(), movable.about.site);
    What::Spawned { co: movable.co, name, site }
}
