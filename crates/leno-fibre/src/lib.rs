//! Fibres: plain sequential code whose only wires are channels (Skaller 2017).
//!
//! - [`run`](run()) is a subroutine: it runs a fibre, and all that it spawns, until nothing can run.
//!   It nests.
//! - [`Cx`] makes code part of a fibre: only code that has it can spawn, read and write.
//! - [`channel`](channel()) has an end to read from, [`In`], and one to write to, [`Out`]. Reading and
//!   writing never fail: a fibre that nobody can ever serve ends, by starvation or blockage, and its
//!   destructors run. So endless loops are programs that end.
//! - [`Bind`]: ends that one fibre alone knows, so that circles of fibres are removed, too.
//! - [`chip`]: sources, sinks and transducers, pipelines of them, and circuits.
//! - Whatever the rules leave open is the policy's choice; a run's events are totally ordered.
//!
//! ```
//! use leno_fibre::{channel, run};
//!
//! let ran = run(|cx| {
//!     let (out, inp) = channel();
//!     cx.spawn(move |cx| (1..=10).for_each(|i| out.write(cx, i)));
//!     cx.spawn(move |cx| loop { println!("{}", inp.read(cx)) });
//! });
//! assert_eq!((ran.report().returned, ran.report().removed), (2, 1));
//! ```
#![forbid(unsafe_code)]

pub use leno_control as control;

mod bind;
mod channel;
pub mod chip;
mod closable;
mod cx;
mod duplex;
mod event;
mod fibre;
mod held;
mod input;
mod look;
mod output;
mod parcel;
mod reader_first;
mod room;
mod run;
mod scheduler;
mod stackless;
mod wire;
mod zombie;

pub use bind::{Bind, Bound, BoundIn, BoundOut, Ends};
pub use channel::{channel, named_channel};
pub use closable::Closable;
pub use cx::{Cx, Spawner};
pub use duplex::{BoundClient, BoundServer, Client, Server, duplex};
pub use event::{Event, Happened, events};
pub use fibre::Fibre;
pub use input::In;
pub use look::{FibreState, Look};
pub use output::Out;
pub use parcel::{ParcelIn, ParcelOut, parcels};
pub use run::{Ran, Runner, isolated, run};
pub use scheduler::{SchedulerState, depth, schedulers};
pub use stackless::StacklessCx;
pub use zombie::Zombie;
