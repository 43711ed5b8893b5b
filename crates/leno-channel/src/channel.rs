//! A channel: a wait queue whose state is an exchange, and how to make one.

use leno_kernel::layer::{Sign, world};
use leno_kernel::log::{self, Operation, What};
use leno_kernel::{Name, Object};

use crate::exchange::{Exchange, Lines, Own, Side, State as Stored, UNBOUNDED};
use crate::flavour::{Flavour, Local, Shared};
use crate::label::{Label, Named};
use crate::select::ticket::Ticket;
use crate::{Receiver, Sender};

/// Room for so many makes it worth while to listen, and to look away from the lock; with less, both sides
/// wait for each other.
const BATCH: usize = 8;

/// What both ends refer to.
#[repr(C)]
pub(crate) struct Channel<T, F: Flavour> {
    pub(crate) object: Object,
    lines: Lines<T, F>,
    /// It has room for a batch.
    pub(crate) is_streamed: bool,
    /// What dumps see of it.
    pub(crate) sign: Sign,
}

impl<T, F: Flavour> Channel<T, F> {
    /// An operation begins, before which other threads of an explored program may run.
    #[inline(always)]
    pub(crate) fn begins(&self, operation: Operation) {
        if world::is_observed() {
            self.begins_observed(operation);
        }
    }

    #[cold]
    #[inline(never)]
    fn begins_observed(&self, operation: Operation) {
        if F::SHARED {
            world::point(operation, Some(self.object));
        } else {
            leno_kernel::layer::count_operation();
        }
        log::call_by_name(&self.sign);
        log::add(|| What::Begins(operation, self.object));
    }

    /// An operation has ended, and has done what it should or not.
    #[inline(always)]
    pub(crate) fn ends(&self, operation: Operation, is_done: bool) {
        if world::is_observed() {
            self.ends_observed(operation, is_done);
        }
    }

    #[cold]
    #[inline(never)]
    fn ends_observed(&self, operation: Operation, is_done: bool) {
        log::add(|| match is_done {
            true => What::Does(operation, self.object),
            false => What::Fails(operation, self.object),
        });
    }
}

impl<T, F: Flavour> Channel<T, F> {
    pub(crate) fn new(capacity: usize) -> Channel<T, F> {
        let object = F::object();
        let sign = Sign::new(object);
        sign.set_ends(1, 1);
        let is_streamed = capacity >= BATCH;
        let stored = Stored::new(capacity, object);
        let lines = if is_streamed { Lines::streamed(stored) } else { Lines::new(stored) };
        Channel { object, lines, is_streamed, sign }
    }

    #[inline(always)]
    pub(crate) fn lock(&self) -> Exchange<'_, T, F> {
        Exchange::lock(&self.lines)
    }

    /// Has the policy say whom the calling code meets of those who wait there, if several do. It is code of a
    /// user, so the lock is released meanwhile; if others have changed that line by then, it is asked again.
    #[inline(always)]
    pub(crate) fn asked<'a>(
        &'a self,
        exchange: Exchange<'a, T, F>,
        side: Side,
        own: Option<&Ticket>,
    ) -> Exchange<'a, T, F> {
        if exchange.has_several(side) { self.ask(exchange, side, own) } else { exchange }
    }

    /// A select that stands in line here was passed over while it asked a source: has it meet now whom it can.
    pub(crate) fn look_again<'a>(&'a self, own: &Own<'a, T, F>) {
        let wakes = self.lock().look_again(own);
        wakes.wake();
    }

    #[cold]
    #[inline(never)]
    fn ask<'a>(
        &'a self,
        mut exchange: Exchange<'a, T, F>,
        side: Side,
        own: Option<&Ticket>,
    ) -> Exchange<'a, T, F> {
        exchange.prefer(None);
        if !leno_kernel::layer::has_policy() {
            return exchange;
        }
        let mut question = exchange.question(side, own);
        while let Some(asked) = question.take() {
            drop(exchange);
            let chosen = asked.ask();
            exchange = self.lock();
            question = exchange.question(side, own);
            if question.as_ref() == Some(&asked) {
                exchange.prefer(Some(chosen));
                break;
            }
        }
        exchange
    }

    #[cold]
    pub(crate) fn label(&self) -> Label {
        Label::new(self.object, self.sign.name())
    }

    pub(crate) fn set_name(&self, name: impl Into<Name>) {
        self.sign.set_name(name);
    }

    /// Lets dumps see how many ends there are now.
    #[inline(always)]
    pub(crate) fn show_ends(&self, exchange: &Exchange<'_, T, F>) {
        self.sign.set_ends(exchange.senders, exchange.receivers);
    }

    /// Closes it, and tells all who wait.
    pub(crate) fn close(&self) {
        self.begins(Operation::Close);
        let rest = self.lock().close();
        rest.see_to();
    }
}

