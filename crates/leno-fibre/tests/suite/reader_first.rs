//! Programs whose exact trace is known under the policy that lets whoever is spawned run before its
//! spawner, and whoever reads before who writes.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::support::Notes;
use leno_fibre::chip::*;
use leno_fibre::{Bind, Cx, In, Out, Ran, Runner, channel, duplex};

fn run<R: 'static>(main: impl FnOnce(&Cx<'_>) -> R + 'static) -> Ran<R> {
    Runner::new().virtual_time().reader_first().run(main)
}

#[test]
fn k17_hello_reader_writer_done() {
    let notes = Notes::default();
    let say = notes.clone();
    run(move |cx| {
        say.say("Hello");
        let (out, inp) = channel();
        let (reader, writer) = (say.clone(), say.clone());
        cx.spawn(move |cx| {
            reader.say("R1");
            let _: u32 = inp.read(cx);
            reader.say("R2");
        });
        cx.spawn(move |cx| {
            writer.say("W1");
            out.write(cx, 1);
            writer.say("W2");
        });
        say.say("Done");
    });
    assert_eq!(notes.all(), "Hello R1 W1 R2 W2 Done");
}

#[test]
fn k23_a_chain_of_five_fibres_adds_one_each() {
    let notes = Notes::default();
    let say = notes.clone();
    run(move |cx| {
        let (first, mut inp) = channel();
        for _ in 0..5 {
            let (out, next) = channel();
            cx.spawn(move |cx| {
                for _ in 0..3 {
                    let n: u32 = inp.read(cx);
                    out.write(cx, n + 1);
                    leno_kernel::sleep(Duration::from_millis(100));
                }
            });
            inp = next;
        }
        cx.spawn(move |cx| [11, 21, 31].into_iter().for_each(|n| first.write(cx, n)));
        (0..3).for_each(|_| say.say(inp.read(cx)));
        say.say("done");
    });
    assert_eq!(notes.all(), "16 26 36 done");
}

#[test]
fn k37_a_subroutine_as_a_fibre() {
    let call = |write_first: bool| {
        let notes = Notes::default();
        let say = notes.clone();
        let ran = run(move |cx| {
            let ((argument, inp), (out, result)) = (channel(), channel());
            cx.spawn(move |cx| {
                let n: u32 = inp.read(cx);
                out.write(cx, n);
            });
            if write_first {
                argument.write(cx, 42);
                say.say(result.read(cx));
            } else {
                say.say(result.read(cx));
                argument.write(cx, 42);
            }
        });
        (notes.all(), ran.report().returned)
    };
    assert_eq!(call(true), ("42".to_owned(), 2));
    assert_eq!(call(false), (String::new(), 0), "both wait for each other, and the run ends");
    // With bound ends it is known that nobody else could help: both are removed, and nothing is left.
    let ran = run(|cx| {
        let ((argument, inp), (out, result)) = (channel::<u32>(), channel::<u32>());
        cx.spawn_bound((inp, out), |cx, (inp, out)| out.write(cx, inp.read(cx)));
        let (argument, result) = (argument.bind(cx), result.bind(cx));
        result.read(cx);
        argument.write(cx, 42);
    });
    assert_eq!((ran.report().removed, ran.zombies().len()), (2, 0));
}

#[test]
fn k59_a_writer_of_ten_and_a_reader_that_stops_at_ten() {
    let notes = Notes::default();
    let say = notes.clone();
    let ran = run(move |cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| (1..=10).for_each(|n| out.write(cx, n)));
        cx.spawn(move |cx| {
            while {
                let n = inp.read(cx);
                say.say(n);
                n < 10
            } {}
        });
    });
    assert_eq!(notes.all(), "1 2 3 4 5 6 7 8 9 10");
    assert_eq!((ran.report().returned, ran.report().removed), (3, 0));
}

#[test]
fn k58_a_duplex_channel_as_a_function() {
    let ran = run(|cx| {
        let (client, server) = duplex::<u32, u32>();
        cx.spawn(move |cx| server.serve_one(cx, |n| n + 2));
        client.call(cx, 40)
    });
    assert_eq!(ran.result(), Some(42));
}

