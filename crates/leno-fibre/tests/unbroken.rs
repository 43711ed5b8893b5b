//! Runs end, and report, though destructors of fibres panic.

use std::cell::Cell;
use std::panic::{catch_unwind, panic_any};
use std::rc::Rc;

use leno_fibre::{channel, run};

/// Panics when it is dropped, unless something unwinds: that would end the process, as anywhere in Rust.
struct Bomb(Rc<Cell<u32>>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(std::thread::panicking(), "a destructor panics");
    }
}

#[test]
fn a_run_ends_though_an_unjoined_result_panics_when_it_is_dropped() {
    let dropped = Rc::new(Cell::new(0));
    let own = dropped.clone();
    let ran = run(move |cx| {
        for _ in 0..3 {
            let bomb = Bomb(own.clone());
            drop(cx.spawn(move |_| bomb));
        }
        cx.yield_now();
        5
    });
    assert_eq!((ran.report().returned, ran.report().failures.len()), (4, 3));
    assert_eq!((ran.result(), dropped.get()), (Some(5), 3));
}

#[test]
fn a_run_whose_first_fibre_panics_raises_that_though_other_payloads_panic() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("a payload's drop");
        }
    }
    let ran = catch_unwind(|| {
        run(|cx| {
            for _ in 0..2 {
                drop(cx.spawn(|_| panic_any(Payload)));
            }
            cx.yield_now();
            panic!("the first fibre");
        })
        .result()
    });
    assert_eq!(*ran.unwrap_err().downcast::<&str>().unwrap(), "the first fibre");
}

#[test]
fn a_run_ends_though_what_removed_fibres_hold_panics_when_it_is_dropped() {
    let dropped = Rc::new(Cell::new(0));
    let own = dropped.clone();
    let ran = run(move |cx| {
        // One that starves; one that is killed before it starts; one without a stack.
        let (out, inp) = channel::<u32>();
        let bomb = Bomb(own.clone());
        cx.spawn_bound(inp, move |cx, inp| {
            let _bomb = bomb;
            inp.read(cx)
        });
        let bomb = Bomb(own.clone());
        let unstarted = cx.spawn(move |_| drop(bomb));
        unstarted.kill();
        let (second, inp) = channel::<u32>();
        let bomb = Bomb(own.clone());
        cx.spawn_stackless_bound(inp, async move |cx, inp| {
            let _bomb = bomb;
            inp.read_async(&cx).await
        });
        cx.yield_now();
        drop((out, second));
        5
    });
    assert_eq!(dropped.get(), 3);
    assert_eq!((ran.report().removed + ran.report().panicked, ran.report().alive.len()), (3, 0));
    assert_eq!(ran.report().failures.len(), 2, "{:?}", ran.report().failures);
    assert_eq!(ran.result(), Some(5));
}
