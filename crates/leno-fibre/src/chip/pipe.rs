//! Pipelines: the output of one chip is the input of the next.
//!
//! A pipeline of transducers is *open*: it is a transducer. With a source before it or a sink after it
//! it is *partly open*, with both *closed*. Two that could not work together are refused, by their types. Piping is associative: only the order of the chips counts.
//! Each chip of a pipeline is one fibre: the last one runs in the fibre of the whole.

use core::ops::BitOr;
use std::rc::Rc;

use leno_control::Misfit;

use super::one::{Before, Make, Step, both};
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be piped into `{Next}`",
    note = "the first must write the type that the second reads; a sink ends a pipeline, and a source begins one"
)]
pub trait Pipe<Next>: Sized {
    /// Both as one.
    type Piped;

    /// Writes to the input of `next` what this one writes.
    ///
    /// # Errors
    /// When their control types are known and cannot work together: one of them could never do what
    /// its type promises.
    fn try_pipe(self, next: Next) -> Result<Self::Piped, Misfit>;

    /// As [`Self::try_pipe`].
    ///
    /// # Panics
    /// When their control types cannot work together.
    #[track_caller]
    fn pipe(self, next: Next) -> Self::Piped {
        match self.try_pipe(next) {
            Ok(piped) => piped,
            Err(misfit) => panic!("no pipeline: {misfit}"),
        }
    }
}

impl<A: 'static, B: 'static, C: 'static> Pipe<Transducer<B, C>> for Transducer<A, B> {
    type Piped = Transducer<A, C>;

    fn try_pipe(self, next: Transducer<B, C>) -> Result<Transducer<A, C>, Misfit> {
        self.types.fits(&next.types)?;
        let (name, types) = (next.name().clone(), self.types.then(&next.types));
        let one = both(&self, &next);
        let piped = Transducer::new(name, move |cx, (inp, out)| {
            let (between, from) = channel();
            self.start(cx, (inp.unbind(), between));
            next.ends_with(cx, (from.bind(cx), out));
        });
        Ok(piped.with_types(types).or_machine(one))
    }
}

impl<A: 'static, B: 'static> Pipe<Transducer<A, B>> for Source<A> {
    type Piped = Source<B>;

    fn try_pipe(self, next: Transducer<A, B>) -> Result<Source<B>, Misfit> {
        self.types.fits(&next.types)?;
        let (name, types) = (next.name().clone(), self.types.then(&next.types));
        let one = both(&self, &next);
        let piped = Source::new(name, move |cx, out| {
            let (between, from) = channel();
            self.start(cx, between);
            next.ends_with(cx, (from.bind(cx), out));
        });
        Ok(piped.with_types(types).or_machine(one))
    }
}

impl<A: 'static, B: 'static> Pipe<Sink<B>> for Transducer<A, B> {
    type Piped = Sink<A>;

    fn try_pipe(self, next: Sink<B>) -> Result<Sink<A>, Misfit> {
        self.types.fits(&next.types)?;
        let (name, types) = (next.name().clone(), self.types.then(&next.types));
        let one = both(&self, &next);
        let piped = Sink::new(name, move |cx, inp| {
            let (between, from) = channel();
            self.start(cx, (inp.unbind(), between));
            next.ends_with(cx, from.bind(cx));
        });
        Ok(piped.with_types(types).or_machine(one))
    }
}

impl<A: 'static> Pipe<Sink<A>> for Source<A> {
    type Piped = Chip<()>;

    fn try_pipe(self, next: Sink<A>) -> Result<Chip<()>, Misfit> {
        self.types.fits(&next.types)?;
        let (name, types) = (next.name().clone(), self.types.then(&next.types));
        let one = both(&self, &next);
        let piped = Chip::<()>::new(name, move |cx, ()| {
            let (between, from) = channel();
            self.start(cx, between);
            next.ends_with(cx, from.bind(cx));
        });
        Ok(piped.with_types(types).or_machine(one))
    }
}

impl<P: Bind, Q: Bind> BitOr<Chip<Q>> for Chip<P>
where
    Chip<P>: Pipe<Chip<Q>>,
{
    type Output = <Chip<P> as Pipe<Chip<Q>>>::Piped;

    /// As [`Pipe::pipe`].
    #[track_caller]
    fn bitor(self, next: Chip<Q>) -> Self::Output {
        self.pipe(next)
    }
}

/// A pipeline of any number of transducers; of none, a [`buffer`].
///
/// # Panics
/// When the control types of two neighbours cannot work together.
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
#[track_caller]
pub fn pipeline_list<T: 'static>(
    stages: impl IntoIterator<Item = Transducer<T, T>>,
) -> Transducer<T, T> {
    let stages: Vec<_> = stages.into_iter().collect();
    let Some((last, before)) = stages.split_last() else {
        return buffer().named("pipeline");
    };
    let types = before.iter().rev().fold(last.types.clone(), |after, one| one.types.then(&after));
    for pair in stages.windows(2) {
        if let Err(misfit) = pair[0].types.fits(&pair[1].types) {
            panic!("no pipeline: {misfit}");
        }
    }
    let one = stages.iter().map(Chip::machine).collect::<Option<Vec<_>>>();
    let one: Option<Make<Step<T, T>>> = one.map(|makes| {
        Rc::new(move || {
            let machines = makes.iter().rev().map(|make| make());
            machines.reduce(|behind, before| before.before(behind)).expect("there is one")
        }) as Make<Step<T, T>>
    });
    // Not piped two at a time, so that a long one does not end in as many calls.
    let piped = Transducer::new("pipeline", move |cx, (inp, out)| {
        let (last, before) = stages.split_last().expect("there is one");
        let mut inp = inp.unbind();
        for stage in before {
            let (between, from) = channel();
            stage.start(cx, (inp, between));
            inp = from;
        }
        last.ends_with(cx, (inp.bind(cx), out));
    });
    piped.with_types(types).or_machine(one)
}
