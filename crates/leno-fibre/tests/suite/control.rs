//! What fibres do, and in which order, held against their control types.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{Random, explored};
use leno_explore::Explorer;
use leno_fibre::chip::*;
use leno_fibre::control::{ControlType, Event, Monitor};
use leno_fibre::{Cx, channel, named_channel, run};
use leno_kernel::Outcome;

fn control(text: &str) -> ControlType {
    text.parse().unwrap()
}

/// Feeds a chip with values drawn by lot and takes all that it writes, for a while. How it ended.
fn observed(chip: Transducer<u32, u32>, seed: u64) -> Option<Outcome> {
    let ran = run(move |cx| {
        let ((to, inp), (out, from)) = (channel(), channel());
        let fibre = chip.start(cx, (inp, out));
        cx.spawn(move |cx| {
            let mut random = Random(seed);
            (0..20).for_each(|_| to.write(cx, random.below(10) as u32));
        });
        cx.spawn(move |cx| from.iter(cx).for_each(drop));
        match fibre.join(cx) {
            Ok(()) => Outcome::Returned,
            Err(error) => error.outcome().unwrap(),
        }
    });
    ran.result()
}

#[test]
fn k40_what_fibres_show_for_any_input_is_in_their_types() {
    let chips = [
        function(|n: u32| n + 1),
        filter_map(|n: u32| n.checked_sub(5)),
        oneshot(),
        buffer(),
        expand(|n: u32, give| (0..n).for_each(give)),
        debug_buffer("seen", |_| ()),
        function(|n: u32| (n, n)).fuse(splitter()),
        joiner().fuse(function(|(a, b): (u32, u32)| a + b)),
        Transducer::new("pairs", |cx, (inp, out)| {
            loop {
                out.write(cx, inp.read(cx) + inp.read(cx));
            }
        })
        .of_type(&control("(RRW)+")),
    ];
    for chip in chips {
        assert!(chip.control_type().is_some());
        for seed in 0..20 {
            let outcome = observed(chip.clone().held(), seed);
            let expected = match chip.control_type() {
                Some(control) if control.is_one_shot() => Outcome::Returned,
                _ => Outcome::Starved,
            };
            assert_eq!(outcome, Some(expected), "{chip:?} with {seed}");
        }
    }
}

#[test]
fn k41_fibres_of_one_shots_end_by_themselves() {
    assert_eq!(observed(oneshot().held(), 1), Some(Outcome::Returned));
    let ran = run(|cx| {
        let (out, inp) = channel();
        let writes = value(1).held().start(cx, out);
        let reads = cx.spawner().control_type(&control("R")).spawn(move |cx| inp.read(cx));
        (writes.join(cx).is_ok(), reads.join(cx).unwrap())
    });
    assert_eq!(ran.result(), Some((true, 1)));
}

#[test]
fn k42_fibres_of_continuous_devices_end_by_starvation_or_blockage() {
    let ran = run(|cx| {
        let (out, inp) = channel();
        let endless = source(1).held().start(cx, out);
        inp.read(cx);
        drop(inp);
        let (out, inp) = channel();
        let drain = sink().held().start(cx, inp);
        out.write(cx, 1);
        drop(out);
        [endless, drain].map(|fibre| fibre.join(cx).unwrap_err().outcome().unwrap())
    });
    assert_eq!(ran.result(), Some([Outcome::Blockaged, Outcome::Starved]));
    // One that returns nevertheless does not keep to its type.
    let ran = run(|cx| {
        let ends = cx.spawner().control_type(&control("R+")).spawn(|_| ());
        ends.join(cx).unwrap_err().to_string()
    });
    let text = ran.result().unwrap();
    assert!(text.contains("`R+` does not allow"), "{text}");
}

#[test]
fn k43_a_function_keeps_to_its_type() {
    let chip = function(|n: u32| n);
    assert_eq!(chip.control_type(), Some(control("(RW)+")));
    assert_eq!(observed(chip.held(), 2), Some(Outcome::Starved));
}

#[test]
fn k44_a_partial_function_keeps_to_its_type() {
    let chip = filter(|n: &u32| n.is_multiple_of(3), |n| n);
    assert_eq!(chip.control_type(), Some(control("((R+)W)+")));
    assert_eq!(observed(chip.held(), 3), Some(Outcome::Starved));
}

