//! The earliest deadline first.

use super::heap::Heap;
use super::{Policy, Ready};
use crate::{Co, Time};

/// Whoever has the earliest deadline runs next; then those without one. Equals are served as they came.
///
/// On one core, if any order meets all deadlines, this one does.
///
/// - **Hints**: [`Front`](super::Hint::Front) and [`Next`](super::Hint::Next) are before all of the same
///   deadline, or of none; never before an earlier deadline.
/// - **Fairness**: none, by design. As long as coroutines with earlier deadlines are ready, others
///   wait; with too much to do, those without a deadline starve. A deadline that is over is still the
///   earliest. If all have the same deadline, or none, it is [`Fifo`](super::Fifo), with its bound.
/// - **Other choices**: the first candidate.
/// - **Costs**: logarithmic time; forgetting too, on average.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{EarliestDeadline, Policy};
///
/// let policy: Box<dyn Policy> = Box::new(EarliestDeadline::new());
/// assert_eq!(policy.name(), "earliest deadline");
/// ```
#[derive(Clone, Debug, Default)]
pub struct EarliestDeadline {
    heap: Heap<Time>,
}

impl EarliestDeadline {
    /// With nobody in it.
    pub fn new() -> EarliestDeadline {
        EarliestDeadline::default()
    }
}

impl Policy for EarliestDeadline {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.heap.push(ready.deadline.unwrap_or(Time::NEVER), ready.hint, ready.co);
    }

    fn pick(&mut self) -> Option<Co> {
        self.heap.pop()
    }

    fn peek(&self, ahead: usize) -> Option<Co> {
        if ahead == 0 { self.heap.first() } else { None }
    }

    fn forget(&mut self, co: Co) {
        self.heap.forget(co);
    }

    fn name(&self) -> &str {
        "earliest deadline"
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hint;
    use super::super::testing::*;
    use super::*;

    fn due(n: u32, nanos: u64) -> Ready<'static> {
        Ready { deadline: Some(Time::from_nanos(nanos)), ..ready(n) }
    }

    #[test]
    fn it_keeps_the_contract() {
        keeps_the_contract(EarliestDeadline::new);
    }

    #[test]
    fn the_earliest_comes_first_and_equals_as_they_came() {
        let mut policy = EarliestDeadline::new();
        policy.ready(&ready(1));
        policy.ready(&due(2, 300));
        policy.ready(&due(3, 100));
        policy.ready(&ready(4));
        policy.ready(&due(5, 300));
        policy.ready(&due(6, 0));
        assert_eq!(policy.peek(0), Some(co(6)));
        assert_eq!(all(&mut policy), [6, 3, 2, 5, 1, 4]);
    }

    #[test]
    fn a_hint_goes_before_equals_only() {
        let mut policy = EarliestDeadline::new();
        policy.ready(&ready(1));
        policy.ready(&due(2, 100));
        policy.ready(&hinted(3, Hint::Front));
        policy.ready(&hinted(4, Hint::Next));
        policy.ready(&Ready { hint: Hint::Next, ..due(5, 100) });
        policy.ready(&Ready { hint: Hint::Next, ..due(6, 200) });
        assert_eq!(all(&mut policy), [5, 2, 6, 4, 3, 1]);
    }

    #[test]
    fn without_deadlines_everyone_has_a_turn_in_each_round() {
        let mut policy = EarliestDeadline::new();
        (0..10).for_each(|n| policy.ready(&ready(n)));
        assert_eq!(picks_until(&mut policy, 9, ready), Some(10));
    }

    #[test]
    fn whoever_has_none_waits_as_long_as_others_have() {
        let mut policy = EarliestDeadline::new();
        policy.ready(&ready(1));
        policy.ready(&due(2, 100));
        assert_eq!(picks_until(&mut policy, 1, |n| due(n, 100)), None);
    }

    #[test]
    fn whoever_was_forgotten_and_is_ready_again_comes_once() {
        let mut policy = EarliestDeadline::new();
        (1..=6).for_each(|n| policy.ready(&due(n, n.into())));
        policy.forget(co(1));
        policy.forget(co(4));
        assert_eq!(policy.peek(0), Some(co(2)));
        policy.ready(&due(4, 0));
        policy.ready(&ready(1));
        assert_eq!(all(&mut policy), [4, 2, 3, 5, 6, 1]);
    }
}