#[test]
fn k63_a_broadcaster_with_a_list_of_subscribers() {
    let lines: Rc<RefCell<Vec<Vec<u32>>>> = Rc::new(RefCell::new(vec![Vec::new(); 2]));
    let seen = lines.clone();
    let ran = run(move |cx| {
        let (subscribe, subscribers) = channel::<Out<u32>>();
        let (news, feed) = channel();
        for n in 0..2 {
            let (subscribe, lines) = (subscribe.clone(), lines.clone());
            cx.spawn(move |cx| {
                let (out, inp) = channel();
                subscribe.write(cx, out);
                inp.iter(cx).for_each(|line| lines.borrow_mut()[n].push(line));
            });
        }
        drop(subscribe);
        cx.spawn(move |cx| {
            let all: Vec<Out<u32>> = subscribers.iter(cx).take(2).collect();
            feed.iter(cx).for_each(|line| all.iter().for_each(|out| out.write(cx, line)));
        });
        (0..10).for_each(|n| news.write(cx, n));
    });
    assert_eq!(*seen.borrow(), [(0..10).collect::<Vec<_>>(), (0..10).collect()]);
    assert!(ran.zombies().is_empty(), "{:?}", ran.zombies());
}

#[test]
fn k62_what_is_due_later_keeps_the_program() {
    let notes = Notes::default();
    let say = notes.clone();
    run(move |cx| {
        let later = say.clone();
        cx.spawn(move |_| {
            leno_kernel::sleep(Duration::from_secs(5));
            later.say("Hello world!");
        });
        say.say("Continuing on!");
    });
    assert_eq!(notes.all(), "Continuing on! Hello world!");
}

/// Passes on what its prime does not divide, to a filter that it spawns for the first of these.
fn sieve(cx: &Cx<'_>, inp: In<u32>, primes: Out<u32>) {
    let prime = inp.read(cx);
    primes.write(cx, prime);
    let (out, rest) = channel();
    cx.spawn(move |cx| sieve(cx, rest, primes));
    inp.iter(cx).filter(|n| n % prime != 0).for_each(|n| out.write(cx, n));
}

#[test]
fn k28_a_sieve_of_filters_that_spawn_filters() {
    let ran = run(|cx| {
        let ((out, inp), (primes_out, primes)) = (channel(), channel());
        cx.spawn(move |cx| (2..50).for_each(|n| out.write(cx, n)));
        cx.spawn(move |cx| sieve(cx, inp, primes_out));
        let primes = primes.closable();
        std::iter::from_fn(|| primes.read(cx)).collect::<Vec<_>>()
    });
    assert!(ran.zombies().is_empty(), "{:?}", ran.zombies());
    assert_eq!(ran.result().unwrap(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]);
}

/// Matches a word at a position of a text.
fn word(text: &'static str, wanted: &'static str) -> Transducer<usize, usize> {
    filter_map(move |at: usize| text.get(at..)?.starts_with(wanted).then_some(at + wanted.len()))
}

/// Where a matcher ends on a text, from its beginning; `None` if nothing comes.
fn ends(matcher: Transducer<usize, usize>) -> Option<usize> {
    let ran = run(move |cx| {
        let ((to, inp), (out, from)) = (channel(), channel());
        matcher.start(cx, (inp, out));
        cx.spawn(move |cx| to.write(cx, 0));
        from.read(cx)
    });
    assert!(ran.zombies().is_empty());
    ran.result()
}

#[test]
fn k47_a_matcher_of_words_is_silent_where_nothing_matches() {
    assert_eq!(ends(word("hello", "hello")), Some(5));
    assert_eq!(ends(word("hello world", "hello")), Some(5));
    assert_eq!(ends(word("bad input", "hello")), None, "the first fibre starves, the program ends");
}

#[test]
fn k50_hello_white_world_built_four_ways() {
    const TEXT: &str = "hello world";
    let parts = || [word(TEXT, "hello"), one_or_more(word(TEXT, " ")), word(TEXT, "world")];
    let [a, b, c] = parts();
    assert_eq!(ends((a | b) | c), Some(11));
    let [a, b, c] = parts();
    assert_eq!(ends(a | (b | c)), Some(11));
    assert_eq!(ends(pipeline_list(parts())), Some(11));
    let circuit = Transducer::new("circuit", move |cx, (inp, out)| {
        let [a, b, c] = parts();
        let mut circuit = Circuit::new();
        let (behind_a, behind_b) = (circuit.net("behind hello"), circuit.net("behind white"));
        circuit.add(a, (inp.unbind(), &behind_a));
        circuit.add(b, (&behind_a, &behind_b));
        circuit.add(c, (&behind_b, out.unbind()));
        circuit.start(cx).unwrap();
    });
    assert_eq!(ends(circuit), Some(11));
}