#[test]
fn k46_a_fibre_that_does_not_keep_to_its_type_is_stopped_and_says_where() {
    let wrong = Transducer::new("wrong", |cx, (inp, out)| {
        loop {
            let n: u32 = inp.read(cx);
            (0..n).for_each(|n| out.write(cx, n));
        }
    });
    let ran = run(move |cx| {
        let ((to, inp), (out, from)) = (channel(), channel());
        let wrong = wrong.of_type(&control("(RW)+")).start(cx, (inp, out));
        cx.spawn(move |cx| [1, 1, 2].into_iter().for_each(|n| to.write(cx, n)));
        let read: Vec<_> = from.iter(cx).take(3).collect();
        (read, wrong.join(cx).unwrap_err().to_string())
    });
    let (read, text) = ran.result().unwrap();
    assert_eq!(read, [0, 0, 0], "what is allowed has happened");
    let expected =
        "`(RW)+` does not allow W as event 7: after W at column 3 it allows R at column 2";
    assert!(
        text.contains("does not keep to its control type: ") && text.ends_with(expected),
        "{text}"
    );
}

#[test]
fn k46_channels_are_ports_by_their_names() {
    let ran = run(|cx| {
        let ((ask_out, ask), (answer, answer_in)) =
            (named_channel::<u32>("ask"), named_channel("answer"));
        let server = cx.spawner().control_type(&control("(Rask Wanswer)+")).spawn(move |cx| {
            loop {
                answer.write(cx, ask.read(cx) + 1);
            }
        });
        ask_out.write(cx, 1);
        let answer = answer_in.read(cx);
        drop((ask_out, answer_in));
        (answer, server.join(cx).map(|(): ()| ()).unwrap_err().outcome())
    });
    assert_eq!(ran.result(), Some((2, Some(Outcome::Starved))));
}

#[test]
fn k46_stages_that_cannot_work_together_are_refused() {
    let misfit = value(1).try_pipe(joiner()).unwrap_err().to_string();
    let expected = "downstream `(RRW)+` can never write: after W/R it waits for ever to read, for \
                    upstream `W` has ended";
    assert_eq!(misfit, expected);
    let refused = std::panic::catch_unwind(|| drop(value(1) | joiner()));
    let text = *refused.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(text, format!("no pipeline: {expected}"));
}

/// What a pipeline of two functions reads and writes at its outer ends, for two values.
fn trace() -> Vec<char> {
    let trace: Rc<RefCell<Vec<char>>> = Rc::default();
    let seen = trace.clone();
    run(move |cx| {
        let ((to, inp), (between, middle), (out, from)) = (channel(), channel(), channel());
        let (reads, writes) = (trace.clone(), trace);
        let first = move |cx: &Cx<'_>| loop {
            let value: u32 = inp.read(cx);
            reads.borrow_mut().push('R');
            between.write(cx, value);
        };
        let second = move |cx: &Cx<'_>| loop {
            let value = middle.read(cx);
            writes.borrow_mut().push('W');
            out.write(cx, value);
        };
        cx.spawn_later(first);
        cx.spawn_later(second);
        cx.spawn_later(move |cx| (0..3).for_each(|n| to.write(cx, n)));
        cx.spawn_later(move |cx| from.iter(cx).for_each(drop));
    });
    seen.take()
}

#[test]
fn k52_what_a_pipeline_of_fibres_does_is_in_its_principal_type() {
    let principal = (function(|n: u32| n) | function(|n: u32| n)).control_type().unwrap();
    assert_eq!(principal.to_string(), "(R(RW)*W)+");
    let (traces, _) = explored(Explorer::new().runs(500), trace);
    for trace in &traces {
        let mut monitor = Monitor::new(&principal);
        for event in trace {
            let event = if *event == 'R' { Event::read("") } else { Event::write("") };
            monitor.step(&event).unwrap();
        }
    }
    // And more than one function alone may do.
    let function = control("(RW)+");
    assert!(principal.included_in(&function).is_err());
    assert!(traces.iter().any(|trace| trace.starts_with(&['R', 'R'])), "{traces:?}");
}
