//! Chips that read.

use core::cell::RefCell;
use core::fmt::Display;
use std::rc::Rc;

use super::one::{Flow, Take};
use super::{Sink, typed};

/// A chip that never reads: whoever writes to it ends by blockage.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, writeblock};
///
/// let closed = iterate(1..) | writeblock();
/// let ran = leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(ran.report().removed, 1);
/// ```
pub fn writeblock<T: 'static>() -> Sink<T> {
    Sink::new("writeblock", |_, _| {})
}

/// Reads for ever, and forgets.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, sink};
///
/// let closed = iterate(0..100) | sink();
/// let ran = leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert!(ran.zombies().is_empty());
/// ```
pub fn sink<T: 'static>() -> Sink<T> {
    procedure(drop).named("sink")
}

/// Does something with each value.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, procedure};
///
/// let closed = iterate(0..3) | procedure(|n: i32| println!("{n}"));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// ```
pub fn procedure<T: 'static>(f: impl FnMut(T) + Clone + 'static) -> Sink<T> {
    let make = move || -> Take<T> {
        let mut f = f.clone();
        Box::new(move |value| {
            f(value);
            Flow::On
        })
    };
    Sink::of_machine("procedure", Rc::new(make)).known(&typed::SINK)
}

/// Appends each value to a list.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let closed = iterate(0..3) | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [0, 1, 2]);
/// ```
pub fn sink_to_list<T: 'static>(list: Rc<RefCell<Vec<T>>>) -> Sink<T> {
    procedure(move |value| list.borrow_mut().push(value)).named("sink to list")
}

/// Appends each value to a list, unless it is there. The list is borrowed while values are compared: a `PartialEq` may
/// look at it, and neither change it nor let others do so.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, sink_to_unique_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let closed = iterate("banana".chars()) | sink_to_unique_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), ['b', 'a', 'n']);
/// ```
pub fn sink_to_unique_list<T: PartialEq + 'static>(list: Rc<RefCell<Vec<T>>>) -> Sink<T> {
    let add = move |value| {
        let is_there = list.borrow().contains(&value);
        if !is_there {
            list.borrow_mut().push(value);
        }
    };
    procedure(add).named("sink to unique list")
}

/// Keeps the last value in a variable.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, store};
/// use std::{cell::RefCell, rc::Rc};
///
/// let last = Rc::new(RefCell::new(0));
/// let closed = iterate(1..=9) | store(last.clone());
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*last.borrow(), 9);
/// ```
pub fn store<T: 'static>(variable: Rc<RefCell<T>>) -> Sink<T> {
    procedure(move |value| drop(variable.replace(value))).named("store")
}

/// Says each value, with a tag, by `say`: for looking at a channel.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{debug_sink, iterate};
///
/// let closed = iterate(1..=2) | debug_sink("end", |line| println!("{line}"));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// ```
pub fn debug_sink<T: Display + 'static>(
    tag: impl Into<String>,
    say: impl Fn(&str) + 'static,
) -> Sink<T> {
    let (tag, say) = (tag.into(), Rc::new(say));
    procedure(move |value| say(&format!("[{tag}] {value}"))).named("debug sink")
}
