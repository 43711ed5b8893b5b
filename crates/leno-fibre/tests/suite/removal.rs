//! Whom nobody can ever wake is removed, and nobody else.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::support::{Count, Notes};
use leno_fibre::{Bind, Cx, In, Out, Ran, channel, named_channel, parcels, run};
use leno_kernel::Outcome;

fn figures<R>(ran: &Ran<R>) -> (u64, u64, usize) {
    (ran.report().returned, ran.report().removed, ran.zombies().len())
}

#[test]
fn k21_running_and_active_fibres_and_their_callers_are_roots() {
    // Deep in calls, a fibre that runs knows an end that is in one of its callers' variables.
    fn deep(cx: &Cx<'_>, depth: u32) {
        if depth > 0 {
            deep(cx, depth - 1);
            return;
        }
        assert_eq!(cx.sweep(), 0, "somebody who can be woken was removed");
        cx.yield_now();
        assert_eq!(cx.sweep(), 0, "whoever is active is a root, too");
    }
    let ran = run(|cx| {
        let (out, inp) = channel();
        let hungry = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        let knows = cx.spawn_bound(out, |cx, out| {
            deep(cx, 20);
            out.write(cx, 7);
        });
        cx.yield_now();
        knows.join(cx).unwrap();
        hungry.join(cx).unwrap()
    });
    assert_eq!(ran.result(), Some(7));
}

#[test]
fn k22_a_channel_that_is_known_through_data_is_reachable() {
    struct Holder {
        ends: Vec<Option<Box<Out<u32>>>>,
    }
    let ran = run(|cx| {
        let (out, inp) = channel();
        let holder = Holder { ends: vec![None, Some(Box::new(out))] };
        let hungry = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        cx.yield_now();
        assert_eq!(cx.sweep(), 0);
        holder.ends[1].as_ref().unwrap().write(cx, 3);
        // The same for ends in a vector that are bound.
        let (out, inp) = channel();
        cx.spawn_bound(vec![out], |cx, outs| {
            cx.yield_now();
            outs[0].write(cx, 4);
        });
        let next = cx.spawn_bound(vec![inp], |cx, ins| ins[0].read(cx));
        cx.yield_now();
        assert_eq!(cx.sweep(), 0);
        hungry.join(cx).unwrap() + next.join(cx).unwrap()
    });
    assert_eq!(ran.result(), Some(7));
}

#[test]
fn k22_an_end_on_its_way_is_known_to_whoever_can_receive_it() {
    let ran = run(|cx| {
        let (post, letters) = parcels::<Out<u32>>();
        let (out, inp) = channel();
        let hungry = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        cx.spawn_bound((post, out), |cx, (post, out)| post.send(cx, out));
        cx.yield_now();
        // The sender waits for a receiver; the end is in the channel.
        assert_eq!(cx.sweep(), 0);
        cx.spawn_bound(letters, |cx, letters| letters.receive(cx).write(cx, 5));
        hungry.join(cx).unwrap()
    });
    assert_eq!(ran.result(), Some(5));
    // Whoever could receive it waits for the sender: both, and who needs the end, are removed.
    let ran = run(|cx| {
        let (post, letters) = parcels::<Out<u32>>();
        let ((out, inp), (first, before)) = (channel(), channel::<()>());
        cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        cx.spawn_bound((post, out, first), |cx, (post, out, first)| {
            post.send(cx, out);
            first.write(cx, ());
        });
        cx.spawn_bound((letters, before), |cx, (letters, before)| {
            before.read(cx);
            letters.receive(cx).write(cx, 5);
        });
    });
    assert_eq!(figures(&ran), (1, 3, 0), "{:?}", ran.zombies());
}

#[test]
fn k23_a_chain_of_five_is_reachable_through_its_first_link() {
    let ran = run(|cx| {
        let (first, mut inp) = channel();
        for _ in 0..5 {
            let (out, next) = channel();
            cx.spawn_bound((inp, out), |cx, (inp, out)| out.write(cx, inp.read(cx) + 1));
            inp = next;
        }
        let last = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        let holds = cx.spawn_bound(first, |cx, first| {
            cx.yield_now();
            assert_eq!(cx.sweep(), 0, "each waits for the one before, and this is the first");
            first.write(cx, 10);
        });
        holds.join(cx).unwrap();
        last.join(cx).unwrap()
    });
    assert_eq!(ran.result(), Some(15));
}

