//! Turns that are handed on, without the core's loop in between: nobody can tell, but by the clock.
#![cfg(not(loom))]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leno_coroutine::Coroutine;
use leno_kernel::{
    LocalSystem, Options, Outcome, Reason, Start, System, attach, cancel, current, park, sleep,
    spawn_local, try_spawn_local, unpark, yield_now,
};

/// More than are handed on in a row.
const TURNS: usize = if cfg!(miri) { 30 } else { 100 };

type Order = Rc<RefCell<Vec<String>>>;

fn note(order: &Order, text: impl Into<String>) {
    order.borrow_mut().push(text.into());
}

#[test]
fn turns_are_taken_in_the_order_of_the_queue() {
    let (system, order) = (LocalSystem::new(), Order::default());
    for name in ["a", "b", "c"] {
        let order = order.clone();
        drop(system.spawn(move || {
            for turn in 0..TURNS {
                note(&order, format!("{name}{turn}"));
                yield_now();
            }
        }));
    }
    system.run().unwrap();
    let expected = (0..TURNS).flat_map(|turn| ["a", "b", "c"].map(|name| format!("{name}{turn}")));
    assert_eq!(*order.borrow(), expected.collect::<Vec<_>>());
}

#[test]
fn whoever_ends_or_panics_after_a_hand_on_is_the_one_that_is_told() {
    let system = LocalSystem::new();
    let all: Vec<_> = (0..9)
        .map(|i| {
            system.spawn(move || {
                for _ in 0..i {
                    yield_now();
                }
                assert!(i % 3 != 1, "{i} fails");
                i
            })
        })
        .collect();
    let report = system.run().unwrap();
    assert_eq!(report.panicked, 3);
    for (i, one) in all.into_iter().enumerate() {
        match one.join() {
            Ok(value) => assert!(value == i && i % 3 != 1),
            Err(error) => {
                assert!(i % 3 == 1 && error.to_string().contains("panicked"), "{i}: {error}")
            }
        }
    }
}

#[test]
#[cfg_attr(leno_baton, ignore = "native: finds coroutines by their stacks")]
fn a_generator_in_the_middle_is_parked_with_its_coroutine() {
    let (system, order) = (LocalSystem::new(), Order::default());
    for name in ["x", "y"] {
        let order = order.clone();
        drop(system.spawn(move || {
            let numbers = Coroutine::new(|co, ()| {
                for i in 0..3 {
                    yield_now();
                    co.suspend(i);
                }
            });
            for i in numbers.iter() {
                note(&order, format!("{name}{i}"));
            }
        }));
    }
    system.run().unwrap();
    assert_eq!(*order.borrow(), ["x0", "y0", "x1", "y1", "x2", "y2"]);
}

#[test]
fn exits_reach_those_who_were_handed_on_to() {
    struct Falls(Rc<Cell<u32>>);
    impl Drop for Falls {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let (system, fallen) = (LocalSystem::new(), Rc::new(Cell::new(0)));
    let endless: Vec<_> = (0..4)
        .map(|_| {
            let falls = Falls(fallen.clone());
            system.spawn(move || {
                let _falls = falls;
                loop {
                    yield_now();
                }
            })
        })
        .collect();
    let ids: Vec<_> = endless.iter().map(|one| one.co().unwrap()).collect();
    drop(system.spawn(move || {
        for id in ids {
            yield_now();
            cancel(id);
        }
    }));
    let report = system.run().unwrap();
    assert_eq!((report.exited, fallen.get()), (4, 4));
    for one in endless {
        assert_eq!(one.join().unwrap_err().outcome(), Some(Outcome::Exited));
    }
}

#[test]
fn a_turn_on_top_of_another_ends_there() {
    let (system, order) = (LocalSystem::new(), Order::default());
    let own = order.clone();
    drop(system.spawn(move || {
        let other = own.clone();
        drop(spawn_local(move || {
            for i in 0..3 {
                note(&other, format!("other {i}"));
                yield_now();
            }
        }));
        yield_now();
        let inner = own.clone();
        let eager = Options::new().start(Start::Eager);
        let child = try_spawn_local(&eager, move || {
            note(&inner, "child");
            yield_now();
            note(&inner, "child again");
        })
        .unwrap();
        note(&own, "parent");
        yield_now();
        drop(child);
        let parked = spawn_local(|| {
            park(Reason::Passive);
        });
        let co = parked.co().unwrap();
        attach(co).unwrap();
        note(&own, "attached");
        unpark(co);
    }));
    system.run().unwrap();
    let expected = ["other 0", "child", "parent", "other 1", "child again", "attached", "other 2"];
    assert_eq!(*order.borrow(), expected);
}

#[test]
fn timers_and_mail_are_seen_while_others_hand_on() {
    let system = LocalSystem::new();
    let stop = Rc::new(Cell::new(0));
    for _ in 0..2 {
        let stop = stop.clone();
        drop(system.spawn(move || {
            while stop.get() < 2 {
                yield_now();
            }
        }));
    }
    let slept = stop.clone();
    drop(system.spawn(move || {
        sleep(Duration::from_millis(5));
        slept.set(slept.get() + 1);
    }));
    let woken = stop.clone();
    drop(system.spawn(move || {
        let own = current().unwrap();
        let waker = std::thread::spawn(move || unpark(own));
        park(Reason::Passive);
        waker.join().unwrap();
        woken.set(woken.get() + 1);
    }));
    system.run().unwrap();
    assert_eq!(stop.get(), 2);
}

#[test]
fn cores_of_a_system_hand_on_too() {
    let system = System::new(2).unwrap();
    let (count, turns) = if cfg!(miri) { (5, 5) } else { (50, 100) };
    let all: Vec<_> = (0..count)
        .map(|i: u64| {
            system.spawn(move || {
                (0..turns).for_each(|_| yield_now());
                i
            })
        })
        .collect();
    let sum: u64 = all.into_iter().map(|one| one.join().unwrap()).sum();
    assert_eq!(sum, (0..count).sum());
}
