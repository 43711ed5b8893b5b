//! Channels, select and join, timers and locks on leno's kernel.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_channel::` as `leno::channel::`.
//!
//! Every operation that may wait can be called by a coroutine (its stack parks), by a thread (it
//! blocks) and, in its `_async` form, by a future on any executor.
//!
//! - [`channel()`] (rendezvous), [`bounded`], [`unbounded`]: for the coroutines of one thread.
//! - [`shared`]: the same for any thread.
//! - [`Select`] and [`select!`]: one of several things, of any kind.
//! - [`join`](join()): one value of each of several channels, or nothing.
//! - [`after`], [`every`], [`never()`]: timers to receive from.
//! - [`Mutex`], [`Semaphore`], [`Condition`], [`WaitGroup`]: locks, made of channels.
#![forbid(unsafe_code)]

mod channel;
mod error;
mod exchange;
mod flavour;
mod iter;
mod join;
mod label;
mod listen;
mod lock;
#[cfg(all(test, loom))]
mod loom_tests;
mod patience;
mod receiver;
mod recv_future;
mod select;
mod send_future;
mod sender;
mod sync;
mod timer;
mod wait;

pub use channel::{State, bounded, channel, shared, unbounded};
pub use error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
pub use exchange::Who;
pub use flavour::{Flavour, Local, Shared};
pub use iter::{IntoIter, Iter, TryIter};
pub use join::{Join, JoinFuture, Joinable, join};
pub use label::{Label, Named};
pub use lock::{Condition, Guard, LockError, Mutex, Permit, Semaphore, WaitGroup, Worker};
pub use receiver::Receiver;
pub use recv_future::RecvFuture;
pub use select::{Many, Receive, Select, SelectError, SelectFuture, Source, Turn, Which};
pub use send_future::{SendFuture, SendStatus};
pub use sender::Sender;
pub use timer::{Timer, after, at, every, never};

/// Something that can be waited on: an end of a channel, a lock.
pub trait End {
    /// What reasons and reports call it.
    fn object(&self) -> leno_kernel::Object;
}
