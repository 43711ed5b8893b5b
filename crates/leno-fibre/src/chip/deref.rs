//! Chips that are looked up in a variable when they are needed: the way to write a grammar that
//! speaks of itself.

use core::cell::RefCell;
use std::rc::Rc;

use super::Transducer;
use super::matcher::feed;
use crate::channel;

/// For each value starts the chip that the variable holds at the time, which reads that value.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{deref_each, function, iterate, sink_to_list};
/// use std::{cell::RefCell, rc::Rc};
///
/// let list = Rc::default();
/// let chip = Rc::new(RefCell::new(function(|n: u32| n + 1)));
/// let closed = iterate([1, 2]) | deref_each(chip.clone()) | sink_to_list(Rc::clone(&list));
/// chip.replace(function(|n| n * 100));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [100, 200]);
/// ```
pub fn deref_each<A: Clone + 'static, B: 'static>(
    variable: Rc<RefCell<Transducer<A, B>>>,
) -> Transducer<A, B> {
    Transducer::new("deref each", move |cx, (inp, out)| {
        loop {
            let input = inp.read(cx);
            let chip = variable.borrow().clone();
            feed(cx, &chip, input, &out);
        }
    })
}

/// With the first value starts the chip that the variable holds then, which reads all values.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{deref_first, iterate, oneshot, sink_to_list};
/// use std::{cell::RefCell, rc::Rc};
///
/// let list = Rc::default();
/// let chip = Rc::new(RefCell::new(oneshot()));
/// let closed = iterate([1, 2]) | deref_first(chip) | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [1]);
/// ```
pub fn deref_first<A: 'static, B: 'static>(
    variable: Rc<RefCell<Transducer<A, B>>>,
) -> Transducer<A, B> {
    Transducer::new("deref first", move |cx, (inp, out)| {
        let first = inp.read(cx);
        let (to, from) = channel();
        let chip = variable.borrow().clone();
        chip.start(cx, (from, out.unbind()));
        to.write(cx, first);
        loop {
            to.write(cx, inp.read(cx));
        }
    })
}
