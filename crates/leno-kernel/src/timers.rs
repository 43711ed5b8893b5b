//! temporary
use crate::Time;
use std::collections::BTreeMap;
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerKey(Time, u64);
pub(crate) struct Timers<T> {
    map: BTreeMap<(Time, u64), T>,
    next: u64,
    now: Time,
}
impl<T> Timers<T> {
    pub(crate) fn new(now: Time) -> Self {
        Timers { map: BTreeMap::new(), next: 0, now }
    }
    pub(crate) fn insert(&mut self, when: Time, t: T) -> TimerKey {
        self.next += 1;
        self.map.insert((when, self.next), t);
        TimerKey(when, self.next)
    }
    pub(crate) fn remove(&mut self, key: TimerKey) -> Option<T> {
        self.map.remove(&(key.0, key.1))
    }
    pub(crate) fn next(&self) -> Option<Time> {
        self.map.keys().next().map(|k| k.0)
    }
    pub(crate) fn advance(&mut self, now: Time) {
        self.now = now
    }
    pub(crate) fn pop_due(&mut self) -> Option<(Time, T)> {
        let k = *self.map.keys().next()?;
        if k.0 > self.now {
            return None;
        }
        self.map.remove(&k).map(|t| (k.0, t))
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}
