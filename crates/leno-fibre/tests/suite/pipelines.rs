//! Pipelines and circuits.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::support::explored;
use leno_explore::Explorer;
use leno_fibre::chip::*;
use leno_fibre::{In, Out, channel, run};

#[test]
fn k47_a_partial_function_writes_nothing_where_it_is_undefined() {
    let list = Rc::default();
    let inverse = filter_map(|n: i32| 100_i32.checked_div(n));
    let closed = iterate([5, 0, 4]) | inverse | sink_to_list(Rc::clone(&list));
    run(move |cx| drop(closed.start(cx, ())));
    assert_eq!(*list.borrow(), [20, 25]);
}

#[test]
fn k48_a_pair_is_two_messages_and_two_messages_are_a_pair() {
    let list = Rc::default();
    let pairs = [(1, 2), (3, 4), (5, 6)];
    let closed = iterate(pairs) | splitter() | joiner() | sink_to_list(Rc::clone(&list));
    run(move |cx| drop(closed.start(cx, ())));
    assert_eq!(*list.borrow(), pairs);
}

#[test]
fn k49_a_stage_works_at_most_one_value_ahead_of_demand() {
    for stages in 0..4 {
        let made = Rc::new(Cell::new(0));
        let count = made.clone();
        let ran = run(move |cx| {
            let count = count.clone();
            let source = generator(move || {
                count.set(count.get() + 1);
                count.get()
            });
            let pipeline = (0..stages).fold(source, |before, _| before | buffer());
            let (out, inp) = channel();
            pipeline.start(cx, out);
            // As far as it goes without any demand.
            (0..100).for_each(|_| cx.yield_now());
            let ahead = made.get();
            inp.iter(cx).take(3).for_each(|_| ());
            (0..100).for_each(|_| cx.yield_now());
            (ahead, made.get())
        });
        // Each stage holds one value, and so does the source: neither all nor none.
        let (ahead, after) = ran.result().unwrap();
        assert_eq!((ahead, after), (1 + stages, 4 + stages));
    }
}

/// A pipeline of three, put together in either order, open or closed on either side.
fn composed(left_first: bool, has_source: bool, has_sink: bool) -> Vec<u32> {
    let (a, b, c) =
        (function(|n: u32| n + 1), filter(|n: &u32| *n != 3, |n| n), function(|n: u32| n * 10));
    let open = if left_first { (a | b) | c } else { a | (b | c) };
    let list: Rc<RefCell<Vec<u32>>> = Rc::default();
    let sink = sink_to_list(list.clone());
    let values = iterate(1..=4);
    run(move |cx| match (has_source, has_sink) {
        (true, true) => drop((values | open | sink).start(cx, ())),
        (true, false) => {
            let (out, inp) = channel();
            (values | open).start(cx, out);
            sink.start(cx, inp);
        }
        (false, true) => {
            let (out, inp) = channel();
            (open | sink).start(cx, inp);
            values.start(cx, out);
        }
        (false, false) => {
            let ((to, inp), (out, from)) = (channel(), channel());
            open.start(cx, (inp, out));
            values.start(cx, to);
            sink.start(cx, from);
        }
    });
    list.take()
}

#[test]
fn k50_pipelines_are_open_closed_or_partly_open_and_piping_is_associative() {
    for shape in 0..8 {
        let (left_first, has_source, has_sink) = (shape & 1 == 0, shape & 2 == 0, shape & 4 == 0);
        assert_eq!(composed(left_first, has_source, has_sink), [20, 40, 50], "{shape}");
    }
    Explorer::new().runs(200).check(|| {
        assert_eq!(composed(true, true, true), composed(false, true, true));
    });
}

