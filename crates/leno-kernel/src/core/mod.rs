//! A core: runs coroutines, one at a time, on one thread.
//!
//! Everything here is used by the core's thread alone. Other threads reach it through its
//! [mail](Mail); what they ask for is done when the core next looks there.
//!
//! A core has *parts*, each a struct in a file of its own that says what must hold of it and alone changes what it keeps.
//! What takes several parts is a function of [`Core`]: beside the part that it is most about, or in one of
//!
//! - `mod.rs`: spawning; `park.rs`: parking and waking; `run.rs`: the loop; `turn.rs`: a turn, from its beginning to
//!   its end;
//! - `attach.rs`: turns on top of others, and sinks; `preempt.rs`: what happens when a budget is used up;
//! - `movable.rs`: turns of futures that are no core's; `listen.rs`: looking for a moment before parking;
//! - `policed.rs`: asking a policy; `check.rs`: what must hold at each switch.
//!
//! Invariants of the whole:
//! - a coroutine is in the queue, or in its sink, exactly while it is [`Ready`](crate::State::Ready);
//! - at most one is [`Running`](crate::State::Running), and then `entry.running` says which;
//! - user code is called while none of its state is borrowed ([`StateCell`]) and nobody is between two states;
//!   what leaves it does not unwind the core's loop;
//! - a started body with a stack sits in its slot's seat; what has not started, or is a future, is in
//!   `body`, except while it runs.

mod attach;
mod body;
mod check;
mod chores;
mod clock;
mod endings;
mod listen;
mod mail;
mod membership;
mod movable;
mod observation;
mod park;
mod parked;
mod policed;
mod preempt;
mod queue;
mod ready;
mod run;
mod shortage;
mod slices;
mod tasks;
mod turn;
mod turns;

pub(crate) use body::Body;
pub(crate) use leno_context::user::StateCell;
pub use listen::{bell_to_listen_at, listen, listen_at};
pub(crate) use membership::TeamPlace;
pub(crate) use run::Stop;
pub(crate) use tasks::{About, Exit, Task};

use core::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use self::chores::Chores;
use self::clock::CoreClock;
use self::endings::Endings;
use self::mail::Mail;
use self::membership::Membership;
use self::observation::Observation;
use self::ready::ReadyQueue;
use self::shortage::Shortage;
use self::slices::Slices;
use self::tasks::Tasks;
use self::turns::Turns;
use leno_context::last_words;

use crate::io::Attention;
use crate::join::Adoption;
use crate::ledger::Ledger;
use crate::log::{Ring, What};
use crate::mailbox;
use crate::options::{Launch, Start};
use crate::policy::{Hint, Policy, Why};
use crate::raw::entered::Entry;
use crate::system::Unstarted;
use crate::window::{Title, Window};
use crate::{Co, Outcome, Platform, SpawnError};
use crate::{user, world};

/// See the module.
pub(crate) struct Core {
    /// Whose thread has entered it, and which coroutine runs.
    pub(crate) entry: Entry,
    /// Which system it belongs to.
    pub(crate) membership: Membership,
    /// What other threads ask of it.
    pub(crate) mail: Mail,
    /// What it knows of its coroutines.
    pub(crate) tasks: Tasks,
    /// Which of them have a turn next.
    ready: ReadyQueue,
    /// How many turns may pass before the loop looks around.
    turns: Turns,
    /// Which coroutine runs with a budget.
    slices: Slices,
    /// What time it is, and who is woken when.
    pub(crate) clock: CoreClock,
    /// When it had no stack for a coroutine.
    shortage: Shortage,
    /// Its reactor.
    pub(crate) attention: Attention,
    /// Who knows which end of which channel; shared with those who write to it when the core has gone.
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    /// User code to be called by the loop.
    pub(crate) chores: Chores,
    /// How bodies end.
    pub(crate) endings: Endings,
    /// What can be seen of it.
    pub(crate) observation: Observation,
}

/// What a core is made of, besides its address.
pub(crate) struct Parts {
    pub(crate) platform: Box<dyn Platform>,
    pub(crate) policy: Option<Box<dyn Policy>>,
    /// The list of the policy, if that is the one of a world.
    pub(crate) steps: Option<world::Steps>,
    /// What has happened, if that is written down.
    pub(crate) log: Option<Rc<Ring>>,
    pub(crate) team: Option<TeamPlace>,
    pub(crate) title: Arc<Title>,
    /// Whether its coroutines may be attached with a budget.
    pub(crate) is_preemptive: bool,
}

