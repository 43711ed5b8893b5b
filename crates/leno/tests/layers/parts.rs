//! What one layer makes as a part of another: coroutines as chips, chips as iterators, graphs as chips,
//! pipelines behind the entries of a process.

use std::cell::Cell;
use std::rc::Rc;

use leno::Coroutine;
use leno::channel::{Receiver, Sender, Shared, shared};
use leno::fibre::chip::{Source, filter, function, generator, iterate, iterate_with};
use leno::fibre::chip::{procedure, sink_to_list};
use leno::fibre::control::{ControlType, Wire, compose, fused};
use leno::process::{Answer, ReplyError, System, process};
use leno::together::graph_chip;

#[test]
fn i05_an_asymmetric_coroutine_is_a_source_chip() {
    fn hanoi(co: &leno::Suspender<(), (u8, u8)>, discs: u32, from: u8, over: u8, to: u8) {
        if discs > 0 {
            hanoi(co, discs - 1, from, to, over);
            co.suspend((from, to));
            hanoi(co, discs - 1, over, from, to);
        }
    }
    let moves = iterate_with(|| Coroutine::new(|co, ()| hanoi(co, 3, 1, 2, 3)));
    let list = Rc::default();
    let pipeline = moves
        | filter(|(_, to): &(u8, u8)| *to == 3, |(from, _)| from)
        | sink_to_list(Rc::clone(&list));
    let ran = leno::run(move |cx| drop(pipeline.start(cx, ())));
    assert_eq!((ran.report().panicked, ran.zombies().len()), (0, 0));
    assert_eq!(*list.borrow(), [1, 1, 2, 1]);
}

#[test]
fn i05_a_chip_is_an_iterator_and_stands_still_in_between() {
    let made = Rc::new(Cell::new(0u32));
    let count = made.clone();
    let source = generator(move || {
        count.set(count.get() + 1);
        count.get()
    });
    let mut squares = (source | function(|n: u32| n * n)).into_iter();
    assert_eq!(made.get(), 0, "nothing runs before a value is wanted");
    assert_eq!((squares.next(), squares.next(), squares.next()), (Some(1), Some(4), Some(9)));
    let ahead = made.get();
    assert!(ahead <= 3 + 2, "each stage is one value ahead at most: {ahead}");
    drop(squares);
    assert_eq!(made.get(), ahead, "and nothing when the iterator is gone");
    assert_eq!(Rc::strong_count(&made), 1, "what its fibres held is released");

    // One that ends ends the iteration; so does one that starves.
    assert_eq!(
        (iterate(1..=3) | function(|n: u32| n + 1)).into_iter().collect::<Vec<u32>>(),
        [2, 3, 4]
    );
    let starves = Source::<u32>::new("starves", |cx, out| {
        let (never, inp) = leno::fibre::channel::<u32>();
        out.write(cx, 1);
        drop(never);
        out.write(cx, inp.read(cx));
    });
    let mut starves = starves.into_iter();
    assert_eq!((starves.next(), starves.next(), starves.next()), (Some(1), None, None));

    // Inside a fibre of another run, two of them at once, and a panic reaches whoever wanted a value.
    let ran = leno::run(|_| {
        let (odd, even) = (iterate((1..9).step_by(2)), iterate((0..9).step_by(2)));
        odd.into_iter().zip(even).map(|(odd, even)| odd * even).sum::<u32>()
    });
    assert_eq!(ran.result(), Some(2 * 3 + 4 * 5 + 6 * 7));
    let mut fails = iterate_with(|| (0..3u32).map(|n| 6 / (2 - n))).into_iter();
    assert_eq!((fails.next(), fails.next()), (Some(3), Some(6)));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fails.next()));
    assert!(caught.is_err());
}