#[test]
fn k24_what_cannot_be_reached_is_removed_without_being_asked() {
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    let ran = run(move |cx| {
        let mut most = 0;
        for made in 1..=1_000 {
            // Two in a circle, that nobody else knows.
            let ((a_out, a_in), (b_out, b_in)) = (channel::<()>(), channel::<()>());
            for (inp, out) in [(a_in, b_out), (b_in, a_out)] {
                let guard = Count(count.clone());
                cx.spawn_bound((inp, out), move |cx, (inp, out)| {
                    let _guard = guard;
                    inp.read(cx);
                    out.write(cx, ());
                });
            }
            cx.yield_now();
            most = most.max(2 * made - count.get());
        }
        assert!(most < 300, "{most} were alive at a time");
        cx.look().channels().len()
    });
    assert_eq!(figures(&ran), (1, 2_000, 0));
    assert_eq!(dropped.get(), 2_000);
    assert!(ran.result().unwrap() < 300, "channels go, too");
}

#[test]
fn k25_suicide_a_fibre_ends_when_its_body_returns() {
    let ran = run(|cx| {
        let fibre = cx.spawn(|_| "done");
        cx.yield_now();
        assert!(fibre.is_finished());
        fibre.join(cx).unwrap()
    });
    assert_eq!((figures(&ran), ran.result()), ((2, 0, 0), Some("done")));
}

#[test]
fn k26_starvation_removes_a_fibre_that_is_hungry_for_nothing() {
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        let hungry = cx.spawn(move |cx| inp.read(cx));
        cx.yield_now();
        assert!(!hungry.is_finished());
        drop(out);
        let error = hungry.join(cx).unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::Starved));
        // Who comes after the last writer has gone starves as well.
        let (out, inp) = channel::<u32>();
        drop(out);
        cx.spawn(move |cx| inp.read(cx)).join(cx).unwrap_err().outcome()
    });
    assert_eq!((figures(&ran), ran.result()), ((1, 2, 0), Some(Some(Outcome::Starved))));
}

#[test]
fn k27_blockage_removes_a_fibre_whose_value_nobody_will_read() {
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    let ran = run(move |cx| {
        let (out, inp) = channel();
        let value = Count(count);
        let blocked = cx.spawn(move |cx| out.write(cx, value));
        cx.yield_now();
        assert!(!blocked.is_finished());
        drop(inp);
        blocked.join(cx).unwrap_err().outcome()
    });
    assert_eq!((figures(&ran), dropped.get()), ((1, 1, 0), 1));
    assert_eq!(ran.result(), Some(Some(Outcome::Blockaged)));
}

#[test]
fn k28_removal_releases_what_was_held_and_removes_others_in_turn() {
    let notes = Notes::default();
    struct Says(Notes, usize);
    impl Drop for Says {
        fn drop(&mut self) {
            self.0.say(self.1);
        }
    }
    let say = notes.clone();
    let ran = run(move |cx| {
        let (first, mut inp) = channel::<u32>();
        for n in 1..=4 {
            let (out, next) = channel();
            let guard = Says(say.clone(), n);
            cx.spawn(move |cx| {
                let _guard = guard;
                inp.iter(cx).for_each(|value| out.write(cx, value));
            });
            inp = next;
        }
        cx.yield_now();
        drop(first);
        inp.iter(cx).for_each(drop);
    });
    assert_eq!((figures(&ran), notes.all()), ((0, 5, 0), "1 2 3 4".to_owned()));
}

