//! Circles through joins, closable ends and fibres without a stack.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use crate::support::{Count, Random};
use leno_explore::Explorer;
use leno_fibre::{Bind, Closable, Fibre, In, Out, Ran, Runner, channel, parcels, run};
use leno_kernel::{Outcome, Reason, State};

fn figures<R>(ran: &Ran<R>) -> (u64, u64, usize) {
    (ran.report().returned, ran.report().removed, ran.zombies().len())
}

#[test]
fn k29_a_circle_through_a_join_ends_and_who_joins_is_told() {
    // Waits for the end of one that waits for what it alone could write.
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        let out = out.bind(cx);
        let hungry = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        let told = hungry.join(cx).unwrap_err().outcome();
        drop(out);
        told
    });
    assert_eq!(figures(&ran), (1, 1, 0), "{:?}", ran.zombies());
    assert_eq!(ran.result(), Some(Some(Outcome::Starved)));
    // The same along two joins: the innermost gives way, and the others return.
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        let out = out.bind(cx);
        let blocked = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        let joins = cx.spawn(move |cx| blocked.join(cx).is_err());
        let told = joins.join(cx).unwrap();
        drop(out);
        told
    });
    assert_eq!((figures(&ran), ran.result()), ((2, 1, 0), Some(true)));
}

#[test]
fn k29_a_join_whose_other_someone_could_wake_is_left_alone() {
    // A free end: the world could wake it.
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        cx.spawner().name("hungry").spawn_bound(inp, |cx, inp| inp.read(cx)).join(cx).unwrap();
        drop(out);
    });
    assert_eq!(figures(&ran), (0, 0, 2));
    let known: Vec<_> = ran.zombies().iter().map(|zombie| zombie.known_to.join(" and ")).collect();
    assert_eq!(known, ["the end of fibre 'hungry'", "the world"]);
    // A third one could wake it, when its time has come.
    let ran = Runner::new().virtual_time().run(|cx| {
        let (out, inp) = channel();
        let own = out.clone().bind(cx);
        let hungry = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        cx.spawn_bound(out, |cx, out| {
            leno_kernel::sleep(Duration::from_secs(60));
            out.write(cx, 7);
        });
        let got = hungry.join(cx).unwrap();
        drop(own);
        got
    });
    assert_eq!((figures(&ran), ran.result()), ((3, 0, 0), Some(7)));
}

#[test]
fn c3_in_a_circle_the_writers_give_way_and_a_closable_end_is_told() {
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    let ran = run(move |cx| {
        let ((out1, in1), (out2, in2), (out3, in3)) = (channel(), channel(), channel());
        let reader = cx.spawn_bound((in1.closable(), out2, out3), |cx, (inp, two, three)| {
            let told: Option<u32> = inp.read(cx);
            drop(two);
            three.write(cx, 5);
            told
        });
        let guard = Count(count);
        cx.spawn_bound((in2, out1), move |cx, (inp, out)| {
            let _guard = guard;
            out.write(cx, inp.read(cx));
        });
        // It could be woken by the reader once that goes on, so it stays, and is.
        let fed = cx.spawn_bound(in3, |cx, inp| inp.read(cx));
        (reader.join(cx).unwrap(), fed.join(cx).unwrap())
    });
    assert_eq!((figures(&ran), dropped.get()), ((3, 1, 0), 1), "{:?}", ran.zombies());
    assert_eq!(ran.result(), Some((None, 5)));
    // The end is on its way, in a parcel that its reader alone could take.
    let ran = run(|cx| {
        let (post, letters) = parcels::<Out<u32>>();
        let (out, inp) = channel::<u32>();
        cx.spawn_bound((post, out), |cx, (post, out)| post.send(cx, out));
        let reads = cx.spawn_bound((inp.closable(), letters), |cx, (inp, letters)| {
            let told = inp.read(cx);
            drop(letters);
            told
        });
        reads.join(cx).unwrap()
    });
    assert_eq!((figures(&ran), ran.result()), ((2, 1, 0), Some(None)));
}

#[test]
fn c3_a_circle_of_ends_that_all_wait_to_be_told_is_reported() {
    let ran = run(|cx| {
        let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
        for (name, inp, out) in [("chicken", in1, out2), ("egg", in2, out1)] {
            cx.spawner().name(name).spawn_bound((inp.closable(), out), |cx, (inp, out)| {
                if let Some(value) = inp.read(cx) {
                    out.write(cx, value);
                }
            });
        }
    });
    assert_eq!(figures(&ran), (1, 0, 2));
    let known: Vec<_> = ran.zombies().iter().map(|zombie| zombie.known_to.join(" and ")).collect();
    assert_eq!(known, ["fibre 'egg'", "fibre 'chicken'"]);
    assert!(ran.zombies().iter().all(|zombie| zombie.channel().is_some()));
    let text = ran.zombies()[0].to_string();
    assert!(text.contains("or for its close"), "{text}");
}

