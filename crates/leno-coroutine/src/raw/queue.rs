//! The queue of a ring: who runs next, in an array.
//!
//! A ring buffer of control blocks, not a linked list: at a million members the next ones can be
//! prefetched, which a list cannot do. A member knows its place, so that it can be taken out of
//! the middle; that leaves a hole, which is skipped later, and the buffer is compacted when holes
//! prevail.
//!
//! Invariant: for every place in `head..tail`, the buffer holds a live member whose `place` is
//! that place, or a hole.

use core::ptr::NonNull;

use leno_context::control::Control;

const NOWHERE: u64 = u64::MAX;
const START: u64 = 1 << 40;

#[derive(Debug)]
pub(super) struct Queue {
    buffer: Vec<Option<NonNull<Control>>>,
    head: u64,
    tail: u64,
    holes: usize,
}

/// Writes down where a member is.
fn set_place(member: NonNull<Control>, place: u64) {
    // SAFETY: members of a queue are live blocks of this thread.
    unsafe { member.as_ref() }.place.set(place);
}

impl Queue {
    pub(super) const fn new() -> Queue {
        Queue { buffer: Vec::new(), head: START, tail: START, holes: 0 }
    }

    #[inline(always)]
    fn at(&mut self, place: u64) -> &mut Option<NonNull<Control>> {
        let mask = self.buffer.len() - 1;
        &mut self.buffer[place as usize & mask]
    }

    /// How many members wait.
    pub(super) fn len(&self) -> usize {
        (self.tail - self.head) as usize - self.holes
    }

    /// Makes `member` the last one.
    #[inline(always)]
    pub(super) fn push_back(&mut self, member: NonNull<Control>) {
        if (self.tail - self.head) as usize == self.buffer.len() {
            self.make_room();
        }
        let place = self.tail;
        self.tail += 1;
        *self.at(place) = Some(member);
        set_place(member, place);
    }

    /// Makes `member` the next one.
    pub(super) fn push_front(&mut self, member: NonNull<Control>) {
        if (self.tail - self.head) as usize == self.buffer.len() {
            self.make_room();
        }
        self.head -= 1;
        let place = self.head;
        *self.at(place) = Some(member);
        set_place(member, place);
    }

    /// Takes the next one.
    #[inline(always)]
    pub(super) fn pop_front(&mut self) -> Option<NonNull<Control>> {
        while self.head != self.tail {
            let place = self.head;
            self.head += 1;
            if let Some(member) = self.at(place).take() {
                set_place(member, NOWHERE);
                return Some(member);
            }
            self.holes -= 1;
        }
        None
    }

    /// Takes a certain one; `false` if it is not waiting here.
    pub(super) fn remove(&mut self, member: NonNull<Control>) -> bool {
        // SAFETY: a live block of this thread.
        let place = unsafe { member.as_ref() }.place.get();
        if !(self.head..self.tail).contains(&place) || *self.at(place) != Some(member) {
            return false;
        }
        *self.at(place) = None;
        self.holes += 1;
        set_place(member, NOWHERE);
        while self.tail != self.head && self.at(self.tail - 1).is_none() {
            self.tail -= 1;
            self.holes -= 1;
        }
        true
    }

    /// The member `ahead` places from the front, if there are that many places.
    #[inline(always)]
    pub(super) fn peek(&mut self, ahead: u64) -> Option<NonNull<Control>> {
        if self.tail - self.head <= ahead {
            return None;
        }
        *self.at(self.head + ahead)
    }

    /// All waiting, next first.
    pub(super) fn iter(&self) -> impl Iterator<Item = NonNull<Control>> + '_ {
        let mask = self.buffer.len().wrapping_sub(1);
        (self.head..self.tail).filter_map(move |place| self.buffer[place as usize & mask])
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let waiting: Vec<_> = self.iter().collect();
        let capacity = (waiting.len() * 2).next_power_of_two().max(8);
        self.buffer = vec![None; capacity];
        (self.head, self.tail, self.holes) = (START, START, 0);
        for member in waiting {
            self.push_back(member);
        }
    }
}