#[test]
fn k29_a_circle_is_removed_also_when_it_was_closed_later() {
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    let ran = run(move |cx| {
        let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
        for (inp, out) in [(in1, out2), (in2, out1)] {
            let guard = Count(count.clone());
            cx.spawn_bound((inp, out), move |cx, (inp, out)| {
                let _guard = guard;
                out.write(cx, inp.read(cx));
            });
        }
    });
    assert_eq!((figures(&ran), dropped.get()), ((1, 2, 0), 2));
    // Each passes its own end to the other by post.
    let ran = run(|cx| {
        let ((post1, letters1), (post2, letters2)) = (parcels::<Out<u32>>(), parcels::<Out<u32>>());
        cx.spawn_bound((post1, letters2), |cx, (post, letters)| {
            let (out, inp) = channel::<u32>();
            post.send(cx, out.bind(cx));
            let other = letters.receive(cx);
            let inp = inp.bind(cx);
            other.write(cx, inp.read(cx));
        });
        cx.spawn_bound((post2, letters1), |cx, (post, letters)| {
            let (out, inp) = channel::<u32>();
            let other = letters.receive(cx);
            post.send(cx, out.bind(cx));
            let inp = inp.bind(cx);
            other.write(cx, inp.read(cx));
        });
    });
    assert_eq!(figures(&ran), (1, 2, 0), "{:?}", ran.zombies());
}

#[test]
fn c11_free_ends_in_a_circle_are_zombies_and_bound_ones_are_removed() {
    let circle = |is_bound: bool| {
        run(move |cx| {
            let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
            for (inp, out) in [(in1, out2), (in2, out1)] {
                if is_bound {
                    cx.spawn_bound((inp, out), |cx, (inp, out)| out.write(cx, inp.read(cx)));
                } else {
                    cx.spawn(move |cx| out.write(cx, inp.read(cx)));
                }
            }
        })
    };
    assert_eq!(figures(&circle(true)), (1, 2, 0));
    assert_eq!(figures(&circle(false)), (1, 0, 2));
}

#[test]
fn k30_a_livelocked_fibre_stays_and_is_reported_with_who_could_wake_it() {
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    let (kept, inp) = named_channel::<u32>("kept");
    let ran = run(move |cx| {
        let guard = Count(count);
        cx.spawner().name("waits").spawn_bound(inp, move |cx, inp| {
            let _guard = guard;
            inp.read(cx)
        });
        cx.yield_now();
        assert_eq!((cx.sweep(), cx.look().hungry().len()), (0, 1), "it stays while the run lasts");
    });
    assert_eq!((figures(&ran), dropped.get()), ((1, 0, 1), 1), "and ends with it");
    let zombie = &ran.zombies()[0];
    assert_eq!(zombie.channel(), Some(kept.object()));
    assert_eq!(zombie.known_to, ["the world"]);
    let text = zombie.to_string();
    assert!(text.starts_with("'waits' is waiting to receive from channel 'kept'"), "{text}");
    assert!(text.ends_with("; it could be woken by the world"), "{text}");
    // One zombie that could wake another is named.
    let ran = run(|cx| {
        let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
        cx.spawner().name("first").spawn_bound((in1, out2), |cx, (inp, out)| {
            out.write(cx, inp.read(cx));
        });
        cx.spawner().name("second").spawn_bound(in2, |cx, inp| inp.read(cx));
        out1
    });
    let known: Vec<_> = ran.zombies().iter().map(|zombie| zombie.known_to.join(" and ")).collect();
    assert_eq!(known, ["the world", "fibre 'first'"]);
}

#[test]
fn k31_a_livelocked_fibre_is_removed_when_the_last_one_forgets_its_channel() {
    for is_bound in [false, true] {
        let ran = run(move |cx| {
            let (out, inp) = channel::<u32>();
            let kept = Rc::new(RefCell::new(vec![out.clone(), out]));
            let waits = match is_bound {
                true => cx.spawn_bound(inp, |cx, inp| inp.read(cx)),
                false => cx.spawn(move |cx| inp.read(cx)),
            };
            cx.yield_now();
            kept.borrow_mut().pop();
            cx.yield_now();
            assert!(!waits.is_finished(), "someone knows it");
            kept.borrow_mut().pop();
            cx.yield_now();
            assert!(waits.is_finished(), "nobody does");
        });
        assert_eq!(figures(&ran), (1, 1, 0));
    }
}

