//! The chips, one test each.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::Notes;
use leno_fibre::chip::*;
use leno_fibre::{Ran, channel, run};

/// What a source writes, at most `most` values.
fn written<T: 'static>(source: Source<T>, most: usize) -> (Vec<T>, Ran<()>) {
    let list: Rc<RefCell<Vec<T>>> = Rc::default();
    let seen = list.clone();
    let ran = run(move |cx| {
        let (out, inp) = channel();
        source.start(cx, out);
        inp.iter(cx).take(most).for_each(|value| list.borrow_mut().push(value));
    });
    assert!(ran.zombies().is_empty(), "{:?}", ran.zombies());
    (seen.take(), ran)
}

/// What comes out behind a transducer that is fed `values`.
fn through<A: Clone + 'static, B: 'static>(values: Vec<A>, chip: Transducer<A, B>) -> Vec<B> {
    written(list_source(values).pipe(chip), usize::MAX).0
}

/// Feeds a sink; how many fibres were removed.
fn into<A: Clone + 'static>(values: Vec<A>, sink: Sink<A>) -> u64 {
    let closed = list_source(values) | sink;
    let ran = run(move |cx| drop(closed.start(cx, ())));
    assert!(ran.zombies().is_empty());
    ran.report().removed
}

#[test]
fn k64_writeblock() {
    assert_eq!(into(vec![1, 2], writeblock()), 1, "the source is blockaged");
}

#[test]
fn k64_readblock() {
    let (values, ran) = written(readblock::<u32>(), 1);
    assert_eq!((values, ran.report().removed), (vec![], 1));
}

#[test]
fn k64_sink() {
    assert_eq!(into(vec![1, 2, 3], sink()), 1, "the sink starves");
}

#[test]
fn k64_source() {
    assert_eq!(written(source("x"), 4).0, ["x"; 4]);
}

#[test]
fn k64_value() {
    assert_eq!(written(value(8), 5).0, [8]);
}

#[test]
fn k64_generator() {
    let mut n = 0;
    let squares = generator(move || {
        n += 1;
        n * n
    });
    assert_eq!(written(squares.clone(), 3).0, [1, 4, 9]);
    assert_eq!(written(squares, 2).0, [1, 4], "each start begins anew");
}

#[test]
fn k64_iterate() {
    assert_eq!(written(iterate((1..9).step_by(3)), 9).0, [1, 4, 7]);
}

#[test]
fn k64_iterate_with() {
    let text: &[u8] = b"one\ntwo";
    let lines = iterate_with(move || std::io::BufRead::lines(text).map_while(Result::ok));
    assert_eq!(written(lines.clone(), 9).0, ["one", "two"]);
    assert_eq!(written(lines, 1).0, ["one"], "each start begins anew");
}

#[test]
fn k64_expand() {
    assert_eq!(
        through(vec![2, 0, 3], expand(|n: u32, give| (0..n).for_each(give))),
        [0, 1, 0, 1, 2]
    );
}

#[test]
fn k64_list_source() {
    assert_eq!(written(list_source(vec!['a', 'b']), 9).0, ['a', 'b']);
}

#[test]
fn k64_bounded_list_source() {
    assert_eq!(written(bounded_list_source(vec![1]), 4).0, [Some(1), None, None, None]);
}

#[test]
fn k64_function() {
    assert_eq!(through(vec![1, 2, 3], function(|n: i32| n.to_string())), ["1", "2", "3"]);
}

#[test]
fn k64_procedure() {
    let notes = Notes::default();
    let say = notes.clone();
    into(vec![1, 2, 3], procedure(move |n: i32| say.say(n)));
    assert_eq!(notes.all(), "1 2 3");
}

#[test]
fn k64_filter_by_a_condition_and_a_function() {
    let halves = filter(|n: &u32| n.is_multiple_of(2), |n| n / 2);
    assert_eq!(through(vec![1, 2, 3, 4], halves), [1, 2]);
}

#[test]
fn k64_filter_by_a_partial_function() {
    let numbers = filter_map(|text: &str| text.parse::<i32>().ok());
    assert_eq!(through(vec!["1", "x", "3"], numbers), [1, 3]);
}

#[test]
fn k64_sink_to_list() {
    let list = Rc::default();
    into(vec![3, 1, 3], sink_to_list(Rc::clone(&list)));
    assert_eq!(*list.borrow(), [3, 1, 3]);
}

#[test]
fn k64_sink_to_unique_list() {
    let list = Rc::default();
    into(vec![3, 1, 3], sink_to_unique_list(Rc::clone(&list)));
    assert_eq!(*list.borrow(), [3, 1]);
}

#[test]
fn k64_buffer() {
    assert_eq!(through(vec![1, 2], buffer()), [1, 2]);
}

#[test]
fn k64_dup() {
    let ran = run(|cx| {
        let ((out1, in1), (out2, in2), (to, from)) = (channel(), channel(), channel());
        list_source(vec![1, 2]).start(cx, to);
        dup().start(cx, (from, out1, out2));
        [in1.read(cx), in2.read(cx), in1.read(cx), in2.read(cx)]
    });
    assert_eq!(ran.result(), Some([1, 1, 2, 2]));
}

#[test]
fn k64_pipe_of_two_transducers() {
    let both = function(|n: i32| n + 1).pipe(function(|n: i32| n * 10));
    assert_eq!(through(vec![1, 2], both), [20, 30]);
}

#[test]
fn k64_pipe_of_source_and_transducer() {
    assert_eq!(written(iterate(1..3).pipe(function(|n: i32| -n)), 9).0, [-1, -2]);
}

#[test]
fn k64_pipe_of_transducer_and_sink() {
    let list = Rc::default();
    into(vec![1, 2], function(|n: i32| n * 2).pipe(sink_to_list(Rc::clone(&list))));
    assert_eq!(*list.borrow(), [2, 4]);
}

