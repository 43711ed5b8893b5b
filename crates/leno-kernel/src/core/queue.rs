//! Who is ready on a core: the default order, or whatever a policy says.

use std::collections::VecDeque;

use crate::policy::{Choice, Hint, Policy, Ready};
use crate::{Co, policy::Why};

/// See the module.
pub(crate) enum Queue {
    /// First come, first served: the fast path.
    Fifo(VecDeque<Co>),
    /// User code decides.
    Policy(Policed),
}

/// A policy, and what it has decided by choosing who runs after a rendezvous or a spawn.
pub(crate) struct Policed {
    policy: Box<dyn Policy>,
    /// Whoever was made ready last by the coroutine that runs.
    woken: Option<Co>,
    /// Runs next; the policy has been told to forget it.
    first: Option<Co>,
}

impl Queue {
    pub(crate) fn new(policy: Option<Box<dyn Policy>>) -> Queue {
        match policy {
            None => Queue::Fifo(VecDeque::new()),
            Some(policy) => Queue::Policy(Policed { policy, woken: None, first: None }),
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
            policed.policy.forget(co);
            policed.first = Some(co);
        }
    }

    /// A coroutine can run. `ready` says more about it, if a policy asks.
    #[inline(always)]
    pub(crate) fn ready<'a>(
        &mut self,
        co: Co,
        why: Why,
        hint: Hint,
        ready: impl FnOnce(Why, Hint) -> Ready<'a>,
    ) {
        match self {
            Queue::Fifo(queue) if hint == Hint::Back => queue.push_back(co),
            Queue::Fifo(queue) => queue.push_front(co),
            Queue::Policy(policed) => policed.policy.ready(&ready(why, hint)),
        }
    }

    /// What the policy is called.
    pub(crate) fn name(&self) -> &str {
        match self {
            Queue::Fifo(_) => "fifo",
            Queue::Policy(policed) => policed.policy.name(),
        }
    }

    /// Who runs next.
    #[inline(always)]
    pub(crate) fn pick(&mut self) -> Option<Co> {
        match self {
            Queue::Fifo(queue) => queue.pop_front(),
            Queue::Policy(policed) => {
                policed.woken = None;
                policed.first.take().or_else(|| policed.policy.pick())
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

    /// Who will probably run after `ahead` others.
    #[inline(always)]
    pub(crate) fn peek(&self, ahead: usize) -> Option<Co> {
        match self {
            Queue::Fifo(queue) => queue.get(ahead).copied(),
            Queue::Policy(policed) => policed.policy.peek(ahead),
        }
    }

    /// Takes a coroutine out that will not have its turn.
    pub(crate) fn forget(&mut self, co: Co) {
        match self {
            Queue::Fifo(queue) => queue.retain(|other| *other != co),
            Queue::Policy(policed) => {
                policed.first = policed.first.filter(|first| *first != co);
                policed.policy.forget(co);
            }
        }
    }

    /// Answers a choice that the rules leave open.
    pub(crate) fn choose(&mut self, choice: &Choice<'_>) -> usize {
        match self {
            Queue::Fifo(_) => 0,
            Queue::Policy(Policed { policy, .. }) => {
                let chosen = policy.choose(choice);
                let among = choice.candidates.len();
                assert!(chosen < among, "{} chose {chosen} of {among}", policy.name());
                chosen
            }
        }
    }
}
