//! Waiting for one of several things, whatever they are.
//!
//! A [`Select`] is made of alternatives, each with a handler; exactly one is taken, and its handler
//! called when no lock is held. Nothing has happened to the others: a value that was to be sent is
//! dropped with the select, a value that was to be received is still there.
//!
//! `README.md` beside this file has the protocol and the races it must win.

mod alternative;
mod descriptor;
mod engine;
mod exchange;
mod future;
pub(crate) mod joint;
mod list;
mod macros;
mod moment;
mod order;
mod pairing;
mod source;
pub(crate) mod strand;
pub(crate) mod ticket;

pub(crate) use alternative::Alternative;
pub use alternative::Receive;
pub(crate) use alternative::sealed;
pub(crate) use exchange::{Take, Wrap};
pub(crate) use future::OneFuture;
pub use future::SelectFuture;
pub use list::Many;
pub use macros::Which;
pub use order::Turn;
pub(crate) use source::Draw;
pub use source::Source;

use core::fmt;
use core::time::Duration;

use leno_kernel::layer::{deadline_in, thread_number};
use leno_kernel::{Reason, Time, Waiter, Wake};

use self::engine::Engine;
use self::exchange::Give;
use self::list::{Alternatives, Nothing};
use self::moment::{Moment, Otherwise};
use self::order::Order;
use crate::Sender;
use crate::error::{RecvError, SendError};
use crate::flavour::Flavour;
use crate::join::Joinable;
use crate::wait::park;

/// Alternatives to wait for; `R` is what every handler returns.
///
/// Its type says what the alternatives are: each one added makes another type. So they need no memory
/// but the caller's, and a select over shared ends is `Send`, one over local ends is not. Where their
/// number is not known, there is [`Select::many`].
///
/// # Examples
/// ```
/// use leno_channel::{Select, bounded, channel};
/// use std::time::Duration;
///
/// let (work, jobs) = bounded::<u32>(1);
/// let (_stop, stopped) = channel::<()>();
/// work.send(7)?;
/// let what = Select::new()
///     .recv(&jobs, |job| format!("job {}", job.unwrap()))
///     .recv(&stopped, |_| "stopped".into())
///     .after(Duration::from_secs(1), || "nothing to do".into())
///     .wait()?;
/// assert_eq!(what, "job 7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a select does nothing unless it waits"]
pub struct Select<'a, R, L: Alternatives<'a, R> = Nothing> {
    engine: Engine<'a, R, L>,
    /// Which alternative is not to wait at all.
    default: Option<usize>,
}

/// No alternative was taken.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectError {
    /// None could be taken at once.
    NotReady,
    /// There is none (or each is a receiver that is `None`), so none will ever be ready.
    NoAlternative,
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting,
}

impl<R> Select<'_, R> {
    /// No alternatives yet; the order is fair: if several are ready, the policy chooses, or without
    /// one another is tried first each time.
    pub fn new() -> Self {
        Select::of(Nothing)
    }
}

impl<'a, R> Select<'a, R, Many<'a, R>> {
    /// The same, for a number of alternatives that is not known where the select is written: they have
    /// boxes, and adding one does not change the type.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Select, bounded};
    ///
    /// let ends: Vec<_> = (0..10).map(|_| bounded(1)).collect();
    /// ends[7].0.send("here")?;
    /// let mut select = Select::many();
    /// for (number, (_, rx)) in ends.iter().enumerate() {
    ///     select = select.recv(rx, move |value| (number, value));
    /// }
    /// assert_eq!(select.wait(), Ok((7, Ok("here"))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn many() -> Self {
        Select::of(Many::new())
    }
}

