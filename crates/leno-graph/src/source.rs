//! What can be received from: one channel, or several that are joined or selected.
//!
//! An attempt takes everything or nothing. It is optimistic: it takes from one channel after the other, each under its own
//! lock only, and puts what it has taken and cannot use to the front again.
//!
//! ```text
//!   an attempt of several channels             another receiver of one of them
//!   A1  lock a channel; take its message and   R1  lock it; held by another attempt? then there is nothing,
//!       hold it; unlock; so for each               and it is wanted; unlock
//!   A2  all there: lock each; what is held     R2  wait: stand in line, try once more (R1), park
//!       is gone, wake those in line if it is
//!       wanted; unlock
//!   A3  one not there: the same, but it is
//!       put to the front
//! ```
//!
//! - Nothing is reordered: nobody takes what comes after a message that is held, nor the close.
//! - Nothing is missed: what is not there at R1 is back before A3 looks whether it is wanted, or R1 comes later.
//! - Nobody sleeps because of another attempt: one that was refused for what another holds is woken when that ends. Where
//!   attempts take in one order, one of those that meet is not refused; in joins of joins both may be, and both try again.
//!   One that met nobody is not woken, so attempts that find too little come to rest.
//! - A held message keeps its room, so no channel has more messages than it has room for.
//!
//! Deterministic graphs receive in order instead: from the channel with the lowest number
//! first, each until it has a message, so that crossed joins cannot wait for each other. Their nodes that are futures make
//! attempts.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::world;
use leno_kernel::log::Operation;

use crate::channel::{Channel, Link, Linked};
use crate::fate;
use crate::mode::Schedule;
use crate::state::Take;

/// How someone who receives in order waits for a message in a channel.
#[doc(hidden)]
pub trait Pause<S: Schedule> {
    /// Why it cannot wait.
    type Error;

    /// Waits until it is worth another look.
    fn pause(&mut self, linked: &Linked<S>) -> Result<(), Self::Error>;
}

impl<S: Schedule, E, F: FnMut(&Linked<S>) -> Result<(), E>> Pause<S> for F {
    type Error = E;

    fn pause(&mut self, linked: &Linked<S>) -> Result<(), E> {
        self(linked)
    }
}

/// What can be received from: one channel is a [`Tap`], several are a [`Join`](crate::Join), a
/// [`JoinAll`](crate::JoinAll) or a [`Select`](crate::Select).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what can be received from",
    note = "an end to receive messages of type `T` from one channel is a `Receiver<Tap<T, S>>`"
)]
pub trait Source: Sealed {}

/// One attempt to receive.
#[doc(hidden)]
pub struct Attempt {
    /// Whether a close counts only when those before it have something, so that what is taken does not depend on when
    /// it was tried.
    pub(crate) in_order: bool,
    /// Names it where it may meet others; else 0.
    pub(crate) number: u64,
    /// Whether it has closed something.
    pub(crate) leaves: bool,
    /// What a waker has raised that is not to stop the attempt in between.
    raised: Option<Panic>,
}

impl Attempt {
    pub(crate) fn new(in_order: bool, number: u64) -> Attempt {
        Attempt { in_order, number, leaves: false, raised: None }
    }

    /// Wakes others, with what is held put back or committed everywhere before anything is raised.
    fn call(&mut self, wake: impl FnOnce()) {
        if let Err(panic) = user::call(wake) {
            self.raised = user::first(self.raised.take(), Some(panic));
        }
    }
}

/// What a source consists of; nobody else can make one.
#[doc(hidden)]
pub trait Sealed {
    /// One message.
    type Item;
    /// Of which graphs it is.
    type S: Schedule;
    /// Whether an attempt may put back what it has taken.
    const ROLLS_BACK: bool;

    /// The lowest number of its channels.
    fn first(&self) -> u64;
    /// Calls `f` with each of its channels.
    fn each(&self, f: &mut dyn FnMut(&dyn Link<Self::S>));
    /// Looks whether there is something to receive besides what this attempt holds, and takes nothing: `Got` if there is.
    fn peek(&self, attempt: u64) -> Take<()>;
    /// One attempt, in which everything or nothing is taken. Nobody is woken: see [`Self::receive`].
    /// Joins that are closed by it are marked: see [`Self::leave_marked`].
    fn take(&self, attempt: &mut Attempt) -> Take<Self::Item>;