#[test]
fn k12_who_waits_at_a_closable_end_is_hungry() {
    run(|cx| {
        let (out, inp) = channel::<u32>();
        let reader = cx.spawn(move |cx| inp.closable().read(cx));
        cx.yield_now();
        assert_eq!(cx.look().hungry(), [(reader.co().unwrap(), out.object())]);
        drop(out);
        assert_eq!(reader.join(cx).unwrap(), None);
    });
}

#[test]
fn k29_fibres_without_a_stack_are_removed_in_a_circle() {
    let dropped = Rc::new(Cell::new(0));
    for (first, second) in [(false, true), (true, false), (false, false)] {
        let count = dropped.clone();
        let ran = run(move |cx| {
            let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
            for (has_stack, inp, out) in [(first, in1, out2), (second, in2, out1)] {
                let guard = Count(count.clone());
                if has_stack {
                    cx.spawn_bound((inp, out), move |cx, (inp, out)| {
                        let _guard = guard;
                        out.write(cx, inp.read(cx));
                    });
                } else {
                    cx.spawn_stackless_bound((inp, out), async move |cx, (inp, out)| {
                        let _guard = guard;
                        out.write_async(&cx, inp.read_async(&cx).await).await;
                    });
                }
            }
        });
        assert_eq!(figures(&ran), (1, 2, 0), "{:?}", ran.zombies());
    }
    assert_eq!(dropped.get(), 6);
}

#[test]
fn k27_a_fibre_without_a_stack_whose_value_nobody_can_read_is_removed_by_blockage() {
    let ran = run(|cx| {
        let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
        let writes = cx.spawn_stackless_bound((out1, in2), async |cx, (out, _inp)| {
            out.write_async(&cx, 1).await;
        });
        let other = cx.spawn_bound((out2, in1), |cx, (out, _inp)| out.write(cx, 1));
        [writes.join(cx), other.join(cx)].map(|end| end.unwrap_err().outcome())
    });
    assert_eq!(figures(&ran), (1, 2, 0), "{:?}", ran.zombies());
    assert_eq!(ran.result(), Some([Some(Outcome::Blockaged); 2]));
}

/// Polls both until one is ready.
async fn either<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Pending => other.as_mut().poll(context),
        ready => ready,
    })
    .await
}

/// Waits for a time.
async fn sleep(time: Duration) {
    let due = leno_kernel::layer::deadline_in(time);
    let mut alarm = None;
    poll_fn(|context| match leno_kernel::now() >= due {
        true => Poll::Ready(()),
        false => {
            alarm.get_or_insert_with(|| leno_kernel::layer::Alarm::set(due, context));
            Poll::Pending
        }
    })
    .await;
}

#[test]
fn k23_a_fibre_without_a_stack_that_waits_for_either_of_two_is_reached_by_both() {
    for served in [0, 1] {
        let ran = run(move |cx| {
            let (mut outs, mut ins) = (Vec::new(), Vec::new());
            (0..2).for_each(|_| {
                let (out, inp) = channel::<u32>();
                outs.push(Some(out));
                ins.push(inp);
            });
            // In a circle with it by one channel; by the other it is served.
            let (back, answer) = channel::<u32>();
            let out = outs[1 - served].take().unwrap();
            cx.spawn_bound((out, answer), |cx, (out, answer)| out.write(cx, answer.read(cx)));
            let waits = cx.spawn_stackless_bound((ins, back), async |cx, (ins, _back)| {
                either(ins[0].read_async(&cx), ins[1].read_async(&cx)).await
            });
            let serves = outs[served].take().unwrap().bind(cx);
            (0..3).for_each(|_| cx.yield_now());
            assert_eq!(cx.sweep(), 0, "it can be woken");
            serves.write(cx, 9);
            waits.join(cx).unwrap()
        });
        assert_eq!((figures(&ran), ran.result()), ((2, 1, 0), Some(9)));
    }
}

#[test]
fn k29_a_fibre_without_a_stack_that_something_else_could_wake_is_left_alone() {
    // Time could: it stays until then, and is removed when it waits at the channel alone.
    let ran = Runner::new().virtual_time().run(|cx| {
        let (out, inp) = channel::<u32>();
        let waits = cx.spawn_stackless_bound((inp, out), async |cx, (inp, _out)| {
            let late = async {
                sleep(Duration::from_secs(5)).await;
                7
            };
            let first = either(inp.read_async(&cx), late).await;
            assert_eq!(first, 7);
            inp.read_async(&cx).await
        });
        cx.yield_now();
        assert_eq!(cx.sweep(), 0);
        let end = waits.join(cx).unwrap_err().outcome();
        (end, leno_kernel::now().as_nanos())
    });
    assert_eq!((ran.report().removed, ran.zombies().len()), (1, 0), "{:?}", ran.zombies());
    assert_eq!(ran.result(), Some((Some(Outcome::Starved), 5_000_000_000)));
    // Another thread could, as long as it has the waker.
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        let (tx, rx) = leno_channel::shared::channel();
        let thread = std::thread::spawn(move || tx.send(3).unwrap());
        let waits = cx.spawn_stackless_bound((inp, out), async move |cx, (inp, _out)| {
            let outside = async { rx.recv_async().await.unwrap() };
            either(inp.read_async(&cx), outside).await
        });
        let got = waits.join(cx).unwrap();
        thread.join().unwrap();
        got
    });
    assert_eq!((figures(&ran), ran.result()), ((2, 0, 0), Some(3)));
}

