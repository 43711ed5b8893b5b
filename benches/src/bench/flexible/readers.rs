//! Readers and writers: one lock and a condition, a thread that decides and answers by channels, and the locks
//! that others offer.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, RwLock, mpsc};
use std::thread::JoinHandle;

use super::{InVain, Shared, contender};
use crate::contender::Contender;

pub fn peers(threads: u64) -> Vec<Contender> {
    vec![
        contender("thread", threads, Monitor::default),
        contender("thread channel", threads, move || Channels::new(threads as usize)),
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

/// What a thread asks for.
enum Ask {
    Enter { thread: usize, is_writer: bool },
    Leave { is_writer: bool },
}

/// A thread decides who enters, in order of arrival, and tells each by a channel of its own.
struct Channels {
    ask: Option<mpsc::Sender<Ask>>,
    enter: Vec<Mutex<mpsc::Receiver<()>>>,
    server: Option<JoinHandle<()>>,
}

impl Channels {
    fn new(threads: usize) -> Self {
        let (ask, asked) = mpsc::channel();
        let (tell, enter): (Vec<mpsc::Sender<()>>, Vec<_>) =
            (0..threads).map(|_| mpsc::channel()).unzip();
        let server = std::thread::spawn(move || {
            let (mut readers, mut is_writing, mut waiting) = (0, false, VecDeque::new());
            for ask in asked.iter() {
                match ask {
                    Ask::Enter { thread, is_writer } => waiting.push_back((thread, is_writer)),
                    Ask::Leave { is_writer: true } => is_writing = false,
                    Ask::Leave { is_writer: false } => readers -= 1,
                }
                while let Some((thread, is_writer)) = waiting.front().copied() {
                    if is_writing || is_writer && readers > 0 {
                        break;
                    }
                    waiting.pop_front();
                    if is_writer {
                        is_writing = true
                    } else {
                        readers += 1
                    }
                    let _ = tell[thread].send(());
                }
            }
        });
        let enter = enter.into_iter().map(Mutex::new).collect();
        Self { ask: Some(ask), enter, server: Some(server) }
    }
}

impl Shared for Channels {
    fn operate(&self, thread: usize, n: u64) {
        let is_writer = writes(thread, n);
        let ask = self.ask.as_ref().expect("there until it is dropped");
        ask.send(Ask::Enter { thread, is_writer }).expect("it serves");
        self.enter[thread].lock().expect("nobody panics").recv().expect("it serves");
        std::hint::black_box(n);
        ask.send(Ask::Leave { is_writer }).expect("it serves");
    }

    fn in_vain(&self) -> Option<u64> {
        Some(0)
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        drop(self.ask.take());
        self.server.take().into_iter().for_each(|own| own.join().expect("it does not panic"));
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
