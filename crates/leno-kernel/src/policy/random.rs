//! Any order, and the same one again.

use super::tombstones::Tombstones;
use super::{Choice, Policy, Ready};
use crate::Co;

/// Whoever runs next is drawn by lot, and so is the answer to every other choice.
///
/// It finds the mistakes that a tidy order hides. The lots follow from the seed: the same program with
/// the same seed runs in the same order, on every machine.
///
/// - **Hints** are not honoured: a program must not depend on them.
/// - **Fairness**: everyone has the same chance at each pick. With `n` ready one waits `n` picks on
///   average; there is no bound.
/// - **Costs**: constant time; forgetting too, on average.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{Candidate, Choice, ChoiceKind, Policy, SeededRandom};
///
/// let candidates = [Candidate::Core(0), Candidate::Core(1), Candidate::Core(2)];
/// let choice = Choice::new(ChoiceKind::Victim, None, &candidates);
/// let draw = |seed| {
///     let mut policy = SeededRandom::new(seed);
///     [(); 8].map(|()| policy.choose(&choice))
/// };
/// assert_eq!(draw(7), draw(7));
/// assert_ne!(draw(7), draw(8));
/// ```
#[derive(Clone, Debug)]
pub struct SeededRandom {
    seed: u64,
    lots: Lots,
    /// With their stamps, in any order.
    entries: Vec<(Co, u64)>,
    tombstones: Tombstones,
}

impl SeededRandom {
    /// All follows from the seed.
    pub fn new(seed: u64) -> SeededRandom {
        let tombstones = Tombstones::default();
        SeededRandom { seed, lots: Lots { state: seed }, entries: Vec::new(), tombstones }
    }

    /// What it was made with.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl Policy for SeededRandom {
    fn ready(&mut self, ready: &Ready<'_>) {
        let stamp = self.tombstones.stamp();
        self.entries.push((ready.co, stamp));
    }

    fn pick(&mut self) -> Option<Co> {
        while !self.entries.is_empty() {
            let (co, stamp) = self.entries.swap_remove(self.lots.draw(self.entries.len()));
            // Drawing again after a dead one leaves the living the same chance.
            if self.tombstones.is_live(co, stamp) {
                return Some(co);
            }
        }
        self.tombstones.clear();
        None
    }

    fn peek(&self, ahead: usize) -> Option<Co> {
        if ahead > 0 || self.entries.is_empty() {
            return None;
        }
        let (co, stamp) = self.entries[self.lots.clone().draw(self.entries.len())];
        self.tombstones.is_live(co, stamp).then_some(co)
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.lots.draw(choice.candidates.len())
    }

    fn forget(&mut self, co: Co) {
        self.tombstones.bury(co);
        if self.tombstones.are_many(self.entries.len()) {
            self.entries.retain(|&(co, stamp)| self.tombstones.is_live(co, stamp));
            self.tombstones.clear();
        }
    }

    fn name(&self) -> &str {
        "seeded random"
    }
}

/// Numbers that look random: a counter with an odd step, well stirred (splitmix64).
#[derive(Clone, Debug)]
struct Lots {
    state: u64,
}

impl Lots {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`; 0 if that is 0.
    fn draw(&mut self, n: usize) -> usize {
        // The bias is `n` in 2⁶⁴.
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hint;
    use super::super::testing::*;
    use super::*;

    fn order(seed: u64) -> Vec<u32> {
        let mut policy = SeededRandom::new(seed);
        (0..20).for_each(|n| policy.ready(&ready(n)));
        all(&mut policy)
    }

    #[test]
    fn it_keeps_the_contract() {
        let mut seed = 0;
        keeps_the_contract(|| {
            seed += 1;
            SeededRandom::new(seed)
        });
    }

    #[test]
    fn the_seed_says_it_all() {
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert_ne!(order(0), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn the_lots_are_the_same_everywhere() {
        let mut lots = Lots { state: 0 };
        // The first ones of splitmix64 with seed 0.
        assert_eq!([lots.next(), lots.next()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
        assert_eq!(Lots { state: 5 }.draw(0), 0);
    }

    #[test]
    fn everyone_is_first_equally_often_whatever_the_hint_and_the_dead() {
        let mut first = [0; 8];
        let runs = if cfg!(miri) { 100 } else { 8000 };
        for seed in 0..runs {
            let mut policy = SeededRandom::new(seed);
            (0..20).for_each(|n| policy.ready(&ready(n)));
            (0..7).for_each(|n| policy.ready(&hinted(20 + n, Hint::Front)));
            (0..4).for_each(|n| policy.forget(co(n)));
            (4..19).for_each(|n| policy.forget(co(n)));
            first[policy.pick().expect("eight are left").slot() as usize - 19] += 1;
        }
        if runs > 1000 {
            assert!(first.iter().all(|n| (800..1200).contains(n)), "{first:?}");
        }
    }

    #[test]
    fn choices_are_drawn_too() {
        let mut policy = SeededRandom::new(3);
        let mut seen = [0; 3];
        for _ in 0..300 {
            seen[with_choice(3, |choice| policy.choose(choice))] += 1;
        }
        assert!(seen.iter().all(|n| (60..140).contains(n)), "{seen:?}");
    }
}