#[test]
fn k51_the_first_stage_may_read_twice_before_the_second_writes() {
    // Reads of the outer input and writes of the outer output, as they happen.
    let (traces, _) = explored(Explorer::new().runs(500), || {
        let trace: Rc<RefCell<String>> = Rc::default();
        let seen = trace.clone();
        run(move |cx| {
            let ((to, inp), (between, middle), (out, from)) = (channel(), channel(), channel());
            let (reads, writes) = (trace.clone(), trace);
            cx.spawn_later(move |cx| {
                loop {
                    let value: u32 = inp.read(cx);
                    reads.borrow_mut().push('R');
                    between.write(cx, value);
                }
            });
            cx.spawn_later(move |cx| {
                loop {
                    let value = middle.read(cx);
                    writes.borrow_mut().push('W');
                    out.write(cx, value);
                }
            });
            cx.spawn_later(move |cx| (0..2).for_each(|n| to.write(cx, n)));
            cx.spawn_later(move |cx| from.iter(cx).take(2).for_each(drop));
        });
        seen.take()
    });
    assert!(traces.contains("RRWW"), "{traces:?}");
    assert!(traces.contains("RWRW"), "{traces:?}");
    assert!(traces.iter().all(|trace| trace.starts_with('R')), "{traces:?}");
}

/// A circuit in which values go round: doubled until they are large enough.
fn round(cx: &leno_fibre::Cx<'_>, list: Rc<RefCell<Vec<u32>>>) {
    let mut circuit = Circuit::new();
    let (work, done) = (circuit.net::<u32>("work"), circuit.net("done"));
    circuit.add(iterate([3, 40]), &work);
    // Another fibre writes what goes round: a chip that reads and writes one net would wait for itself.
    type Doubles = Chip<(In<u32>, Out<u32>, Out<u32>)>;
    let doubles = Doubles::new("doubles", |cx, (inp, again, done)| {
        loop {
            let number = inp.read(cx);
            if number >= 100 {
                done.write(cx, number);
            } else {
                value(2 * number).start(cx, (*again).clone());
            }
        }
    });
    circuit.add(doubles, (&work, &work, &done));
    circuit.add(sink_to_list(list), &done);
    circuit.start(cx).unwrap();
}

#[test]
fn k55_networks_of_any_shape_are_built_of_chips_pins_and_wires() {
    let list: Rc<RefCell<Vec<u32>>> = Rc::default();
    let seen = list.clone();
    let ran = run(move |cx| round(cx, list));
    let mut values = seen.take();
    values.sort_unstable();
    assert_eq!(values, [160, 192]);
    // The circle is removed, because its ends are bound.
    assert!(ran.zombies().is_empty(), "{:?}", ran.zombies());
}

#[test]
fn k65_a_net_needs_a_reader_and_a_writer() {
    run(|cx| {
        let mut circuit = Circuit::new();
        let (a, b) = (circuit.net::<u32>("a"), circuit.net("b"));
        circuit.add(iterate(0..3), &a);
        circuit.add(function(|n: u32| n), (&a, &b));
        let error = circuit.start(cx).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("net 'b' has no reader, and 1 writer(s): "), "{text}");
        assert_eq!(cx.look().fibres().len(), 1, "nothing was started");
        let mut circuit = Circuit::new();
        let a = circuit.net::<u32>("a");
        circuit.add(sink(), &a);
        let error = circuit.start(cx).unwrap_err();
        assert_eq!(error, CircuitError::NoWriter { net: "a".into(), readers: 1 });
    });
}

#[test]
fn k65_internal_channels_are_forgotten() {
    let ran = run(|cx| {
        let mut circuit = Circuit::new();
        let (a, b) = (circuit.net::<u32>("a"), circuit.net::<u32>("b"));
        circuit.add(iterate(0..3), &a);
        circuit.add(buffer(), (&a, &b));
        circuit.add(buffer(), (&a, &b));
        circuit.add(sink(), &b);
        circuit.start(cx).unwrap();
        // The nets are still here, but know nothing.
        (a, b)
    });
    assert_eq!((ran.report().removed, ran.zombies().len()), (3, 0));
}

#[test]
fn k65_pins_may_lead_outside() {
    let ran = run(|cx| {
        let ((to, inp), (out, from)) = (channel(), channel());
        let mut circuit = Circuit::new();
        let middle = circuit.net("middle");
        circuit.add(function(|n: u32| n + 1), (inp, &middle));
        circuit.add(function(|n: u32| n * 10), (&middle, out));
        circuit.start(cx).unwrap();
        to.write(cx, 1);
        from.read(cx)
    });
    assert_eq!(ran.result(), Some(20));
}
