//! What a reactor tells a descriptor: the cached readiness, and who is to be woken.
//!
//! The readiness is one atomic word with a *tick* that counts events, so that whoever finds nothing
//! to read forgets only what was known before it looked. Those who wait are in a [wait queue](crate::queue), each with
//! what it waits for; those who are polled and remember nothing have left their wakers in its state.
//!
//! # Protocol
//! ```text
//!   the reactor                            whoever waits
//!   E1  word: set flags, next tick         W1  stand in line
//!   E2  take those concerned out of        W2  see that a reactor watches the descriptor
//!       the line, and wake them            W3  if the word says ready: leave the line, done
//!                                          W4  park; go to W1
//!   whoever tries
//!   T1  look at the word: tick t           T3  if it would block: take the flags out of the
//!   T2  try                                    word, unless its tick is no longer t
//! ```
//! The races it must win: an event between W3 and W4 (the line's lock orders W1 and E2: either E2 finds
//! the waiter, or W3 sees E1), and an event between T2 and T3 (the tick has changed). A reactor that
//! ends unsets `REGISTERED` and wakes the whole line, so W2 registers again.

use core::task::Waker;

use super::interest::{Flags, Interest, Readiness};
use crate::queue::{First, HeapNode, Next, Polled, Shared, Stage, WaitQueue};
use crate::sync::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};
use crate::{Waiter, user};

const FLAGS: u64 = 0xf;
/// A reactor keeps the word right.
const REGISTERED: u64 = 1 << 4;
/// That reactor is the helper's.
const HELPER: u64 = 1 << 5;
/// Urgent data has come: from now on a short read is no sign that nothing is left.
const URGENT: u64 = Flags::URGENT.0 as u64;
const TICK: u64 = 1 << 8;

/// See the module.
pub(crate) struct Beacon {
    word: AtomicU64,
    waiting: WaitQueue<Shared, Polled<Interest>, Interest, 1>,
}

/// A future's place in the line, left when it is dropped.
pub(crate) type Place<'a> = HeapNode<'a, Shared, Polled<Interest>, Interest, 1>;

const LINE: usize = 0;

/// Who watches a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watcher {
    Nobody,
    Core,
    Helper,
}

impl Beacon {
    pub(crate) fn new() -> Beacon {
        Beacon { word: AtomicU64::new(0), waiting: WaitQueue::new(Polled::new()) }
    }

    /// What is known now.
    pub(crate) fn seen(&self) -> Readiness {
        readiness(self.word.load(Acquire))
    }

    pub(crate) fn watcher(&self) -> Watcher {
        let word = self.word.load(Acquire);
        match (word & REGISTERED != 0, word & HELPER != 0) {
            (false, _) => Watcher::Nobody,
            (true, false) => Watcher::Core,
            (true, true) => Watcher::Helper,
        }
    }

    /// What is known, if it is what is waited for. While nobody watches, nothing is known.
    pub(crate) fn ready(&self, interest: Interest) -> Option<Readiness> {
        let word = self.word.load(Acquire);
        let seen = readiness(word);
        (word & REGISTERED != 0 && seen.flags.has(interest.flags())).then_some(seen)
    }

    /// What was known before a try, if one is worth it: also while nobody watches.
    pub(crate) fn worth(&self, interest: Interest) -> Option<Readiness> {
        let word = self.word.load(Acquire);
        let seen = readiness(word);
        (word & REGISTERED == 0 || seen.flags.has(interest.flags())).then_some(seen)
    }

    /// E1 and E2: this has become so.
    pub(crate) fn raise(&self, flags: Flags) {
        self.change(|word| (word + TICK) | u64::from(flags.0));
        self.wake(flags);
    }