#[test]
fn c3_plain_ends_starve_and_closable_ends_are_told() {
    let ran = run(|cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| (0..3).for_each(|n| out.write(cx, n)));
        let inp = inp.closable();
        let mut read = Vec::new();
        while let Some(n) = inp.read(cx) {
            read.push(n);
        }
        // The writers are removed, in a circle; the reader is told.
        let ((out1, in1), (out2, in2), (out, inp)) =
            (channel::<u32>(), channel(), channel::<u32>());
        for (inp, out2, out) in [(in1, out2, out.clone()), (in2, out1, out)] {
            cx.spawn_bound((inp, out2, out), |cx, (inp, other, out)| {
                let n = inp.read(cx);
                other.write(cx, n);
                out.write(cx, n);
            });
        }
        let told = cx.spawn_bound(inp.closable(), |cx, inp| inp.read(cx));
        (read, told.join(cx).unwrap())
    });
    assert_eq!(figures(&ran), (3, 2, 0));
    assert_eq!(ran.result(), Some((vec![0, 1, 2], None)));
}

/// In a pipeline of fibres, each removed in turn, the last one is told and goes on.
#[test]
fn k63_a_closable_end_is_iterated_to_its_end() {
    let ran = run(|cx| {
        let ((lines, each_line), (words, each_word)) = (channel(), channel());
        cx.spawn(move |cx| ["a b", "", "c"].into_iter().for_each(|line| lines.write(cx, line)));
        cx.spawn(move |cx| {
            each_line
                .iter(cx)
                .flat_map(str::split_whitespace)
                .for_each(|word| words.write(cx, word));
        });
        let each_word = each_word.closable();
        let read: String = each_word.iter(cx).collect();
        (read, each_word.iter(cx).next())
    });
    assert_eq!(figures(&ran), (2, 1, 0));
    assert_eq!(ran.result(), Some(("abc".to_owned(), None)));
}

#[test]
fn ends_of_an_outer_run_are_never_thought_unreachable() {
    // The inner run's first fibre has a free end that was made outside, and bound nowhere.
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        let ((bound_out, bound_in), got) = (channel::<u32>(), Rc::new(Cell::new(0)));
        cx.spawn_bound(bound_in, |cx, inp| inp.read(cx));
        cx.yield_now();
        let sum = got.clone();
        let inner = run(move |cx| {
            let hungry = cx.spawn_bound(inp, |cx, inp: leno_fibre::BoundIn<'_, u32>| inp.read(cx));
            cx.yield_now();
            assert_eq!(cx.sweep(), 0);
            out.write(cx, 8);
            sum.set(hungry.join(cx).unwrap());
        });
        assert_eq!(figures(&inner), (2, 0, 0));
        // An end whose channel is in the outer run's book is used in an inner one.
        let inner = run(move |cx| {
            cx.spawn_bound(bound_out, |cx, out| out.write(cx, 1));
        });
        (got.get(), inner.report().removed + inner.report().zombies)
    });
    // The reader of the outer run is matched by the inner one's writer.
    assert_eq!(ran.result(), Some((8, 0)));
}

#[test]
fn a_channel_of_a_run_that_is_over_is_known_to_the_next() {
    let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
    for _ in 0..2 {
        let (out1, in1, out2, in2) = (out1.clone(), in1.clone(), out2.clone(), in2.clone());
        let ran = run(move |cx| {
            cx.spawn_bound((in1, out2), |cx, (inp, out)| out.write(cx, inp.read(cx)));
            cx.spawn_bound((in2, out1), |cx, (inp, out)| out.write(cx, inp.read(cx)));
        });
        assert_eq!(figures(&ran), (1, 0, 2), "someone outside has ends of both");
    }
    let ran = run(move |cx| {
        cx.spawn_bound((in1, out2), |cx, (inp, out)| out.write(cx, inp.read(cx)));
        cx.spawn_bound((in2, out1), |cx, (inp, out)| out.write(cx, inp.read(cx)));
    });
    assert_eq!(figures(&ran), (1, 2, 0), "nobody outside has");
}

#[test]
fn a_channel_may_have_free_and_bound_ends() {
    let ran = run(|cx| {
        let (out, inp): (Out<u32>, In<u32>) = channel();
        let free = out.clone();
        let hungry = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        cx.spawn_bound(out, |cx, out| {
            // A clone of a bound end that leaves the fibre is free.
            let escaped: Out<u32> = (*out).clone();
            cx.spawn(move |cx| {
                cx.yield_now();
                drop(escaped);
            });
        });
        drop(free);
        cx.yield_now();
        cx.yield_now();
        assert_eq!(cx.sweep(), 0);
        assert!(!hungry.is_finished());
    });
    assert_eq!(figures(&ran), (3, 1, 0));
}
