//! Random programs against a simple model of channels, selects and joins.
//!
//! Operations are futures that are polled by hand, so that every step is known: begin one, poll one
//! that waits, drop one that waits (which must give back what it was handed), close. The model says
//! what each poll must give. `LENO_SEED=N` repeats one program.
#![cfg(not(loom))]

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leno_channel::{Flavour, Receiver, Select, Sender, State, bounded, join, shared, unbounded};

/// What an operation came to.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// Sent to this channel, or refused with the value.
    Sent(usize, Result<(), u32>),
    Received(usize, Option<u32>),
    Joined(Option<(u32, u32)>),
}

#[derive(Default)]
struct Channel {
    capacity: usize,
    buffer: VecDeque<u32>,
    /// With their order.
    returned: Vec<(u64, u32)>,
    hungry: VecDeque<usize>,
    blocked: VecDeque<(usize, u32)>,
    closed: bool,
    handed: u64,
}

/// The model: what is where, and what has happened to whoever waits.
#[derive(Default)]
struct Model {
    channels: [Channel; 2],
    done: BTreeMap<usize, (Outcome, u64)>,
}

impl Model {
    /// Whoever is met leaves all lines.
    fn leave(&mut self, id: usize) {
        for channel in &mut self.channels {
            channel.hungry.retain(|other| *other != id);
            channel.blocked.retain(|(other, _)| *other != id);
        }
    }

    fn meet(&mut self, id: usize, outcome: Outcome, order: u64) {
        self.leave(id);
        assert!(self.done.insert(id, (outcome, order)).is_none(), "met twice");
    }

    fn has(&self, place: usize) -> bool {
        let channel = &self.channels[place];
        !(channel.returned.is_empty() && channel.buffer.is_empty() && channel.blocked.is_empty())
    }

    fn take(&mut self, place: usize) -> Option<Option<u32>> {
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

    fn put(&mut self, place: usize, value: u32) -> Option<Result<(), u32>> {
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
    fn give_up(&mut self, id: usize) {
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

    fn close(&mut self, place: usize) {
        self.channels[place].closed = true;
        for id in self.channels[place].hungry.clone() {
            self.meet(id, Outcome::Received(place, None), 0);
        }
        while let Some((id, value)) = self.channels[place].blocked.front().copied() {
            self.meet(id, Outcome::Sent(place, Err(value)), 0);
        }
    }

    fn join(&mut self) -> Option<Option<(u32, u32)>> {
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
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

type Ends<F> = (Sender<u32, F>, Receiver<u32, F>);
type Operation<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;
type Pending<'a> = (usize, Kind, Operation<'a>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Join,
}

fn program<F: Flavour>(seed: u64, random: &mut Random, ends: &[Ends<F>; 2], with_joins: bool) {
    let mut model = Model::default();
    for (channel, end) in model.channels.iter_mut().zip(ends) {
        channel.capacity = end.1.capacity().unwrap_or(usize::MAX);
    }
    let mut context = Context::from_waker(Waker::noop());
    let mut pending: Vec<Pending<'_>> = Vec::new();
    for id in 0..60 {
        let (place, value) = (random.below(2), id as u32);
        let (tx, rx) = &ends[place];
        let mut begun: Option<(Kind, Operation<'_>, Option<Outcome>)> = None;
        match random.below(if with_joins { 9 } else { 11 }) {
            0 | 1 => {
                let expected = model.put(place, value);
                if expected.is_none() {
                    model.channels[place].blocked.push_back((id, value));
                }
                let future = Box::pin(async move {
                    let sent = tx.send_async(value).await.map_err(|error| error.into_inner());
                    Outcome::Sent(place, sent)
                });
                let expected = expected.map(|e| Outcome::Sent(place, e));
                begun = Some((Kind::Plain, future, expected));
            }
            2 | 3 => {
                let expected = model.take(place);
                if expected.is_none() {
                    model.channels[place].hungry.push_back(id);
                }
                let future =
                    Box::pin(async move { Outcome::Received(place, rx.recv_async().await.ok()) });
                let expected = expected.map(|e| Outcome::Received(place, e));
                begun = Some((Kind::Plain, future, expected));
            }
            4 if !pending.is_empty() => {
                let (id, _, future) = pending.swap_remove(random.below(pending.len()));
                drop(future);
                model.give_up(id);
            }
            5 | 6 if !pending.is_empty() => {
                let which = random.below(pending.len());
                let (id, kind, future) = &mut pending[which];
                let expected = match kind {
                    Kind::Plain => model.done.remove(id).map(|(outcome, _)| outcome),
                    Kind::Join => model.join().map(Outcome::Joined),
                };
                match (future.as_mut().poll(&mut context), expected) {
                    (Poll::Pending, None) => {}
                    (Poll::Ready(outcome), Some(expected)) => {
                        assert_eq!(outcome, expected, "{seed}");
                        drop(pending.swap_remove(which));
                    }
                    (polled, expected) => panic!("seed {seed}: {polled:?} instead of {expected:?}"),
                }
            }
            7 if with_joins => {
                let expected = model.join();
                let (one, two) = (&ends[0].1, &ends[1].1);
                let future =
                    Box::pin(
                        async move { Outcome::Joined(join((one, two)).recv_async().await.ok()) },
                    );
                let expected = expected.map(Outcome::Joined);
                begun = Some((Kind::Join, future, expected));
            }
            8 if random.below(6) == 0 => {
                rx.close();
                model.close(place);
            }
            9 | 10 => {
                // Receives here, or sends there.
                let other = 1 - place;
                let expected = match model.take(place) {
                    Some(value) => Some(Outcome::Received(place, value)),
                    None => model.put(other, value).map(|sent| Outcome::Sent(other, sent)),
                };
                if expected.is_none() {
                    model.channels[place].hungry.push_back(id);
                    model.channels[other].blocked.push_back((id, value));
                }
                let to = &ends[other].0;
                let select = Select::new()
                    .priority()
                    .recv(rx, move |value| Outcome::Received(place, value.ok()))
                    .send(to, value, move |sent| {
                        Outcome::Sent(other, sent.map_err(|error| error.into_inner()))
                    });
                let future = Box::pin(async move { select.wait_async().await.unwrap() });
                begun = Some((Kind::Plain, future, expected));
            }
            _ => {}
        }
        if let Some((kind, mut operation, expected)) = begun {
            match (operation.as_mut().poll(&mut context), expected) {
                (Poll::Ready(outcome), Some(expected)) => assert_eq!(outcome, expected, "{seed}"),
                (Poll::Pending, None) => pending.push((id, kind, operation)),
                (polled, expected) => panic!("seed {seed}: {polled:?} instead of {expected:?}"),
            }
        }
        for (channel, (tx, rx)) in model.channels.iter().zip(ends) {
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

#[test]
fn random_programs_do_as_the_model_says() {
    let seeds = match std::env::var("LENO_SEED").map(|seed| seed.parse::<u64>().unwrap()) {
        Ok(seed) => seed..seed + 1,
        Err(_) => 1..4_000,
    };
    for seed in seeds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let with_joins = random.below(2) == 0;
        let make = |random: &mut Random| match random.below(4) {
            3 => unbounded(),
            capacity => bounded(capacity),
        };
        let ends = [make(&mut random), make(&mut random)];
        program(seed, &mut random, &ends, with_joins);
        let ends = [shared::bounded(random.below(3)), shared::bounded(random.below(3))];
        program(seed, &mut random, &ends, with_joins);
    }
}
