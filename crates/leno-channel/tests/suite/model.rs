//! Random programs against a simple model of channels, selects and joins.
//!
//! Operations are futures that are polled by hand, so that every step is known: begin one, poll one
//! that waits, drop one that waits (which must give back what it was handed), close. The model says
//! what each poll must give. `LENO_SEED=N` repeats one program.
#![cfg(not(loom))]

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::support::{Ends, Model, Outcome, Random, seeds};
use leno_channel::{Flavour, Select, bounded, join, shared, unbounded};

type Operation<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;
type Pending<'a> = (usize, Kind, Operation<'a>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Join,
}

fn program<F: Flavour>(seed: u64, random: &mut Random, ends: &[Ends<F>; 2], with_joins: bool) {
    let mut model = Model::of(ends);
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
        model.check(seed, ends);
    }
}

#[test]
fn random_programs_do_as_the_model_says() {
    for seed in seeds(4_000) {
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
