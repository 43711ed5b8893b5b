//! Wake-ups that nobody asked for: everyone who waits is unparked at random, between the steps of random
//! programs, which do as the model says all the same.
#![cfg(not(loom))]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::support::{Ends, Model, Outcome, Random, seeds};
use leno_channel::{Flavour, Select, bounded, join, unbounded};
use leno_kernel::{JoinHandle, LocalSystem, unpark};

type Results = Rc<RefCell<BTreeMap<usize, Outcome>>>;

/// Operations are coroutines that wait as long as they have to, and futures.
struct World<F: Flavour> {
    system: LocalSystem,
    ends: Rc<[Ends<F>; 2]>,
    results: Results,
    waiting: BTreeMap<usize, JoinHandle<()>>,
}

impl<F: Flavour> World<F> {
    fn begin(&mut self, id: usize, f: impl FnOnce(&[Ends<F>; 2]) -> Outcome + 'static) {
        let (ends, results) = (self.ends.clone(), self.results.clone());
        let handle = self.system.spawn(move || {
            let outcome = f(&ends);
            results.borrow_mut().insert(id, outcome);
        });
        self.waiting.insert(id, handle);
    }

    /// Wakes some, perhaps all, for no reason; perhaps twice.
    fn disturb(&self, random: &mut Random) {
        for handle in self.waiting.values() {
            for _ in 0..random.below(3) {
                handle.co().into_iter().for_each(unpark);
            }
        }
    }

    fn run(&mut self) {
        drop(self.system.run());
        let results = self.results.borrow();
        self.waiting.retain(|id, _| !results.contains_key(id));
    }
}

fn program<F: Flavour>(seed: u64, random: &mut Random, ends: [Ends<F>; 2], with_joins: bool) {
    let mut model = Model::of(&ends);
    let system = LocalSystem::new();
    let (ends, waiting) = (Rc::new(ends), BTreeMap::new());
    let mut world = World { system, ends, results: Rc::default(), waiting };
    let mut expected: BTreeMap<usize, Outcome> = BTreeMap::new();
    let mut joins = Vec::new();
    for id in 0..50 {
        let (place, value) = (random.below(2), id as u32);
        let other = 1 - place;
        match random.below(9) {
            0 | 1 => {
                match model.put(place, value) {
                    Some(sent) => drop(expected.insert(id, Outcome::Sent(place, sent))),
                    None => model.channels[place].blocked.push_back((id, value)),
                }
                world.begin(id, move |ends| {
                    let sent = ends[place].0.send(value);
                    Outcome::Sent(place, sent.map_err(|error| error.into_inner()))
                });
            }
            2 | 3 => {
                match model.take(place) {
                    Some(value) => drop(expected.insert(id, Outcome::Received(place, value))),
                    None => model.channels[place].hungry.push_back(id),
                }
                let ends = world.ends.clone();
                if random.below(2) == 0 {
                    world
                        .begin(id, move |ends| Outcome::Received(place, ends[place].1.recv().ok()));
                } else {
                    let results = world.results.clone();
                    let handle = world.system.spawn_future(async move {
                        let value = ends[place].1.recv_async().await.ok();
                        results.borrow_mut().insert(id, Outcome::Received(place, value));
                    });
                    world.waiting.insert(id, handle);
                }
            }
            4 | 5 if !with_joins => {
                let done = match model.take(place) {
                    Some(value) => Some(Outcome::Received(place, value)),
                    None => model.put(other, value).map(|sent| Outcome::Sent(other, sent)),
                };
                match done {
                    Some(done) => drop(expected.insert(id, done)),
                    None => {
                        model.channels[place].hungry.push_back(id);
                        model.channels[other].blocked.push_back((id, value));
                    }
                }
                world.begin(id, move |ends| {
                    let select = Select::new()
                        .priority()
                        .recv(&ends[place].1, |value| Outcome::Received(place, value.ok()))
                        .send(&ends[other].0, value, |sent| {
                            Outcome::Sent(other, sent.map_err(|error| error.into_inner()))
                        });
                    select.wait().unwrap()
                });
            }
            4 | 5 => {
                joins.push(id);
                world.begin(id, move |ends| {
                    Outcome::Joined(join((&ends[0].1, &ends[1].1)).recv().ok())
                });
            }
            6 if !world.waiting.is_empty() => {
                let which = random.below(world.waiting.len());
                let (&id, handle) = world.waiting.iter().nth(which).unwrap();
                handle.cancel();
                world.disturb(random);
                world.run();
                world.waiting.remove(&id);
                model.give_up(id);
                joins.retain(|join| *join != id);
            }
            7 if random.below(6) == 0 => {
                world.ends[place].1.close();
                model.close(place);
            }
            _ => {}
        }
        world.disturb(random);
        world.run();
        // Joins look whenever something has changed; which of several looks first is left open.
        let got_some = |join: &usize| {
            matches!(world.results.borrow().get(join), Some(Outcome::Joined(Some(_))))
        };
        joins.sort_by_key(|join| !got_some(join));
        joins.retain(|join| match model.join() {
            None => true,
            Some(joined) => {
                expected.insert(*join, Outcome::Joined(joined));
                false
            }
        });
        expected.extend(std::mem::take(&mut model.done).into_iter().map(|(id, (o, _))| (id, o)));
        assert_eq!(*world.results.borrow(), expected, "seed {seed}, step {id}");
        model.check(seed, &world.ends);
    }
}

#[test]
fn p45_spurious_wake_ups_change_nothing() {
    for seed in seeds(if cfg!(miri) { 3 } else { 600 }) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let make = |random: &mut Random| match random.below(4) {
            3 => unbounded(),
            capacity => bounded(capacity),
        };
        for with_joins in [false, true] {
            let ends = [make(&mut random), make(&mut random)];
            program(seed, &mut random, ends, with_joins);
        }
    }
}