#[test]
fn a_fibre_without_a_stack_may_have_an_executor_of_its_own() {
    // Whoever polls the read has a waker of its own, and wants to be woken itself.
    struct Inner {
        woken: std::sync::atomic::AtomicBool,
        outer: std::sync::Mutex<Option<std::task::Waker>>,
    }
    impl std::task::Wake for Inner {
        fn wake(self: std::sync::Arc<Self>) {
            self.woken.store(true, std::sync::atomic::Ordering::SeqCst);
            self.outer.lock().unwrap().take().unwrap().wake();
        }
    }
    let ran = run(|cx| {
        let (out, inp) = channel::<u32>();
        let waits = cx.spawn_stackless_bound(inp, async |cx, inp| {
            let inner = std::sync::Arc::new(Inner {
                woken: true.into(),
                outer: std::sync::Mutex::default(),
            });
            let mut read = pin!(inp.read_async(&cx));
            poll_fn(|context| {
                *inner.outer.lock().unwrap() = Some(context.waker().clone());
                // It polls only who was woken by its own waker.
                if !inner.woken.swap(false, std::sync::atomic::Ordering::SeqCst) {
                    return Poll::Pending;
                }
                let waker = inner.clone().into();
                read.as_mut().poll(&mut std::task::Context::from_waker(&waker))
            })
            .await
        });
        cx.yield_now();
        assert_eq!(cx.sweep(), 0);
        out.write(cx, 4);
        waits.join(cx).unwrap()
    });
    assert_eq!(ran.result(), Some(4));
}

/// What a fibre of a network does next.
#[derive(Clone, Copy)]
enum Step {
    Read(usize),
    Expect(usize),
    Write(usize),
    Join,
}

type Ends = (Vec<In<u32>>, Vec<Closable<u32>>, Vec<Out<u32>>);

/// A network drawn by lot, with bound ends only. Of who is left, someone waits to be told.
fn network(seed: u64) {
    let mut random = Random(seed);
    let channels = 1 + random.below(4);
    let mut step = |_| match random.below(6) {
        0 | 1 => Step::Read(random.below(channels)),
        2 => Step::Expect(random.below(channels)),
        3 | 4 => Step::Write(random.below(channels)),
        _ => Step::Join,
    };
    let scripts: Vec<Vec<Step>> = (0..5).map(|n| (0..1 + n % 4).map(&mut step).collect()).collect();
    let ran = run(move |cx| {
        let ends: Vec<(Out<u32>, In<u32>)> = (0..channels).map(|_| channel()).collect();
        let mut before: Option<Fibre<()>> = None;
        for script in scripts {
            let mut own: Ends = Default::default();
            // Each step has an end of its own, so that what is behind is forgotten.
            for step in script.iter().rev() {
                match step {
                    Step::Read(at) => own.0.push(ends[*at].1.clone()),
                    Step::Expect(at) => own.1.push(ends[*at].1.clone().closable()),
                    Step::Write(at) => own.2.push(ends[*at].0.clone()),
                    Step::Join => {}
                }
            }
            let mut joins = before.take();
            before = Some(cx.spawn_bound(own, move |cx, (mut reads, mut expects, mut writes)| {
                for step in script {
                    match step {
                        Step::Read(_) => drop(reads.pop().unwrap().read(cx)),
                        Step::Expect(_) => drop(expects.pop().unwrap().read(cx)),
                        Step::Write(_) => writes.pop().unwrap().write(cx, 1),
                        Step::Join => drop(joins.take().map(|other| other.join(cx))),
                    }
                }
            }));
        }
    });
    let is_told = |state| matches!(state, State::Parked(Reason::Expecting(_) | Reason::Joining(_)));
    let told = ran.zombies().iter().any(|zombie| is_told(zombie.alive.state));
    assert!(ran.zombies().is_empty() || told, "{seed}: {:?}", ran.zombies());
}

#[test]
fn k32_networks_with_joins_and_closable_ends_always_return() {
    (0..1_000).for_each(network);
    Explorer::new().runs(60).check(|| (0..10).for_each(network));
}
