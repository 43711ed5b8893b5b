//! Naming coroutines and what they wait on.

use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SLOT_BITS: u32 = 22;
const GENERATION_BITS: u32 = 26;

/// How many coroutines a core holds at most.
pub(crate) const SLOTS: u32 = 1 << SLOT_BITS;
/// How often a slot is used at most; then it is retired, so that no two coroutines share an id.
pub(crate) const GENERATIONS: u32 = 1 << GENERATION_BITS;
/// How many cores there are at most.
pub(crate) const CORES: u32 = 1 << (64 - SLOT_BITS - GENERATION_BITS);

/// Which coroutine: the name by which policies, waiters and reports speak of it.
///
/// It is a plain number, valid in the whole process and for ever: of a coroutine that has ended it
/// names nobody, and is never given to another one. Waking nobody does nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Co(NonZeroU64);

impl Co {
    /// `generation` is never 0.
    pub(crate) fn new(core: u32, slot: u32, generation: u32) -> Co {
        debug_assert!(core < CORES && slot < SLOTS && (1..GENERATIONS).contains(&generation));
        let bits = u64::from(core) << (SLOT_BITS + GENERATION_BITS)
            | u64::from(slot) << GENERATION_BITS
            | u64::from(generation);
        Co(NonZeroU64::new(bits).expect("a generation is not 0"))
    }

    /// Stands for a core itself: no coroutine has this slot.
    pub(crate) fn of_core(core: u32) -> Co {
        Co::new(core, SLOTS - 1, GENERATIONS - 1)
    }

    #[inline(always)]
    pub(crate) fn core(self) -> u32 {
        (self.0.get() >> (SLOT_BITS + GENERATION_BITS)) as u32
    }

    #[inline(always)]
    pub(crate) fn slot(self) -> u32 {
        (self.0.get() >> GENERATION_BITS) as u32 & (SLOTS - 1)
    }

    #[inline(always)]
    pub(crate) fn generation(self) -> u32 {
        self.0.get() as u32 & (GENERATIONS - 1)
    }

    pub(crate) fn from_bits(bits: u64) -> Option<Co> {
        NonZeroU64::new(bits).map(Co)
    }

    /// As a number, unique in the process.
    pub fn bits(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Co {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.core(), self.slot())?;
        if self.generation() > 1 { write!(f, ".{}", self.generation()) } else { Ok(()) }
    }
}

impl fmt::Debug for Co {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Co({self})")
    }
}

/// Something that can be waited on: a channel, a lock. A number unique in the process.
///
/// It is *local* if only the coroutines of one core know it, else *shared*: whoever waits on a
/// shared one may be woken from outside, so its system is not at its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Object(u64);

const SHARED: u64 = 1 << 63;

impl Object {
    /// A new one that one core knows.
    pub fn local() -> Object {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Object(NEXT.fetch_add(1, Relaxed))
    }

    /// A new one that any thread may know.
    pub fn shared() -> Object {
        Object(Object::local().0 | SHARED)
    }

    /// Whether any thread may know it.
    pub fn is_shared(self) -> bool {
        self.0 & SHARED != 0
    }

    /// As a number.
    pub fn number(self) -> u64 {
        self.0 & !SHARED
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_co_come_back() {
        for (core, slot, generation) in
            [(0, 0, 1), (1, 2, 3), (CORES - 1, SLOTS - 1, GENERATIONS - 1)]
        {
            let co = Co::new(core, slot, generation);
            assert_eq!((co.core(), co.slot(), co.generation()), (core, slot, generation));
        }
        assert_eq!(size_of::<Option<Co>>(), 8);
    }
}
