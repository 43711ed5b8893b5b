//! Flexible coroutines beside channels and fibres.

use std::sync::mpsc;
use std::time::Duration;

use leno::channel::{Named, shared};
use leno::fibre::channel;
use leno::flexible::{CallError, Me, State, System, spinning};

/// Waits until something is so.
fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn i01_a_flexible_coroutine_reads_a_channel() {
    let system = System::new();
    let (tx, rx) = shared::channel::<u32>().named("numbers");
    let reader = system.create("reader", move |me: &mut Me<u32, u32>| {
        loop {
            let factor = me.parameter().unwrap_or(1);
            let Ok(number) = rx.recv() else { return };
            me.detach(factor * number);
        }
    });
    let (hold, held) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let busy = system.create("busy", move |me: &mut Me<(), ()>| {
        let _ = begun.send(());
        // Keeps the system to itself: it does not park.
        let _ = held.recv();
        me.detach(());
    });
    std::thread::scope(|s| {
        let own = reader.clone();
        let caller = s.spawn(move || own.call(10));
        // It reads: parked, and still attached to the thread that has called it.
        until(|| reader.caller().is_some() && reader.state() == State::Parked);
        // The system is free for others meanwhile.
        let other = system.create("other", |me: &mut Me<(), &str>| me.detach("served"));
        assert_eq!(other.call(()).unwrap(), "served");
        // Somebody writes while another one has the system. The writer is not held up ..
        let busy = s.spawn(move || busy.call(()));
        begins.recv().unwrap();
        tx.send(4).unwrap();
        // .. but the reader waits for its turn, and its caller for the answer.
        assert!(!caller.is_finished());
        assert_ne!(reader.state(), State::Active);
        hold.send(()).unwrap();
        busy.join().unwrap().unwrap();
        assert_eq!(caller.join().unwrap().unwrap(), 40);

        // Nobody can write any more: the coroutine ends, and whoever calls it is told.
        let own = reader.clone();
        let caller = s.spawn(move || own.call(1));
        until(|| reader.caller().is_some() && reader.state() == State::Parked);
        drop(tx);
        assert!(matches!(caller.join().unwrap(), Err(CallError::NoAnswer { .. })));
    });
    assert_eq!(reader.state(), State::Terminated);
}

#[test]
fn i01_who_starves_inside_a_flexible_coroutine_is_removed_and_its_caller_told() {
    let system = System::new();
    let starving = system.create("starving", |me: &mut Me<bool, u32>| {
        let feeds = me.parameter().unwrap_or(false);
        let ran = leno::run(move |cx| {
            let (out, inp) = channel::<u32>();
            if feeds {
                cx.spawn(move |cx| out.write(cx, 7));
            } else {
                drop(out);
            }
            inp.read(cx)
        });
        if let Some(number) = ran.result() {
            me.detach(number);
        }
    });
    let fed = system.create("fed", |me: &mut Me<(), ()>| me.detach(()));
    assert!(matches!(starving.call(false), Err(CallError::NoAnswer { .. })));
    fed.call(()).unwrap();
}

#[test]
fn i04_a_fibre_calls_a_flexible_coroutine_and_other_fibres_run() {
    let system = System::new();
    let (tx, rx) = shared::channel::<u32>();
    // It answers only when a fibre of the caller's own thread has sent something.
    let adder = system.create(
        "adder",
        spinning(move |me: &mut Me<u32, u32>| {
            let first = me.parameter().unwrap_or(0);
            let second = rx.recv().unwrap_or(0);
            me.detach(first + second);
        }),
    );
    let ran = leno::run(move |cx| {
        let calls = cx.spawn(move |_| (1..=3).map(|n| adder.call(n).unwrap()).collect::<Vec<_>>());
        let (out, inp) = channel();
        cx.spawn(move |cx| [10, 20, 30].into_iter().for_each(|n| out.write(cx, n)));
        cx.spawn(move |cx| (0..3).for_each(|_| tx.send(inp.read(cx)).unwrap()));
        calls.join(cx).unwrap()
    });
    assert_eq!(ran.zombies().len(), 0);
    assert_eq!(ran.result().unwrap(), [11, 22, 33]);
}