    /// One attempt, and if it succeeds those are woken for whom there is room now. One that is rolled back
    /// wakes no senders: else someone who waits to send and someone who waits for more would keep each other
    /// awake for ever.
    fn receive(&self, in_order: bool) -> Take<Self::Item> {
        let number = match Self::ROLLS_BACK {
            true => <Self::S as crate::mode::Sealed>::attempt(&self.linked().core),
            false => 0,
        };
        let mut attempt = Attempt::new(in_order, number);
        let taken = self.take(&mut attempt);
        if matches!(taken, Take::Got(_)) {
            self.each(&mut |wire| attempt.call(|| wire.commit(number)));
        }
        fate::raise(attempt.raised.take());
        if attempt.leaves { self.receive_last(taken) } else { taken }
    }

    /// Leaves what an attempt has closed. If a message that is dropped with it panics, what was received is
    /// given back.
    #[cold]
    fn receive_last(&self, taken: Take<Self::Item>) -> Take<Self::Item> {
        if let Err(panic) = user::call(|| self.leave_marked()) {
            if let Take::Got(item) = taken {
                self.give_back(item, &mut Attempt::new(false, 0));
            }
            panic.resume();
        }
        taken
    }
    /// A message that is there, or that its sender gives by hand; `None` says nothing. The panic of a sender
    /// without a stack unwinds who is outside, and asks for nobody else.
    #[inline(always)]
    fn by_hand(&self, _is_outside: bool) -> Option<Self::Item> {
        None
    }
    /// Puts a message to the front again, which this attempt holds, if that has a number.
    fn give_back(&self, item: Self::Item, attempt: &mut Attempt);
    /// Receives in the order of channel numbers; `pause` waits for a message in a channel.
    fn in_order<W: Pause<Self::S>>(&self, pause: &mut W) -> Result<Option<Self::Item>, W::Error>;
    /// Receives no more, because it is cut off or else by itself. Whether it did until now.
    fn leave(&self, is_cut: bool) -> bool;
    /// Receives no more, as [`Self::leave`]; its channels are told by [`Self::leave_marked`], which drops
    /// messages and so is called when no lock is held.
    fn mark(&self, is_cut: bool);
    /// Tells the channels that are marked.
    fn leave_marked(&self) -> bool;
    /// The same, while the stack of its node may unwind; see [`fate`](crate::fate).
    fn abandon(&self) -> bool;
    /// Whether the end that it got was a cut.
    fn is_cut(&self) -> bool;
    /// Where one of its channels is.
    fn linked(&self) -> &Linked<Self::S>;

    /// Calls `f` with where each of its channels is.
    fn each_linked(&self, f: &mut dyn FnMut(&Linked<Self::S>)) {
        self.each(&mut |wire| wire.get_linked().into_iter().for_each(&mut *f));
    }

    /// What the kernel calls one of its channels.
    fn object(&self) -> leno_kernel::Object {
        let mut object = None;
        self.each(&mut |wire| object = Some(wire.object()));
        object.expect("a source has a channel")
    }
}

/// An end to receive from one channel.
pub struct Tap<T, S: Schedule> {
    pub(crate) channel: S::Ref<Channel<T, S>>,
    is_open: AtomicBool,
    /// Whether its channel is to be told that it receives no more, and whether because it is cut off.
    is_marked: AtomicBool,
    is_marked_cut: AtomicBool,
    /// Whether the end that it got was a cut.
    saw_cut: AtomicBool,
}

/// Does something to both parts of a source, also if a message that is dropped by the first panics; then panics
/// as that. Whether one of both says so.
pub(crate) fn both(one: impl FnOnce() -> bool, other: impl FnOnce() -> bool) -> bool {
    match (user::call(one), user::call(other)) {
        (Ok(one), Ok(other)) => one | other,
        (one, other) => {
            fate::raise(user::first(one.err(), other.err()));
            true
        }
    }
}

/// Does something to all parts of a source, as [`both`] does.
pub(crate) fn all<X>(parts: &[X], f: impl Fn(&X) -> bool) -> bool {
    let (mut any, mut raised) = (false, None);
    for part in parts {
        match user::call(|| f(part)) {
            Ok(is) => any |= is,
            Err(panic) => raised = user::first(raised, Some(panic)),
        }
    }
    fate::raise(raised);
    any
}

impl<T, S: Schedule> Tap<T, S> {
    pub(crate) fn new(channel: S::Ref<Channel<T, S>>) -> Tap<T, S> {
        channel.add_receiver();
        let [is_marked, is_marked_cut, saw_cut] = [(); 3].map(|()| AtomicBool::new(false));
        Tap { channel, is_open: AtomicBool::new(true), is_marked, is_marked_cut, saw_cut }
    }

