//! Channels, select and join, timers and locks on leno's kernel.
//!
//! Every operation that may wait can be called by a coroutine (its stack parks), by a thread (it
//! blocks) and, in its `_async` form, by a future on any executor.
//!
//! - [`channel()`] (rendezvous), [`bounded`], [`unbounded`]: for the coroutines of one thread.
//! - [`shared`]: the same for any thread.
#![forbid(unsafe_code)]

mod channel;
mod error;
mod exchange;
mod flavour;
mod iter;
mod label;
mod receiver;
mod recv_future;
mod select;
mod send_future;
mod sender;
mod sync;
mod wait;

pub use channel::{State, bounded, channel, shared, unbounded};
pub use error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
pub use exchange::Who;
pub use flavour::{Flavour, Local, Shared};
pub use iter::{IntoIter, Iter, TryIter};
pub use label::{Label, Named};
pub use receiver::Receiver;
pub use recv_future::RecvFuture;
pub use send_future::SendFuture;
pub use sender::Sender;

/// An end of a channel.
pub trait End {
    /// What reasons and reports call the channel.
    fn object(&self) -> leno_kernel::Object;
}
