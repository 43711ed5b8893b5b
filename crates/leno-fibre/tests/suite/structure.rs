//! What fibres are made of, and what can be done with them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::support::{Count, Notes};
use leno_fibre::{Cx, Event, In, Out, Runner, channel, duplex, isolated, run};
use leno_kernel::Outcome;

#[test]
fn k33_calls_push_returns_pop_and_frames_keep_their_place() {
    // Reads at every depth on the way down, and writes at every depth on the way up.
    fn walk(cx: &Cx<'_>, inp: &In<u32>, out: &Out<u32>, depth: u32) -> u32 {
        let here = inp.read(cx);
        let below = if depth > 0 { walk(cx, inp, out, depth - 1) } else { 0 };
        out.write(cx, here);
        here + below
    }
    let ran = run(|cx| {
        let ((to, inp), (out, from)) = (channel(), channel());
        let walker = cx.spawn(move |cx| walk(cx, &inp, &out, 9));
        (0..10).for_each(|n| to.write(cx, n));
        let up: Vec<u32> = from.iter(cx).take(10).collect();
        (up, walker.join(cx).unwrap())
    });
    assert_eq!(ran.result(), Some(((0..10).rev().collect(), 45)));
}

#[test]
fn k34_the_main_program_is_a_fibre() {
    let ran = run(|cx| {
        let (out, inp) = channel();
        let main = cx.co();
        cx.spawn(move |cx| {
            assert_eq!(cx.look().hungry(), [(main, out.object())]);
            out.write(cx, main);
        });
        inp.read(cx) == cx.co()
    });
    assert_eq!(ran.result(), Some(true));
}

#[test]
fn k36_a_run_inside_a_function_is_isolated() {
    fn primes(below: u32) -> Vec<u32> {
        let ran = isolated(move |cx| {
            let (out, inp) = channel();
            let others = (2..below).map(move |n| (n, (2..n).all(|d| n % d != 0)));
            cx.spawn(move |cx| others.for_each(|pair| out.write(cx, pair)));
            let inp = inp.closable();
            let all = std::iter::from_fn(|| inp.read(cx));
            all.filter(|(_, is_prime)| *is_prime).map(|(n, _)| n).collect()
        });
        assert!(ran.zombies().is_empty());
        ran.result().unwrap()
    }
    // The same arguments give the same result, whatever is around the call.
    let expected = [2, 3, 5, 7, 11, 13, 17, 19];
    assert_eq!(primes(20), expected);
    let ran = run(move |cx| {
        let (_out, inp) = channel::<u32>();
        cx.spawn(move |cx| inp.read(cx));
        cx.yield_now();
        primes(20)
    });
    assert_eq!(ran.result().unwrap(), expected);
}

#[test]
fn k37_control_passes_in_either_direction_whichever_way_data_goes() {
    // First the reader waits, then the writer: the value goes the same way.
    let order = |reader_first: bool| {
        let notes = Notes::default();
        let say = notes.clone();
        let ran = run(move |cx| {
            let (out, inp) = channel();
            let (read, write) = (say.clone(), say.clone());
            type Body = Box<dyn FnOnce(&Cx<'_>)>;
            let mut fibres: Vec<Body> = vec![
                Box::new(move |cx: &Cx<'_>| {
                    read.say("r");
                    read.say(format!("R{}", inp.read(cx)));
                }),
                Box::new(move |cx: &Cx<'_>| {
                    write.say("w");
                    out.write(cx, 7);
                    write.say("W");
                }),
            ];
            if !reader_first {
                fibres.reverse();
            }
            fibres.into_iter().for_each(|fibre| drop(cx.spawn(fibre)));
        });
        assert_eq!(ran.report().returned, 3);
        notes.all()
    };
    assert_eq!((order(true), order(false)), ("r w W R7".to_owned(), "w r R7 W".to_owned()));
}

