//! Runs end, and report, though destructors of fibres panic.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::Command;
use std::rc::Rc;

use leno_fibre::chip::{fetch, sink, sink_to_unique_list};
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

/// The one case in which a destructor ends the process, as anywhere in Rust: it panics while its stack unwinds.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_removed_fibre_whose_destructor_panics_ends_the_process_and_says_so() {
    const CHILD: &str = "LENO_FIBRE_CHILD";
    struct Always;
    impl Drop for Always {
        fn drop(&mut self) {
            panic!("a destructor of a removed fibre");
        }
    }
    if std::env::var_os(CHILD).is_some() {
        run(|cx| {
            let (out, inp) = channel::<u32>();
            cx.spawn_bound(inp, |cx, inp| {
                let _always = Always;
                inp.read(cx)
            });
            cx.yield_now();
            drop(out);
        });
        return;
    }
    let (_crate, module) = module_path!().split_once("::").unwrap();
    let test = "a_removed_fibre_whose_destructor_panics_ends_the_process_and_says_so";
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("{module}::{test}"), "--nocapture"]).env(CHILD, "1");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), None, "it aborts: {} {said}", output.status);
    assert!(said.contains("a destructor of a removed fibre"), "{said}");
    assert!(said.contains("panic in a destructor during cleanup"), "{said}");
}

/// Does something to the list that it is in when it is compared, and to the variable when it is cloned.
struct Meddles(u32, Rc<dyn Fn()>);

impl PartialEq for Meddles {
    fn eq(&self, other: &Meddles) -> bool {
        (self.1)();
        self.0 == other.0
    }
}

impl Clone for Meddles {
    fn clone(&self) -> Meddles {
        (self.1)();
        Meddles(self.0, self.1.clone())
    }
}

type Listed = Rc<RefCell<Vec<Meddles>>>;

/// Fills a list with numbers of which some are equal, and that call `meddle`; how many fibres have panicked.
fn fill(list: &Listed, meddle: impl Fn() + 'static) -> u64 {
    let meddle: Rc<dyn Fn()> = Rc::new(meddle);
    let numbers = leno_fibre::chip::iterate_with(move || {
        let meddle = meddle.clone();
        [1, 2, 1, 3, 2].into_iter().map(move |n| Meddles(n, meddle.clone()))
    });
    let closed = numbers | sink_to_unique_list(list.clone());
    run(move |cx| drop(closed.start(cx, ()))).report().panicked
}

#[test]
fn a_list_may_be_looked_at_while_its_values_are_compared() {
    let (list, seen) = (Listed::default(), Rc::new(Cell::new(0)));
    let (own, sees) = (list.clone(), seen.clone());
    assert_eq!(fill(&list, move || sees.set(own.borrow().len())), 0);
    let numbers: Vec<_> = list.borrow().iter().map(|one| one.0).collect();
    assert_eq!((&numbers[..], seen.get()), (&[1, 2, 3][..], 3));
    list.take();
}

#[test]
fn values_that_change_what_they_are_in_end_their_own_fibre_only() {
    let list = Listed::default();
    let own = list.clone();
    assert_eq!(fill(&list, move || own.borrow_mut().clear()), 1);
    assert_eq!(list.take().len(), 1);

    let variable = Rc::new(RefCell::new(None));
    let own = variable.clone();
    let clears: Rc<dyn Fn()> = Rc::new(move || drop(own.replace(None::<Meddles>)));
    variable.replace(Some(Meddles(1, clears)));
    let closed = fetch(variable.clone()) | sink();
    assert_eq!(run(move |cx| drop(closed.start(cx, ()))).report().panicked, 1);
    assert!(variable.take().is_some());
}

#[test]
fn an_iteration_ends_with_the_panic_of_a_fibre_though_other_payloads_panic() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("a payload's drop");
        }
    }
    let source = leno_fibre::chip::Source::new("fails", |cx, _out| {
        for first in [true, false] {
            cx.spawn(move |_| if first { panic!("the first") } else { panic_any(Payload) });
        }
        cx.yield_now();
    });
    let mut values = (source | leno_fibre::chip::function(|n: u32| n)).into_iter();
    let raised = catch_unwind(AssertUnwindSafe(|| values.next())).unwrap_err();
    assert_eq!(*raised.downcast::<&str>().unwrap(), "the first");
}
