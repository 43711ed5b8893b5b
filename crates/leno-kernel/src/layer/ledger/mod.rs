//! Who knows which end of which channel, so that a coroutine that nobody can ever wake is found.
//!
//! The ledger is exact for what it is told: an end is known to a *coroutine*, to a *parcel* (it
//! travels as a value in a channel), or to the *world* (anyone may use it). Layers with ends that
//! are bound to a coroutine write it; a core that nobody writes for has an empty one, which costs
//! nothing. A channel it was never told of is left to other rules. A future that is polled may say by
//! which ends alone it can be woken ([`only_by`]); of any other future the ledger says nothing.
//!
//! A pass over it runs at quiescence, on request, and whenever the number of coroutines has doubled
//! since the last one, so its cost is a constant share of the work that made them.

mod pass;
#[cfg(test)]
mod tests;

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

pub use pass::Verdict;

use crate::core::Core;
use crate::raw::entered::{self, Here};
use crate::{Co, Object, Outcome, Reason, State};

/// One end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// Of which channel.
    pub channel: Object,
    /// Which end.
    pub side: Side,
}

/// Which end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Where values are put in.
    Sending,
    /// Where they are taken out.
    Receiving,
}

/// Who knows an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Knower {
    /// Anyone.
    World,
    /// This coroutine.
    Co(Co),
    /// Whoever receives the parcel that this channel carries.
    Parcel(Object),
}

/// How often each end is known.
type Ends = BTreeMap<End, usize>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    world: Ends,
    cos: BTreeMap<Co, Ends>,
    parcels: BTreeMap<Object, Ends>,
    /// The ends by which alone a future can be woken that waits, if it has said so.
    needs: BTreeMap<Co, Vec<End>>,
    /// How many entries speak of each channel.
    channels: BTreeMap<Object, usize>,
    /// How many coroutines there were after the last pass.
    before: usize,
}

/// With fewer coroutines than this a pass waits for quiescence.
const FEW: usize = 64;

impl Ledger {
    fn ends_mut(&mut self, knower: Knower) -> &mut Ends {
        match knower {
            Knower::World => &mut self.world,
            Knower::Co(co) => self.cos.entry(co).or_default(),
            Knower::Parcel(channel) => self.parcels.entry(channel).or_default(),
        }
    }

    pub(crate) fn learn(&mut self, knower: Knower, end: End) {
        *self.ends_mut(knower).entry(end).or_default() += 1;
        *self.channels.entry(end.channel).or_default() += 1;
    }

    /// Whether it was known.
    pub(crate) fn forget(&mut self, knower: Knower, end: End) -> bool {
        let ends = self.ends_mut(knower);
        let Some(times) = ends.get_mut(&end) else { return false };
        *times -= 1;
        if *times == 0 {
            ends.remove(&end);
        }
        let is_empty = ends.is_empty();
        match knower {
            Knower::Co(co) if is_empty => drop(self.cos.remove(&co)),
            Knower::Parcel(channel) if is_empty => drop(self.parcels.remove(&channel)),
            _ => {}
        }
        self.forget_channel(end.channel, 1);
        true
    }

    fn forget_channel(&mut self, channel: Object, times: usize) {
        if let Some(left) = self.channels.get_mut(&channel) {
            *left -= times;
            if *left == 0 {
                self.channels.remove(&channel);
            }
        }
    }

    /// A coroutine has ended: it knows nothing any more.
    pub(crate) fn forget_co(&mut self, co: Co) {
        self.needs.remove(&co);
        for (end, times) in self.cos.remove(&co).unwrap_or_default() {
            self.forget_channel(end.channel, times);
        }
    }

