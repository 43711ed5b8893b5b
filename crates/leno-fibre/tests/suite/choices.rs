//! What the rules leave open: everything that may happen does, under some schedule, and nothing else.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::support::{Notes, Random, outcomes};
use leno_channel::State;
use leno_explore::Explorer;
use leno_fibre::{Cx, FibreState, In, Out, Runner, channel, run};
use leno_kernel::policy::{Recorded, Recording, Replay, SeededRandom};

#[test]
fn k7_either_of_spawner_and_spawned_runs_on() {
    let seen = outcomes(|| {
        let notes = Notes::default();
        let say = notes.clone();
        run(move |cx| {
            let spawned = say.clone();
            cx.spawn(move |_| spawned.say("spawned"));
            say.say("spawner");
        });
        notes.all()
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["spawned spawner", "spawner spawned"]);
}

/// Whether the reader came second, and who is first after the rendezvous.
fn rendezvous() -> (bool, String) {
    let notes = Notes::default();
    let (say_read, say_write) = (notes.clone(), notes.clone());
    let second = Rc::new(Cell::new(false));
    let reader_is_second = second.clone();
    run(move |cx| {
        let (out, inp) = channel();
        cx.spawn_later(move |cx| {
            second.set(inp.ready());
            let _: u32 = inp.read(cx);
            say_read.say("read");
        });
        cx.spawn_later(move |cx| {
            out.write(cx, 1);
            say_write.say("written");
        });
    });
    (reader_is_second.get(), notes.all())
}

fn after_rendezvous(reader_is_second: bool) -> Vec<String> {
    let all = outcomes(rendezvous).into_iter();
    all.filter(|(second, _)| *second == reader_is_second).map(|(_, order)| order).collect()
}

#[test]
fn k14_a_read_on_a_blocked_channel_lets_either_run() {
    assert_eq!(after_rendezvous(true), ["read written", "written read"]);
}

#[test]
fn k17_a_write_on_a_hungry_channel_lets_either_run() {
    assert_eq!(after_rendezvous(false), ["read written", "written read"]);
}

/// Three wait at a channel, and one comes: how many still wait after each of its three exchanges.
fn left_over(reads: bool, seed: u64) -> Vec<usize> {
    let seen: Rc<RefCell<Vec<usize>>> = Rc::default();
    let left = seen.clone();
    Runner::new().policy(SeededRandom::new(seed)).run(move |cx| {
        let (out, inp) = channel::<u32>();
        for n in 0..3 {
            let (out, inp) = (out.clone(), inp.clone());
            cx.spawn(move |cx| match reads {
                true => out.write(cx, n),
                false => assert!(inp.read(cx) < 3),
            });
        }
        let waiting = |inp: &In<u32>| (inp.waiting_writers().len(), inp.waiting_readers().len());
        let count = move |inp: &In<u32>| match (reads, waiting(inp)) {
            (true, (writers, 0)) => writers,
            (false, (0, readers)) => readers,
            (_, both) => panic!("{both:?} wait"),
        };
        while count(&inp) < 3 {
            cx.yield_now();
        }
        for n in 0..3 {
            match reads {
                true => assert!(inp.read(cx) < 3),
                false => out.write(cx, n),
            }
            left.borrow_mut().push(count(&inp));
        }
    });
    seen.take()
}

#[test]
fn k14_of_several_blocked_writers_a_read_releases_one() {
    (0..200).for_each(|seed| assert_eq!(left_over(true, seed), [2, 1, 0], "{seed}"));
}

#[test]
fn k17_of_several_hungry_readers_a_write_releases_one() {
    (0..200).for_each(|seed| assert_eq!(left_over(false, seed), [2, 1, 0], "{seed}"));
}

#[test]
fn k20_any_active_fibre_is_next_and_any_waiter_is_matched() {
    let orders = outcomes(|| {
        let notes = Notes::default();
        let say = notes.clone();
        run(move |cx| {
            for name in ["a", "b", "c"] {
                let say = say.clone();
                cx.spawn_later(move |_| say.say(name));
            }
        });
        notes.all()
    });
    assert_eq!(orders.len(), 6, "{orders:?}");
    let matched = outcomes(|| {
        let met = Rc::new(Cell::new((0, ' ')));
        let seen = met.clone();
        run(move |cx| {
            let (out, inp) = channel();
            for name in ['x', 'y'] {
                let (inp, met) = (inp.clone(), met.clone());
                cx.spawn_later(move |cx| {
                    let waiting = inp.read(cx);
                    met.set((waiting, name));
                });
            }
            cx.spawn_later(move |cx| out.write(cx, out.waiting_readers().len()));
        });
        seen.get()
    });
    let of_two: String = matched.into_iter().filter(|met| met.0 == 2).map(|met| met.1).collect();
    assert_eq!(of_two, "xy");
}

/// Two writers and two readers on one channel; who read what.
fn several() -> Vec<(char, u32)> {
    let read = Rc::new(RefCell::new(Vec::new()));
    let seen = read.clone();
    run(move |cx| {
        let (out, inp) = channel();
        for base in [10, 20] {
            let out = out.clone();
            cx.spawn_later(move |cx| out.write(cx, base));
        }
        for name in ['x', 'y'] {
            let (inp, read) = (inp.clone(), read.clone());
            cx.spawn_later(move |cx| {
                loop {
                    let value = inp.read(cx);
                    assert_ne!(
                        (inp.waiting_readers().is_empty(), inp.waiting_writers().is_empty()),
                        (false, false),
                        "hungry and blocked at once"
                    );
                    read.borrow_mut().push((name, value));
                }
            });
        }
    });
    seen.take()
}

#[test]
fn k18_a_value_arrives_once_at_the_reader_it_was_matched_with() {
    for mut read in outcomes(several) {
        read.sort_by_key(|(_, value)| *value);
        let values: Vec<u32> = read.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [10, 20]);
    }
}

