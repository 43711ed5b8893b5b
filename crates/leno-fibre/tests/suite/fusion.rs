//! Pipelines as one fibre: the same values, the same work, and what the principal type allows.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::support::Random;
use leno_explore::Explorer;
use leno_fibre::chip::fuse::{Stage, each, keep, map};
use leno_fibre::chip::*;
use leno_fibre::{Event, Runner, channel, run};
use leno_kernel::Co;
use leno_kernel::policy::{Fifo, Policy, Ready};

/// How often each stage was asked.
type Work = Rc<RefCell<Vec<u32>>>;

/// Says that a stage was asked.
fn worker(work: &Work) -> impl Fn() + Clone + 'static {
    let (work, at) = (work.clone(), work.borrow().len());
    work.borrow_mut().push(0);
    move || work.borrow_mut()[at] += 1
}

/// A stage drawn by lot, of one chip or two.
fn stage(random: &mut Random, work: &Work) -> Transducer<u32, u32> {
    let (by, works) = (2 + random.below(5) as u32, worker(work));
    match random.below(10) {
        0 => function(move |n: u32| {
            works();
            n.wrapping_mul(by)
        }),
        1 => filter(
            move |n: &u32| {
                works();
                !n.is_multiple_of(by)
            },
            |n| n,
        ),
        2 => filter_map(move |n: u32| {
            works();
            n.checked_sub(by)
        }),
        3 => expand(move |n: u32, give| {
            works();
            (0..n % by).for_each(|more| give(n + more));
        }),
        4 => {
            function(move |n: u32| {
                works();
                (n, n / by)
            }) | splitter()
        }
        5 => {
            joiner()
                | function(move |(a, b): (u32, u32)| {
                    works();
                    a.wrapping_add(b)
                })
        }
        6 => oneshot(),
        7 => debug_buffer("middle", move |_| works()),
        8 => buffer(),
        _ => map(move |n: u32| n / by)
            .then(keep(move |n: &u32| {
                works();
                n % 3 < 2
            }))
            .then(each(|n: u32| n.checked_add(1)))
            .chip(),
    }
}

/// The same stages for the same seed; `None` if they do not fit, or nothing can ever come out.
fn stages(seed: u64, work: &Work) -> Option<Transducer<u32, u32>> {
    let mut random = Random(seed);
    let count = 1 + random.below(4);
    let mut all = (0..count).map(|_| stage(&mut random, work)).collect::<Vec<_>>().into_iter();
    let first = all.next()?;
    let whole = all.try_fold(first, |before, next| before.try_pipe(next).ok())?;
    whole.control_type().filter(|control| !control.writes().is_empty()).map(|_| whole)
}

/// What came out, how much work it was, and how many fibres there were.
type Outcome = (Vec<u32>, Vec<u32>, u64);

/// Runs stages between a source and a sink; with `whole`, all of it as one fibre.
fn outcome(stages: &Transducer<u32, u32>, work: &Work, whole: bool) -> Outcome {
    work.borrow_mut().fill(0);
    let list: Rc<RefCell<Vec<u32>>> = Rc::default();
    let made = Rc::new(Cell::new(0));
    let count = made.clone();
    let numbers = (0..200).inspect(move |_| count.set(count.get() + 1));
    let mut closed = iterate(numbers) | stages.clone() | sink_to_list(list.clone());
    if whole {
        closed = closed.fused();
        assert!(closed.is_one_fibre());
    }
    let ran = run(move |cx| drop(closed.start(cx, ())));
    assert_eq!((ran.report().panicked, ran.zombies().len()), (0, 0), "{:?}", ran.report().failures);
    let mut worked = work.borrow().clone();
    worked.push(made.get());
    (list.take(), worked, ran.report().spawned)
}