    /// No more will come.
    #[cold]
    fn note_end(&self) {
        if self.channel.state().is_cut {
            self.saw_cut.store(true, Relaxed);
        }
    }
}

impl<T, S: Schedule> Clone for Tap<T, S> {
    fn clone(&self) -> Self {
        // Only tokens are cloned, which are open.
        Tap::new(self.channel.clone())
    }
}

impl<T, S: Schedule> Drop for Tap<T, S> {
    fn drop(&mut self) {
        self.leave(self.channel.is_dropped());
    }
}

impl<T, S: Schedule> Source for Tap<T, S> {}

impl<T, S: Schedule> Sealed for Tap<T, S> {
    type Item = T;
    type S = S;
    const ROLLS_BACK: bool = false;

    fn first(&self) -> u64 {
        self.channel.number
    }

    fn each(&self, f: &mut dyn FnMut(&dyn Link<S>)) {
        f(&*self.channel);
    }

    fn peek(&self, attempt: u64) -> Take<()> {
        if !self.is_open.load(Relaxed) {
            return Take::Closed;
        }
        let looked = self.channel.state().peek(attempt);
        if looked == Take::Closed {
            self.note_end();
        }
        looked
    }

    #[inline(always)]
    fn take(&self, attempt: &mut Attempt) -> Take<T> {
        if !self.is_open.load(Relaxed) {
            return Take::Closed;
        }
        if attempt.number != 0 && world::is_observed() {
            world::point(Operation::Receive, Some(self.channel.object));
        }
        let taken = match S::IS_PARALLEL {
            true => self.channel.state().try_take(attempt.number),
            false => self.channel.state().take(),
        };
        if matches!(taken, Take::Closed) {
            self.note_end();
        }
        taken
    }

    #[inline(always)]
    fn receive(&self, _: bool) -> Take<T> {
        if !self.is_open.load(Relaxed) {
            return Take::Closed;
        }
        let taken = self.channel.take();
        if matches!(taken, Take::Closed) {
            self.note_end();
        }
        taken
    }

    #[inline(always)]
    fn by_hand(&self, is_outside: bool) -> Option<T> {
        if !self.is_open.load(Relaxed) { None } else { S::by_hand(&self.channel, is_outside) }
    }

    fn give_back(&self, item: T, attempt: &mut Attempt) {
        let woken = self.channel.put_back(item, attempt.number);
        if !woken.is_empty() {
            attempt.call(|| self.channel.wake_receivers(woken));
        }
    }

    #[inline(always)]
    fn in_order<W: Pause<S>>(&self, pause: &mut W) -> Result<Option<T>, W::Error> {
        loop {
            if !self.is_open.load(Relaxed) {
                return Ok(None);
            }
            match self.channel.take() {
                Take::Got(value) => return Ok(Some(value)),
                Take::Closed => {
                    self.note_end();
                    return Ok(None);
                }
                Take::Empty => match S::feed(&self.channel) {
                    Take::Got(value) => return Ok(Some(value)),
                    Take::Closed => {
                        self.note_end();
                        return Ok(None);
                    }
                    Take::Empty => pause.pause(self.linked())?,
                },
            }
        }
    }

    fn leave(&self, is_cut: bool) -> bool {
        let is_first = self.is_open.swap(false, Relaxed);
        if is_first {
            self.channel.cancel_receiver(is_cut);
        }
        is_first
    }

    fn mark(&self, is_cut: bool) {
        if self.is_open.swap(false, Relaxed) {
            self.is_marked_cut.store(is_cut, Relaxed);
            self.is_marked.store(true, Relaxed);
        }
    }

    fn leave_marked(&self) -> bool {
        let is_marked = self.is_marked.swap(false, Relaxed);
        if is_marked {
            self.channel.cancel_receiver(self.is_marked_cut.load(Relaxed));
        }
        is_marked
    }

    fn abandon(&self) -> bool {
        let is_first = self.is_open.swap(false, Relaxed);
        if is_first {
            fate::abandon(self.linked(), false, || self.channel.cancel_receiver(true));
        }
        is_first
    }

    fn is_cut(&self) -> bool {
        self.saw_cut.load(Relaxed)
    }

    fn linked(&self) -> &Linked<S> {
        self.channel.linked()
    }
}
