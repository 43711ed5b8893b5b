//! Those who are polled and remember no place in a line.

use core::fmt;

use crate::{Waiter, user};

/// Those who are polled and remember no place in a line: each is woken once, and then forgotten. They are for the state
/// of a [queue](super::WaitQueue), beside its lines.
///
/// # Examples
/// ```
/// use leno_kernel::layer::queue::{Polled, Shared, WaitQueue};
/// use leno_kernel::{Waiter, block_on};
/// use leno_kernel::layer::user;
/// use std::{future::poll_fn, task::Poll};
///
/// /// Whether it is open, and who is polled.
/// let gate = WaitQueue::<Shared, _, (), 0>::new((false, Polled::new()));
/// let open = || {
///     let mut gate = gate.lock();
///     gate.0 = true;
///     let woken: Vec<_> = std::iter::from_fn(|| gate.1.take(|()| true)).collect();
///     drop(gate);
///     user::wake_all(woken);
/// };
/// std::thread::scope(|scope| {
///     scope.spawn(open);
///     block_on(poll_fn(|context| {
///         let waiter = Waiter::of(context);
///         let mut gate = gate.lock();
///         if gate.0 {
///             return Poll::Ready(());
///         }
///         let unused = gate.1.add((), waiter, |(), ()| ());
///         drop(gate);
///         user::discard(unused);
///         Poll::Pending
///     }));
/// });
/// ```
pub struct Polled<P: Copy>(Vec<(P, Waiter)>);

impl<P: Copy> Polled<P> {
    /// Makes a list of nobody.
    pub const fn new() -> Polled<P> {
        Polled(Vec::new())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one, with what it waits for. If it is here, `merge` adds that to what it waits for already. It is called
    /// under the lock: it is no user code, and does not panic. Returns a waiter that is not needed; dropping that is user
    /// code.
    pub fn add(
        &mut self,
        payload: P,
        waiter: Waiter,
        merge: impl FnOnce(&mut P, P),
    ) -> Option<Waiter> {
        if let Some((known, _)) = self.0.iter_mut().find(|(_, other)| other.is_same(&waiter)) {
            merge(known, payload);
            return Some(waiter);
        }
        // Most have one at most, and there may be very many of them.
        if self.0.is_empty() {
            self.0.reserve_exact(1);
        }
        self.0.push((payload, waiter));
        None
    }

    /// Takes out the first for which `is_meant` says yes, and returns how to wake it. `is_meant` is as `merge` of
    /// [`Self::add`].
    pub fn take(&mut self, mut is_meant: impl FnMut(&P) -> bool) -> Option<Waiter> {
        let place = self.0.iter().position(|(payload, _)| is_meant(payload))?;
        Some(self.0.remove(place).1)
    }
}

impl<P: Copy> Default for Polled<P> {
    fn default() -> Self {
        Polled::new()
    }
}

/// Whatever their wakers raise. A list that is dropped under a lock is empty.
impl<P: Copy> Drop for Polled<P> {
    fn drop(&mut self) {
        if !self.is_empty() {
            user::discard_all(self.0.drain(..));
        }
    }
}

impl<P: Copy> fmt::Debug for Polled<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Polled({})", self.len())
    }
}