#[test]
fn k54_fused_pipelines_give_the_same_with_the_same_work_and_keep_to_the_principal_type() {
    let (mut tried, mut values, mut ended) = (0, 0, 0);
    for seed in 0..120 {
        let work = Work::default();
        let Some(piped) = stages(seed, &work) else { continue };
        let own = Work::default();
        let fused = stages(seed, &own).unwrap().fused();
        assert!(fused.is_one_fibre(), "{seed}");
        let (principal, control) = (piped.control_type().unwrap(), fused.control_type().unwrap());
        control.included_in(&principal).unwrap_or_else(|excess| panic!("{seed}: {excess}"));
        let expected = outcome(&piped, &work, false);
        let one = outcome(&fused, &own, false);
        assert_eq!((&one.0, &one.1, one.2), (&expected.0, &expected.1, 4), "{seed}: {principal}");
        let whole = outcome(&fused, &own, true);
        assert_eq!((&whole.0, &whole.1, whole.2), (&expected.0, &expected.1, 2), "{seed}");
        // Each event of it is one that its own type allows, and the pipeline's.
        outcome(&fused.clone().held(), &own, false);
        outcome(&fused.of_type(&principal), &own, false);
        tried += 1;
        values += expected.0.len();
        ended += usize::from(!control.is_continuous());
    }
    assert!(tried > 60 && values > 2_000 && ended > 10, "{tried}, {values}, {ended}");
}

#[test]
fn k54_whatever_the_schedule_a_fused_pipeline_gives_the_same() {
    Explorer::new().runs(100).check(|| {
        for seed in 0..8 {
            let work = Work::default();
            let Some(piped) = stages(seed, &work) else { continue };
            let fused = piped.clone().fused();
            let ends = |stages: Transducer<u32, u32>| {
                let list: Rc<RefCell<Vec<u32>>> = Rc::default();
                let closed = iterate(0..4) | stages | sink_to_list(list.clone());
                run(move |cx| drop(closed.start(cx, ())));
                list.take()
            };
            assert_eq!(ends(piped), ends(fused), "{seed}");
        }
    });
}

#[test]
fn k54_partly_open_pipelines_are_fused_too() {
    let ran = run(|cx| {
        let source = (iterate(1..=4) | function(|n: u32| n * n) | oneshot()).fused();
        let (out, inp) = channel();
        source.start(cx, out);
        let first = inp.read(cx);
        let list: Rc<RefCell<Vec<u32>>> = Rc::default();
        let sink = (function(|n: u32| n + 1) | sink_to_list(list.clone())).fused();
        let (out, inp) = channel();
        let sink = sink.start(cx, inp);
        (0..3).for_each(|n| out.write(cx, n));
        drop(out);
        assert!(sink.join(cx).is_err(), "it has starved");
        (first, list.take(), source.is_one_fibre())
    });
    assert_eq!(ran.report().spawned, 3);
    assert_eq!(ran.result(), Some((1, vec![1, 2, 3], true)));
}

#[test]
fn k54_what_the_types_do_not_allow_is_piped() {
    // A body with loops of its own cannot be taken apart.
    let own = Transducer::new("own", |cx, (inp, out)| {
        loop {
            out.write(cx, inp.read(cx));
        }
    });
    assert!(!(function(|n: u32| n) | own).fused().is_one_fibre());
    // One that is held against its type is seen by itself.
    let held = function(|n: u32| n).of_type(&"(RW)+".parse().unwrap());
    assert!(!function(|n: u32| n).fuse(held).is_one_fibre());
    // A pipeline reads once more when its last stage has ended; two that were one already do not.
    let two = || function(|n: u32| n + 1).pipe(function(|n: u32| n * 2));
    assert!((two() | oneshot()).fused().is_one_fibre());
    let third = two().fused() | oneshot();
    let principal = third.control_type().unwrap();
    let third = third.fused();
    assert!(!third.is_one_fibre(), "{principal}");
    let list: Rc<RefCell<Vec<u32>>> = Rc::default();
    let closed = iterate(1..9) | third | sink_to_list(list.clone());
    run(move |cx| drop(closed.start(cx, ())));
    assert_eq!(list.take(), [4]);
}

