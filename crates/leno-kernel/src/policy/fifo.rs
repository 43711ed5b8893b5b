//! First come, first served: the default.

use super::line::Line;
use super::{Hint, Policy, Ready};
use crate::Co;

/// Whoever has waited longest runs next.
///
/// - **Hints**: [`Hint::Front`] and [`Hint::Next`] are the same, the front of the queue; the latest of
///   several comes first.
/// - **Fairness**: with `n` others before it a coroutine has its turn after `n` picks, and one more for
///   every hint to the front meanwhile. Hints without end can starve others.
/// - **Other choices**: the first candidate.
/// - **Costs**: constant time; forgetting too, on average.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{Fifo, Policy};
///
/// let mut policy = Fifo::new();
/// assert_eq!(policy.name(), "fifo");
/// assert_eq!(policy.pick(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    line: Line,
}

impl Fifo {
    /// With nobody in it.
    pub fn new() -> Fifo {
        Fifo::default()
    }
}

impl Policy for Fifo {
    #[inline]
    fn ready(&mut self, ready: &Ready<'_>) {
        match ready.hint {
            Hint::Back => self.line.push_back(ready.co),
            Hint::Front | Hint::Next => self.line.push_front(ready.co),
        }
    }

    #[inline]
    fn pick(&mut self) -> Option<Co> {
        self.line.pop_front()
    }

    #[inline]
    fn peek(&self, ahead: usize) -> Option<Co> {
        self.line.get(ahead)
    }

    fn forget(&mut self, co: Co) {
        self.line.forget(co);
    }

    fn name(&self) -> &str {
        "fifo"
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn it_keeps_the_contract() {
        keeps_the_contract(Fifo::new);
    }

    #[test]
    fn the_first_comes_first_unless_hinted() {
        let mut fifo = Fifo::new();
        (1..=3).for_each(|n| fifo.ready(&ready(n)));
        fifo.ready(&hinted(4, Hint::Front));
        fifo.ready(&hinted(5, Hint::Next));
        let peeked: Vec<_> = (0..6).map_while(|ahead| fifo.peek(ahead)).map(Co::slot).collect();
        assert_eq!(peeked, [5, 4, 1, 2, 3]);
        assert_eq!(all(&mut fifo), peeked);
    }

    #[test]
    fn whoever_was_forgotten_and_is_ready_again_waits_in_the_new_place() {
        let mut fifo = Fifo::new();
        (1..=9).for_each(|n| fifo.ready(&ready(n)));
        fifo.forget(co(2));
        fifo.forget(co(5));
        fifo.ready(&ready(2));
        fifo.ready(&hinted(5, Hint::Front));
        assert_eq!(fifo.peek(2), Some(co(3)));
        assert_eq!(all(&mut fifo), [5, 1, 3, 4, 6, 7, 8, 9, 2]);
    }

    #[test]
    fn everyone_has_a_turn_in_each_round() {
        let mut fifo = Fifo::new();
        (0..10).for_each(|n| fifo.ready(&ready(n)));
        assert_eq!(picks_until(&mut fifo, 9, ready), Some(10));
    }
}
