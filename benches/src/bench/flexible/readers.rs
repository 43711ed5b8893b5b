//! Readers and writers: one lock and a condition, and the locks that others offer.

use std::sync::{Condvar, Mutex, RwLock};

use super::{InVain, Shared, contender};
use crate::contender::Contender;

pub fn peers(threads: u64) -> Vec<Contender> {
    vec![
        contender("thread", threads, Monitor::default),
        contender("thread rwlock", threads, || Std(RwLock::new(0))),
        contender("parking_lot", threads, || Lot(parking_lot::RwLock::new(0))),
    ]
}

/// Every eighth time as a writer.
pub fn writes(thread: usize, n: u64) -> bool {
    (n + thread as u64).is_multiple_of(8)
}

#[derive(Default)]
struct Monitor {
    inside: Mutex<(u64, bool)>,
    changed: Condvar,
    in_vain: InVain,
}

impl Shared for Monitor {
    fn operate(&self, thread: usize, n: u64) {
        let is_writer = writes(thread, n);
        let mut inside = self.inside.lock().expect("nobody panics");
        let mut was_woken = false;
        while inside.1 || is_writer && inside.0 > 0 {
            was_woken.then(|| self.in_vain.count());
            inside = self.changed.wait(inside).expect("nobody panics");
            was_woken = true;
        }
        if is_writer {
            inside.1 = true
        } else {
            inside.0 += 1
        }
        drop(inside);
        std::hint::black_box(n);
        let mut inside = self.inside.lock().expect("nobody panics");
        if is_writer {
            inside.1 = false
        } else {
            inside.0 -= 1
        }
        drop(inside);
        self.changed.notify_all();
    }

    fn in_vain(&self) -> Option<u64> {
        self.in_vain.get()
    }
}

struct Std(RwLock<u64>);

impl Shared for Std {
    fn operate(&self, thread: usize, n: u64) {
        if writes(thread, n) {
            *self.0.write().expect("nobody panics") += n;
        } else {
            std::hint::black_box(*self.0.read().expect("nobody panics"));
        }
    }
}

struct Lot(parking_lot::RwLock<u64>);

impl Shared for Lot {
    fn operate(&self, thread: usize, n: u64) {
        if writes(thread, n) {
            *self.0.write() += n;
        } else {
            std::hint::black_box(*self.0.read());
        }
    }
}
