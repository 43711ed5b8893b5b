//! The queue of a ring: who runs next, in an array.
//!
//! A ring buffer, not a linked list: at a million members the next ones can be prefetched, which a
//! list cannot do. A member knows its place, so that it can be taken out of the middle; that
//! leaves a hole, which is skipped later, and the buffer is compacted when it is full.
//!
//! An entry is a member's control block, or, for a migrant, its claim (tagged with the lowest
//! bit): a migrant may have been taken by another thread meanwhile, and then the block is not
//! ours to look at.
//!
//! Invariants: the buffer's length is a power of two; for every place in `head..tail` it holds an
//! entry or a hole, elsewhere nothing; a plain member's `place` is where its entry is.

use core::ptr::NonNull;
use std::sync::Arc;

use leno_context::control::{Control, Kind};
use leno_context::switch;

use crate::raw::migrate::Claim;

const START: u64 = 1 << 40;
const CLAIM: usize = 1;
/// Queues longer than this are prefetched.
const FITS_CACHE: u64 = 512;
/// How many places ahead.
const AHEAD: u64 = 16;

/// Who waits at a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry(NonNull<u8>);

/// An entry, opened.
pub(super) enum Waiting {
    /// A member of this ring.
    Member(NonNull<Control>),
    /// Someone who was a member of this ring when it was queued.
    Migrant(Arc<Claim>),
}

impl Entry {
    #[inline(always)]
    fn of(member: NonNull<Control>) -> Entry {
        // SAFETY: whoever is queued is live and of this thread.
        let block = unsafe { member.as_ref() };
        if block.kind() != Kind::Migrant {
            return Entry(member.cast());
        }
        let claim = block.extra.get().cast::<Claim>();
        // SAFETY: a live migrant keeps its claim alive.
        unsafe { Arc::increment_strong_count(claim) };
        Entry::tagged(claim)
    }

    fn tagged(claim: *const Claim) -> Entry {
        let tagged = claim.cast_mut().cast::<u8>().map_addr(|address| address | CLAIM);
        Entry(NonNull::new(tagged).expect("a claim has an address"))
    }

    #[inline(always)]
    pub(super) fn open(self) -> Waiting {
        if self.0.addr().get() & CLAIM == 0 {
            return Waiting::Member(core::mem::ManuallyDrop::new(self).0.cast());
        }
        let claim = self.claim();
        core::mem::forget(self);
        // SAFETY: the count was raised for this entry.
        Waiting::Migrant(unsafe { Arc::from_raw(claim) })
    }

    fn claim(&self) -> *const Claim {
        self.0.as_ptr().map_addr(|address| address & !CLAIM).cast_const().cast()
    }

    /// The claim of a migrant.
    pub(super) fn as_migrant(&self) -> Option<&Claim> {
        // SAFETY: the entry holds a count.
        (self.0.addr().get() & CLAIM != 0).then(|| unsafe { &*self.claim() })
    }

    /// The block of a plain member.
    pub(super) fn as_member(&self) -> Option<NonNull<Control>> {
        (self.0.addr().get() & CLAIM == 0).then(|| self.0.cast())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.0.addr().get() & CLAIM != 0 {
            // SAFETY: the count was raised for this entry.
            drop(unsafe { Arc::from_raw(self.claim()) });
        }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    buffer: Vec<Option<Entry>>,
    head: u64,
    tail: u64,
    holes: usize,
}

/// Writes down where a member is.
#[inline(always)]
fn set_place(member: NonNull<Control>, place: u64) {
    // SAFETY: whoever is queued is live and of this thread.
    unsafe { member.as_ref() }.place.set(place);
}

impl Queue {
    pub(super) const fn new() -> Queue {
        Queue { buffer: Vec::new(), head: START, tail: START, holes: 0 }
    }

    /// The slot of a place. The buffer must not be empty, which it is only before the first push.
    #[inline(always)]
    fn at(&mut self, place: u64) -> &mut Option<Entry> {
        let mask = self.buffer.len().wrapping_sub(1);
        debug_assert!(!self.buffer.is_empty());
        // SAFETY: the length is a power of two, so masking keeps the index below it; whoever has
        // a place has pushed before.
        unsafe { self.buffer.get_unchecked_mut(place as usize & mask) }
    }

    /// Puts an entry where there is none.
    #[inline(always)]
    fn put(&mut self, place: u64, member: NonNull<Control>) {
        let old = self.at(place).replace(Entry::of(member));
        debug_assert!(old.is_none());
        // There is nothing to drop, which the compiler cannot know.
        core::mem::forget(old);
        set_place(member, place);
    }

    /// How many entries wait.
    pub(super) fn len(&self) -> usize {
        (self.tail - self.head) as usize - self.holes
    }

    /// Makes `member` the last one.
    #[inline(always)]
    pub(super) fn push_back(&mut self, member: NonNull<Control>) {
        if (self.tail - self.head) as usize == self.buffer.len() {
            self.make_room();
        }
        self.tail += 1;
        self.put(self.tail - 1, member);
    }