#[test]
fn i06_a_deterministic_graph_is_one_chip_with_an_inferred_type() {
    // A number goes two ways, and both meet again; every second result is left out.
    let chip = graph_chip("sum and product", |graph, numbers, out| {
        let (left, lefts) = graph.channel(1);
        let (right, rights) = graph.channel(1);
        graph.node("both", (numbers, left, right), |cx, (numbers, left, right)| {
            for n in numbers.iter(cx) {
                left.send(cx, n + n);
                right.send(cx, n * n);
            }
        });
        let pairs = graph.join((lefts, rights));
        graph.node("every second", (pairs, out), |cx, (pairs, out)| {
            while let (Some(pair), Some(_)) = (pairs.receive(cx), pairs.receive(cx)) {
                out.send(cx, pair);
            }
        });
    });
    // Its nodes have types; the type of the whole is found from them.
    let both: ControlType = "(RWl Wr)+".parse().unwrap();
    let second: ControlType = "(Rl Rr Rl Rr W)+".parse().unwrap();
    let whole = compose(&[&both, &second], &[Wire::new("l", "l"), Wire::new("r", "r")]).unwrap();
    let on_demand: ControlType = "(RRW)+".parse().unwrap();
    on_demand.included_in(&whole).unwrap();
    let chip = chip.of_type(&whole);
    let list = Rc::default();
    let pipeline = iterate(1..=6u32) | function(|n| n * 10) | chip | sink_to_list(Rc::clone(&list));
    let ran = leno::run(move |cx| drop(pipeline.start(cx, ())));
    assert_eq!((ran.report().panicked, ran.zombies().len()), (0, 0), "{:?}", ran.report().failures);
    assert_eq!(*list.borrow(), [(20, 100), (60, 900), (100, 2500)]);

    // In a line of nodes the type on demand is what fusion has.
    let line = fused(&["(RW)+".parse().unwrap(), "(RRW)+".parse().unwrap()]).unwrap();
    assert_eq!(line.to_string(), "(RRW)+");
    let wrong = graph_chip::<u32, u32>("doubling", |graph, inp, out| {
        graph.node("double", (inp, out), |cx, (inp, out)| {
            for n in inp.iter(cx) {
                out.send(cx, n);
                out.send(cx, n);
            }
        });
    });
    let wrong = iterate([1, 2]) | wrong.of_type(&line) | procedure(drop);
    let ran = leno::run(move |cx| drop(wrong.start(cx, ())));
    assert_eq!(ran.report().panicked, 1, "it does not keep to that type");
}

/// Sends its calls to a pipeline, which answers.
struct Counter(Sender<Job, Shared>);

type Job = (String, Answer<usize>);

#[process]
impl Counter {
    #[entry]
    fn words(&mut self, text: String, answer: Answer<usize>) {
        // If the pipeline is gone, the duty to answer comes back with the error, and is dropped.
        let _ = self.0.send((text, answer));
    }
}

/// A pipeline that answers so many jobs, and is gone then.
fn pipeline(jobs: Receiver<Job, Shared>, most: usize) {
    let source = iterate_with(move || {
        let jobs = jobs.clone();
        std::iter::from_fn(move || jobs.recv().ok()).take(most)
    });
    let count = function(|(text, answer): Job| (text.split_whitespace().count(), answer));
    let tell = procedure(|(count, answer): (usize, Answer<usize>)| answer.give(count));
    let whole = source | count | tell;
    let ran = leno::run(move |cx| drop(whole.start(cx, ())));
    assert_eq!((ran.report().panicked, ran.zombies().len()), (0, 0));
}

#[test]
fn i07_an_entry_is_served_by_a_pipeline_and_fails_when_that_is_removed() {
    let (tx, rx) = shared::bounded::<Job>(8);
    let system = System::new(1).unwrap();
    let counter = system.start(Counter(tx));
    let fibres = std::thread::spawn(move || pipeline(rx, 2));
    let ask = |text: &str| {
        let (answer, reply) = counter.answer();
        counter.words(text.to_owned(), answer).map_err(|refused| refused.to_string()).unwrap();
        reply
    };
    let first = ask("one two three");
    let second = ask("");
    assert_eq!((first.wait(), second.wait()), (Ok(3), Ok(0)));
    fibres.join().unwrap();
    // The pipeline is gone: whoever asks is told, and does not wait for ever.
    assert!(matches!(ask("four").wait(), Err(ReplyError::Stopped(_))));
    drop(counter);
    system.run().unwrap();
}
