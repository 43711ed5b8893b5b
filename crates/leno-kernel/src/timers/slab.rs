//! The timers themselves, in slots that are used again.
//!
//! A slot is either vacant, in the list of vacant ones, or a timer, perhaps in a list of the wheel.
//! Lists go by index: a timer costs no allocation once there have been as many at a time.
//!
//! Every timer has a *serial*, counted up from 1 and never used again. It orders timers of the same
//! deadline, and tells a key whose timer is gone.

use core::num::NonZeroU64;
use core::ops::{Index, IndexMut};

use super::TimerKey;
use crate::Time;

/// No slot: the end of a list.
pub(super) const NONE: u32 = u32::MAX;

pub(super) struct Entry<T> {
    pub(super) when: Time,
    /// 0 if vacant.
    serial: u64,
    pub(super) previous: u32,
    pub(super) next: u32,
    payload: Option<T>,
}

pub(super) struct Slab<T> {
    entries: Vec<Entry<T>>,
    /// The first vacant slot.
    vacant: u32,
    len: usize,
    last_serial: u64,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Slab<T> {
        Slab { entries: Vec::new(), vacant: NONE, len: 0, last_serial: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a timer that is in no list.
    ///
    /// # Panics
    /// If there are 2³² - 1 already.
    #[inline]
    pub(super) fn add(&mut self, when: Time, payload: T) -> TimerKey {
        self.last_serial += 1;
        let serial = self.last_serial;
        let entry = Entry { when, serial, previous: NONE, next: NONE, payload: Some(payload) };
        let index = self.vacant;
        let index = if index != NONE {
            let slot = &mut self.entries[index as usize];
            self.vacant = slot.next;
            *slot = entry;
            index
        } else {
            let index = u32::try_from(self.entries.len()).unwrap_or(NONE);
            assert!(index != NONE, "a core holds at most {NONE} timers");
            self.entries.push(entry);
            index
        };
        self.len += 1;
        TimerKey { serial: NonZeroU64::new(serial).expect("counted up from 0"), index }
    }

    /// Removes the timer in this slot, which is in no list any more.
    #[inline]
    pub(super) fn take(&mut self, index: u32) -> (Time, T) {
        let entry = &mut self.entries[index as usize];
        let payload = entry.payload.take().expect("a timer has a payload");
        entry.serial = 0;
        entry.next = self.vacant;
        self.vacant = index;
        self.len -= 1;
        (entry.when, payload)
    }

    /// The deadline of this timer, if it is there still.
    #[inline(always)]
    pub(super) fn when(&self, key: TimerKey) -> Option<Time> {
        let entry = self.entries.get(key.index as usize)?;
        (entry.serial == key.serial.get()).then_some(entry.when)
    }

    /// The timer in this slot.
    pub(super) fn get(&self, index: u32) -> (TimerKey, &T) {
        let entry = &self.entries[index as usize];
        let serial = NonZeroU64::new(entry.serial).expect("a timer has a serial");
        let payload = entry.payload.as_ref().expect("a timer has a payload");
        (TimerKey { serial, index }, payload)
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = Entry<T>;

    #[inline(always)]
    fn index(&self, index: u32) -> &Entry<T> {
        &self.entries[index as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: u32) -> &mut Entry<T> {
        &mut self.entries[index as usize]
    }
}
