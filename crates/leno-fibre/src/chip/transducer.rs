//! Chips that read and write.

use core::cell::RefCell;
use core::fmt::Display;
use std::rc::{Rc, Weak};

use super::one::{Flow, Give, Step};
use super::{Chip, Sink, Transducer, fetch, typed};
use crate::{In, Out};

/// Writes what a function makes of each value.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{function, iterate, procedure};
///
/// let closed = iterate(1..=3) | function(|n: u32| n * n) | procedure(|n| println!("{n}"));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// ```
pub fn function<A: 'static, B: 'static>(
    f: impl FnMut(A) -> B + Clone + 'static,
) -> Transducer<A, B> {
    machine("function", move || {
        let mut f = f.clone();
        Box::new(move |value, give| give(f(value)))
    })
    .known(&typed::FUNCTION)
}

/// A transducer that is a machine.
fn machine<A: 'static, B: 'static>(
    name: &'static str,
    make: impl Fn() -> Step<A, B> + 'static,
) -> Transducer<A, B> {
    Transducer::of_machine(name, Rc::new(make))
}

/// Writes what a function makes of those values that meet a condition.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{filter, iterate, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let odd = filter(|n: &u32| n % 2 == 1, |n| n * 10);
/// let closed = iterate(1..=5) | odd | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [10, 30, 50]);
/// ```
pub fn filter<A: 'static, B: 'static>(
    mut condition: impl FnMut(&A) -> bool + Clone + 'static,
    mut f: impl FnMut(A) -> B + Clone + 'static,
) -> Transducer<A, B> {
    filter_map(move |value| condition(&value).then(|| f(value))).named("filter")
}

/// Writes what a partial function makes of those values for which it is defined.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{filter_map, iterate, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let digits = filter_map(|c: char| c.to_digit(10));
/// let closed = iterate("a1b2".chars()) | digits | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [1, 2]);
/// ```
pub fn filter_map<A: 'static, B: 'static>(
    f: impl FnMut(A) -> Option<B> + Clone + 'static,
) -> Transducer<A, B> {
    machine("filter", move || {
        let mut f = f.clone();
        Box::new(move |value, give| f(value).map_or(Flow::On, give))
    })
    .known(&typed::PARTIAL)
}

/// Writes as many values as a function gives for each.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{expand, iterate, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let words = expand(|line: &str, give| line.split(' ').for_each(|word| give(word.to_owned())));
/// let closed = iterate(["in the", "beginning"]) | words | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), ["in", "the", "beginning"]);
/// ```
pub fn expand<A: 'static, B: 'static>(
    f: impl FnMut(A, &mut dyn FnMut(B)) + Clone + 'static,
) -> Transducer<A, B> {
    machine("expand", move || {
        let mut f = f.clone();
        Box::new(move |value, give| all(give, |give| f(value, give)))
    })
    .known(&typed::EXPANDER)
}

/// Lets `f` give values until nobody takes them.
pub(super) fn all<T>(give: Give<'_, T>, f: impl FnOnce(&mut dyn FnMut(T))) -> Flow {
    let mut flow = Flow::On;
    f(&mut |value| {
        if flow == Flow::On {
            flow = give(value);
        }
    });
    flow
}

/// Writes each value as it is: a place for one more between two others.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{buffer, iterate, sink};
///
/// let closed = iterate(0..9) | buffer() | sink();
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// ```
pub fn buffer<T: 'static>() -> Transducer<T, T> {
    function(|value| value).named("buffer")
}

/// Writes each value to both of its outputs, the first first.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::dup, run};
///
/// run(|cx| {
///     let ((out, inp), (out1, in1), (out2, in2)) = (channel(), channel(), channel());
///     dup().start(cx, (inp, out1, out2));
///     out.write(cx, 1);
///     assert_eq!((in1.read(cx), in2.read(cx)), (1, 1));
/// });
/// ```
pub fn dup<T: Clone + 'static>() -> Chip<(In<T>, Out<T>, Out<T>)> {
    Chip::<(In<T>, Out<T>, Out<T>)>::new("dup", |cx, (inp, out1, out2)| {
        loop {
            let value: T = inp.read(cx);
            out1.write(cx, value.clone());
            out2.write(cx, value);
        }
    })
}