#[test]
fn k54_an_endless_pipeline_that_is_one_fibre_lets_others_run_and_can_be_ended() {
    let ran = run(|cx| {
        let closed = (source(1) | filter(|n: &u32| *n > 1, |n| n) | sink()).fused();
        let open = (source(1) | filter(|n: &u32| *n > 1, |n| n)).fused();
        let (out, inp) = channel();
        let endless = [closed.start(cx, ()), open.start(cx, out)];
        (0..10).for_each(|_| cx.yield_now());
        endless.iter().for_each(|one| one.kill());
        endless.map(|one| one.join(cx).is_err() && !inp.ready())
    });
    assert_eq!(ran.result(), Some([true, true]));
}

#[test]
fn k54_stages_that_are_known_when_compiling_are_one_loop() {
    use fuse::{Stage, each, keep, map};
    let stage = map(|n: u64| n + 1)
        .then(keep(|n: &u64| !n.is_multiple_of(3)))
        .then(each(|n: u64| n.checked_sub(10)))
        .then(map(|n: u64| n * n));
    let mut fused = Vec::new();
    stage.clone().drive(0..50, |n| fused.push(n));
    let by_iterator: Vec<u64> = (0..50)
        .map(|n| n + 1)
        .filter(|n| n % 3 != 0)
        .filter_map(|n: u64| n.checked_sub(10))
        .map(|n| n * n)
        .collect();
    assert_eq!(fused, by_iterator);
    let list = Rc::default();
    let closed = iterate(0..50) | stage.chip() | sink_to_list(Rc::clone(&list));
    run(move |cx| drop(closed.start(cx, ())));
    assert_eq!(*list.borrow(), by_iterator);
}

/// First come, first served; counts the turns.
struct Counts(Fifo, Rc<Cell<u64>>);

impl Policy for Counts {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.ready(ready);
    }

    fn pick(&mut self) -> Option<Co> {
        let next = self.0.pick();
        self.1.set(self.1.get() + u64::from(next.is_some()));
        next
    }

    fn forget(&mut self, co: Co) {
        self.0.forget(co);
    }
}

/// Exchanges and turns for each of many values that go through so many adders.
fn counted(adders: usize, fused: bool) -> (f64, f64) {
    const COUNT: u64 = 1_000;
    let turns = Rc::new(Cell::new(0));
    let policy = Counts(Fifo::new(), turns.clone());
    let ran = Runner::new().policy(policy).log(1 << 17).run(move |cx| {
        let stages = pipeline_list((0..adders).map(|_| function(|n: u64| n + 1)));
        let stages = if fused { stages.fused() } else { stages };
        let (out, inp) = channel();
        (iterate(0..COUNT) | stages).start(cx, out);
        inp.iter(cx).take(COUNT as usize).sum::<u64>()
    });
    assert_eq!(ran.log().lost(), 0);
    let writes = ran.events().into_iter().filter(|one| matches!(one.event, Event::ReturnsWrite(_)));
    let per_value = |count: u64| count as f64 / COUNT as f64;
    let counts = (per_value(writes.count() as u64), per_value(turns.get()));
    assert_eq!(ran.result(), Some((0..COUNT).map(|n| n + adders as u64).sum()));
    counts
}

#[test]
fn k54_a_fused_pipeline_takes_two_exchanges_for_each_value_however_many_stages_it_has() {
    for adders in [1, 2, 4, 8] {
        let ((exchanges, turns), (fused, fused_turns)) =
            (counted(adders, false), counted(adders, true));
        let channels = adders as f64 + 1.0;
        assert_eq!((exchanges, fused), (channels, 2.0), "one for each channel");
        // And a few turns to begin and to end.
        assert!((channels..channels + 0.1).contains(&turns), "{turns} turns of {adders}");
        assert!((2.0..2.1).contains(&fused_turns), "{fused_turns} turns of {adders}");
    }
}

#[test]
fn k54_four_adders_take_five_transfers_for_each_value() {
    let (exchanges, turns) = counted(4, false);
    assert_eq!(exchanges, 5.0);
    assert!((5.0..5.1).contains(&turns), "{turns}");
}
