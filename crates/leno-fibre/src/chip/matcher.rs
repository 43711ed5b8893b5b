//! Chips that match: of each value they write every way in which it can go on, or none.
//!
//! A matcher of texts reads a position and writes the position behind what it has matched; if nothing
//! matches, it writes nothing. So alternatives are tried by starting all of them, and there is no
//! going back: whoever cannot go on is removed.

use super::{Transducer, buffer, pipeline_list, value};
use crate::{BoundOut, Cx, channel};

/// Writes what each of several chips makes of each value, in their order. A chip is started anew for
/// every value, which it reads once.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{filter, function, iterate, sink_to_list, try_all};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let ways = try_all([function(|n: u32| n + 1), filter(|n: &u32| n % 2 == 0, |n| n / 2)]);
/// let closed = iterate([4, 5]) | ways | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// let mut ways = list.borrow().clone();
/// ways.sort();
/// assert_eq!(ways, [2, 5, 6]);
/// ```
pub fn try_all<A: Clone + 'static, B: 'static>(
    alternatives: impl IntoIterator<Item = Transducer<A, B>>,
) -> Transducer<A, B> {
    let alternatives: Vec<_> = alternatives.into_iter().collect();
    Transducer::new("try all", move |cx, (inp, out)| {
        loop {
            let input: A = inp.read(cx);
            alternatives.iter().for_each(|way| feed(cx, way, input.clone(), &out));
        }
    })
}

/// Starts a chip for one value. Another fibre writes that one, because the chip need not read it.
pub(super) fn feed<A: Clone + 'static, B: 'static>(
    cx: &Cx<'_>,
    chip: &Transducer<A, B>,
    input: A,
    out: &BoundOut<'_, B>,
) {
    let (to, from) = channel();
    // What the chip writes to is another end of the same channel, which is then bound to it.
    chip.start(cx, (from, (**out).clone()));
    value(input).start(cx, to);
}

/// Writes each value as it is: matches nothing, and always.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{epsilon, iterate, sink};
///
/// let closed = iterate(0..3) | epsilon() | sink();
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// ```
pub fn epsilon<T: 'static>() -> Transducer<T, T> {
    buffer().named("epsilon")
}

/// What a matcher makes of each value, and the value itself.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{function, iterate, optional, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let closed = iterate([1]) | optional(function(|n: u32| n + 1)) | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [2, 1]);
/// ```
pub fn optional<T: Clone + 'static>(matcher: Transducer<T, T>) -> Transducer<T, T> {
    try_all([matcher, epsilon()]).named("optional")
}

/// A matcher once, and again after each match, as often as it matches.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{filter, iterate, one_or_more, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let step = filter(|n: &u32| *n < 3, |n| n + 1);
/// let closed = iterate([0]) | one_or_more(step) | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [1, 2, 3]);
/// ```
pub fn one_or_more<T: Clone + 'static>(matcher: Transducer<T, T>) -> Transducer<T, T> {
    Transducer::new("one or more", move |cx, pins| {
        let again = pipeline_list([matcher.clone(), one_or_more(matcher.clone())]);
        try_all([matcher.clone(), again]).call(cx, pins);
    })
}

/// The value itself, and what [`one_or_more`] makes of it.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{filter, iterate, sink_to_list, zero_or_more};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let step = filter(|n: &u32| *n < 2, |n| n + 1);
/// let closed = iterate([0]) | zero_or_more(step) | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [0, 1, 2]);
/// ```
pub fn zero_or_more<T: Clone + 'static>(matcher: Transducer<T, T>) -> Transducer<T, T> {
    try_all([epsilon(), one_or_more(matcher)]).named("zero or more")
}
