//! Receiving from several channels at once: one value of each, or nothing.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use crate::Label;
use crate::Receiver;
use crate::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::flavour::Flavour;
use crate::select::joint::{Joint, Strands};
use crate::select::strand::{Intake, Strand};
use crate::select::{Alternative, OneFuture, Select, SelectFuture, sealed};

/// What can be joined: a tuple of references to receivers, of any types and flavours; a slice of
/// receivers, or a vector of references to receivers.
pub trait Joinable: sealed::Sealed + Clone {
    /// One value of each.
    type Values;

    /// An alternative that receives them.
    type Arm<R, H>: Alternative<R>
    where
        H: FnOnce(Result<Self::Values, RecvError>) -> R;

    /// Makes one.
    ///
    /// # Panics
    /// If a channel is there twice, or there is none.
    #[track_caller]
    fn arm<R, H>(self, handler: H) -> Self::Arm<R, H>
    where
        H: FnOnce(Result<Self::Values, RecvError>) -> R;

    /// What messages call its first channel.
    fn label(&self) -> Label;
}

/// Receives from several channels at once; of [`join`].
#[must_use = "a join does nothing unless it receives"]
#[derive(Clone, Copy)]
pub struct Join<J> {
    from: J,
}

/// Several channels to receive from at once: one value of each, or nothing. Values are neither lost
/// nor reordered if some are there and others are not.
///
/// # Examples
/// ```
/// use leno_channel::{bounded, join};
///
/// let ((a, ones), (b, twos)) = (bounded(1), bounded(1));
/// a.send(1)?;
/// assert!(join((&ones, &twos)).try_recv().is_err(), "not both");
/// b.send("two")?;
/// assert_eq!(join((&ones, &twos)).recv()?, (1, "two"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn join<J: Joinable>(from: J) -> Join<J> {
    Join { from }
}

impl<J: Joinable> Join<J> {
    /// Receives one value of each.
    ///
    /// # Blocking
    /// Until there is one of each: parks the calling coroutine, or blocks the calling thread; a
    /// future uses [`Self::recv_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, nothing was taken, and its stack unwinds.
    ///
    /// # Errors
    /// When nothing will ever come from one of them; or while the coroutine's own stack unwinds, if
    /// it would have to wait.
    ///
    /// # Panics
    /// If a channel is there twice. If it would have to wait: as
    /// [`Receiver::recv`](crate::Receiver::recv).
    ///
    /// # Examples
    /// ```
    /// let all: Vec<_> = (0..3).map(|i| {
    ///     let (tx, rx) = leno_channel::bounded(1);
    ///     tx.send(i * i).unwrap();
    ///     rx
    /// }).collect();
    /// assert_eq!(leno_channel::join(&all[..]).recv(), Ok(vec![0, 1, 4]));
    /// ```
    #[track_caller]
    pub fn recv(&self) -> Result<J::Values, RecvError> {
        match Select::new().join(self.from.clone(), |values| values).wait() {
            Ok(result) => result,
            Err(_) => Err(RecvError::Exiting(self.from.label())),
        }
    }

    /// Receives one value of each, if that needs no waiting.
    ///
    /// # Errors
    /// When one has nothing now, or never will.
    ///
    /// # Panics
    /// If a channel is there twice.
    #[track_caller]
    pub fn try_recv(&self) -> Result<J::Values, TryRecvError> {
        match Select::new().join(self.from.clone(), |values| values).try_wait() {
            Ok(Ok(values)) => Ok(values),
            Ok(Err(error)) => Err(TryRecvError::Closed(error.channel().clone())),
            Err(_) => Err(TryRecvError::Empty(self.from.label())),
        }
    }

    /// As [`Self::recv`], for at most `limit`.
    ///
    /// # Errors
    /// When the time is over; else as [`Self::recv`].
    ///
    /// # Panics
    /// As [`Self::recv`].
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<J::Values, RecvTimeoutError> {
        let select = Select::new().priority().join(self.from.clone(), Some);
        match select.after(limit, || None).wait() {
            Ok(Some(Ok(values))) => Ok(values),
            Ok(Some(Err(error))) => Err(RecvTimeoutError::Closed(error.channel().clone())),
            Ok(None) => Err(RecvTimeoutError::TimedOut(self.from.label())),
            Err(_) => Err(RecvTimeoutError::Exiting(self.from.label())),
        }
    }

    /// As [`Self::recv`], for a future.
    ///
    /// # Errors
    /// When nothing will ever come from one of them.
    ///
    /// # Panics
    /// If a channel is there twice.
    #[track_caller]
    pub fn recv_async(&self) -> JoinFuture<J> {
        let (from, arm) = (self.from.clone(), self.from.clone().arm(as_is::<J> as AsIs<J>));
        JoinFuture { future: SelectFuture::one(arm), from }
    }
}