impl<'a, R, L: Alternatives<'a, R>> Select<'a, R, L> {
    fn of(list: L) -> Self {
        Select { engine: Engine::new(list, Order::Fair), default: None }
    }

    /// Of several that are ready, takes the one that was added first.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::unbounded();
    /// (0..3).for_each(|i| tx.send(i).unwrap());
    /// for _ in 0..3 {
    ///     let select = leno_channel::Select::new().priority();
    ///     assert_eq!(select.recv(&rx, |_| 'a').recv(&rx, |_| 'b').wait(), Ok('a'));
    /// }
    /// ```
    pub fn priority(mut self) -> Self {
        self.engine.order = Order::Priority;
        self
    }

    /// Of several that are ready, takes the one that follows the last one taken with this turn.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Select, Turn, unbounded};
    ///
    /// let ((tx, rx), turn) = (unbounded(), Turn::new());
    /// (0..4).for_each(|i| tx.send(i).unwrap());
    /// let mut order = String::new();
    /// for _ in 0..4 {
    ///     let select = Select::new().round_robin(&turn);
    ///     order.push(select.recv(&rx, |_| 'a').recv(&rx, |_| 'b').wait()?);
    /// }
    /// assert_eq!(order, "abab");
    /// # Ok::<(), leno_channel::SelectError>(())
    /// ```
    pub fn round_robin(mut self, turn: &'a Turn) -> Self {
        self.engine.order = Order::RoundRobin(turn);
        self
    }

    /// Receives: from a channel, a timer, a lock.
    ///
    /// A channel that is closed and empty is ready, with an error, each time. To listen to it no longer, give an
    /// `Option` of the receiver: `None` is never ready.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Select, bounded};
    ///
    /// let ((a, ones), (b, twos)) = (bounded(2), bounded(2));
    /// a.send(1)?;
    /// b.send(2)?;
    /// drop((a, b));
    /// let (mut ones, mut twos) = (Some(ones), Some(twos));
    /// let mut sum = 0;
    /// while ones.is_some() || twos.is_some() {
    ///     let (from, value) = Select::new()
    ///         .recv(&ones, |one| ("ones", one))
    ///         .recv(&twos, |two| ("twos", two))
    ///         .wait()?;
    ///     match (from, value) {
    ///         (_, Ok(value)) => sum += value,
    ///         ("ones", Err(_)) => ones = None,
    ///         _ => twos = None,
    ///     }
    /// }
    /// assert_eq!(sum, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recv<S: Receive, H>(
        self,
        from: &'a S,
        handler: H,
    ) -> Select<'a, R, L::With<S::Arm<'a, R, H>>>
    where
        H: FnOnce(Result<S::Item<'a>, RecvError>) -> R + 'a,
        S::Arm<'a, R, H>: 'a,
    {
        self.add(from.arm(handler))
    }

    /// Sends to a channel. If another alternative is taken, the value is dropped.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::bounded(1);
    /// leno_channel::Select::new().send(&tx, 5, |sent| sent.unwrap()).wait()?;
    /// assert_eq!(rx.recv()?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send<T, F: Flavour, H>(
        self,
        to: &'a Sender<T, F>,
        value: T,
        handler: H,
    ) -> Select<'a, R, L::With<Give<'a, T, F, H>>>
    where
        T: 'a,
        H: FnOnce(Result<(), SendError<T>>) -> R + 'a,
    {
        self.add(Give::new(to, value, handler))
    }

    /// Receives one value from each of several channels, or none; see [`join`](crate::join()).
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Select, bounded};
    ///
    /// let ((a, ones), (b, twos)) = (bounded(1), bounded(1));
    /// a.send(1)?;
    /// b.send("two")?;
    /// let both = Select::new().join((&ones, &twos), |both| both.unwrap()).wait()?;
    /// assert_eq!(both, (1, "two"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn join<J: Joinable, H>(self, from: J, handler: H) -> Select<'a, R, L::With<J::Arm<R, H>>>
    where
        H: FnOnce(Result<J::Values, RecvError>) -> R + 'a,
        J::Arm<R, H>: 'a,
    {
        self.add(from.arm(handler))
    }

    /// Waits for `limit`.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let select = leno_channel::Select::new().after(Duration::from_millis(1), || "over");
    /// assert_eq!(select.wait(), Ok("over"));
    /// ```
    pub fn after<H>(self, limit: Duration, handler: H) -> Select<'a, R, L::With<Moment<H>>>
    where
        H: FnOnce() -> R + 'a,
    {
        self.deadline(deadline_in(limit), handler)
    }

    /// Waits until `deadline`.
    ///
    /// # Examples
    /// ```
    /// let select = leno_channel::Select::new().deadline(leno_kernel::now(), || "over");
    /// assert_eq!(select.wait(), Ok("over"));
    /// ```
    pub fn deadline<H>(self, deadline: Time, handler: H) -> Select<'a, R, L::With<Moment<H>>>
    where
        H: FnOnce() -> R + 'a,
    {
        self.add(Moment::new(deadline, handler))
    }

    /// Waits for whatever a user has defined; for the end of a coroutine, whose handle is a source;
    /// for a file descriptor, by [`wait_async`](leno_kernel::io::Descriptor::wait_async).
    ///
    /// # Examples
    /// ```
    /// use leno_channel::Select;
    /// use leno_kernel::{LocalSystem, spawn_local};
    ///
    /// let system = LocalSystem::new();
    /// let waits = system.spawn(|| {
    ///     let child = spawn_local(|| 42);
    ///     Select::new().source(child, |result| result.unwrap()).wait()
    /// });
    /// system.run()?;
    /// assert_eq!(waits.join()?, Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn source<S: Source + 'a, H>(
        self,
        source: S,
        handler: H,
    ) -> Select<'a, R, L::With<Draw<S, H>>>
    where
        H: FnOnce(S::Item) -> R + 'a,
    {
        self.add(Draw::new(source, handler))
    }

    /// What to do instead of waiting, if no alternative is ready.
    ///
    /// # Examples
    /// ```
    /// let (_tx, rx) = leno_channel::channel::<()>();
    /// let select = leno_channel::Select::new().recv(&rx, |_| "something");
    /// assert_eq!(select.default(|| "nothing").wait(), Ok("nothing"));
    /// ```
    pub fn default<H>(mut self, handler: H) -> Select<'a, R, L::With<Otherwise<H>>>
    where
        H: FnOnce() -> R + 'a,
    {
        self.default = Some(self.engine.count());
        self.add(Otherwise::new(handler))
    }

    /// Adds an alternative.
    fn add<A: Alternative<R> + 'a>(mut self, one: A) -> Select<'a, R, L::With<A>> {
        let (list, order) = self.engine.take();
        Select { engine: Engine::new(list.with(one), order), default: self.default }
    }

    /// Takes an alternative, and calls its handler.
    ///
    /// # Blocking
    /// Until one is ready, unless there is a default: parks the calling coroutine, or blocks the
    /// calling thread; a future uses [`Self::wait_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, none is taken (a value that was handed over goes to
    /// others), and the stack unwinds.
    ///
    /// # Errors
    /// When there is no alternative; or while the coroutine's own stack unwinds, if it would have to
    /// wait.
    ///
    /// # Panics
    /// If it would have to wait: inside a future that a core polls, and outside of any coroutine if
    /// nothing that it waits for could ever happen there.
    #[track_caller]
    pub fn wait(mut self) -> Result<R, SelectError> {
        if let Some(taken) = self.engine.attempt() {
            leno_kernel::layer::give_way();
            return Ok(self.engine.finish(taken));
        }
        if self.default.is_some() || self.engine.is_hopeless() {
            return self.otherwise();
        }
        let waiter = Waiter::current();
        let is_local = !self.engine.is_shared() && self.engine.deadline().is_none();
        assert!(
            !(is_local && matches!(waiter, Waiter::Thread(_))),
            "a thread waits in a select of local alternatives: only its own coroutines could end \
             the wait, and they cannot run meanwhile"
        );
        let (mut parks, mut thread) = (leno_kernel::layer::parks(), thread_number());
        let mut taken = self.engine.enlist(waiter);
        let object = self.engine.object().expect("it stands in line");
        loop {
            if let Some(taken) = taken {
                return Ok(self.engine.finish(taken));
            }
            let deadline = self.engine.deadline();
            if thread_number() != thread {
                // They have had a member of a ring taken to another thread, which has another bell.
                (parks, thread) = (leno_kernel::layer::parks(), thread_number());
                taken = self.engine.renew(Waiter::current());
                continue;
            }
            if leno_kernel::layer::parks() != parks
                && !leno_kernel::layer::is_planted("select-parks-blind")
            {
                // Sources and wakers have parked since the last look, and may have taken a wake that is meant for this
                // select: it looks again.
                self.engine.wake();
            }
            if park(Reason::Choosing(object), deadline) == Wake::Exit {
                self.engine.give_up();
                leno_kernel::exit();
                return Err(SelectError::Exiting);
            }
            parks = leno_kernel::layer::parks();
            taken = self.engine.retry();
        }
    }

    /// Takes an alternative that is ready, and calls its handler.
    ///
    /// # Errors
    /// When none is.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Select, SelectError, channel};
    ///
    /// let (_tx, rx) = channel::<()>();
    /// assert_eq!(Select::new().recv(&rx, |_| ()).try_wait(), Err(SelectError::NotReady));
    /// ```
    pub fn try_wait(mut self) -> Result<R, SelectError> {
        match self.engine.attempt() {
            Some(taken) => Ok(self.engine.finish(taken)),
            None if self.default.is_none() => Err(SelectError::NotReady),
            None => self.otherwise(),
        }
    }

    /// As [`Self::wait`], for a future.
    ///
    /// # Errors
    /// When there is no alternative.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Select, bounded};
    ///
    /// let (tx, rx) = bounded(1);
    /// tx.send(1)?;
    /// let one = leno_kernel::block_on(Select::new().recv(&rx, |one| one).wait_async())?;
    /// assert_eq!(one, Ok(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_async(self) -> SelectFuture<'a, R, L> {
        SelectFuture::new(self)
    }

    fn otherwise(mut self) -> Result<R, SelectError> {
        let place = self.default.ok_or(SelectError::NoAlternative)?;
        let (list, _) = self.engine.take();
        Ok(list.finish(place))
    }
}

impl<R> Default for Select<'_, R> {
    fn default() -> Self {
        Select::new()
    }
}

impl<'a, R, L: Alternatives<'a, R>> fmt::Debug for Select<'a, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Select({} alternatives)", self.engine.count())
    }
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SelectError::NotReady => "no alternative of the select is ready",
            SelectError::NoAlternative => "a select without alternatives would wait for ever",
            SelectError::Exiting => "cannot wait in a select: the coroutine's own stack unwinds",
        })
    }
}

leno_context::debug_as_told!(SelectError);

impl std::error::Error for SelectError {}