#[test]
fn k38_the_events_are_spawn_suicide_and_entry_to_and_return_from_read_and_write() {
    let ran = Runner::new().log(1_000).run(|cx| {
        let (out, inp) = channel();
        let reader = cx.spawn(move |cx| {
            let _: u32 = inp.read(cx);
        });
        cx.yield_now();
        out.write(cx, 1);
        let hungry = cx.spawn(|cx| {
            let (_, inp) = channel::<u32>();
            inp.read(cx)
        });
        (out.object(), cx.co(), reader.co().unwrap(), hungry.co().unwrap())
    });
    let events = ran.events();
    let (channel, main, reader, hungry) = ran.result().unwrap();
    use Event::{Ends, EntersRead, EntersWrite, Returns, ReturnsRead, ReturnsWrite, Spawns};
    let own: Vec<_> = events
        .iter()
        .filter(|one| !matches!(one.event, EntersRead(other) if other != channel))
        .map(|one| (one.by, one.event))
        .collect();
    let expected = [
        (None, Spawns(main)),
        (Some(main), Spawns(reader)),
        (Some(reader), EntersRead(channel)),
        (Some(main), EntersWrite(channel)),
        (Some(main), ReturnsWrite(channel)),
        (Some(main), Spawns(hungry)),
        (Some(main), Returns),
        (Some(reader), ReturnsRead(channel)),
        (Some(reader), Returns),
        (Some(hungry), Ends(Outcome::Starved)),
    ];
    assert_eq!(own, expected);
}

#[test]
fn k56_spawn_run_channel_read_and_write() {
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        cx.spawn(move |cx| out.write(cx, 1));
        inp.read(cx)
    });
    assert_eq!(ran.result(), Some(1));
}

#[test]
fn k58_a_duplex_channel_carries_request_and_answer() {
    let ran = run(|cx| {
        let (client, server) = duplex::<String, usize>();
        cx.spawn_bound(server, |cx, server| server.serve(cx, |text| text.len()));
        let sizes: Vec<_> = ["a", "bcd"].map(|text| (client.clone(), text)).into_iter().collect();
        let calls: Vec<_> = sizes
            .into_iter()
            .map(|(client, text)| cx.spawn(move |cx| client.call(cx, text.to_owned())))
            .collect();
        drop(client);
        calls.into_iter().map(|call| call.join(cx).unwrap()).collect::<Vec<_>>()
    });
    assert_eq!((ran.report().removed, ran.zombies().len()), (1, 0), "the server has starved");
    assert_eq!(ran.result().unwrap(), [1, 3]);
}

/// Prints 1 to 10; `kept` says whether the creator keeps the channel.
fn demo(kept: bool) -> (String, u64, usize) {
    let notes = Notes::default();
    let print = notes.clone();
    let ran = run(move |cx| {
        let (out, inp) = channel();
        let keeps = kept.then(|| out.clone());
        cx.spawn(move |cx| (1..=10).for_each(|i| out.write(cx, i)));
        cx.spawn(move |cx| {
            loop {
                print.say(inp.read(cx));
            }
        });
        keeps
    });
    (notes.all(), ran.report().removed, ran.zombies().len())
}

#[test]
fn k59_the_demonstration_prints_1_to_10_and_ends() {
    assert_eq!(demo(false), ("1 2 3 4 5 6 7 8 9 10".to_owned(), 1, 0));
}

#[test]
fn k60_a_creator_that_returns_forgets_its_channels_and_one_that_keeps_them_makes_a_zombie() {
    assert_eq!(demo(false).2, 0);
    assert_eq!(demo(true), ("1 2 3 4 5 6 7 8 9 10".to_owned(), 0, 1));
}

#[test]
fn k62_a_program_ends_when_nothing_runs_and_nothing_from_outside_is_due() {
    // Time, a thread and a helper are outside events that are due.
    let ran = Runner::new().virtual_time().run(|cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| {
            leno_kernel::sleep(Duration::from_secs(3_600));
            out.write(cx, "late");
        });
        inp.read(cx)
    });
    assert_eq!(ran.result(), Some("late"));
    let ran = run(|_| {
        let (tx, rx) = leno_channel::shared::channel();
        let thread = std::thread::spawn(move || tx.send(5).unwrap());
        let got = rx.recv().unwrap();
        thread.join().unwrap();
        got
    });
    assert_eq!(ran.result(), Some(5));
    // Two wait for each other in a circle, and one of them for a helper before that: it is not removed.
    let ran = run(|cx| {
        let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
        cx.spawn_bound((in1, out2), |cx, (inp, out)| out.write(cx, inp.read(cx) + 1));
        let second = cx.spawn_bound((in2, out1), |cx, (inp, out)| {
            out.write(cx, leno_kernel::blocking(|| 6));
            inp.read(cx)
        });
        second.join(cx).unwrap()
    });
    assert_eq!((ran.report().removed, ran.result()), (0, Some(7)));
}