type Joined<J> = Result<<J as Joinable>::Values, RecvError>;
type AsIs<J> = fn(Joined<J>) -> Joined<J>;

fn as_is<J: Joinable>(values: Joined<J>) -> Joined<J> {
    values
}

/// Receives from several channels at once; of [`Join::recv_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct JoinFuture<J: Joinable> {
    future: OneFuture<Joined<J>, J::Arm<Joined<J>, AsIs<J>>>,
    from: J,
}

// Nothing in it is pinned.
impl<J: Joinable> Unpin for JoinFuture<J> {}

impl<J: Joinable> Future for JoinFuture<J> {
    type Output = Joined<J>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Joined<J>> {
        let polled = Pin::new(&mut self.future).poll(context);
        polled.map(|done| done.unwrap_or_else(|_| Err(RecvError::Exiting(self.from.label()))))
    }
}

impl<J: Joinable> fmt::Debug for JoinFuture<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinFuture({})", self.from.label())
    }
}

impl<J> fmt::Debug for Join<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Join")
    }
}

macro_rules! tuples {
    ($(($($l:lifetime $T:ident $F:ident $place:tt),+))+) => {$(
        impl<$($l,)+ $($T, $F: Flavour),+> Strands for ($(Intake<$l, $T, $F>,)+) {
            type Values = ($($T,)+);

            fn each<X>(&mut self, f: impl FnOnce(&mut [&mut dyn Strand]) -> X) -> X {
                f(&mut [$(&mut self.$place.held()),+])
            }

            fn values(self) -> Self::Values {
                ($(self.$place.value(),)+)
            }
        }

        impl<$($T, $F: Flavour),+> sealed::Sealed for ($(&Receiver<$T, $F>,)+) {}

        impl<$($l,)+ $($T, $F: Flavour),+> Joinable for ($(&$l Receiver<$T, $F>,)+) {
            type Values = ($($T,)+);

            type Arm<R, H>
                = Joint<($(Intake<$l, $T, $F>,)+), H>
            where
                H: FnOnce(Result<Self::Values, RecvError>) -> R;

            #[track_caller]
            fn arm<R, H>(self, handler: H) -> Self::Arm<R, H>
            where
                H: FnOnce(Result<Self::Values, RecvError>) -> R,
            {
                Joint::new(($(Intake::new(self.$place),)+), handler)
            }

            fn label(&self) -> Label {
                self.0.label()
            }
        }
    )+};
}

tuples! {
    ('a A FA 0)
    ('a A FA 0, 'b B FB 1)
    ('a A FA 0, 'b B FB 1, 'c C FC 2)
    ('a A FA 0, 'b B FB 1, 'c C FC 2, 'd D FD 3)
    ('a A FA 0, 'b B FB 1, 'c C FC 2, 'd D FD 3, 'e E FE 4)
    ('a A FA 0, 'b B FB 1, 'c C FC 2, 'd D FD 3, 'e E FE 4, 'g G FG 5)
}

impl<T, F: Flavour> Strands for Vec<Intake<'_, T, F>> {
    type Values = Vec<T>;

    fn each<X>(&mut self, f: impl FnOnce(&mut [&mut dyn Strand]) -> X) -> X {
        let mut held: Vec<_> = self.iter_mut().map(Intake::held).collect();
        let mut all: Vec<_> = held.iter_mut().map(|held| held as &mut dyn Strand).collect();
        f(&mut all)
    }

    fn values(self) -> Vec<T> {
        self.into_iter().map(Intake::value).collect()
    }
}

macro_rules! lists {
    ($($list:ty),+) => {$(
        impl<'a, T, F: Flavour> sealed::Sealed for $list {}

        impl<'a, T, F: Flavour> Joinable for $list {
            type Values = Vec<T>;

            type Arm<R, H>
                = Joint<Vec<Intake<'a, T, F>>, H>
            where
                H: FnOnce(Result<Vec<T>, RecvError>) -> R;

            #[track_caller]
            fn arm<R, H>(self, handler: H) -> Self::Arm<R, H>
            where
                H: FnOnce(Result<Vec<T>, RecvError>) -> R,
            {
                Joint::new(self.into_iter().map(Intake::new).collect(), handler)
            }

            fn label(&self) -> Label {
                self.first().expect("a join needs a channel to receive from").label()
            }
        }
    )+};
}
lists!(&'a [Receiver<T, F>], Vec<&'a Receiver<T, F>>);
