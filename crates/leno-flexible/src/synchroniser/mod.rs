//! What Dovland 2006 builds with flexible coroutines, ready to use: locks for readers and writers,
//! rendezvous, semaphores, sequential object monitors, chords.
//!
//! | | |
//! | --- | --- |
//! | [`ReadWrite`] | many read, or one writes; who goes first can be changed while it runs |
//! | [`Rendezvous`], [`NWay`] | two meet and swap values; one meets n |
//! | [`Semaphore`], [`BinarySemaphore`] | a count to go down to zero and no further; a flag that both sides wait for |
//! | [`Monitor`] | a plain object whose calls are served one at a time, in the order a scheduler decides |
//! | [`Chords`] | code that runs when several messages are there |
//!
//! All of them are made in a [`System`](crate::System) or a [`Threadless`](crate::Threadless) one, and are named
//! for its [`Snapshot`](crate::Snapshot), which says who waits at which. Threads, coroutines of this and of other systems, and (by the `_async`
//! forms) futures may wait at the same one. Whoever gives up, because its time is over, its future is
//! dropped or its coroutine ends, leaves nothing behind: either it had what it came for, or it was never
//! there. When the last handle is dropped, the coroutines inside end.
//!
//! # How they are built
//!
//! A *desk* is a coroutine that serves one client at a time, in order of arrival; whoever cannot be served
//! yet stays attached while the desk passivates, and is looked at again when someone prods it. As at most
//! one coroutine of a system is active, a desk decides without being interrupted by another. What a client
//! asks for and gets is in its *claim*, which is settled once.
//!
//! Deliberately not here: coroutines for giving back. A guard is dropped anywhere, also while a stack
//! unwinds, where nothing may wait; so it only counts, and prods.

pub mod chord;
mod claim;
mod desk;
mod ground;
mod meeting;
pub mod monitor;
mod nway;
mod read_write;
mod rendezvous;
mod semaphore;
mod semaphore_binary;

pub use chord::Chords;
pub use ground::Ground;
pub use meeting::MeetError;
pub use monitor::Monitor;
pub use nway::NWay;
pub use read_write::{Preference, ReadGuard, ReadWrite, WriteGuard};
pub use rendezvous::Rendezvous;
pub use semaphore::{Hold, Semaphore};
pub use semaphore_binary::BinarySemaphore;
