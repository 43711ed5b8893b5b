//! Circuits: chips whose pins are connected by nets, in any shape.
//!
//! A net is a channel that knows how many chips read from it and write to it. That all pins are
//! connected, and that a net carries one type of data, is checked by the compiler: a chip is added
//! with something for each of its pins. That a net has a reader and a writer is checked before anyone
//! starts. Then the circuit forgets its nets: only its chips know them, so that they are removed when
//! they cannot go on.

use core::cell::Cell;
use core::fmt;
use std::rc::Rc;

use leno_context::user::StateCell;
use leno_kernel::Name;

use super::Chip;
use crate::bind::Bind;
use crate::channel::named_channel;
use crate::{Cx, In, Out};

/// Chips and the nets between them; see the [module](crate::chip).
///
/// # Examples
/// ```
/// use leno_fibre::chip::{Circuit, function, iterate, procedure};
///
/// leno_fibre::run(|cx| {
///     let mut circuit = Circuit::new();
///     let (numbers, squares) = (circuit.net("numbers"), circuit.net("squares"));
///     circuit.add(iterate(1..=3), &numbers);
///     circuit.add(function(|n: u32| n * n), (&numbers, &squares));
///     circuit.add(procedure(|n: u32| println!("{n}")), &squares);
///     circuit.start(cx).unwrap();
/// });
/// ```
#[derive(Default)]
pub struct Circuit {
    nets: Vec<Rc<dyn AnyNet>>,
    chips: Vec<Box<Starts>>,
}

/// Starts a chip whose pins are connected.
type Starts = dyn FnOnce(&Cx<'_>);

/// A net of a [`Circuit`], which carries values of one type between any number of pins.
pub struct Net<T> {
    core: Rc<NetCore<T>>,
}

struct NetCore<T> {
    name: Name,
    ends: StateCell<Option<(Out<T>, In<T>)>>,
    readers: Cell<usize>,
    writers: Cell<usize>,
}

/// A net, whatever it carries.
trait AnyNet {
    fn check(&self) -> Result<(), CircuitError>;
    fn forget(&self);
}

impl<T> NetCore<T> {
    #[track_caller]
    fn end<E>(&self, pins: &Cell<usize>, pick: impl Fn(&(Out<T>, In<T>)) -> E) -> E {
        let picked = self.ends.borrow().as_ref().map(pick);
        let Some(picked) = picked else {
            panic!("net {} is of a circuit that has been started", self.name.or_id(0))
        };
        pins.set(pins.get() + 1);
        picked
    }
}

impl<T> AnyNet for NetCore<T> {
    fn check(&self) -> Result<(), CircuitError> {
        let (readers, writers) = (self.readers.get(), self.writers.get());
        let net = self.name.clone();
        match (readers, writers) {
            (0, writers) => Err(CircuitError::NoReader { net, writers }),
            (readers, 0) => Err(CircuitError::NoWriter { net, readers }),
            _ => Ok(()),
        }
    }

    fn forget(&self) {
        let ends = self.ends.take();
        drop(ends);
    }
}

impl Circuit {
    /// An empty one.
    pub fn new() -> Circuit {
        Circuit::default()
    }

    /// Adds a net.
    pub fn net<T: 'static>(&mut self, name: impl Into<Name>) -> Net<T> {
        let name = name.into();
        let core = Rc::new(NetCore {
            ends: StateCell::new(Some(named_channel(name.clone()))),
            name,
            readers: Cell::new(0),
            writers: Cell::new(0),
        });
        self.nets.push(core.clone());
        Net { core }
    }

    /// Adds a chip, and connects its pins: each with a net, or with an end of a channel from outside.
    ///
    /// # Panics
    /// When a net is of a circuit that has been started.
    #[track_caller]
    pub fn add<P: Bind>(&mut self, chip: Chip<P>, pins: impl Plug<P>) {
        let pins = pins.plug();
        self.chips.push(Box::new(move |cx| drop(chip.start(cx, pins))));
    }

    /// Starts all chips, in the order in which they were added, and forgets the nets.
    ///
    /// # Errors
    /// When a net has no reader, or no writer. Nothing is started then.
    ///
    /// # Panics
    /// As [`Cx::spawn`].
    pub fn start(self, cx: &Cx<'_>) -> Result<(), CircuitError> {
        self.nets.iter().try_for_each(|net| net.check())?;
        self.nets.iter().for_each(|net| net.forget());
        self.chips.into_iter().for_each(|start| start(cx));
        Ok(())
    }
}

/// Why a circuit was refused.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CircuitError {
    /// A net to which some write, and from which nobody reads.
    NoReader {
        /// Its name.
        net: Name,
        /// How many pins write to it.
        writers: usize,
    },
    /// A net from which some read, and to which nobody writes.
    NoWriter {
        /// Its name.
        net: Name,
        /// How many pins read from it.
        readers: usize,
    },
}

impl fmt::Display for CircuitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (net, lacks, has, pins) = match self {
            CircuitError::NoReader { net, writers } => (net, "reader", "writer", writers),
            CircuitError::NoWriter { net, readers } => (net, "writer", "reader", readers),
        };
        write!(f, "net {} has no {lacks}, and {pins} {has}(s): ", net.or_id(0))?;
        f.write_str("a net needs at least one pin that reads and one that writes")
    }
}

impl std::error::Error for CircuitError {}

leno_context::debug_as_told!(CircuitError);

/// What a chip's pins `P` can be connected with: a net, an end of a channel from outside, or a tuple
/// of these for a tuple of pins.
pub trait Plug<P> {
    /// The pins, connected.
    #[doc(hidden)]
    #[track_caller]
    fn plug(self) -> P;
}

impl<T> Plug<In<T>> for &Net<T> {
    #[track_caller]
    fn plug(self) -> In<T> {
        self.core.end(&self.core.readers, |(_, inp)| inp.clone())
    }
}

impl<T> Plug<Out<T>> for &Net<T> {
    #[track_caller]
    fn plug(self) -> Out<T> {
        self.core.end(&self.core.writers, |(out, _)| out.clone())
    }
}

impl<T> Plug<In<T>> for In<T> {
    fn plug(self) -> In<T> {
        self
    }
}

impl<T> Plug<Out<T>> for Out<T> {
    fn plug(self) -> Out<T> {
        self
    }
}

impl<P, X: Plug<P>> Plug<Vec<P>> for Vec<X> {
    fn plug(self) -> Vec<P> {
        self.into_iter().map(Plug::plug).collect()
    }
}

macro_rules! tuple {
    ($($pin:ident $plug:ident),*) => {
        impl<$($pin, $plug: Plug<$pin>),*> Plug<($($pin,)*)> for ($($plug,)*) {
            #[allow(non_snake_case, clippy::unused_unit, reason = "also of none")]
            fn plug(self) -> ($($pin,)*) {
                let ($($plug,)*) = self;
                ($($plug.plug(),)*)
            }
        }
    };
}

tuple!();
tuple!(A X);
tuple!(A X, B Y);
tuple!(A X, B Y, C Z);
tuple!(A X, B Y, C Z, D W);

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Circuit({} chips, {} nets)", self.chips.len(), self.nets.len())
    }
}

impl<T> fmt::Debug for Net<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Net({})", self.core.name.or_id(0))
    }
}
