//! Last come, first served.

use super::line::Line;
use super::{Policy, Ready, Why};
use crate::Co;

/// Whoever became ready last runs next: depth first, with few coroutines half done at a time.
///
/// - **Hints** change nothing: everyone goes to the front anyway. Only one who has
///   [yielded](Why::Yielded) goes to the back, or it would be picked again at once.
/// - **Fairness**: none. As long as others become ready, the first ones wait.
/// - **Other choices**: the first candidate.
/// - **Costs**: constant time; forgetting too, on average.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{Lifo, Policy};
///
/// let policy: Box<dyn Policy> = Box::new(Lifo::new());
/// assert_eq!(policy.name(), "lifo");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lifo {
    line: Line,
}

impl Lifo {
    /// With nobody in it.
    pub fn new() -> Lifo {
        Lifo::default()
    }
}

impl Policy for Lifo {
    fn ready(&mut self, ready: &Ready<'_>) {
        match ready.why {
            Why::Yielded => self.line.push_back(ready.co),
            _ => self.line.push_front(ready.co),
        }
    }

    fn pick(&mut self) -> Option<Co> {
        self.line.pop_front()
    }

    fn peek(&self, ahead: usize) -> Option<Co> {
        self.line.get(ahead)
    }

    fn forget(&mut self, co: Co) {
        self.line.forget(co);
    }

    fn name(&self) -> &str {
        "lifo"
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hint;
    use super::super::testing::*;
    use super::*;

    fn yielded(n: u32) -> Ready<'static> {
        Ready { why: Why::Yielded, ..ready(n) }
    }

    #[test]
    fn it_keeps_the_contract() {
        keeps_the_contract(Lifo::new);
    }

    #[test]
    fn the_last_comes_first_whatever_the_hint() {
        let mut lifo = Lifo::new();
        lifo.ready(&ready(1));
        lifo.ready(&hinted(2, Hint::Front));
        lifo.ready(&hinted(3, Hint::Next));
        lifo.ready(&ready(4));
        assert_eq!(all(&mut lifo), [4, 3, 2, 1]);
    }

    #[test]
    fn whoever_yields_lets_the_others_run() {
        let mut lifo = Lifo::new();
        (1..=3).for_each(|n| lifo.ready(&ready(n)));
        lifo.ready(&yielded(4));
        assert_eq!(picks_until(&mut lifo, 1, yielded), Some(3));
        assert_eq!(all(&mut lifo), [4, 3, 2]);
    }

    #[test]
    fn whoever_was_forgotten_does_not_come_back() {
        let mut lifo = Lifo::new();
        (1..=6).for_each(|n| lifo.ready(&ready(n)));
        lifo.forget(co(6));
        lifo.forget(co(3));
        lifo.ready(&ready(3));
        assert_eq!(lifo.peek(1), Some(co(5)));
        assert_eq!(all(&mut lifo), [3, 5, 4, 2, 1]);
    }
}