    /// T3: a try has found that it is not so. If it was not refused but has only `spent` what was
    /// there, a direction that has ended stays ready: nobody will tell of the end again. So does one in
    /// which urgent data has come: a read stops before it, whatever comes behind.
    pub(crate) fn clear(&self, seen: Readiness, interest: Interest, spent: bool) {
        let (flags, ends) = (interest.flags(), interest.flags().ends());
        self.change(|word| {
            let is_new = word / TICK != seen.tick && !leno_context::is_planted("tick");
            let has_ended = spent && Flags((word & FLAGS) as u8).has(ends);
            let is_split = spent && word & URGENT != 0;
            if is_new || has_ended || is_split { word } else { word & !u64::from((flags | ends).0) }
        });
    }

    /// A reactor will watch from now on, and tell what is so.
    pub(crate) fn begin(&self, watcher: Watcher) {
        let helper = if watcher == Watcher::Helper { HELPER } else { 0 };
        self.change(|word| ((word & !0xff) + TICK) | REGISTERED | helper);
    }

    /// Another reactor watches.
    pub(crate) fn moved(&self) {
        self.change(|word| word & !HELPER);
    }

    /// Nobody watches any more. Whoever waits must be told: see [`Self::wake_all`].
    pub(crate) fn end(&self) {
        self.change(|word| (word & !0xff) + TICK);
    }

    fn change(&self, mut change: impl FnMut(u64) -> u64) {
        let mut word = self.word.load(Acquire);
        loop {
            let next = change(word);
            match self.word.compare_exchange_weak(word, next, AcqRel, Acquire) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// W1: stands in line until this may have become so, or until `first` or `next` say that the wait ends.
    #[inline(always)]
    pub(crate) fn wait(
        &self,
        interest: Interest,
        waiter: Waiter,
        first: impl FnOnce() -> First,
        next: impl FnMut() -> Next,
    ) {
        let line = self.waiting.lock();
        line.wait_then(LINE, waiter, interest, first, next, |_, _| (), |line, _, _| drop(line));
    }

    /// W1 for a future: stands in line, or stays at `place`, with this waiter from now on.
    pub(crate) fn enlist<'a>(
        &'a self,
        place: &mut Option<Place<'a>>,
        interest: Interest,
        waiter: Waiter,
    ) {
        let left = self.waiting.lock().link_again(place, LINE, waiter, interest);
        user::discard(left);
    }

    /// As [`Self::enlist`], for those who remember no place: their waker stays until it is woken. One that has left it already
    /// waits for both.
    pub(crate) fn enlist_once(&self, interest: Interest, waker: Waker) {
        let merge = |known: &mut Interest, interest| *known = *known | interest;
        let unused = self.waiting.lock().add(interest, Waiter::Waker(waker), merge);
        user::discard(unused);
    }

    /// Wakes those who wait now and are concerned, one by one: no lock is held meanwhile.
    fn wake(&self, flags: Flags) {
        let line = self.waiting.lock();
        let left = line.iter(LINE).count() + line.len();
        drop(line);
        let waiters = (0..left).map_while(|_| self.take_concerned(flags)).flatten();
        if leno_context::is_planted("reactor-dies") {
            return waiters.for_each(user::wake_unguarded);
        }
        user::wake_all(waiters);
    }

    /// Ends the wait of the first who is concerned, if there is one. Returns how to wake it.
    fn take_concerned(&self, flags: Flags) -> Option<Option<Waiter>> {
        let mut line = self.waiting.lock();
        let mut standing = line.iter(LINE);
        if let Some(key) = standing.find(|one| flags.has(one.payload.flags())).map(|one| one.key) {
            drop(standing);
            let settled = line.settle(LINE, key, Stage::Met, (), |_, ()| ());
            return settled.ok().map(|((), waiter)| waiter);
        }
        drop(standing);
        line.take(|interest| flags.has(interest.flags())).map(Some)
    }

    /// Wakes all who stand in line.
    pub(crate) fn wake_all(&self) {
        self.wake(Flags::READ | Flags::WRITE);
    }
}

fn readiness(word: u64) -> Readiness {
    Readiness { flags: Flags((word & FLAGS) as u8), tick: word / TICK }
}