#[test]
fn k61_several_readers_and_writers_share_a_channel() {
    let seen = outcomes(several);
    let by_one = seen.iter().filter(|read| read[0].0 == read[1].0).count();
    assert!(by_one > 0 && by_one < seen.len(), "{seen:?}");
    assert!(seen.iter().any(|read| read[0].1 == 20), "the second writer came first: {seen:?}");
}

/// What must hold of every fibre and channel at any time.
fn check(cx: &Cx<'_>, inp: &In<u32>) {
    let look = cx.look();
    let cos: Vec<_> = look.fibres().iter().map(|(co, _)| *co).collect();
    let mut distinct = cos.clone();
    distinct.dedup();
    assert_eq!(cos, distinct, "a fibre in two places");
    let running = look.fibres().iter().filter(|(_, state)| *state == FibreState::Running);
    assert_eq!(running.map(|(co, _)| *co).collect::<Vec<_>>(), [cx.co()]);
    let all = 1 + look.active().len() + look.hungry().len() + look.blocked().len();
    assert_eq!(all, cos.len(), "a fibre in no place: {look:?}");
    let both = look.hungry_channels().iter().any(|one| look.blocked_channels().contains(one));
    assert!(!both, "a channel both hungry and blocked: {look:?}");
    let state = match (inp.waiting_readers().len(), inp.waiting_writers().len()) {
        (0, 0) => State::Empty,
        (_, 0) => State::Hungry,
        (0, _) => State::Blocked,
        both => panic!("{both:?}"),
    };
    assert_eq!(inp.state(), state);
}

fn checked_network() {
    run(|cx| {
        let (out, inp) = channel::<u32>();
        for base in [0, 10] {
            let (out, inp) = (out.clone(), inp.clone());
            cx.spawn(move |cx| {
                for n in 0..2 {
                    check(cx, &inp);
                    out.write(cx, base + n);
                }
            });
        }
        drop(out);
        for _ in 0..2 {
            let inp = inp.clone();
            cx.spawn(move |cx| {
                loop {
                    inp.read(cx);
                    check(cx, &inp);
                }
            });
        }
        check(cx, &inp);
    });
}

#[test]
fn k4_a_channel_is_empty_hungry_or_blocked_under_any_schedule() {
    Explorer::new().runs(500).check(checked_network);
}

#[test]
fn k5_each_fibre_is_in_one_place_under_any_schedule() {
    Explorer::new().random(5).runs(500).check(checked_network);
}

