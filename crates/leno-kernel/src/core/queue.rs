//! Who is ready on a core: the default order, or what a policy says.
//!
//! A policy is user code, so nobody calls it here: [`super::policed`] takes it out, calls it, and puts it
//! back. What happens meanwhile, and where it must not be called, is kept as [notes](Note) for it.

use std::collections::VecDeque;

use crate::policy::{Hint, Policy, Why};
use crate::world::Steps;
use crate::{Co, Time};

/// See the module.
pub(crate) enum Queue {
    /// First come, first served: the fast path.
    Fifo(VecDeque<Co>),
    /// User code decides.
    Policy(Policed),
}

/// A policy, and what it has decided by choosing who runs after a rendezvous or a spawn.
pub(crate) struct Policed {
    /// Not here while it is called.
    policy: Option<Box<dyn Policy>>,
    /// Its list, if that is all that changes when it is told something; no user code runs then.
    steps: Option<Steps>,
    /// What it has not been told, in order.
    notes: VecDeque<Note>,
    /// Whoever was made ready last by the coroutine that runs.
    woken: Option<Co>,
    /// Runs next; the policy is told to forget it.
    first: Option<Co>,
}

/// What a policy is to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// A coroutine can run.
    Ready(ReadyNote),
    /// A coroutine will not have its turn.
    Forget(Co),
}

/// Who can run, and why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadyNote {
    pub(crate) co: Co,
    pub(crate) why: Why,
    pub(crate) hint: Hint,
    pub(crate) now: Time,
}

impl Queue {
    pub(crate) fn new(policy: Option<Box<dyn Policy>>, steps: Option<Steps>) -> Queue {
        let notes = VecDeque::new();
        match policy {
            None => Queue::Fifo(VecDeque::new()),
            policy => Queue::Policy(Policed { policy, steps, notes, woken: None, first: None }),
        }
    }

    /// The list that is changed in place of telling the policy.
    pub(crate) fn steps(&self) -> Option<Steps> {
        match self {
            Queue::Fifo(_) => None,
            Queue::Policy(policed) => policed.steps.clone(),
        }
    }

    /// Remembers whom the running coroutine has made ready.
    pub(crate) fn woke(&mut self, co: Co) {
        if let Queue::Policy(policed) = self {
            policed.woken = Some(co);
        }
    }

    /// Whom the running coroutine has made ready last, unless it was asked before.
    pub(crate) fn take_woken(&mut self) -> Option<Co> {
        match self {
            Queue::Fifo(_) => None,
            Queue::Policy(policed) => policed.woken.take(),
        }
    }

    /// Has one that is ready run next.
    pub(crate) fn prefer(&mut self, co: Co) {
        if let Queue::Policy(policed) = self {
            policed.forget(co);
            policed.first = Some(co);
        }
    }

    /// A coroutine can run. `now` says what time it is, if a policy is to be told.
    #[inline(always)]
    pub(crate) fn ready(&mut self, co: Co, why: Why, hint: Hint, now: impl FnOnce() -> Time) {
        match self {
            Queue::Fifo(queue) if hint == Hint::Back => queue.push_back(co),
            Queue::Fifo(queue) => queue.push_front(co),
            Queue::Policy(policed) => {
                let now = now();
                policed.notes.push_back(Note::Ready(ReadyNote { co, why, hint, now }));
            }
        }
    }

    /// Who runs next, if the queue says so itself.
    #[inline(always)]
    pub(crate) fn pick(&mut self) -> Option<Co> {
        match self {
            Queue::Fifo(queue) => queue.pop_front(),
            Queue::Policy(policed) => {
                policed.woken = None;
                policed.first.take()
            }
        }
    }

    /// Who runs next, if that is whoever came first.
    #[inline(always)]
    pub(crate) fn first_come(&self) -> Option<Co> {
        match self {
            Queue::Fifo(queue) => queue.front().copied(),
            Queue::Policy(_) => None,
        }
    }

    /// Who will run after `ahead` others, if the queue knows.
    #[inline(always)]
    pub(crate) fn peek(&self, ahead: usize) -> Option<Co> {
        match self {
            Queue::Fifo(queue) => queue.get(ahead).copied(),
            Queue::Policy(_) => None,
        }
    }

    /// Takes a coroutine out that will not have its turn.
    pub(crate) fn forget(&mut self, co: Co) {
        match self {
            Queue::Fifo(queue) => queue.retain(|other| *other != co),
            Queue::Policy(policed) => {
                policed.first = policed.first.filter(|first| *first != co);
                policed.forget(co);
            }
        }
    }

    /// Takes the policy out, to call it. `None` if there is none, or it is being called.
    pub(crate) fn take_policy(&mut self) -> Option<Box<dyn Policy>> {
        match self {
            Queue::Fifo(_) => None,
            Queue::Policy(policed) => policed.policy.take(),
        }
    }

    /// Puts the policy back after a call; gives it back if it decides no more.
    pub(crate) fn put_back(&mut self, policy: Box<dyn Policy>) -> Option<Box<dyn Policy>> {
        match self {
            Queue::Policy(policed) if policed.policy.is_none() => {
                policed.policy = Some(policy);
                None
            }
            _ => Some(policy),
        }
    }

    /// Whether there is a policy, which is being called.
    pub(crate) fn is_away(&self) -> bool {
        matches!(self, Queue::Policy(policed) if policed.policy.is_none())
    }

    /// Whether the policy has not been told everything.
    pub(crate) fn has_notes(&self) -> bool {
        matches!(self, Queue::Policy(policed) if !policed.notes.is_empty())
    }

    /// The next thing that the policy is to be told.
    pub(crate) fn next_note(&mut self) -> Option<Note> {
        match self {
            Queue::Fifo(_) => None,
            Queue::Policy(policed) => policed.notes.pop_front(),
        }
    }

    /// The policy has given back one of which it has not been told: it has made it ready itself.
    pub(crate) fn heard_of(&mut self, co: Co) {
        if let Queue::Policy(policed) = self {
            policed.notes.retain(|note| !matches!(note, Note::Ready(ready) if ready.co == co));
        }
    }

    /// First come, first served from now on, beginning with these. Gives back the policy, if it is not
    /// being called.
    pub(crate) fn depose(&mut self, ready: VecDeque<Co>) -> Option<Box<dyn Policy>> {
        match core::mem::replace(self, Queue::Fifo(ready)) {
            Queue::Fifo(_) => None,
            Queue::Policy(policed) => policed.policy,
        }
    }
}

impl Policed {
    /// The policy never hears of one that it has not been told of.
    fn forget(&mut self, co: Co) {
        let told = |note: &Note| !matches!(note, Note::Ready(ready) if ready.co == co);
        let before = self.notes.len();
        self.notes.retain(told);
        if self.notes.len() == before {
            self.notes.push_back(Note::Forget(co));
        }
    }
}