/// What a channel's lines are like (K4): never are both sides there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Nobody waits.
    Empty,
    /// Someone waits to receive.
    Hungry,
    /// Someone waits to send.
    Blocked,
}

fn ends<T, F: Flavour>(capacity: usize) -> (Sender<T, F>, Receiver<T, F>) {
    let channel = F::refer(Channel::new(capacity));
    (Sender::first(channel.clone()), Receiver::first(channel))
}

/// A channel without a buffer, for the coroutines of one thread: whoever comes first waits for the
/// other (a rendezvous).
///
/// # Examples
/// ```
/// use leno_channel::channel;
/// use leno_kernel::LocalSystem;
///
/// let system = LocalSystem::new();
/// let (tx, rx) = channel();
/// drop(system.spawn(move || (1..=3).for_each(|i| tx.send(i).unwrap())));
/// let sum = system.spawn(move || rx.iter().sum::<i32>());
/// system.run()?;
/// assert_eq!(sum.join()?, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    ends::<T, Local>(0)
}

/// A channel that holds `capacity` values, for the coroutines of one thread.
///
/// # Examples
/// ```
/// let (tx, rx) = leno_channel::bounded(1);
/// tx.send('a')?;
/// assert_eq!(tx.try_send('b').unwrap_err().into_inner(), 'b', "it is full");
/// assert_eq!(rx.recv()?, 'a');
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    ends::<T, Local>(capacity)
}

/// A channel that holds any number of values, for the coroutines of one thread.
///
/// # Examples
/// ```
/// let (tx, rx) = leno_channel::unbounded();
/// (0..100).for_each(|i| tx.send(i).unwrap());
/// assert_eq!(rx.try_iter().count(), 100);
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ends::<T, Local>(UNBOUNDED)
}

/// Channels for any thread: the same, and `Send`. Locks for any thread are made by their `shared`, such as
/// [`Mutex::shared`](crate::Mutex::shared).
///
/// # Examples
/// ```
/// use leno_channel::shared::{self, Receiver};
///
/// fn sum(numbers: &Receiver<u32>) -> u32 {
///     numbers.iter().sum()
/// }
///
/// let (tx, rx) = shared::bounded(2);
/// let adder = std::thread::spawn(move || sum(&rx));
/// (1..=4).for_each(|n| tx.send(n).unwrap());
/// drop(tx);
/// assert_eq!(adder.join().unwrap(), 10);
/// ```
pub mod shared {
    use super::{Shared, UNBOUNDED, ends};

    /// The end of a shared channel that sends.
    pub type Sender<T> = crate::Sender<T, Shared>;
    /// The end of a shared channel that receives.
    pub type Receiver<T> = crate::Receiver<T, Shared>;
    /// A lock for any thread; [`Mutex::shared`](crate::Mutex::shared) makes one.
    pub type Mutex<T> = crate::Mutex<T, Shared>;
    /// Permits for any thread; [`Semaphore::shared`](crate::Semaphore::shared) makes one.
    pub type Semaphore = crate::Semaphore<Shared>;

    /// As [`channel`](crate::channel()), for any thread.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::shared::channel();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| tx.send("met").unwrap());
    ///     assert_eq!(rx.recv().unwrap(), "met");
    /// });
    /// ```
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        ends(0)
    }

    /// As [`bounded`](crate::bounded), for any thread.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::shared::bounded(2);
    /// let sender = std::thread::spawn(move || (0..10).for_each(|i| tx.send(i).unwrap()));
    /// assert_eq!(rx.iter().sum::<i32>(), 45);
    /// sender.join().unwrap();
    /// ```
    pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        ends(capacity)
    }

    /// As [`unbounded`](crate::unbounded), for any thread.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::shared::unbounded();
    /// tx.send(1).unwrap();
    /// assert_eq!(std::thread::spawn(move || rx.recv()).join().unwrap(), Ok(1));
    /// ```
    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        ends(UNBOUNDED)
    }
}

impl<T, F: Flavour> Named for (Sender<T, F>, Receiver<T, F>) {
    fn named(self, name: impl Into<Name>) -> Self {
        self.0.channel.set_name(name);
        self
    }
}