#[test]
fn k39_events_have_one_order_and_the_same_seed_gives_the_same() {
    let program = |seed: u64| {
        let runner = Runner::new().virtual_time().policy(SeededRandom::new(seed)).log(10_000);
        let ran = runner.run(|cx| {
            let (out, inp) = channel();
            for base in [0, 100, 200] {
                let out = out.clone();
                cx.spawn(move |cx| (base..base + 5).for_each(|n: u32| out.write(cx, n)));
            }
            for _ in 0..2 {
                let inp = inp.clone();
                cx.spawn(move |cx| inp.iter(cx).for_each(drop));
            }
        });
        assert!(ran.log().lost() == 0 && !ran.events().is_empty());
        ran.log().to_string()
    };
    let logs: Vec<String> = (0..20).map(program).collect();
    assert_eq!(logs, (0..20).map(program).collect::<Vec<_>>());
    assert!(logs.iter().any(|log| *log != logs[0]), "the order is not determinate");
}

#[test]
fn k39_a_recorded_order_is_replayed() {
    let program = |runner: Runner| {
        let ran = runner.virtual_time().log(10_000).run(|cx| {
            let (out, inp) = channel();
            for base in [0, 100] {
                let out = out.clone();
                cx.spawn(move |cx| (base..base + 3).for_each(|n: u32| out.write(cx, n)));
            }
            drop(out);
            for _ in 0..2 {
                let inp = inp.clone();
                cx.spawn(move |cx| inp.iter(cx).for_each(drop));
            }
        });
        ran.log().to_string()
    };
    for seed in 0..10 {
        let recording = Recording::new();
        let policy = Recorded::new(SeededRandom::new(seed), &recording);
        let first = program(Runner::new().policy(policy));
        let again = program(Runner::new().policy(Replay::new(recording.log())));
        assert_eq!(first, again);
    }
}

/// A network drawn by lot: fibres that read and write channels drawn by lot, some for ever.
fn network(seed: u64, rounds: usize) {
    let mut random = Random(seed);
    let channels = 1 + random.below(4);
    let fibres: Vec<(bool, Vec<(bool, usize)>)> = (0..1 + random.below(6))
        .map(|_| {
            let is_bound = random.below(2) == 0;
            let count = 1 + random.below(4);
            let step = |_| (random.below(2) == 0, random.below(channels));
            (is_bound, (0..count).map(step).collect())
        })
        .collect();
    run(move |cx| {
        let ends: Vec<(Out<u32>, In<u32>)> = (0..channels).map(|_| channel()).collect();
        for (is_bound, steps) in fibres {
            let mut outs: Vec<Option<Out<u32>>> = vec![None; channels];
            let mut ins: Vec<Option<In<u32>>> = vec![None; channels];
            for (reads, at) in &steps {
                match reads {
                    true => ins[*at] = Some(ends[*at].1.clone()),
                    false => outs[*at] = Some(ends[*at].0.clone()),
                }
            }
            let go = move |cx: &Cx<'_>,
                           read: &dyn Fn(&Cx<'_>, usize),
                           write: &dyn Fn(&Cx<'_>, usize)| {
                for _ in 0..rounds {
                    for (reads, at) in &steps {
                        if *reads { read(cx, *at) } else { write(cx, *at) }
                    }
                }
            };
            if is_bound {
                cx.spawn_bound((ins, outs), move |cx, (ins, outs)| {
                    let read = |cx: &Cx<'_>, at: usize| {
                        ins[at].as_ref().unwrap().read(cx);
                    };
                    let write = |cx: &Cx<'_>, at: usize| outs[at].as_ref().unwrap().write(cx, 1);
                    go(cx, &read, &write);
                });
            } else {
                cx.spawn(move |cx| {
                    let read = |cx: &Cx<'_>, at: usize| {
                        ins[at].as_ref().unwrap().read(cx);
                    };
                    let write = |cx: &Cx<'_>, at: usize| outs[at].as_ref().unwrap().write(cx, 1);
                    go(cx, &read, &write);
                });
            }
        }
    });
}

#[test]
fn k32_networks_drawn_by_lot_always_return() {
    for seed in 0..300 {
        network(seed, 20);
    }
    Explorer::new().runs(100).check(|| (0..10).for_each(|seed| network(seed, 3)));
}
