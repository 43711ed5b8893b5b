use std::any::Any;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::rc::Rc;

use super::{Panic, Section, call, dispose, try_dispose};

/// A payload whose `Drop` panics with another one, as often as it says.
struct Chain(usize, &'static std::thread::LocalKey<Cell<usize>>);

impl Drop for Chain {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
        if self.0 > 0 {
            resume_unwind(Box::new(Chain(self.0 - 1, self.1)));
        }
    }
}

#[test]
fn a_payload_whose_drop_panics_goes_no_further() {
    thread_local!(static DROPPED: Cell<usize> = const { Cell::new(0) });
    let raised = call(|| -> () { resume_unwind(Box::new(Chain(3, &DROPPED))) }).unwrap_err();
    drop(raised);
    assert_eq!(DROPPED.get(), 4);
}

#[test]
#[cfg_attr(miri, ignore = "it leaks on purpose")]
fn a_chain_of_payloads_without_end_is_leaked() {
    thread_local!(static DROPPED: Cell<usize> = const { Cell::new(0) });
    drop(Panic::new(Box::new(Chain(usize::MAX, &DROPPED))));
    assert_eq!(DROPPED.get(), super::PAYLOADS);
}

#[test]
fn a_value_whose_drop_panics_is_disposed_of() {
    thread_local!(static DROPPED: Cell<usize> = const { Cell::new(0) });
    dispose(Chain(1, &DROPPED));
    let raised = try_dispose(Chain(1, &DROPPED)).unwrap_err();
    assert!(raised.payload().is::<Chain>());
    drop(raised);
    assert_eq!(DROPPED.get(), 4);
}

#[test]
fn sections_nest_and_close() {
    let one = Section::open();
    let two = Section::open();
    drop(one);
    drop(two);
    let ran = Rc::new(Cell::new(false));
    call(|| ran.set(true)).unwrap();
    assert!(ran.get());
}

#[test]
fn messages_are_shown() {
    let shown = |payload: Box<dyn Any + Send>| format!("{:?}", Panic::new(payload));
    assert_eq!(shown(Box::new("text")), "Panic(\"text\")");
    assert_eq!(shown(Box::new(String::from("text"))), "Panic(\"text\")");
    assert_eq!(shown(Box::new(1)), "Panic(..)");
}
