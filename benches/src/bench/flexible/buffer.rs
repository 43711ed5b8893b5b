//! A bounded buffer: one lock and two conditions (Dovland 2006, fig. 3.4), the same with parking_lot, a
//! sequential object monitor, and channels.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

use super::{InVain, Shared, contender};
use crate::contender::Contender;

/// How many values it holds.
pub const ROOM: usize = 16;

pub fn peers(threads: u64) -> Vec<Contender> {
    vec![
        contender("thread", threads, Monitor::default),
        contender("parking_lot", threads, LotMonitor::default),
        contender("thread som", threads, Som::default),
        contender("thread crossbeam-channel", threads, Channel::new),
    ]
}

/// Threads of even numbers put, the others take.
fn puts(thread: usize) -> bool {
    thread.is_multiple_of(2)
}

#[derive(Default)]
struct Monitor {
    values: Mutex<VecDeque<u64>>,
    has_room: Condvar,
    has_values: Condvar,
    in_vain: InVain,
}

impl Shared for Monitor {
    fn operate(&self, thread: usize, n: u64) {
        let mut values = self.values.lock().expect("nobody panics");
        if puts(thread) {
            let mut was_woken = false;
            while values.len() == ROOM {
                was_woken.then(|| self.in_vain.count());
                values = self.has_room.wait(values).expect("nobody panics");
                was_woken = true;
            }
            values.push_back(n);
            self.has_values.notify_one();
        } else {
            let mut was_woken = false;
            while values.is_empty() {
                was_woken.then(|| self.in_vain.count());
                values = self.has_values.wait(values).expect("nobody panics");
                was_woken = true;
            }
            std::hint::black_box(values.pop_front());
            self.has_room.notify_one();
        }
    }

    fn in_vain(&self) -> Option<u64> {
        self.in_vain.get()
    }
}

#[derive(Default)]
struct LotMonitor {
    values: parking_lot::Mutex<VecDeque<u64>>,
    has_room: parking_lot::Condvar,
    has_values: parking_lot::Condvar,
    in_vain: InVain,
}

impl Shared for LotMonitor {
    fn operate(&self, thread: usize, n: u64) {
        let mut values = self.values.lock();
        let mut was_woken = false;
        if puts(thread) {
            while values.len() == ROOM {
                was_woken.then(|| self.in_vain.count());
                self.has_room.wait(&mut values);
                was_woken = true;
            }
            values.push_back(n);
            self.has_values.notify_one();
        } else {
            while values.is_empty() {
                was_woken.then(|| self.in_vain.count());
                self.has_values.wait(&mut values);
                was_woken = true;
            }
            std::hint::black_box(values.pop_front());
            self.has_room.notify_one();
        }
    }

    fn in_vain(&self) -> Option<u64> {
        self.in_vain.get()
    }
}

/// A sequential object monitor: requests wait in a queue, and whoever leaves decides whose is served next
/// and does it, so that nobody is woken in vain.
#[derive(Default)]
struct Som(Mutex<Requests>);

#[derive(Default)]
struct Requests {
    values: VecDeque<u64>,
    pending: VecDeque<Arc<Request>>,
}

struct Request {
    put: Option<u64>,
    is_served: Mutex<bool>,
    served: Condvar,
}

impl Requests {
    fn serve(&mut self, put: Option<u64>) -> bool {
        match put {
            Some(n) if self.values.len() < ROOM => self.values.push_back(n),
            None if !self.values.is_empty() => drop(std::hint::black_box(self.values.pop_front())),
            _ => return false,
        }
        true
    }

    fn schedule(&mut self) -> Vec<Arc<Request>> {
        let mut done = Vec::new();
        while let Some(place) = (0..self.pending.len()).find(|n| {
            let put = self.pending[*n].put;
            if put.is_some() { self.values.len() < ROOM } else { !self.values.is_empty() }
        }) {
            let request = self.pending.remove(place).expect("it was found there");
            self.serve(request.put);
            done.push(request);
        }
        done
    }
}

impl Shared for Som {
    fn operate(&self, thread: usize, n: u64) {
        let put = puts(thread).then_some(n);
        let mut requests = self.0.lock().expect("nobody panics");
        if requests.serve(put) {
            let done = requests.schedule();
            drop(requests);
            for request in done {
                *request.is_served.lock().expect("nobody panics") = true;
                request.served.notify_one();
            }
            return;
        }
        let own = Arc::new(Request { put, is_served: Mutex::new(false), served: Condvar::new() });
        requests.pending.push_back(own.clone());
        drop(requests);
        let mut is_served = own.is_served.lock().expect("nobody panics");
        while !*is_served {
            is_served = own.served.wait(is_served).expect("nobody panics");
        }
    }

    fn in_vain(&self) -> Option<u64> {
        Some(0)
    }
}

struct Channel {
    put: crossbeam_channel::Sender<u64>,
    take: crossbeam_channel::Receiver<u64>,
}

impl Channel {
    fn new() -> Self {
        let (put, take) = crossbeam_channel::bounded(ROOM);
        Self { put, take }
    }
}

impl Shared for Channel {
    fn operate(&self, thread: usize, n: u64) {
        if puts(thread) {
            self.put.send(n).expect("both ends are here");
        } else {
            std::hint::black_box(self.take.recv()).expect("both ends are here");
        }
    }
}
