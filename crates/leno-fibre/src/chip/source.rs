//! Chips that write.

use core::cell::RefCell;
use std::rc::Rc;

use super::{Source, typed};

/// A chip that never writes: whoever reads from it starves.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{readblock, sink};
///
/// let closed = readblock::<u32>() | sink();
/// let ran = leno_fibre::run(move |cx| closed.start(cx, ()).join(cx).is_err());
/// assert_eq!(ran.result(), Some(true));
/// ```
pub fn readblock<T: 'static>() -> Source<T> {
    Source::new("readblock", |_, _| {})
}

/// Writes the same value for ever.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::source, run};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     source('a').start(cx, out);
///     inp.iter(cx).take(3).collect::<String>()
/// });
/// assert_eq!(ran.result().unwrap(), "aaa");
/// ```
pub fn source<T: Clone + 'static>(value: T) -> Source<T> {
    Source::new("source", move |cx, out| {
        loop {
            out.write(cx, value.clone());
        }
    })
    .known(&typed::SOURCE)
}

/// Writes one value.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::value, run};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     value(5).start(cx, out);
///     inp.read(cx)
/// });
/// assert_eq!(ran.result(), Some(5));
/// ```
pub fn value<T: Clone + 'static>(value: T) -> Source<T> {
    Source::new("value", move |cx, out| out.write(cx, value.clone())).known(&typed::VALUE)
}

/// Writes what a closure makes, for ever.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::generator, run};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     let mut last = 0;
///     generator(move || { last += 2; last }).start(cx, out);
///     inp.iter(cx).take(3).collect::<Vec<_>>()
/// });
/// assert_eq!(ran.result().unwrap(), [2, 4, 6]);
/// ```
pub fn generator<T: 'static>(make: impl FnMut() -> T + Clone + 'static) -> Source<T> {
    Source::new("generator", move |cx, out| {
        let mut make = make.clone();
        loop {
            out.write(cx, make());
        }
    })
    .known(&typed::SOURCE)
}

/// Writes what an iterator gives, until it ends.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::iterate, run};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     iterate("abc".chars()).start(cx, out);
///     inp.iter(cx).take(3).collect::<String>()
/// });
/// assert_eq!(ran.result().unwrap(), "abc");
/// ```
pub fn iterate<I>(values: I) -> Source<I::Item>
where
    I: IntoIterator + Clone + 'static,
    I::Item: 'static,
{
    Source::new("iterate", move |cx, out| {
        values.clone().into_iter().for_each(|value| out.write(cx, value));
    })
    .known(&typed::LIST)
}

/// Writes the values of a list, and ends.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::list_source, run};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     list_source(vec![1, 2]).start(cx, out);
///     (inp.read(cx), inp.read(cx))
/// });
/// assert_eq!(ran.result(), Some((1, 2)));
/// ```
pub fn list_source<T: Clone + 'static>(list: Vec<T>) -> Source<T> {
    iterate(list).named("list source")
}

/// Writes the values of a list, each as `Some`, and then `None` for ever: the end of data as a value.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::bounded_list_source, run};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     bounded_list_source(vec!['x']).start(cx, out);
///     inp.iter(cx).take(3).collect::<Vec<_>>()
/// });
/// assert_eq!(ran.result().unwrap(), [Some('x'), None, None]);
/// ```
pub fn bounded_list_source<T: Clone + 'static>(list: Vec<T>) -> Source<Option<T>> {
    Source::new("bounded list source", move |cx, out| {
        list.iter().for_each(|value| out.write(cx, Some(value.clone())));
        loop {
            out.write(cx, None);
        }
    })
    .known(&typed::SOURCE)
}

/// Writes what a variable holds at the time, for ever.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::fetch, run};
/// use std::{cell::RefCell, rc::Rc};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     let variable = Rc::new(RefCell::new(1));
///     fetch(variable.clone()).start(cx, out);
///     let first = inp.read(cx);
///     variable.replace(2);
///     (first, inp.iter(cx).find(|n| *n == 2))
/// });
/// assert_eq!(ran.result(), Some((1, Some(2))));
/// ```
pub fn fetch<T: Clone + 'static>(variable: Rc<RefCell<T>>) -> Source<T> {
    Source::new("fetch", move |cx, out| {
        loop {
            let value = variable.borrow().clone();
            out.write(cx, value);
        }
    })
    .known(&typed::SOURCE)
}