    /// How one ends that waits for this in vain.
    fn outcome(&self, co: Co, reason: Reason) -> Outcome {
        match self.needs.get(&co).and_then(|ends| ends.first()) {
            Some(end) if end.side == Side::Sending => Outcome::Starved,
            Some(_) => Outcome::Blockaged,
            None => reason.when_nobody_comes(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Who knows each end.
    pub(crate) fn knowers(&self) -> BTreeMap<End, Vec<Knower>> {
        let world = self.world.keys().map(|end| (*end, Knower::World));
        let cos =
            self.cos.iter().flat_map(|(co, ends)| ends.keys().map(|end| (*end, Knower::Co(*co))));
        let parcels = self
            .parcels
            .iter()
            .flat_map(|(channel, ends)| ends.keys().map(|end| (*end, Knower::Parcel(*channel))));
        let mut knowers: BTreeMap<End, Vec<Knower>> = BTreeMap::new();
        for (end, knower) in cos.chain(parcels).chain(world) {
            knowers.entry(end).or_default().push(knower);
        }
        knowers
    }

    fn ends_of(&self, co: Co) -> Vec<End> {
        self.cos.get(&co).map(|ends| ends.keys().copied().collect()).unwrap_or_default()
    }

    fn parcels_in(&self, channel: Object) -> Vec<End> {
        self.parcels.get(&channel).map(|ends| ends.keys().copied().collect()).unwrap_or_default()
    }
}

impl Core {
    /// One pass; nobody is removed.
    pub(crate) fn verdicts(&self) -> Vec<(Co, Verdict)> {
        self.ledger.borrow().judge(&self.parked())
    }

    /// Each coroutine, with what it is parked for, if it is.
    fn parked(&self) -> Vec<(Co, Option<Reason>)> {
        let reason = |state| match state {
            State::Parked(reason) => Some(reason),
            _ => None,
        };
        self.tasks.iter().map(|(co, task)| (co, reason(task.state()))).collect()
    }

    /// Makes those exit whom nobody can ever wake. How many they are.
    pub(crate) fn remove_unreachable(&self) -> usize {
        if self.ledger.borrow().is_empty() {
            return 0;
        }
        let verdicts = self.verdicts().into_iter();
        let unreachable = verdicts.filter(|(_, verdict)| *verdict == Verdict::Unreachable);
        let removed = self.remove(unreachable.map(|(co, _)| co));
        // Those who are to go are still there: counted, the next pass would come ever later.
        self.ledger.borrow_mut().before = self.tasks.live() - removed;
        removed
    }

    /// The same when nobody can run; and if there are none, those who must give way so that one goes
    /// on who waits to be told.
    pub(crate) fn remove_unreachable_at_rest(&self) -> usize {
        match self.remove_unreachable() {
            // Whoever has a timer need not be told.
            0 if !self.ledger.borrow().is_empty() && !self.has_timers() => {
                let tellers = self.ledger.borrow().tellers(&self.parked());
                self.remove(tellers.into_iter())
            }
            removed => removed,
        }
    }

    /// Ends those who wait in vain. How many they are.
    fn remove(&self, cos: impl Iterator<Item = Co>) -> usize {
        let mut removed = 0;
        for co in cos {
            if let Some(task) = self.tasks.get(co)
                && let State::Parked(reason) = task.state()
            {
                let outcome = self.ledger.borrow().outcome(co, reason);
                self.cancel(co, outcome);
                removed += 1;
            }
        }
        removed
    }

    /// The same, if there are twice as many coroutines as after the last pass.
    #[inline(always)]
    pub(crate) fn remove_unreachable_if_many(&self) {
        if self.tasks.live() > FEW {
            self.look_at_ledger();
        }
    }

    #[inline(never)]
    fn look_at_ledger(&self) {
        let before = self.ledger.borrow().before;
        if self.tasks.live() >= 2 * before.max(FEW / 2) {
            self.remove_unreachable();
        }
    }
}

fn with_core<R>(f: impl FnOnce(&Core) -> R) -> Option<R> {
    entered::here(|here| match here {
        Here::Stack(inside) => Some(f(inside.core)),
        Here::Future(core, _) => Some(f(core)),
        Here::Thread | Here::Virtual(_) => None,
    })
}

/// Writes down, on the calling coroutine's core, that an end is known once more.
pub fn learn(knower: Knower, end: End) {
    with_core(|core| core.ledger.borrow_mut().learn(knower, end));
}

/// Writes down that an end is known once less. What a coroutine knows is forgotten at its end, too.
/// Whether it was known.
pub fn forget(knower: Knower, end: End) -> bool {
    with_core(|core| core.ledger.borrow_mut().forget(knower, end)).unwrap_or(false)
}

/// Says, inside a future that a core polls, by which ends alone it can be woken when it waits now: that
/// someone uses one of them. Of none, that others may wake it. It holds until it is said again.
///
/// Whoever says so must know that nobody else has a waker of the future, nor its name to unpark it.
pub fn only_by(ends: Vec<End>) {
    entered::here(|here| {
        let Here::Future(core, co) = here else { return };
        let mut ledger = core.ledger.borrow_mut();
        match ends.is_empty() {
            true => ledger.needs.remove(&co),
            false => ledger.needs.insert(co, ends),
        };
    });
}

/// The ledger of one core, for ends that outlive the call that bound them: whoever has it writes to
/// that ledger from anywhere on the core's thread. When the core has gone, there is nothing to write to.
#[derive(Clone, Debug)]
pub struct Book(Weak<RefCell<Ledger>>);

impl Book {
    /// That of the calling coroutine's core, if a core runs the calling code.
    pub fn here() -> Option<Book> {
        with_core(|core| Book(Rc::downgrade(&core.ledger)))
    }

    /// Whether its core is still there.
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// As [`learn`], in this book.
    pub fn learn(&self, knower: Knower, end: End) {
        if let Some(ledger) = self.0.upgrade() {
            ledger.borrow_mut().learn(knower, end);
        }
    }

    /// As [`forget`], in this book.
    pub fn forget(&self, knower: Knower, end: End) -> bool {
        self.0.upgrade().is_some_and(|ledger| ledger.borrow_mut().forget(knower, end))
    }
}

impl PartialEq for Book {
    /// Whether both are of the same core.
    fn eq(&self, other: &Book) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Book {}

/// What a pass over the calling coroutine's core finds out, of each that waits at a channel of the
/// ledger.
pub fn verdicts() -> Vec<(Co, Verdict)> {
    with_core(Core::verdicts).unwrap_or_default()
}

/// Removes those of the calling coroutine's core whom nobody can ever wake: they starve, or are
/// blockaged, and their destructors run when they have their turn. How many they are.
pub fn sweep() -> usize {
    with_core(Core::remove_unreachable).unwrap_or(0)
}
