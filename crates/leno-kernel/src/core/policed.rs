//! Asking a policy, which is user code.
//!
//! A policy is called only
//! - between two turns, by the core's loop: all of [`Policy`];
//! - where a coroutine [yields](Core::yield_to_policy) or asks it to [choose](Core::choose): these are
//!   points at which the coroutine may be switched out.
//!
//! It is not in the queue meanwhile, and nothing is borrowed. Whoever becomes ready at another time, in
//! the middle of an operation, or while the policy is called, is kept as a note, of which the policy is told
//! before it is asked next.
//!
//! A policy that panics or breaks its contract is deposed: whoever is ready is served first come, first
//! served from then on. The panic leaves [`LocalSystem::run`](crate::LocalSystem::run); in a
//! [`System`](crate::System), whose cores run on, it is a failure in the report.

use super::Core;
use super::queue::{Note, ReadyNote};
use super::ready::{AHEAD, FITS_CACHE};
use crate::log::What;
use crate::policy::{Choice, Hint, Policy, Ready, Why};
use crate::raw::entered::Inside;
use crate::user::{self, Panic, is_exit};
use crate::world::Steps;
use crate::{Co, State};

/// A call of a policy goes on: its core is not freed before that has come back.
struct PolicyCall<'a>(&'a Core);

impl PolicyCall<'_> {
    fn begin(core: &Core) -> PolicyCall<'_> {
        core.ready.begin_call();
        PolicyCall(core)
    }
}

impl Drop for PolicyCall<'_> {
    fn drop(&mut self) {
        self.0.ready.end_call();
    }
}

impl Core {
    /// Whether code of its policy is in the middle of a call, perhaps in a coroutine that is suspended: its
    /// frames refer to the core.
    pub(crate) fn is_in_policy(&self) -> bool {
        self.ready.is_in_call()
    }

    /// Whether user code decides.
    #[inline(always)]
    pub(crate) fn has_policy(&self) -> bool {
        self.ready.is_policed()
    }

    /// Who decides what runs next.
    pub(crate) fn policy_name(&self) -> String {
        if !self.has_policy() {
            return "fifo".to_owned();
        }
        let name = self.with_policy(|policy| policy.name().to_owned());
        name.unwrap_or_else(|| "a policy that is deciding".to_owned())
    }

    /// Calls the policy. `None` if it cannot be called, or panics; in that case it is deposed.
    fn with_policy<R>(&self, f: impl FnOnce(&mut dyn Policy) -> R) -> Option<R> {
        let mut policy = self.ready.take_policy()?;
        // Until nothing of the policy is left to be called, its `Drop` and what it has raised included: all of that
        // may suspend the code around, and refers to the core.
        let _call = PolicyCall::begin(self);
        let panic = match user::call(|| f(&mut *policy)) {
            Ok(answer) => {
                self.put_back(policy);
                return Some(answer);
            }
            Err(panic) => panic,
        };
        if is_exit(&panic) || leno_context::is_planted("scope-leaves-early") {
            // The coroutine around the call ends, which is not the policy's fault.
            self.put_back(policy);
            panic.resume();
        }
        user::dispose(policy);
        self.depose(panic);
        None
    }

    fn put_back(&self, policy: Box<dyn Policy>) {
        let not_needed = self.ready.put_back(policy);
        user::dispose(not_needed);
    }

    /// First come, first served from now on.
    #[cold]
    fn depose(&self, why: Panic) {
        let is_ready = |task: &super::Task| task.state() == State::Ready && !task.has_sink.get();
        let tasks = self.tasks.iter().filter(|(_, task)| is_ready(task)).map(|(co, _)| co);
        let policy = self.ready.depose(tasks.collect());
        user::dispose(policy);
        self.chores.complain(why);
    }

    /// Deposes a policy that has broken its contract.
    #[cold]
    fn broke(&self, rule: core::fmt::Arguments<'_>) {
        let name = self.policy_name();
        // The hook of the process is told like of any other panic.
        match user::call(|| panic!("policy '{name}' {rule}")) {
            Ok(()) => {}
            Err(panic) => self.depose(panic),
        }
    }

    /// Raises what a policy has panicked with, where it leaves the core's loop.
    #[cold]
    pub(super) fn raise_complaint(&self) {
        let Some(panic) = self.chores.complaint() else { return };
        if !self.membership.has_team() {
            panic.resume();
        }
        self.failed_itself("the policy", panic);
    }

    /// Tells the policy what has happened since it was last called. Returns whether it was called for that.
    pub(super) fn tell_policy(&self) -> bool {
        if !self.ready.has_notes() {
            return false;
        }
        let steps = self.ready.steps();
        if let Some(steps) = steps {
            self.change(&steps);
            return false;
        }
        self.with_policy(|policy| {
            loop {
                let note = self.ready.next_note();
                match note {
                    None => return,
                    Some(Note::Forget(co)) => policy.forget(co),
                    Some(Note::Ready(note)) if self.is_queued(note.co) => self.tell(policy, note),
                    Some(Note::Ready(_)) => {}
                }
            }
        });
        true
    }

