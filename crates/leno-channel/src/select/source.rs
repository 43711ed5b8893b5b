//! Anything else that can become ready: what a user defines, the end of a coroutine, a time.
//!
//! Nobody can complete such an alternative for the select; it is woken, and looks for itself. Its ticket
//! says so meanwhile, so that what it takes is not lost to an alternative that a partner completes at the
//! same moment. A source is user code: nobody waits until it has answered (`ticket.rs`).

use leno_kernel::{JoinError, JoinHandle, Object, Time, Waiter};

use super::alternative::{Alternative, Attempt, Step};
use super::ticket::Ticket;
use crate::exchange::Coupon;

/// Something that a select can wait for, besides channels.
///
/// # Examples
/// ```
/// use leno_channel::{Select, Source};
/// use leno_kernel::Waiter;
/// use std::sync::{Arc, Mutex};
///
/// /// Ready once it is set.
/// #[derive(Clone, Default)]
/// struct Flag(Arc<Mutex<(bool, Vec<Waiter>)>>);
///
/// impl Flag {
///     fn set(&self) {
///         let waiters = {
///             let mut inner = self.0.lock().unwrap();
///             inner.0 = true;
///             std::mem::take(&mut inner.1)
///         };
///         waiters.into_iter().for_each(Waiter::wake);
///     }
/// }
///
/// impl Source for Flag {
///     type Item = ();
///     fn take(&mut self) -> Option<()> {
///         self.0.lock().unwrap().0.then_some(())
///     }
///     fn wait(&mut self, waiter: &Waiter) {
///         self.0.lock().unwrap().1.push(waiter.clone());
///     }
///     fn leave(&mut self, waiter: &Waiter) {
///         self.0.lock().unwrap().1.retain(|other| !other.is_same(waiter));
///     }
///     fn is_shared(&self) -> bool {
///         true
///     }
/// }
///
/// let flag = Flag::default();
/// let setter = flag.clone();
/// let thread = std::thread::spawn(move || setter.set());
/// assert_eq!(Select::new().source(flag, |()| "set").wait(), Ok("set"));
/// thread.join().unwrap();
/// ```
pub trait Source {
    /// What it gives.
    type Item;

    /// Takes the item, if there is one.
    ///
    /// It should return at once. While it runs, nobody can meet the select: partners at its channels stand in
    /// line, or store their values, and are met when this has returned `None`. So it may use these channels,
    /// but must not wait for its own select. If it waits for something else, the select looks again at all its
    /// alternatives before it parks: a wake that was meant for it may have ended that wait.
    fn take(&mut self) -> Option<Self::Item>;

    /// Has `waiter` woken when it is worth looking again. Called before every look that precedes a
    /// wait, with the same waiter or a new one; an old one may be forgotten.
    fn wait(&mut self, waiter: &Waiter);

    /// Forgets `waiter`. If it panics, the select still leaves all lines, and what another
    /// alternative has received goes back to its channel.
    fn leave(&mut self, waiter: &Waiter);

    /// Whether there probably is an item; for policies that choose among what is ready.
    fn is_ready(&self) -> bool {
        true
    }

    /// When to look again at the latest.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// Whether other threads may make it ready; then a system in which someone waits for it is not
    /// at its end.
    fn is_shared(&self) -> bool {
        false
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    type Item = S::Item;

    fn take(&mut self) -> Option<S::Item> {
        (**self).take()
    }

    fn wait(&mut self, waiter: &Waiter) {
        (**self).wait(waiter);
    }

    fn leave(&mut self, waiter: &Waiter) {
        (**self).leave(waiter);
    }

    fn is_ready(&self) -> bool {
        (**self).is_ready()
    }

    fn deadline(&self) -> Option<Time> {
        (**self).deadline()
    }

    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }
}

/// The end of a coroutine, and its result.
impl<T> Source for JoinHandle<T> {
    type Item = Result<T, JoinError>;

    fn take(&mut self) -> Option<Self::Item> {
        self.try_join()
    }

    fn wait(&mut self, waiter: &Waiter) {
        self.add_waiter(waiter);
    }

    fn leave(&mut self, waiter: &Waiter) {
        self.remove_waiter(waiter);
    }

    fn is_ready(&self) -> bool {
        self.is_finished()
    }
}

/// Takes from a source.
pub struct Draw<S: Source, H> {
    source: S,
    item: Option<S::Item>,
    handler: H,
}

impl<S: Source, H> Draw<S, H> {
    pub(crate) fn new(source: S, handler: H) -> Self {
        Draw { source, item: None, handler }
    }
}

/// A ticket whose owner asks a source, unless it is confirmed, also if the source panics.
struct Asking<'a>(Option<&'a Ticket>);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.0 {
            ticket.has_nothing();
        }
    }
}

/// Looks whether there is something to take, and takes it, while no partner can meet the select.
fn look(coupon: Option<&Coupon>, take: impl FnOnce() -> bool) -> Attempt {
    if coupon.is_some_and(|coupon| !coupon.ticket.ask()) {
        return Attempt::Busy;
    }
    let mut asking = Asking(coupon.map(|coupon| &*coupon.ticket));
    if !take() {
        return Attempt::NotReady;
    }
    asking.0 = None;
    if let Some(coupon) = coupon {
        coupon.ticket.confirm(coupon.alternative);
    }
    Attempt::Taken
}

impl<S: Source, H> Step for Draw<S, H> {
    fn attempt(&mut self, coupon: Option<&Coupon>) -> Attempt {
        look(coupon, || {
            self.item = self.source.take();
            self.item.is_some()
        })
    }

    fn enlist(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.source.wait(waiter);
        self.attempt(Some(coupon))
    }

    fn retry(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.enlist(coupon, waiter)
    }

    fn renew(&mut self, old: &Waiter, _: &Waiter) {
        self.source.leave(old);
    }

    fn leave(&mut self, waiter: &Waiter) {
        self.source.leave(waiter);
    }

    fn is_ready(&mut self) -> bool {
        self.source.is_ready()
    }

    fn object(&self) -> Option<Object> {
        None
    }

    fn is_shared(&self) -> bool {
        self.source.is_shared()
    }

    fn deadline(&self) -> Option<Time> {
        self.source.deadline()
    }
}

impl<S: Source, H: FnOnce(S::Item) -> R, R> Alternative<R> for Draw<S, H> {
    fn finish(self) -> R {
        (self.handler)(self.item.expect("it was taken"))
    }

    fn finish_boxed(self: Box<Self>) -> R {
        self.finish()
    }
}
