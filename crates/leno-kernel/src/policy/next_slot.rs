//! First come, first served, with a short cut for those who talk to each other.

use super::line::Line;
use super::{Hint, Policy, Ready, Why};
use crate::Co;

/// A queue, and a slot before it for the one that runs next.
///
/// Two coroutines that wake each other in turn run in turn, their data still in the cache, however
/// long the queue is. Into the slot goes whoever is made ready with [`Hint::Next`], or
/// [unparked](Why::Unparked) without another hint. If it is taken, the former one goes to the back of
/// the queue.
///
/// - **Hints**: [`Hint::Front`] is the front of the queue, after the slot.
/// - **Fairness**: of four picks in a row at least one is from the queue, unless it is empty. So with
///   `n` others before it in the queue a coroutine has its turn after at most `4 n + 3` picks, and
///   four more for every hint to the front meanwhile. One in the slot has its turn at the second pick
///   at the latest, or goes to the queue.
/// - **Other choices**: the first candidate.
/// - **Costs**: constant time; forgetting too, on average.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{NextSlot, Policy};
///
/// let policy: Box<dyn Policy> = Box::new(NextSlot::new());
/// assert_eq!(policy.name(), "next slot");
/// ```
#[derive(Clone, Debug, Default)]
pub struct NextSlot {
    next: Option<Co>,
    line: Line,
    /// How many picks in a row were from the slot.
    in_a_row: u32,
}

/// How many picks in a row are from the slot while others wait.
const IN_A_ROW: u32 = 3;

impl NextSlot {
    /// With nobody in it.
    pub fn new() -> NextSlot {
        NextSlot::default()
    }

    /// Whether the slot's turn is over.
    #[inline]
    fn serves_line(&self) -> bool {
        self.in_a_row >= IN_A_ROW && !self.line.is_empty()
    }
}

impl Policy for NextSlot {
    #[inline]
    fn ready(&mut self, ready: &Ready<'_>) {
        match (ready.hint, ready.why) {
            (Hint::Next, _) | (Hint::Back, Why::Unparked) => {
                if let Some(former) = self.next.replace(ready.co) {
                    self.line.push_back(former);
                }
            }
            (Hint::Front, _) => self.line.push_front(ready.co),
            (Hint::Back, _) => self.line.push_back(ready.co),
        }
    }

    #[inline]
    fn pick(&mut self) -> Option<Co> {
        if !self.serves_line()
            && let Some(next) = self.next.take()
        {
            self.in_a_row = (self.in_a_row + 1).min(IN_A_ROW);
            return Some(next);
        }
        self.in_a_row = 0;
        self.line.pop_front()
    }

    #[inline]
    fn peek(&self, ahead: usize) -> Option<Co> {
        match (self.next, ahead) {
            (Some(next), 0) if !self.serves_line() => Some(next),
            (Some(next), 1) if self.serves_line() => Some(next),
            (Some(_), 1..) => self.line.get(ahead - 1),
            _ => self.line.get(ahead),
        }
    }

    fn forget(&mut self, co: Co) {
        if self.next == Some(co) {
            self.next = None;
        } else {
            self.line.forget(co);
        }
    }

    fn name(&self) -> &str {
        "next slot"
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn unparked(n: u32) -> Ready<'static> {
        Ready { why: Why::Unparked, ..ready(n) }
    }

    #[test]
    fn it_keeps_the_contract() {
        keeps_the_contract(NextSlot::new);
    }

    #[test]
    fn the_slot_comes_first_and_whoever_loses_it_last() {
        let mut policy = NextSlot::new();
        policy.ready(&ready(1));
        policy.ready(&unparked(2));
        policy.ready(&hinted(3, Hint::Next));
        policy.ready(&hinted(4, Hint::Front));
        let peeked: Vec<_> = (0..5).map_while(|ahead| policy.peek(ahead)).map(Co::slot).collect();
        assert_eq!(peeked, [3, 4, 1, 2]);
        assert_eq!(all(&mut policy), peeked);
    }

    #[test]
    fn two_that_wake_each_other_let_the_queue_have_every_fourth_turn() {
        let mut policy = NextSlot::new();
        policy.ready(&unparked(1));
        (10..15).for_each(|n| policy.ready(&ready(n)));
        let mut order = Vec::new();
        for _ in 0..12 {
            let picked = policy.pick().expect("1 or 2 can run").slot();
            order.push(picked);
            match picked {
                1 => policy.ready(&unparked(2)),
                2 => policy.ready(&unparked(1)),
                _ => {}
            }
        }
        assert_eq!(order, [1, 2, 1, 10, 2, 1, 2, 11, 1, 2, 1, 12]);
    }

    #[test]
    fn the_bound_holds() {
        for n in 0..20 {
            let mut policy = NextSlot::new();
            (0..n).for_each(|other| policy.ready(&ready(100 + other)));
            policy.ready(&ready(99));
            policy.ready(&unparked(1));
            let busy = |n| if n < 99 { unparked(n) } else { ready(n) };
            let picks = picks_until(&mut policy, 99, busy).expect("it is not starved");
            assert_eq!(picks, 4 * n as usize + 4);
        }
    }

    #[test]
    fn a_queue_that_was_empty_does_not_wait_for_the_slot() {
        let mut policy = NextSlot::new();
        for _ in 0..10 {
            policy.ready(&unparked(1));
            assert_eq!(policy.pick(), Some(co(1)));
        }
        policy.ready(&ready(2));
        policy.ready(&unparked(1));
        assert_eq!((policy.peek(0), policy.peek(1)), (Some(co(2)), Some(co(1))));
        assert_eq!(all(&mut policy), [2, 1]);
    }

    #[test]
    fn whoever_was_forgotten_leaves_the_slot_too() {
        let mut policy = NextSlot::new();
        (1..=3).for_each(|n| policy.ready(&ready(n)));
        policy.ready(&unparked(4));
        policy.forget(co(4));
        policy.forget(co(2));
        assert_eq!(policy.peek(0), Some(co(1)));
        policy.ready(&unparked(2));
        assert_eq!(all(&mut policy), [2, 1, 3]);
    }
}
