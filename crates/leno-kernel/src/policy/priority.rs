//! The most urgent first, and nobody for ever last.
//!
//! An entry of priority `p` that became ready at the pick numbered `e` has, at pick `now`, the
//! effective priority `p + (now - e) / step`. Comparing two of them, `now` cancels out: the order is
//! that of `e - p * step`, which does not change while they wait, so a heap can keep it.

use core::num::NonZeroU32;

use super::heap::Heap;
use super::{Hint, Policy, Ready};
use crate::Co;

/// Whoever has the highest priority runs next, where waiting counts: every so many picks, the *step*,
/// raise the priority of those who wait by one. Equals are served as they came.
///
/// - **Hints**: [`Hint::Front`] and [`Hint::Next`] are worth one step of waiting. That is before all of
///   the same priority that came less than a step ago, and never before a higher one.
/// - **Fairness**: a coroutine of priority `p` is not overtaken by anyone who becomes ready more than
///   `(h - p + 1) * step` picks after it, `h` being the highest priority. Among `n` coroutines it has
///   its turn after at most `(h - p + 1) * step + n` picks.
/// - **Other choices**: the first candidate.
/// - **Costs**: logarithmic time; forgetting too, on average.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{Policy, Priority};
///
/// let policy: Box<dyn Policy> = Box::new(Priority::new());
/// assert_eq!(policy.name(), "priority");
/// // Almost strict: one of priority 1 goes before a million of priority 0.
/// let strict = Priority::with_step(1_000_000);
/// assert_eq!(strict.step(), 1_000_000);
/// ```
#[derive(Clone, Debug)]
pub struct Priority {
    heap: Heap<i64>,
    step: NonZeroU32,
    /// How many were picked.
    picks: i64,
}

impl Priority {
    /// With a step of 64 picks.
    pub fn new() -> Priority {
        Priority::with_step(64)
    }

    /// Waiting for so many picks raises the priority by one.
    ///
    /// # Panics
    /// If it is 0.
    pub fn with_step(step: u32) -> Priority {
        let step = NonZeroU32::new(step).expect("a step is at least one pick");
        Priority { heap: Heap::new(), step, picks: 0 }
    }

    /// How many picks of waiting raise the priority by one.
    pub fn step(&self) -> u32 {
        self.step.get()
    }
}

impl Default for Priority {
    fn default() -> Self {
        Priority::new()
    }
}

impl Policy for Priority {
    fn ready(&mut self, ready: &Ready<'_>) {
        let bonus = match ready.hint {
            Hint::Back => 0,
            Hint::Front | Hint::Next => 1,
        };
        // The product fits: 31 bits and a sign times 32 bits.
        let head_start = (i64::from(ready.priority) + bonus) * i64::from(self.step.get());
        self.heap.push(self.picks.saturating_sub(head_start), ready.hint, ready.co);
    }

    fn pick(&mut self) -> Option<Co> {
        let picked = self.heap.pop()?;
        self.picks += 1;
        Some(picked)
    }

    fn peek(&self, ahead: usize) -> Option<Co> {
        if ahead == 0 { self.heap.first() } else { None }
    }

    fn forget(&mut self, co: Co) {
        self.heap.forget(co);
    }

    fn name(&self) -> &str {
        "priority"
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn urgent(n: u32, priority: i32) -> Ready<'static> {
        Ready { priority, ..ready(n) }
    }

    #[test]
    fn it_keeps_the_contract() {
        keeps_the_contract(Priority::new);
        keeps_the_contract(|| Priority::with_step(1));
    }

    #[test]
    fn the_most_urgent_comes_first_and_equals_as_they_came() {
        let mut policy = Priority::new();
        for (n, priority) in [(1, 0), (2, 5), (3, -5), (4, 5), (5, i32::MAX), (6, 0), (7, i32::MIN)]
        {
            policy.ready(&urgent(n, priority));
        }
        assert_eq!(policy.peek(0), Some(co(5)));
        assert_eq!(all(&mut policy), [5, 2, 4, 1, 6, 3, 7]);
    }

    #[test]
    fn the_greatest_step_overflows_nowhere() {
        let mut policy = Priority::with_step(u32::MAX);
        for (n, priority) in [(1, i32::MIN), (2, i32::MAX), (3, i32::MAX), (4, i32::MIN)] {
            policy.ready(&Ready { hint: Hint::Front, ..urgent(n, priority) });
            policy.ready(&urgent(n + 10, priority));
        }
        assert_eq!(all(&mut policy), [3, 2, 12, 13, 4, 1, 11, 14]);
    }

    #[test]
    fn a_hint_goes_before_equals_and_not_before_a_higher_priority() {
        let mut policy = Priority::new();
        policy.ready(&urgent(1, 3));
        policy.ready(&urgent(2, 2));
        policy.ready(&urgent(3, 2));
        policy.ready(&Ready { hint: Hint::Front, ..urgent(4, 2) });
        policy.ready(&Ready { hint: Hint::Next, ..urgent(5, 2) });
        policy.ready(&urgent(6, 4));
        assert_eq!(all(&mut policy), [6, 5, 4, 1, 2, 3]);
    }

    #[test]
    fn waiting_raises_the_priority() {
        let mut policy = Priority::with_step(10);
        policy.ready(&urgent(1, 0));
        for n in 0..10 {
            policy.ready(&urgent(100 + n, 1));
            assert_eq!(policy.pick(), Some(co(100 + n)));
        }
        // It has waited for ten picks now, and was here before.
        policy.ready(&urgent(200, 1));
        assert_eq!(all(&mut policy), [1, 200]);
    }

    #[test]
    fn the_bound_holds() {
        for (step, others, priority) in [(1, 1, 1), (8, 3, 5), (64, 10, 2), (64, 100, 7)] {
            for hint in [Hint::Back, Hint::Front] {
                let mut policy = Priority::with_step(step);
                let busy = |n| Ready { hint, ..urgent(n, priority) };
                policy.ready(&urgent(1, 0));
                (0..others).for_each(|n| policy.ready(&busy(100 + n)));
                let picks = picks_until(&mut policy, 1, busy).expect("it is not starved");
                let bound = (priority as usize + 1) * step as usize + others as usize + 1;
                assert!(picks <= bound, "{picks} > {bound}");
                assert!(picks > priority as usize * step as usize, "and it is no FIFO: {picks}");
            }
        }
    }

    #[test]
    fn whoever_was_forgotten_and_is_ready_again_comes_once() {
        let mut policy = Priority::new();
        (1..=6).for_each(|n| policy.ready(&urgent(n, n as i32)));
        policy.forget(co(6));
        policy.forget(co(2));
        assert_eq!(policy.peek(0), Some(co(5)));
        policy.ready(&urgent(2, 10));
        policy.ready(&urgent(6, 0));
        assert_eq!(all(&mut policy), [2, 5, 4, 3, 1, 6]);
    }
}