    /// Does with the list of a world's policy what that would do if it were told.
    fn change(&self, steps: &Steps) {
        loop {
            let note = self.ready.next_note();
            match note {
                None => return,
                Some(Note::Forget(co)) => steps.remove(co),
                Some(Note::Ready(note)) if self.is_queued(note.co) => steps.add(note.co, note.why),
                Some(Note::Ready(_)) => {}
            }
        }
    }

    /// Tells the policy that a coroutine can run; about copies, so that nothing is borrowed.
    fn tell(&self, policy: &mut dyn Policy, note: ReadyNote) {
        let ReadyNote { co, why, hint, now } = note;
        let movable = self.ready.movable(co);
        let about = match (self.tasks.get(co), &movable) {
            (Some(task), _) => task.about.borrow().clone(),
            (None, Some(movable)) => movable.about.clone(),
            (None, None) => return,
        };
        drop(movable);
        policy.ready(&about.ready(co, why, hint, now));
    }

    /// Whether it waits for its turn here.
    fn is_queued(&self, co: Co) -> bool {
        match self.tasks.get(co) {
            Some(task) => task.state() == State::Ready && !task.has_sink.get(),
            None => self.ready.has_movable(co),
        }
    }

    /// Asks the policy who runs next, and whose turn is to begin.
    #[inline(never)]
    pub(super) fn ask_policy(&self) -> Option<Co> {
        loop {
            if self.ready.is_empty() {
                return None;
            }
            let first = self.ready.pick();
            if let Some(first) = first.filter(|first| self.is_queued(*first)) {
                return Some(first);
            }
            self.tell_policy();
            let is_long = self.ready.length() > FITS_CACHE;
            let picked = self.with_policy(|policy| {
                let next = policy.pick();
                if is_long {
                    self.load_early(policy.peek(2 * AHEAD), policy.peek(AHEAD));
                }
                next
            });
            match picked {
                Some(Some(co)) if self.is_queued(co) => {
                    self.ready.heard_of(co);
                    return Some(co);
                }
                Some(Some(co)) => self.broke(format_args!(
                    "gave back {co}, which is not ready: `pick` gives back those that `ready` has \
                     put in, each once"
                )),
                // It has made someone ready itself.
                Some(None) if self.ready.has_notes() => continue,
                Some(None) if self.ready.is_empty() => return None,
                Some(None) => self.broke(format_args!(
                    "gave back nobody, but {} are ready: `pick` gives back those that `ready` has \
                     put in, each once",
                    self.ready.length()
                )),
                None if self.ready.is_away() => self.broke(format_args!(
                    "suspended the code that called it, and the core's loop goes on: a policy answers \
                     at once"
                )),
                None => {}
            }
            self.raise_complaint();
            if !self.has_policy() {
                return self.ready.pick();
            }
        }
    }

    /// The running coroutine lets others have their turn first, as the policy says.
    ///
    /// It runs while the policy is told, and is ready only then: what the policy does meanwhile finds a
    /// running coroutine.
    #[inline(never)]
    pub(super) fn yield_to_policy(&self, inside: &Inside<'_>) {
        if self.tell_policy() {
            inside.check_after_hook();
        }
        let (co, why, hint) = (inside.co, Why::Yielded, Hint::Back);
        let steps = self.ready.steps();
        let told = match steps {
            Some(steps) => {
                steps.add(co, why);
                true
            }
            None => {
                let about = inside.task.about.borrow().clone();
                let ready: Ready<'_> = about.ready(co, why, hint, self.roughly_now());
                let told = self.with_policy(|policy| policy.ready(&ready)).is_some();
                inside.check_after_hook();
                told
            }
        };
        self.log(Some(co), || What::Yielded);
        let task = inside.task;
        task.become_(State::Ready);
        task.since.set(self.roughly_now());
        // One that was deposed while it was told, because it suspended this coroutine, does not count.
        if told && self.has_policy() {
            self.ready.add_told();
        } else {
            self.ready.add(co, why, hint, || self.roughly_now());
        }
        inside.leave();
    }

    /// Answers a choice that the rules leave open.
    pub(crate) fn choose(&self, choice: &Choice<'_>) -> usize {
        let took = if self.has_policy() { self.ask_to_choose(choice) } else { 0 };
        self.log(self.entry.running.get().co(), || What::Chose {
            kind: choice.kind,
            object: choice.object,
            took,
            of: choice.candidates.len(),
        });
        took
    }

    fn ask_to_choose(&self, choice: &Choice<'_>) -> usize {
        self.tell_policy();
        let among = choice.candidates.len();
        match self.with_policy(|policy| policy.choose(choice)) {
            Some(chosen) if chosen < among => chosen,
            Some(chosen) => {
                self.broke(format_args!("chose {chosen} of {among}: a choice is less than that"));
                0
            }
            // It cannot say.
            None => 0,
        }
    }

    /// Ends what a policy could be asked, before the core goes.
    pub(crate) fn drop_policy(&self) {
        let policy = self.ready.take_policy();
        user::dispose(policy);
    }
}
