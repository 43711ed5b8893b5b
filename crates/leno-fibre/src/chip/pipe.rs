//! Pipelines: the output of one chip is the input of the next.
//!
//! A pipeline of transducers is *open*: it is a transducer. With a source before it or a sink after it
//! it is *partly open*, with both *closed*. Piping is associative: only the order of the chips counts.
//! Each chip of a pipeline is one fibre: the last one runs in the fibre of the whole.

use core::ops::BitOr;

use super::{Chip, Sink, Source, Transducer, buffer};
use crate::bind::Bind;
use crate::channel;

/// Connects a chip with the next.
///
/// # Examples
/// The four forms.
/// ```
/// use leno_fibre::chip::{Chip, Pipe, Sink, Source, Transducer, buffer, iterate, sink};
///
/// let open: Transducer<i32, i32> = buffer().pipe(buffer());
/// let source: Source<i32> = iterate(0..3).pipe(open.clone());
/// let drain: Sink<i32> = open.pipe(sink());
/// let closed: Chip<()> = source.pipe(drain);
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// ```
pub trait Pipe<Next> {
    /// Both as one.
    type Piped;

    /// Writes to the input of `next` what this one writes.
    fn pipe(self, next: Next) -> Self::Piped;
}

impl<A: 'static, B: 'static, C: 'static> Pipe<Transducer<B, C>> for Transducer<A, B> {
    type Piped = Transducer<A, C>;

    fn pipe(self, next: Transducer<B, C>) -> Transducer<A, C> {
        Transducer::new(next.name().clone(), move |cx, (inp, out)| {
            let (between, from) = channel();
            self.start(cx, (inp.unbind(), between));
            next.call(cx, (from.bind(cx), out));
        })
    }
}

impl<A: 'static, B: 'static> Pipe<Transducer<A, B>> for Source<A> {
    type Piped = Source<B>;

    fn pipe(self, next: Transducer<A, B>) -> Source<B> {
        Source::new(next.name().clone(), move |cx, out| {
            let (between, from) = channel();
            self.start(cx, between);
            next.call(cx, (from.bind(cx), out));
        })
    }
}

impl<A: 'static, B: 'static> Pipe<Sink<B>> for Transducer<A, B> {
    type Piped = Sink<A>;

    fn pipe(self, next: Sink<B>) -> Sink<A> {
        Sink::new(next.name().clone(), move |cx, inp| {
            let (between, from) = channel();
            self.start(cx, (inp.unbind(), between));
            next.call(cx, from.bind(cx));
        })
    }
}

impl<A: 'static> Pipe<Sink<A>> for Source<A> {
    type Piped = Chip<()>;

    fn pipe(self, next: Sink<A>) -> Chip<()> {
        Chip::<()>::new(next.name().clone(), move |cx, ()| {
            let (between, from) = channel();
            self.start(cx, between);
            next.call(cx, from.bind(cx));
        })
    }
}

impl<P: Bind, Q: Bind> BitOr<Chip<Q>> for Chip<P>
where
    Chip<P>: Pipe<Chip<Q>>,
{
    type Output = <Chip<P> as Pipe<Chip<Q>>>::Piped;

    fn bitor(self, next: Chip<Q>) -> Self::Output {
        self.pipe(next)
    }
}

/// A pipeline of any number of transducers; of none, a [`buffer`].
///
/// # Examples
/// ```
/// use leno_fibre::chip::{function, iterate, pipeline_list, sink_to_list};
/// use std::rc::Rc;
///
/// let list = Rc::default();
/// let five = pipeline_list(vec![function(|n: u32| n + 1); 5]);
/// let closed = iterate([10, 20]) | five | sink_to_list(Rc::clone(&list));
/// leno_fibre::run(move |cx| closed.start(cx, ()));
/// assert_eq!(*list.borrow(), [15, 25]);
/// ```
pub fn pipeline_list<T: 'static>(
    stages: impl IntoIterator<Item = Transducer<T, T>>,
) -> Transducer<T, T> {
    let stages = stages.into_iter().reduce(|before, next| before.pipe(next));
    stages.unwrap_or_else(buffer).named("pipeline")
}
