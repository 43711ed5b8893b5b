//! Chips that write.

use core::cell::RefCell;
use std::rc::Rc;

use super::one::{Feed, Flow, Give};
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

/// A source that is a machine.
fn machine<T: 'static>(name: &'static str, make: impl Fn() -> Feed<T> + 'static) -> Source<T> {
    Source::of_machine(name, Rc::new(make))
}

/// Gives what a closure makes, as long as someone takes it.
fn endless<T: 'static>(mut make: impl FnMut() -> T + 'static) -> Feed<T> {
    Box::new(move |others, give| {
        while give(make()) == Flow::On {
            others();
        }
    })
}

/// Gives all values, as long as someone takes them.
fn each<T>(values: impl IntoIterator<Item = T>, others: &mut dyn FnMut(), give: Give<'_, T>) {
    for value in values {
        if give(value) == Flow::Gone {
            return;
        }
        others();
    }
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
    machine("source", move || {
        let value = value.clone();
        endless(move || value.clone())
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
    machine("value", move || {
        let value = value.clone();
        Box::new(move |_, give| {
            give(value.clone());
        })
    })
    .known(&typed::VALUE)
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
    machine("generator", move || endless(make.clone())).known(&typed::SOURCE)
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
    iterate_with(move || values.clone())
}

/// The same of an iterator that cannot be cloned: it is made anew for each fibre.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, chip::iterate_with, run};
/// use std::io::BufRead;
///
/// let text: &[u8] = b"one\ntwo\n";
/// let ran = run(move |cx| {
///     let (out, inp) = channel();
///     iterate_with(move || text.lines().map_while(Result::ok)).start(cx, out);
///     inp.iter(cx).take(2).collect::<Vec<_>>()
/// });
/// assert_eq!(ran.result().unwrap(), ["one", "two"]);
/// ```
pub fn iterate_with<I>(make: impl Fn() -> I + 'static) -> Source<I::Item>
where
    I: IntoIterator + 'static,
    I::Item: 'static,
{
    let make = Rc::new(make);
    machine("iterate", move || {
        let make = make.clone();
        Box::new(move |others, give| each(make(), others, give))
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
    machine("bounded list source", move || {
        let list = list.clone();
        Box::new(move |others, give| {
            let values = list.clone().into_iter().map(Some);
            each(values.chain(core::iter::repeat_with(|| None)), others, give);
        })
    })
    .known(&typed::SOURCE)
}

/// Writes what a variable holds at the time, for ever. The variable is borrowed while its value is cloned: a `Clone` may
/// look at it, and neither change it nor let others do so.
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
    machine("fetch", move || {
        let variable = variable.clone();
        endless(move || variable.borrow().clone())
    })
    .known(&typed::SOURCE)
}
