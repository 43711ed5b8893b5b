//! Who is ready on a core: the default order, or whatever a policy says.

use std::collections::VecDeque;

use crate::policy::{Choice, Hint, Policy, Ready};
use crate::{Co, policy::Why};

/// See the module.
pub(crate) enum Queue {
    /// First come, first served: the fast path.
    Fifo(VecDeque<Co>),
    /// User code decides.
    Policy(Box<dyn Policy>),
}

impl Queue {
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
            Queue::Policy(policy) => policy.ready(&ready(why, hint)),
        }
    }

    /// Who runs next.
    #[inline(always)]
    pub(crate) fn pick(&mut self) -> Option<Co> {
        match self {
            Queue::Fifo(queue) => queue.pop_front(),
            Queue::Policy(policy) => policy.pick(),
        }
    }

    /// Who will probably run after `ahead` others.
    #[inline(always)]
    pub(crate) fn peek(&self, ahead: usize) -> Option<Co> {
        match self {
            Queue::Fifo(queue) => queue.get(ahead).copied(),
            Queue::Policy(policy) => policy.peek(ahead),
        }
    }

    /// Answers a choice that the rules leave open.
    pub(crate) fn choose(&mut self, choice: &Choice<'_>) -> usize {
        match self {
            Queue::Fifo(_) => 0,
            Queue::Policy(policy) => {
                let chosen = policy.choose(choice);
                let among = choice.candidates.len();
                assert!(chosen < among, "{} chose {chosen} of {among}", policy.name());
                chosen
            }
        }
    }
}
