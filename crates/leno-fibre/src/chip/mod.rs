//! Chips: coroutines as parts, with pins to connect them by.
//!
//! A chip is what a fibre runs, without the channels: those are its *pins*, given when it is started.
//! It may be started any number of times. Pins are bound, so that a circuit, or a part of it, that
//! nobody can ever feed is removed, circles included.
//!
//! - [`Source`], [`Sink`] and [`Transducer`] have one pin, one pin, and one of each; [`Chip`] has any.
//! - [`Pipe`], or `|`, connects two; so pipelines are open, partly open or closed.
//! - [`Circuit`] connects any.
//! - [`Chip::fused`] makes one fibre of a pipeline, [`fuse`] one loop of stages that the compiler knows.
//!
//! ```
//! use leno_fibre::chip::{function, iterate, procedure};
//! use leno_fibre::run;
//!
//! let pipeline = iterate(1..=3) | function(|n: u32| n * n) | procedure(|n| println!("{n}"));
//! run(move |cx| pipeline.start(cx, ()));
//! ```

mod circuit;
mod deref;
pub mod fuse;
mod matcher;
mod one;
mod pipe;
mod sink;
mod source;
mod transducer;
mod typed;
mod values;

use core::fmt;
use std::rc::Rc;

use leno_kernel::Name;

use self::one::One;
use self::typed::Types;
use crate::bind::Bind;
use crate::{Cx, Fibre, In, Out};

pub use circuit::{Circuit, CircuitError, Net, Plug};
pub use deref::{deref_each, deref_first};
pub use matcher::{epsilon, one_or_more, optional, try_all, zero_or_more};
pub use pipe::{Pipe, pipeline_list};
pub use sink::{debug_sink, procedure, sink, sink_to_list, sink_to_unique_list, store, writeblock};
pub use source::{
    bounded_list_source, fetch, generator, iterate, iterate_with, list_source, readblock, source,
    value,
};
pub use transducer::{
    buffer, debug_buffer, dup, expand, filter, filter_map, function, joiner, latch, oneshot,
    serialise, splitter,
};
pub use values::Values;

type Body<P> = dyn for<'f> Fn(&Cx<'f>, <P as Bind>::Bound<'f>);

/// What a fibre runs, with pins `P` to connect it by: an end, or a tuple of ends.
pub struct Chip<P: Bind> {
    name: Name,
    body: Rc<Body<P>>,
    types: Types,
    /// How one fibre does all of it, if that is known.
    one: Option<One<P>>,
}

/// A chip that writes.
pub type Source<T> = Chip<Out<T>>;

/// A chip that reads.
pub type Sink<T> = Chip<In<T>>;

/// A chip that reads and writes.
pub type Transducer<A, B> = Chip<(In<A>, Out<B>)>;

impl<P: Bind> Chip<P> {
    /// A chip that does what `body` does with its pins, each time it is started.
    ///
    /// # Examples
    /// ```
    /// use leno_fibre::chip::{Sink, Source};
    /// use leno_fibre::run;
    ///
    /// let hello = Source::new("hello", |cx, out| out.write(cx, "hello"));
    /// let print = Sink::new("print", |cx, inp| println!("{}", inp.read(cx)));
    /// run(move |cx| (hello | print).start(cx, ()));
    /// ```
    /// Pins that have no name of their own, such as three, are said by their type:
    /// ```
    /// use leno_fibre::chip::Chip;
    /// use leno_fibre::{In, Out};
    ///
    /// type Sorter = Chip<(In<i32>, Out<i32>, Out<i32>)>;
    /// let sorter = Sorter::new("sorter", |cx, (numbers, even, odd)| {
    ///     for n in numbers.iter(cx) {
    ///         if n % 2 == 0 { even.write(cx, n) } else { odd.write(cx, n) }
    ///     }
    /// });
    /// # let _ = sorter;
    /// ```
    pub fn new(
        name: impl Into<Name>,
        body: impl for<'f> Fn(&Cx<'f>, P::Bound<'f>) + 'static,
    ) -> Chip<P> {
        Chip { name: name.into(), body: Rc::new(body), types: Types::default(), one: None }
    }

    /// The same under another name.
    pub fn named(mut self, name: impl Into<Name>) -> Chip<P> {
        self.name = name.into();
        self
    }

    /// What fibres that run it are called.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Spawns a fibre that runs it, and alone knows its pins.
    ///
    /// # Panics
    /// As [`Cx::spawn`].
    #[track_caller]
    pub fn start(&self, cx: &Cx<'_>, pins: P) -> Fibre<()> {
        let body = self.body.clone();
        let mut spawner = cx.spawner().name(self.name.clone());
        if let Some(control) = self.types.held() {
            spawner = spawner.control_type(control);
        }
        spawner.spawn_bound(pins, move |cx, pins| body(cx, pins))
    }

    /// Runs it as a part of the calling fibre, which is not held against its type.
    ///
    /// # Blocking
    /// Until it ends, if it does; it may end the fibre by starvation or blockage.
    pub fn call<'f>(&self, cx: &Cx<'f>, pins: P::Bound<'f>) {
        (self.body)(cx, pins);
    }

    /// The last thing that a fibre does: runs it, in a fibre of its own if that is held against its
    /// type.
    fn ends_with<'f>(&self, cx: &Cx<'f>, pins: P::Bound<'f>) {
        match self.types.held() {
            Some(_) => drop(self.start(cx, P::unbind(pins))),
            None => self.call(cx, pins),
        }
    }
}

impl<P: Bind> Clone for Chip<P> {
    fn clone(&self) -> Chip<P> {
        Chip {
            name: self.name.clone(),
            body: self.body.clone(),
            types: self.types.clone(),
            one: self.one.clone(),
        }
    }
}

impl<P: Bind> fmt::Debug for Chip<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chip({})", self.name.as_str().unwrap_or("unnamed"))
    }
}