impl Core {
    pub(crate) fn new(address: mailbox::Address, mut parts: Parts) -> Core {
        world::parts_for(&mut parts);
        let Parts { platform, policy, steps, log, team, title, is_preemptive } = parts;
        let mailbox = address.mailbox;
        let (now, is_virtual) = match user::call(|| (platform.now(), platform.is_virtual())) {
            Ok(asked) => asked,
            Err(panic) => {
                address.give_back();
                panic.resume()
            }
        };
        let real = (!is_virtual).then_some(now);
        let window = Arc::new(Window::new(mailbox.number, title, real));
        if team.is_some() {
            window.loops();
        }
        mailbox.show(window.clone());
        Core {
            membership: Membership::new(team),
            entry: Entry::new(),
            mail: Mail::new(address),
            tasks: Tasks::new(mailbox.number, address.generation),
            ready: ReadyQueue::new(policy, steps),
            turns: Turns::default(),
            shortage: Shortage::default(),
            clock: CoreClock::new(platform, now, is_virtual),
            attention: Attention::default(),
            slices: Slices::new(is_preemptive),
            ledger: Rc::default(),
            chores: Chores::default(),
            endings: Endings::new(),
            observation: Observation::new(window, log),
        }
    }

    /// The same with a clock that is code of a user, if `has_foreign_clock`.
    pub(crate) fn clocked_by(mut self, has_foreign_clock: bool) -> Core {
        self.clock.set_foreign(has_foreign_clock);
        self
    }

    /// The same, for the threads of a world.
    pub(crate) fn of_world(mut self) -> Core {
        self.tasks.parked.set_of_world();
        self
    }

    /// Whether nobody but whoever runs can run.
    pub(crate) fn is_alone(&self) -> bool {
        self.ready.is_empty()
    }

    /// Adds a coroutine, which starts as `launch` says.
    pub(crate) fn spawn(
        &self,
        about: About,
        body: Body,
        launch: Launch,
        waited_for_by: Arc<dyn Adoption>,
    ) -> Result<Co, SpawnError> {
        let Some((co, task)) = self.tasks.add(about, body, waited_for_by.clone()) else {
            return Err(SpawnError::Full { limit: crate::co::SLOTS });
        };
        self.observation.count_spawned();
        self.log(self.entry.running.get().co(), || {
            let about = task.about.borrow();
            What::Spawned { co, name: about.name.clone(), site: about.site }
        });
        let (unparked, cancelled) = waited_for_by.adopted(co);
        let is_stopping =
            self.membership.is_stopping() && !leno_context::is_planted("stop-respawns");
        let cancelled = cancelled || is_stopping;
        task.borrows.set(launch.borrows);
        task.permit.set(unparked);
        if cancelled {
            task.exit.set(Exit::Asked { as_: Outcome::Exited, raised: 0 });
        }
        match launch.start {
            Start::Idle | Start::Lazy if !unparked && !cancelled => {}
            Start::Eager if launch.is_here && !cancelled => drop(self.run_new(co, task)),
            start => {
                let hint = if start == Start::Eager { Hint::Front } else { launch.hint };
                if self.make_ready(co, task, Why::Spawned, hint) {
                    self.ready.woke(co);
                }
            }
        }
        Ok(co)
    }

    /// Takes work that was spawned elsewhere.
    pub(crate) fn adopt_closure(&self, closure: Unstarted) {
        let Unstarted { mut about, launch, body, adoption } = closure;
        about.born = self.roughly_now();
        // If the core is full, the body is dropped, by which whoever waits for it learns.
        let (name, body) = (about.name.clone(), Body::Closure(body.into_inner()));
        match self.call_user(|| self.spawn(about, body, launch, adoption)) {
            Ok(Ok(_)) => {}
            // Also with nobody to read it.
            Ok(Err(error)) => {
                last_words::say(format_args!("a coroutine was dropped: {error}"));
            }
            Err(panic) => self.failed(Co::of_core(self.number()), name, panic),
        }
    }

    /// The first generation of its coroutines: no other core with its number has the same.
    pub(crate) fn generation(&self) -> u32 {
        self.tasks.first_generation()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        world::leaves(self.mail.mailbox(), self.observation.counts().given_up);
        self.observation.leave();
        self.slices.leave();
        mailbox::close(self.mail.mailbox(), self.tasks.unused_generation());
    }
}
