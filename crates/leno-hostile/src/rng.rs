//! A small generator of numbers, the same on every machine.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Makes one from a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    /// Returns whether one in `n` comes up.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