#[test]
fn k64_pipe_of_source_and_sink() {
    let list = Rc::default();
    let closed = iterate(1..=3).pipe(sink_to_list(Rc::clone(&list)));
    let ran = run(move |cx| drop(closed.start(cx, ())));
    assert_eq!(*list.borrow(), [1, 2, 3]);
    assert_eq!((ran.report().returned, ran.report().removed), (2, 1));
}

#[test]
fn k64_debug_buffer() {
    let notes = Notes::default();
    let say = notes.clone();
    assert_eq!(through(vec![7], debug_buffer("here", move |line| say.say(line))), [7]);
    let expected = "[here] reads [here] has read 7 [here] has written 7 [here] reads";
    assert_eq!(notes.all(), expected);
}

#[test]
fn k64_oneshot() {
    assert_eq!(through(vec![1, 2, 3], oneshot()), [1]);
}

#[test]
fn k64_store() {
    let variable = Rc::new(RefCell::new(0));
    into(vec![1, 2, 3], store(variable.clone()));
    assert_eq!(*variable.borrow(), 3);
}

#[test]
fn k64_fetch() {
    let variable = Rc::new(RefCell::new(1));
    let ran = run(move |cx| {
        let (out, inp) = channel();
        fetch(variable.clone()).start(cx, out);
        let first = inp.read(cx);
        *variable.borrow_mut() = 2;
        // One may be on its way already.
        (first, inp.iter(cx).take(2).last())
    });
    assert_eq!(ran.result(), Some((1, Some(2))));
}

#[test]
fn k64_debug_sink() {
    let notes = Notes::default();
    let say = notes.clone();
    into(vec![1, 2], debug_sink("end", move |line| say.say(line)));
    assert_eq!(notes.all(), "[end] 1 [end] 2");
}

#[test]
fn k64_latch() {
    let ran = run(|cx| {
        let ((set, inp), (out, get)) = (channel(), channel());
        latch().start(cx, (inp, out));
        cx.yield_now();
        assert!(!get.ready(), "there is nothing to read at first");
        set.write(cx, 1);
        let first = [get.read(cx), get.read(cx)];
        set.write(cx, 2);
        set.write(cx, 3);
        (first, get.iter(cx).take(2).last())
    });
    assert!(ran.zombies().is_empty());
    assert_eq!(ran.result(), Some(([1, 1], Some(3))));
}

#[test]
fn k64_serialise() {
    let ran = run(|cx| {
        let (out, inp) = channel();
        let inputs = [10, 20, 30].map(|base| {
            let (out, inp) = channel();
            iterate(base..base + 2).start(cx, out);
            inp
        });
        serialise().start(cx, (inputs.into(), out));
        let inp = inp.closable();
        std::iter::from_fn(|| inp.read(cx)).collect::<Vec<_>>()
    });
    assert_eq!(ran.result().unwrap(), [10, 20, 30, 11, 21, 31]);
}

#[test]
fn k64_pipeline_list() {
    let stages = [1, 10, 100].map(|by| function(move |n: i32| n + by));
    assert_eq!(through(vec![0, 5], pipeline_list(stages)), [111, 116]);
    assert_eq!(through(vec![1, 2], pipeline_list([])), [1, 2], "of none it is a buffer");
}

#[test]
fn k64_try_all() {
    let ways = try_all([
        function(|n: u32| n + 1),
        filter(|n: &u32| *n > 1, |n| n * 10),
        // One that never reads holds up nobody.
        Transducer::new("deaf", |_, _| {}),
    ]);
    let mut all = through(vec![1, 2], ways);
    all.sort_unstable();
    assert_eq!(all, [2, 3, 20]);
}

#[test]
fn k64_deref_each() {
    let variable = Rc::new(RefCell::new(oneshot()));
    let chip = deref_each(variable.clone());
    assert_eq!(through(vec![1, 2], chip.clone()), [1, 2], "started for each value");
    variable.replace(function(|n: i32| -n));
    assert_eq!(through(vec![1, 2], chip), [-1, -2]);
}

#[test]
fn k64_deref_first() {
    let variable = Rc::new(RefCell::new(oneshot()));
    let chip = deref_first(variable.clone());
    assert_eq!(through(vec![1, 2], chip.clone()), [1], "started once");
    variable.replace(function(|n: i32| -n));
    assert_eq!(through(vec![1, 2], chip), [-1, -2]);
}

#[test]
fn k64_epsilon() {
    assert_eq!(through(vec![1, 2], epsilon()), [1, 2]);
}

/// Matches one character of a text at a position.
fn one(text: &'static str, wanted: char) -> Transducer<usize, usize> {
    filter(move |at: &usize| text[*at..].starts_with(wanted), move |at| at + wanted.len_utf8())
}

#[test]
fn k64_optional() {
    assert_eq!(sorted(through(vec![0], optional(one("ab", 'a')))), [0, 1]);
    assert_eq!(through(vec![1], optional(one("ab", 'a'))), [1]);
}

#[test]
fn k64_one_or_more() {
    assert_eq!(sorted(through(vec![0], one_or_more(one("aaab", 'a')))), [1, 2, 3]);
    assert_eq!(through(vec![3], one_or_more(one("aaab", 'a'))), []);
}

#[test]
fn k64_zero_or_more() {
    assert_eq!(sorted(through(vec![0], zero_or_more(one("aaab", 'a')))), [0, 1, 2, 3]);
    assert_eq!(through(vec![3], zero_or_more(one("aaab", 'a'))), [3]);
}

fn sorted(mut values: Vec<usize>) -> Vec<usize> {
    values.sort_unstable();
    values
}