#[test]
fn k63_spawn_later_yield_kill_broadcast_ready_and_iterate() {
    let notes = Notes::default();
    let say = notes.clone();
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    let ran = Runner::new().reader_first().run(move |cx| {
        let later = say.clone();
        cx.spawn_later(move |_| later.say("later"));
        let soon = say.clone();
        cx.spawn(move |_| soon.say("soon"));
        say.say("spawner");
        cx.yield_now();
        say.say("after the yield");
        let (out, inp) = channel();
        let guard = Count(count.clone());
        let own = inp.clone();
        let endless = cx.spawn(move |cx| {
            let _guard = guard;
            own.iter(cx).for_each(drop)
        });
        assert!(out.ready() && !inp.ready());
        endless.kill();
        cx.yield_now();
        assert!(endless.is_finished() && !out.ready());
        let readers = [(); 3].map(|()| {
            let inp = inp.clone();
            cx.spawn(move |cx| inp.iter(cx).take(1).sum::<u32>())
        });
        assert_eq!(out.broadcast(cx, 4), 3);
        readers.map(|reader| reader.join(cx).unwrap())
    });
    assert_eq!(notes.all(), "soon spawner later after the yield");
    assert_eq!((dropped.get(), ran.result()), (1, Some([4; 3])));
}

#[test]
fn a_fibre_that_panics_ends_alone() {
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        let fails = cx.spawn(move |cx| {
            inp.read(cx);
            std::panic::resume_unwind(Box::new("oh"));
        });
        out.write(cx, 1);
        drop(out);
        fails.join(cx).map(|()| 0).unwrap_or(1)
    });
    assert_eq!((ran.report().panicked, ran.result()), (1, Some(1)));
    let failed = std::panic::catch_unwind(|| run(|_| std::panic::resume_unwind(Box::new("main"))));
    let payload = failed.map(|ran| ran.result().map(|(): ()| ())).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"main"));
}

#[test]
fn the_context_of_another_fibre_is_refused() {
    let ran = run(|cx| {
        let (_out, inp) = channel::<u32>();
        leno_kernel::scope(|scope| {
            let child = scope.spawn(|| inp.read(cx));
            let payload = child.join().unwrap_err().into_panic().unwrap();
            payload.downcast_ref::<String>().unwrap().clone()
        })
    });
    let text = ran.result().unwrap();
    assert!(text.contains("a fibre's context is its own"), "{text}");
}

#[test]
fn a_fibre_reads_inside_a_generator() {
    let ran = run(|cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| (1..=3).for_each(|n| out.write(cx, n)));
        // The whole chain waits: the generator, and the fibre that resumes it.
        leno_coroutine::scope(|scope| {
            let doubled = scope.coroutine(|co: &leno_coroutine::Suspender<(), u32>, ()| {
                (0..3).for_each(|_| co.suspend(2 * inp.read(cx)));
            });
            doubled.iter().collect::<Vec<_>>()
        })
    });
    assert_eq!(ran.result().unwrap(), [2, 4, 6]);
}

#[test]
fn a_body_that_catches_its_end_is_asked_again() {
    let tries = Rc::new(RefCell::new(0));
    let count = tries.clone();
    let ran = run(move |cx| {
        let (_, inp) = channel::<u32>();
        for _ in 0..3 {
            let read = std::panic::AssertUnwindSafe(|| inp.read(cx));
            assert!(std::panic::catch_unwind(read).is_err());
            *count.borrow_mut() += 1;
        }
        inp.read(cx)
    });
    assert_eq!((*tries.borrow(), ran.report().removed), (3, 1));
}

#[test]
fn fibres_without_a_stack_meet_those_with_one_and_end_by_being_dropped() {
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    let ran = run(move |cx| {
        let ((to, inp), (out, from)) = (channel::<u32>(), channel());
        let guard = Count(count.clone());
        let starves = cx.spawn_stackless(async move |cx| {
            let _guard = guard;
            loop {
                let value = inp.read_async(&cx).await;
                out.write_async(&cx, value + 1).await;
            }
        });
        (0..3).for_each(|n| {
            to.write(cx, n);
            assert_eq!(from.read(cx), n + 1);
        });
        drop(to);
        let starved = starves.join(cx).map(|(): ()| ()).unwrap_err().outcome();
        let (out, inp) = channel();
        let (guard, value) = (Count(count.clone()), Count(count.clone()));
        let blocks = cx.spawn_stackless(async move |cx| {
            let _guard = guard;
            out.write_async(&cx, value).await;
        });
        cx.yield_now();
        drop(inp);
        [starved, blocks.join(cx).unwrap_err().outcome()].map(Option::unwrap)
    });
    assert_eq!((ran.report().removed, dropped.get()), (2, 3));
    assert_eq!(ran.result(), Some([Outcome::Starved, Outcome::Blockaged]));
}