/// As [`buffer`]; says what it does, with a tag, by `say`.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{debug_buffer, iterate, sink};
///
/// let closed = iterate(1..=2) | debug_buffer("middle", |line| println!("{line}")) | sink();
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// ```
pub fn debug_buffer<T: Display + 'static>(
    tag: impl Into<String>,
    say: impl Fn(&str) + 'static,
) -> Transducer<T, T> {
    let (tag, say) = (tag.into(), Rc::new(say));
    machine("debug buffer", move || {
        let (tag, say) = (tag.clone(), say.clone());
        say(&format!("[{tag}] reads"));
        Box::new(move |value: T, give| {
            let text = format!("{value}");
            say(&format!("[{tag}] has read {text}"));
            let flow = give(value);
            if flow == Flow::On {
                say(&format!("[{tag}] has written {text}"));
                say(&format!("[{tag}] reads"));
            }
            flow
        })
    })
    .known(&typed::FUNCTION)
}

/// Writes one value, and ends.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, oneshot, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let closed = iterate(5..) | oneshot() | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [5]);
/// ```
pub fn oneshot<T: 'static>() -> Transducer<T, T> {
    machine("oneshot", || {
        Box::new(|value, give| {
            give(value);
            Flow::Gone
        })
    })
    .known(&typed::ONESHOT)
}

/// Writes the last value that it has read, as often as anyone reads; before the first there is
/// nothing to read. It takes values at any time.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::latch, run};
///
/// run(|cx| {
///     let ((set, inp), (out, get)) = (channel(), channel());
///     latch().start(cx, (inp, out));
///     set.write(cx, 1);
///     assert_eq!((get.read(cx), get.read(cx)), (1, 1));
///     set.write(cx, 2);
///     assert!(get.iter(cx).take(3).any(|n| n == 2));
/// });
/// ```
pub fn latch<T: Clone + 'static>() -> Transducer<T, T> {
    Transducer::new("latch", |cx, (inp, out)| {
        let variable = Rc::new(RefCell::new(inp.read(cx)));
        let weak: Weak<RefCell<T>> = Rc::downgrade(&variable);
        // It takes values as long as someone can read them.
        let takes = Sink::new("latch", move |cx, inp| {
            while weak.strong_count() > 0 {
                let value = inp.read(cx);
                weak.upgrade().map(|variable| variable.replace(value));
            }
        });
        takes.start(cx, inp.unbind());
        fetch(variable).call(cx, out);
    })
}

/// Reads one value of each input in turn, for ever, and writes it.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, serialise};
/// use leno_fibre::{channel, run};
///
/// let ran = run(|cx| {
///     let ((a_out, a), (b_out, b), (out, inp)) = (channel(), channel(), channel());
///     iterate(1..).start(cx, a_out);
///     iterate(100..).start(cx, b_out);
///     serialise().start(cx, (vec![a, b], out));
///     inp.iter(cx).take(4).collect::<Vec<_>>()
/// });
/// assert_eq!(ran.result().unwrap(), [1, 100, 2, 101]);
/// ```
pub fn serialise<T: 'static>() -> Chip<(Vec<In<T>>, Out<T>)> {
    Chip::<(Vec<In<T>>, Out<T>)>::new("serialise", |cx, (inputs, out)| {
        while !inputs.is_empty() {
            inputs.iter().for_each(|inp| out.write(cx, inp.read(cx)));
        }
    })
}

/// A pair in space as a sequence in time: writes both parts, one after the other.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, sink_to_list, splitter};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let closed = iterate([(1, 2), (3, 4)]) | splitter() | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [1, 2, 3, 4]);
/// ```
pub fn splitter<T: 'static>() -> Transducer<(T, T), T> {
    machine("splitter", || {
        Box::new(|(first, second), give| match give(first) {
            Flow::On => give(second),
            Flow::Gone => Flow::Gone,
        })
    })
    .known(&typed::SPLITTER)
}

/// A sequence in time as a pair in space: writes two values as one.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{iterate, joiner, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let closed = iterate(1..=4) | joiner() | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [(1, 2), (3, 4)]);
/// ```
pub fn joiner<T: 'static>() -> Transducer<T, (T, T)> {
    machine("joiner", || {
        let mut first = None;
        Box::new(move |value, give| match first.take() {
            Some(first) => give((first, value)),
            None => {
                first = Some(value);
                Flow::On
            }
        })
    })
    .known(&typed::JOINER)
}
