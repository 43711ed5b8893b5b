//! What the tests of all policies need.

use std::collections::HashSet;

use super::{Choice, Hint, Policy, Ready, Why};
use crate::{Co, Name, Time};

static NAMELESS: Name = Name::NONE;

/// A coroutine.
pub(crate) fn co(n: u32) -> Co {
    Co::new(0, n, 1)
}

/// It can run, because it was spawned, and nothing else was said.
pub(crate) fn ready(n: u32) -> Ready<'static> {
    Ready {
        co: co(n),
        name: &NAMELESS,
        why: Why::Spawned,
        hint: Hint::Back,
        priority: 0,
        deadline: None,
        now: Time::START,
    }
}

/// The same, with a hint.
pub(crate) fn hinted(n: u32, hint: Hint) -> Ready<'static> {
    Ready { hint, ..ready(n) }
}

/// Picks until nobody is left.
pub(crate) fn all(policy: &mut dyn Policy) -> Vec<u32> {
    core::iter::from_fn(|| policy.pick()).map(Co::slot).collect()
}

/// Small, fast, and nobody's idea of random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.below_u64(u64::from(limit)) as u32
    }

    pub(crate) fn below_u64(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Whatever is put in comes out once, unless it was forgotten, under any mixture of operations.
pub(crate) fn keeps_the_contract<P: Policy>(mut make: impl FnMut() -> P) {
    let hints = [Hint::Back, Hint::Back, Hint::Front, Hint::Next];
    let reasons = [Why::Spawned, Why::Yielded, Why::Unparked, Why::Time, Why::Exit];
    for seed in 1..=20 {
        let mut random = Random(seed * 0x9E37_79B9);
        let mut policy = make();
        let mut waiting = HashSet::new();
        // With few coroutines the same one is soon forgotten and ready again.
        let population = [2, 5, 50, 1000][seed as usize % 4];
        for _ in 0..if cfg!(miri) { 200 } else { 5000 } {
            let n = random.below(population);
            match random.below(10) {
                0..5 if waiting.insert(co(n)) => policy.ready(&Ready {
                    why: reasons[random.below(5) as usize],
                    hint: hints[random.below(4) as usize],
                    priority: random.below(7) as i32 - 3,
                    deadline: [None, Some(Time::from_nanos(random.below(50).into()))]
                        [n as usize % 2],
                    ..ready(n)
                }),
                5..7 if waiting.remove(&co(n)) => policy.forget(co(n)),
                _ => {
                    let peeked = policy.peek(0);
                    let picked = policy.pick();
                    assert!(peeked.is_none() || peeked == picked, "{}", policy.name());
                    assert!(picked.map_or(waiting.is_empty(), |co| waiting.remove(&co)));
                }
            }
        }
        while let Some(picked) = policy.pick() {
            assert!(waiting.remove(&picked), "{picked} from {}", policy.name());
        }
        assert!(waiting.is_empty(), "{} has lost {waiting:?}", policy.name());
    }
}

/// Where a coroutine that waits among others that always want to run has its turn: after how many
/// picks, if whoever is picked is ready again at once, as `busy` says.
pub(crate) fn picks_until(
    policy: &mut dyn Policy,
    n: u32,
    busy: impl Fn(u32) -> Ready<'static>,
) -> Option<usize> {
    (1..100_000).find(|_| {
        let picked = policy.pick().expect("somebody can run").slot();
        if picked != n {
            policy.ready(&busy(picked));
        }
        picked == n
    })
}

/// A choice among so many.
pub(crate) fn with_choice<R>(n: u64, ask: impl FnOnce(&Choice<'_>) -> R) -> R {
    let candidates: Vec<_> = (0..n).map(super::Candidate::Other).collect();
    ask(&Choice::new(super::ChoiceKind::Alternative, None, &candidates))
}
