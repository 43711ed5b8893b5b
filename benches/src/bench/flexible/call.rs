//! One call: add one. A thread that serves, by a lock and a condition, or by channels; and what the same
//! costs if nobody serves, under a lock.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::JoinHandle;

use super::{Shared, contender};
use crate::contender::Contender;

pub fn peers(threads: u64) -> Vec<Contender> {
    vec![
        contender("thread", threads, Served::new),
        contender("thread channel", threads, move || Channels::new(threads as usize)),
        contender("thread lock", threads, Locked::default),
        contender("parking_lot", threads, LotLocked::default),
    ]
}

/// Nobody serves: a counter under a lock.
#[derive(Default)]
struct Locked(Mutex<u64>);

impl Shared for Locked {
    fn operate(&self, _: usize, n: u64) {
        let mut sum = self.0.lock().expect("nobody panics");
        *sum += std::hint::black_box(n);
    }
}

#[derive(Default)]
struct LotLocked(parking_lot::Mutex<u64>);

impl Shared for LotLocked {
    fn operate(&self, _: usize, n: u64) {
        *self.0.lock() += std::hint::black_box(n);
    }
}

/// A thread serves one request at a time: lock and conditions.
struct Served {
    inner: Arc<Inner>,
    server: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Inner {
    slot: Mutex<Slot>,
    asked: Condvar,
    answered: Condvar,
    is_over: AtomicBool,
}

#[derive(Default)]
enum Slot {
    #[default]
    Free,
    Asked(u64),
    Answered(u64),
}

impl Served {
    fn new() -> Self {
        let inner = Arc::new(Inner::default());
        let own = inner.clone();
        let server = std::thread::spawn(move || own.serve());
        Self { inner, server: Some(server) }
    }
}

impl Inner {
    fn serve(&self) {
        let mut sum = 0;
        let mut slot = self.slot.lock().expect("nobody panics");
        while !self.is_over.load(Relaxed) {
            if let Slot::Asked(n) = *slot {
                sum += n;
                *slot = Slot::Answered(sum);
                self.answered.notify_all();
            }
            slot = self.asked.wait(slot).expect("nobody panics");
        }
    }
}

impl Shared for Served {
    fn operate(&self, _: usize, n: u64) {
        let inner = &*self.inner;
        let mut slot = inner.slot.lock().expect("nobody panics");
        while !matches!(*slot, Slot::Free) {
            slot = inner.answered.wait(slot).expect("nobody panics");
        }
        *slot = Slot::Asked(n);
        inner.asked.notify_one();
        loop {
            if let Slot::Answered(sum) = *slot {
                std::hint::black_box(sum);
                *slot = Slot::Free;
                inner.answered.notify_all();
                return;
            }
            slot = inner.answered.wait(slot).expect("nobody panics");
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let slot = self.inner.slot.lock().expect("nobody panics");
        self.inner.is_over.store(true, Relaxed);
        drop(slot);
        self.inner.asked.notify_all();
        self.server.take().into_iter().for_each(|own| own.join().expect("it does not panic"));
    }
}

/// A thread serves, and answers each thread through a channel of its own.
struct Channels {
    ask: Option<mpsc::SyncSender<(usize, u64)>>,
    answers: Vec<Mutex<mpsc::Receiver<u64>>>,
    server: Option<JoinHandle<()>>,
}

impl Channels {
    fn new(threads: usize) -> Self {
        let (ask, asked) = mpsc::sync_channel::<(usize, u64)>(threads);
        let (answer, answers): (Vec<mpsc::Sender<u64>>, Vec<_>) =
            (0..threads).map(|_| mpsc::channel::<u64>()).unzip();
        let server = std::thread::spawn(move || {
            let mut sum = 0;
            for (thread, n) in asked.iter() {
                sum += n;
                let _ = answer[thread].send(sum);
            }
        });
        let answers = answers.into_iter().map(Mutex::new).collect();
        Self { ask: Some(ask), answers, server: Some(server) }
    }
}

impl Shared for Channels {
    fn operate(&self, thread: usize, n: u64) {
        let ask = self.ask.as_ref().expect("there until it is dropped");
        ask.send((thread, n)).expect("it serves");
        let answer = self.answers[thread].lock().expect("nobody panics").recv();
        std::hint::black_box(answer.expect("it serves"));
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        drop(self.ask.take());
        self.server.take().into_iter().for_each(|own| own.join().expect("it does not panic"));
    }
}
