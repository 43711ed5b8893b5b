//! Receiving from several channels at once: one value of each, or nothing.

use core::fmt;
use core::time::Duration;

use crate::Label;
use crate::Receiver;
use crate::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::flavour::Flavour;
use crate::select::joint::{Joint, Legs};
use crate::select::leg::{Foot, Leg};
use crate::select::{Arm, Select, sealed};

/// What can be joined: a tuple of references to receivers, of any types and flavours; a slice of
/// receivers, or a vector of references to receivers.
pub trait Joinable<'a>: sealed::Sealed + Clone {
    /// One value of each.
    type Values;

    /// An alternative that receives them.
    ///
    /// # Panics
    /// If a channel is there twice, or there is none.
    #[track_caller]
    fn arm<R: 'a>(
        self,
        handler: impl FnOnce(Result<Self::Values, RecvError>) -> R + 'a,
    ) -> Arm<'a, R>;

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
pub fn join<'a, J: Joinable<'a>>(from: J) -> Join<J> {
    Join { from }
}

impl<'a, J: Joinable<'a> + 'a> Join<J> {
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
    pub async fn recv_async(&self) -> Result<J::Values, RecvError> {
        match Select::new().join(self.from.clone(), |values| values).wait_async().await {
            Ok(result) => result,
            Err(_) => Err(RecvError::Exiting(self.from.label())),
        }
    }
}

impl<J> fmt::Debug for Join<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Join")
    }
}

#[track_caller]
fn arm<'a, L: Legs + 'a, R: 'a>(
    legs: L,
    handler: impl FnOnce(Result<L::Values, RecvError>) -> R + 'a,
) -> Arm<'a, R> {
    let handler =
        move |values: Result<L::Values, Label>| handler(values.map_err(RecvError::Closed));
    Arm(Box::new(Joint::new(legs, handler)))
}

macro_rules! tuples {
    ($(($($T:ident $F:ident $place:tt),+))+) => {$(
        impl<'a, $($T, $F: Flavour),+> Legs for ($(Foot<'a, $T, $F>,)+) {
            type Values = ($($T,)+);

            fn legs(&mut self) -> Vec<&mut dyn Leg> {
                vec![$(&mut self.$place),+]
            }

            fn values(self) -> Self::Values {
                ($(self.$place.value(),)+)
            }
        }

        impl<$($T, $F: Flavour),+> sealed::Sealed for ($(&Receiver<$T, $F>,)+) {}

        impl<'a, $($T, $F: Flavour),+> Joinable<'a> for ($(&'a Receiver<$T, $F>,)+) {
            type Values = ($($T,)+);

            #[track_caller]
            fn arm<R: 'a>(
                self,
                handler: impl FnOnce(Result<Self::Values, RecvError>) -> R + 'a,
            ) -> Arm<'a, R> {
                arm(($(Foot::new(self.$place),)+), handler)
            }

            fn label(&self) -> Label {
                self.0.label()
            }
        }
    )+};
}

tuples! {
    (A FA 0)
    (A FA 0, B FB 1)
    (A FA 0, B FB 1, C FC 2)
    (A FA 0, B FB 1, C FC 2, D FD 3)
    (A FA 0, B FB 1, C FC 2, D FD 3, E FE 4)
    (A FA 0, B FB 1, C FC 2, D FD 3, E FE 4, G FG 5)
}

impl<T, F: Flavour> Legs for Vec<Foot<'_, T, F>> {
    type Values = Vec<T>;

    fn legs(&mut self) -> Vec<&mut dyn Leg> {
        self.iter_mut().map(|foot| foot as &mut dyn Leg).collect()
    }

    fn values(self) -> Vec<T> {
        self.into_iter().map(Foot::value).collect()
    }
}

macro_rules! lists {
    ($($list:ty),+) => {$(
        impl<'a, T, F: Flavour> sealed::Sealed for $list {}

        impl<'a, T, F: Flavour> Joinable<'a> for $list where Self: 'a {
            type Values = Vec<T>;

            #[track_caller]
            fn arm<R: 'a>(
                self,
                handler: impl FnOnce(Result<Vec<T>, RecvError>) -> R + 'a,
            ) -> Arm<'a, R> {
                let feet: Vec<Foot<'a, T, F>> = self.into_iter().map(Foot::new).collect();
                arm(feet, handler)
            }

            fn label(&self) -> Label {
                self.first().expect("a join needs a channel to receive from").label()
            }
        }
    )+};
}
lists!(&'a [Receiver<T, F>], Vec<&'a Receiver<T, F>>);
