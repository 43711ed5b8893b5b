//! Fibres: plain sequential code whose only wires are channels (Skaller 2017).
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_fibre::` as `leno::fibre::`.
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
//!
//! # What to know first
//!
//! - A fibre that is removed does not come back from its `read` or `write`: its stack unwinds, and destructors run.
//!   Whatever is to happen when no more data comes is not put after the loop; who wants to be told reads from
//!   [`In::closable`].
//! - A body borrows nothing, as that of a thread: ends are moved into it. A result comes back by
//!   [`Fibre::join`], as the result of [`run`](run()), or in an [`Rc`](std::rc::Rc); fibres of a run share a thread.
//! - An end that is kept counts as one that may still be used. Whoever waits for it is not removed, but a
//!   [`Zombie`]: move ends to where they are used, or drop them.
//! - Values meet: a `write` returns when somebody has read. For room in between there is [`chip::buffer`].
//! - What blocks the thread (a sleep or a lock of `std`) keeps all fibres of the run from running; leno's own
//!   sleep, sockets and channels keep one.
//! - If less happens than expected, print [`Ran::zombies`]: each says what it waits for, and who could have
//!   woken it. Names, by [`Cx::spawner`] and [`named_channel`], make that readable.
//!
//! ```
//! use leno_fibre::{channel, run};
//! use std::collections::BTreeMap;
//!
//! let text = ["the cat", "the dog", "a cat"];
//! let counted = run(move |cx| {
//!     let ((lines, each_line), (words, each_word)) = (channel(), channel());
//!     cx.spawn(move |cx| text.into_iter().for_each(|line| lines.write(cx, line)));
//!     cx.spawn(move |cx| {
//!         each_line.iter(cx).flat_map(str::split_whitespace).for_each(|word| words.write(cx, word));
//!     });
//!     // Told when no more words come, because the fibre that wrote them was removed.
//!     let mut counts = BTreeMap::new();
//!     each_word.closable().iter(cx).for_each(|word| *counts.entry(word).or_insert(0) += 1);
//!     counts
//! });
//! assert!(counted.zombies().is_empty());
//! let counts: Vec<_> = counted.result().unwrap().into_iter().collect();
//! assert_eq!(counts, [("a", 1), ("cat", 2), ("dog", 1), ("the", 2)]);
//! ```
//!
//! A mistake, and what says so: an end that nobody will use is kept.
//! ```
//! use leno_fibre::{named_channel, run};
//!
//! let ran = run(|cx| {
//!     let (out, inp) = named_channel::<u32>("numbers");
//!     cx.spawner().name("adder").spawn(move |cx| inp.iter(cx).sum::<u32>());
//!     cx.yield_now();
//!     std::mem::forget(out); // or kept in something that outlives the run
//! });
//! let text = ran.zombies()[0].to_string();
//! assert!(text.contains("adder") && text.contains("numbers"), "{text}");
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
