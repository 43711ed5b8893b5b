//! The movable futures of a team, by name.
//!
//! A team has a number among those of cores, so that a [`Co`] says where to look: with a core's
//! number in that core's slots, with a team's here. Slots are reused with another generation, as a
//! core's are. There is a shard for each core, with a lock of its own; a future is in the shard of
//! the core that spawned it, and stays there wherever it runs.

use std::sync::Arc;

use super::movable::Movable;
use crate::co::{GENERATIONS, SLOTS};
use crate::mailbox::Address;
use crate::report::Report;
use crate::sync::{Mutex, lock};
use crate::{Co, Name, State};

/// See the module.
pub(crate) struct Movables {
    pub(crate) address: Address,
    shards: Box<[Shard]>,
}

/// Apart in memory, so that cores do not slow each other down.
#[repr(align(128))]
struct Shard(Mutex<Slots>);

struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
    /// Ever.
    spawned: u64,
    /// Greater than any that was used.
    unused_generation: u32,
}

struct Slot {
    generation: u32,
    movable: Option<Arc<Movable>>,
}

/// What they are doing, all together, at quiescence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Still {
    /// How many have not ended.
    pub(crate) live: usize,
    /// Whether someone has a waker of one.
    pub(crate) open: bool,
}

impl Movables {
    pub(crate) fn new(address: Address, shards: usize) -> Movables {
        let shard = |_| {
            Shard(Mutex::new(Slots {
                slots: Vec::new(),
                free: Vec::new(),
                live: 0,
                spawned: 0,
                unused_generation: address.generation + 1,
            }))
        };
        Movables { address, shards: (0..shards).map(shard).collect() }
    }

    /// The number that their names have for a core's.
    pub(crate) fn number(&self) -> u32 {
        self.address.mailbox.number
    }

    /// Adds one; `None` if a team holds no more.
    pub(crate) fn add(
        &self,
        shard: usize,
        make: impl FnOnce(Co) -> Movable,
    ) -> Option<Arc<Movable>> {
        let mut slots = lock(&self.shards[shard].0);
        let index = match slots.free.pop() {
            Some(index) => index,
            None => {
                let index = slots.slots.len() as u32;
                if index >= SLOTS / self.shards.len() as u32 {
                    return None;
                }
                slots.slots.push(Slot { generation: self.address.generation, movable: None });
                index
            }
        };
        slots.live += 1;
        slots.spawned += 1;
        let place = index * self.shards.len() as u32 + shard as u32;
        let slot = &mut slots.slots[index as usize];
        let movable = Arc::new(make(Co::new(self.number(), place, slot.generation)));
        slot.movable = Some(movable.clone());
        Some(movable)
    }

    fn find(&self, co: Co) -> (&Shard, usize) {
        let shards = self.shards.len();
        (&self.shards[co.slot() as usize % shards], co.slot() as usize / shards)
    }

    /// The one of this name, if it has not ended.
    pub(crate) fn get(&self, co: Co) -> Option<Arc<Movable>> {
        let (shard, index) = self.find(co);
        let slots = lock(&shard.0);
        let slot = slots.slots.get(index)?;
        let is_named = slot.generation == co.generation() && co.core() == self.number();
        slot.movable.clone().filter(|_| is_named)
    }

    /// Forgets one that has ended.
    pub(crate) fn remove(&self, co: Co) {
        let (shard, index) = self.find(co);
        let mut slots = lock(&shard.0);
        let slot = &mut slots.slots[index];
        debug_assert_eq!(slot.generation, co.generation());
        let movable = slot.movable.take();
        slot.generation += 1;
        let next = slot.generation;
        slots.live -= 1;
        slots.unused_generation = slots.unused_generation.max(next + 1);
        // A slot whose generations are used up is not used again.
        if next < GENERATIONS - 1 {
            slots.free.push(index as u32);
        }
        drop(slots);
        drop(movable);
    }

    /// How many have not ended, and how many of these are being polled.
    pub(crate) fn live(&self) -> (usize, usize) {
        let mut live = (0, 0);
        for shard in &self.shards {
            let slots = lock(&shard.0);
            live.0 += slots.live;
            let movables = slots.slots.iter().filter_map(|slot| slot.movable.as_ref());
            live.1 += movables.filter(|it| it.state() == Some(State::Running)).count();
        }
        live
    }

    /// All that have not ended.
    pub(crate) fn all(&self) -> Vec<Arc<Movable>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(lock(&shard.0).slots.iter().filter_map(|slot| slot.movable.clone()));
        }
        all
    }

    /// What they are doing, unless one is queued or polled.
    pub(crate) fn look(&self) -> Option<Still> {
        let mut still = Still::default();
        for shard in &self.shards {
            let slots = lock(&shard.0);
            still.live += slots.live;
            for movable in slots.slots.iter().filter_map(|slot| slot.movable.as_ref()) {
                // Whoever wakes it has a waker until it is no longer idle; so in this order.
                still.open |= Arc::strong_count(movable) > 1;
                if !matches!(movable.state(), Some(State::New | State::Parked(_))) {
                    return None;
                }
            }
        }
        Some(still)
    }

    /// How many were spawned, and who is left. How the others ended, the cores tell.
    pub(crate) fn report(&self) -> Report {
        let mut report = Report::default();
        for shard in &self.shards {
            let slots = lock(&shard.0);
            report.spawned += slots.spawned;
            for movable in slots.slots.iter().filter_map(|slot| slot.movable.as_ref()) {
                report.alive.extend(movable.look(1));
            }
        }
        report
    }

    /// What they are called.
    pub(crate) fn names(&self) -> Vec<(Co, Name)> {
        let named = |movable: Arc<Movable>| (movable.co, movable.about.name.clone());
        self.all().into_iter().map(named).collect()
    }

    /// A generation greater than any that was used.
    pub(crate) fn unused_generation(&self) -> u32 {
        let unused = |shard: &Shard| lock(&shard.0).unused_generation;
        self.shards.iter().map(unused).max().unwrap_or(self.address.generation)
    }
}
