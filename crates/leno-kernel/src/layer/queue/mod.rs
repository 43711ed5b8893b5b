//! The wait queue: state, and lines of those who wait for it to change; for authors of layers.
//!
//! A [`WaitQueue`] is some state and one or more lines of those who wait for it to change, behind one lock. One that
//! waits has a *node* in a line: how it is woken ([`Waiter`](crate::Waiter)), what it brings along or is handed (its
//! payload), and what has become of it ([`Stage`]). Under the lock others settle it, once, and wake it when the
//! lock is released; or it leaves by itself.
//!
//! A node lies in the frame of [`Guard::wait`], so waiting allocates nothing and uses no other memory. Code without
//! such a frame, a future or a select, has a [`HeapNode`], whose memory the queue uses again. Those who are polled and
//! remember no place are in [`Polled`], in the state. One that waits where nobody else can needs neither line nor lock, but
//! a protocol of its own: it is [`Alone`].
//!
//! Its README has the protocol: states, steps, and the races it must win.
//!
//! # Examples
//! A gate that opens once. Coroutines, threads and futures would wait at it alike.
//! ```
//! use leno_kernel::layer::queue::{First, Next, Shared, Stage, WaitQueue};
//! use leno_kernel::{Reason, Waiter, Wake, exit, park};
//!
//! /// Whether it is open; one line; nothing is handed over.
//! struct Gate(WaitQueue<Shared, bool, (), 1>);
//!
//! impl Gate {
//!     fn wait(&self) {
//!         let waiter = Waiter::current();
//!         let gate = self.0.lock();
//!         if *gate {
//!             return;
//!         }
//!         let next = || match park(Reason::Passive) {
//!             Wake::Exit => Next::Leave,
//!             _ => Next::Look,
//!         };
//!         let (gate, left) = gate.wait(0, waiter, (), || First::Wait, next, |_, _| ());
//!         drop(gate);
//!         if left.stage == Stage::Waiting {
//!             exit();
//!         }
//!     }
//!
//!     fn open(&self) {
//!         let mut gate = self.0.lock();
//!         *gate = true;
//!         let woken = gate.settle_all(0, Stage::Met);
//!         drop(gate);
//!         leno_kernel::layer::user::wake_all(woken);
//!     }
//! }
//!
//! let gate = Gate(WaitQueue::new(false));
//! std::thread::scope(|scope| {
//!     scope.spawn(|| gate.wait());
//!     gate.open();
//! });
//! ```

mod alone;
mod lock;
mod polled;

pub use crate::raw::queue::{
    First, Guard, Handle, HeapNode, Key, Left, Next, Sleep, WaitQueue, Waiting,
};
pub use alone::Alone;
pub use lock::{Held, Local, Lock, Shared};
pub use polled::Polled;

/// What has become of a wait.
///
/// ```text
///   from      to
///   Waiting   Met       it got what it waited for, or what it brought was taken
///   Waiting   Refused   it waits in vain
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing yet: it is in its line, unless its wait was ended in another one.
    Waiting,
    /// It got what it waited for, or what it brought was taken.
    Met,
    /// It waits in vain.
    Refused,
}

#[cfg(all(test, not(loom)))]
mod tests;
