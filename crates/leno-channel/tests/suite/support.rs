//! A simple model of two channels, what tests that compare with it need, and what hostile tests do.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::PanicHookInfo;
use std::sync::{Once, mpsc};
use std::thread;
use std::time::Duration;

use leno_channel::{Flavour, Receiver, Sender, State};

/// What an operation came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Sent to this channel, or refused with the value.
    Sent(usize, Result<(), u32>),
    Received(usize, Option<u32>),
    Joined(Option<(u32, u32)>),
}

#[derive(Default)]
pub(crate) struct Channel {
    pub(crate) capacity: usize,
    pub(crate) buffer: VecDeque<u32>,
    /// With their order.
    pub(crate) returned: Vec<(u64, u32)>,
    pub(crate) hungry: VecDeque<usize>,
    pub(crate) blocked: VecDeque<(usize, u32)>,
    pub(crate) closed: bool,
    pub(crate) handed: u64,
}

/// The model: what is where, and what has happened to whoever waits.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) channels: [Channel; 2],
    pub(crate) done: BTreeMap<usize, (Outcome, u64)>,
}

impl Model {
    /// Whoever is met leaves all lines.
    pub(crate) fn leave(&mut self, id: usize) {
        for channel in &mut self.channels {
            channel.hungry.retain(|other| *other != id);
            channel.blocked.retain(|(other, _)| *other != id);
        }
    }

    pub(crate) fn meet(&mut self, id: usize, outcome: Outcome, order: u64) {
        self.leave(id);
        assert!(self.done.insert(id, (outcome, order)).is_none(), "met twice");
    }

    pub(crate) fn has(&self, place: usize) -> bool {
        let channel = &self.channels[place];
        !(channel.returned.is_empty() && channel.buffer.is_empty() && channel.blocked.is_empty())
    }

    pub(crate) fn take(&mut self, place: usize) -> Option<Option<u32>> {
        let channel = &mut self.channels[place];
        if !channel.returned.is_empty() {
            return Some(Some(channel.returned.remove(0).1));
        }
        if let Some(value) = channel.buffer.pop_front() {
            if let Some((id, next)) = channel.blocked.pop_front() {
                channel.buffer.push_back(next);
                self.meet(id, Outcome::Sent(place, Ok(())), 0);
            }
            return Some(Some(value));
        }
        if let Some((id, value)) = channel.blocked.pop_front() {
            self.meet(id, Outcome::Sent(place, Ok(())), 0);
            return Some(Some(value));
        }
        channel.closed.then_some(None)
    }

    pub(crate) fn put(&mut self, place: usize, value: u32) -> Option<Result<(), u32>> {
        let channel = &mut self.channels[place];
        if channel.closed {
            return Some(Err(value));
        }
        if let Some(id) = channel.hungry.front().copied() {
            let order = channel.handed;
            channel.handed += 1;
            self.meet(id, Outcome::Received(place, Some(value)), order);
            return Some(Ok(()));
        }
        if channel.buffer.len() < channel.capacity {
            channel.buffer.push_back(value);
            return Some(Ok(()));
        }
        None
    }

    /// Whoever waits is dropped.
    pub(crate) fn give_up(&mut self, id: usize) {
        self.leave(id);
        let Some((Outcome::Received(place, Some(value)), order)) = self.done.remove(&id) else {
            return;
        };
        if let Some(next) = self.channels[place].hungry.front().copied() {
            return self.meet(next, Outcome::Received(place, Some(value)), order);
        }
        let returned = &mut self.channels[place].returned;
        returned.push((order, value));
        returned.sort();
    }

    pub(crate) fn close(&mut self, place: usize) {
        self.channels[place].closed = true;
        for id in self.channels[place].hungry.clone() {
            self.meet(id, Outcome::Received(place, None), 0);
        }
        while let Some((id, value)) = self.channels[place].blocked.front().copied() {
            self.meet(id, Outcome::Sent(place, Err(value)), 0);
        }
    }

    pub(crate) fn join(&mut self) -> Option<Option<(u32, u32)>> {
        let closed = |channel: &Channel| {
            channel.closed && channel.buffer.is_empty() && channel.returned.is_empty()
        };
        if self.channels.iter().any(closed) {
            return Some(None);
        }
        if !(self.has(0) && self.has(1)) {
            return None;
        }
        let (one, two) = (self.take(0).flatten().unwrap(), self.take(1).flatten().unwrap());
        Some(Some((one, two)))
    }
}

/// A small generator of numbers that are random enough.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

pub(crate) type Ends<F> = (Sender<u32, F>, Receiver<u32, F>);

impl Model {
    /// As empty as these.
    pub(crate) fn of<F: Flavour>(ends: &[Ends<F>; 2]) -> Model {
        let mut model = Model::default();
        for (channel, end) in model.channels.iter_mut().zip(ends) {
            channel.capacity = end.1.capacity().unwrap_or(usize::MAX);
        }
        model
    }

    /// Whether these are as the model says.
    pub(crate) fn check<F: Flavour>(&self, seed: u64, ends: &[Ends<F>; 2]) {
        for (channel, (tx, rx)) in self.channels.iter().zip(ends) {
            assert_eq!(rx.len(), channel.buffer.len() + channel.returned.len(), "seed {seed}");
            let state = match (channel.hungry.is_empty(), channel.blocked.is_empty()) {
                (false, _) => State::Hungry,
                (_, false) => State::Blocked,
                _ => State::Empty,
            };
            assert_eq!(tx.state(), state, "seed {seed}");
            assert_eq!(tx.waiting_senders().len(), channel.blocked.len(), "seed {seed}");
        }
    }
}

/// Which programs to try; `LENO_SEED=N` repeats one.
pub(crate) fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("LENO_SEED").map(|seed| seed.parse::<u64>().unwrap()) {
        Ok(seed) => seed..seed + 1,
        // Checkers are slow, and look for other mistakes.
        Err(_) if cfg!(any(leno_asan, leno_tsan, leno_baton)) => 1..count.div_ceil(8),
        Err(_) => 1..count,
    }
}

/// Runs `f` on a thread of its own; it must end in time.
#[track_caller]
pub(crate) fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(f())));
    // Long enough for any machine, short enough for a test.
    let limit = Duration::from_secs(60);
    told.recv_timeout(limit).expect("it ends in time, and does not panic")
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>)>;

thread_local! {
    static ON_PANIC: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Calls `hook` when the calling thread panics next, in place of what a panic prints.
pub(crate) fn on_next_panic(hook: impl Fn(&PanicHookInfo<'_>) + 'static) {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            match ON_PANIC.try_with(RefCell::take).ok().flatten() {
                Some(hook) => hook(info),
                None => others(info),
            }
        }));
    });
    ON_PANIC.set(Some(Box::new(hook)));
}