    /// Takes the next one and makes `current` the last one, in the common case: both are plain
    /// members, and there is no hole. Else nothing happens.
    #[inline(always)]
    pub(super) fn rotate(&mut self, current: NonNull<Control>) -> Option<NonNull<Control>> {
        let (head, tail) = (self.head, self.tail);
        if head == tail {
            return None;
        }
        let (slots, mask) = (self.buffer.as_mut_ptr(), self.buffer.len().wrapping_sub(1));
        // SAFETY: as in `at`.
        let first = unsafe { slots.add(head as usize & mask) };
        // SAFETY: in bounds; no other reference to it is alive.
        let first = unsafe { &mut *first };
        let next = first.as_ref()?.as_member()?;
        // SAFETY: the running member is live.
        if unsafe { current.as_ref() }.kind() == Kind::Migrant {
            return None;
        }
        if tail - head > FITS_CACHE {
            self.prefetch(head + AHEAD);
        }
        // SAFETY: nothing is dropped: plain entries have nothing to drop.
        unsafe { core::ptr::write(first, None) };
        self.head = head + 1;
        self.tail = tail + 1;
        // SAFETY: as in `at`.
        let last = unsafe { slots.add(tail as usize & mask) };
        // SAFETY: nothing is dropped: there is no entry yet.
        unsafe { last.write(Some(Entry(current.cast()))) };
        set_place(current, tail);
        Some(next)
    }

    /// Starts loading whoever is at a place, its block's first line and the frames below it: in a
    /// long queue it is in no cache.
    #[inline(always)]
    fn prefetch(&mut self, place: u64) {
        if let Some(entry) = self.at(place) {
            let block = entry.0.as_ptr().cast_const();
            for line in [0, 64, 128, 192, 256] {
                switch::prefetch(block.wrapping_sub(line));
            }
        }
    }

    /// Makes `member` the next one.
    pub(super) fn push_front(&mut self, member: NonNull<Control>) {
        if (self.tail - self.head) as usize == self.buffer.len() {
            self.make_room();
        }
        self.head -= 1;
        self.put(self.head, member);
    }

    /// Takes the next one, with the place it was at.
    #[inline(always)]
    pub(super) fn pop_front(&mut self) -> Option<(Entry, u64)> {
        while self.head != self.tail {
            let place = self.head;
            self.head += 1;
            if let Some(entry) = self.at(place).take() {
                return Some((entry, place));
            }
            self.holes -= 1;
        }
        None
    }

    /// Forgets the last one, which is there.
    pub(super) fn pop_back(&mut self) {
        let last = self.tail - 1;
        self.take_out(last);
    }

    /// Whether a plain member waits here.
    pub(super) fn holds(&mut self, member: NonNull<Control>) -> bool {
        // SAFETY: a live block of this thread.
        let place = unsafe { member.as_ref() }.place.get();
        (self.head..self.tail).contains(&place)
            && self.at(place).as_ref().and_then(Entry::as_member) == Some(member)
    }

    /// Takes a plain member; `false` if it is not waiting here.
    pub(super) fn remove(&mut self, member: NonNull<Control>) -> bool {
        let waits = self.holds(member);
        if waits {
            // SAFETY: a live block of this thread.
            self.take_out(unsafe { member.as_ref() }.place.get());
        }
        waits
    }

    /// Takes the latest entry of the migrant with this id, with its place.
    pub(super) fn remove_migrant(&mut self, id: u64) -> Option<(Entry, u64)> {
        let is_it = |entry: &Entry| entry.as_migrant().is_some_and(|claim| claim.id() == id);
        let mask = self.buffer.len().wrapping_sub(1);
        let place = (self.head..self.tail)
            .rev()
            .find(|&place| self.buffer[place as usize & mask].as_ref().is_some_and(is_it))?;
        self.take_out(place).map(|entry| (entry, place))
    }

    fn take_out(&mut self, place: u64) -> Option<Entry> {
        let entry = self.at(place).take();
        self.holes += 1;
        while self.tail != self.head && self.at(self.tail - 1).is_none() {
            self.tail -= 1;
            self.holes -= 1;
        }
        entry
    }

    /// All waiting, next first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> + '_ {
        let mask = self.buffer.len().wrapping_sub(1);
        (self.head..self.tail).filter_map(move |place| self.buffer[place as usize & mask].as_ref())
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let waiting = self.len();
        let capacity = (waiting * 2).next_power_of_two().max(8);
        let mut buffer: Vec<Option<Entry>> = Vec::with_capacity(capacity);
        while let Some((entry, old)) = self.pop_front() {
            let place = START + buffer.len() as u64;
            match entry.as_migrant() {
                None => set_place(entry.0.cast(), place),
                Some(claim) => claim.moved_in_queue(old, place),
            }
            buffer.push(Some(entry));
        }
        buffer.resize_with(capacity, || None);
        self.buffer = buffer;
        (self.head, self.tail, self.holes) = (START, START + waiting as u64, 0);
    }
}
