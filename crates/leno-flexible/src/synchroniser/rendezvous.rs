//! A rendezvous of two. (Dovland 2006, 6.2.1.)

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use super::desk::{Unserved, ask, ask_async};
use super::ground::Ground;
use super::meeting::{Accepting, Entering, MeetError, Meeting};

/// Where one who accepts and one who enters meet, and swap an `A` for an `E`: whoever comes first waits,
/// then both go on. Many may come to either side; they meet in order of arrival.
///
/// It is a handle: cloning it gives another one for the same place.
///
/// # Examples
/// ```
/// use leno_flexible::{System, synchroniser::Rendezvous};
///
/// let system = System::new();
/// let market: Rendezvous<u32, &str> = Rendezvous::new(&system, "market");
/// let other = market.clone();
/// let buyer = std::thread::spawn(move || other.accept(5).unwrap()); // five coins
/// assert_eq!(market.enter("a melon")?, 5);
/// assert_eq!(buyer.join().unwrap(), "a melon");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rendezvous<A = (), E = ()> {
    meeting: Arc<Meeting<A, E>>,
}

impl<A: Send + 'static, E: Send + 'static> Rendezvous<A, E> {
    /// Two coroutines, `NAME.accept` and `NAME.enter`.
    pub fn new(system: &impl Ground, name: &str) -> Rendezvous<A, E> {
        Rendezvous { meeting: Meeting::new(system, name) }
    }

    /// Meets one who enters: gives it `value`, and gets what it brings.
    ///
    /// # Blocking
    /// Until someone has entered and it is this one's turn.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it leaves, and its stack unwinds.
    ///
    /// # Errors
    /// When the system has ended or the caller's stack unwinds, with `value`.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::accept_async`].
    #[track_caller]
    pub fn accept(&self, value: A) -> Result<E, MeetError<A>> {
        accepted(ask(&self.meeting.accept, self.accepting(value), None))
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::accept`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::accept`].
    ///
    /// # Errors
    /// As [`Self::accept`], and when the time is over; then nobody was met, and nobody will be.
    ///
    /// # Panics
    /// As [`Self::accept`].
    #[track_caller]
    pub fn accept_timeout(&self, value: A, limit: Duration) -> Result<E, MeetError<A>> {
        accepted(ask(&self.meeting.accept, self.accepting(value), Some(limit)))
    }

    /// The same for a future, which leaves when it is dropped.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn accept_async(&self, value: A) -> Result<E, MeetError<A>> {
        accepted(ask_async(&self.meeting.accept, self.accepting(value)).await)
    }

    /// Meets one who accepts: brings it `value`, and gets what it gives.
    ///
    /// # Blocking
    /// Until someone accepts and it is this one's turn.
    ///
    /// # Cancellation
    /// As [`Self::accept`].
    ///
    /// # Errors
    /// As [`Self::accept`].
    ///
    /// # Panics
    /// As [`Self::accept`].
    #[track_caller]
    pub fn enter(&self, value: E) -> Result<A, MeetError<E>> {
        entered(ask(&self.meeting.enter, self.meeting.entering(value), None))
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::enter`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::accept`].
    ///
    /// # Errors
    /// As [`Self::accept_timeout`].
    ///
    /// # Panics
    /// As [`Self::accept`].
    #[track_caller]
    pub fn enter_timeout(&self, value: E, limit: Duration) -> Result<A, MeetError<E>> {
        entered(ask(&self.meeting.enter, self.meeting.entering(value), Some(limit)))
    }

    /// The same for a future, which leaves when it is dropped.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn enter_async(&self, value: E) -> Result<A, MeetError<E>> {
        entered(ask_async(&self.meeting.enter, self.meeting.entering(value)).await)
    }

    fn accepting(&self, value: A) -> Accepting<A, E> {
        self.meeting.accepting(VecDeque::from([value]))
    }
}

fn accepted<A, E>(result: Result<Vec<E>, Unserved<Accepting<A, E>>>) -> Result<E, MeetError<A>> {
    match result {
        Ok(met) => Ok(met.into_iter().next().expect("whoever accepts one has met one")),
        Err(Unserved { error, question }) => {
            let mut question = question.expect("nobody serves it half");
            let value = question.gives.pop_front().expect("whoever has met nobody has it still");
            Err(MeetError::new(value, error))
        }
    }
}

pub(super) fn entered<A, E>(result: Result<A, Unserved<Entering<E>>>) -> Result<A, MeetError<E>> {
    result.map_err(|Unserved { error, question }| {
        let mut question = question.expect("nobody serves it half");
        let value = question.brings.take().expect("whoever has met nobody has it still");
        MeetError::new(value, error)
    })
}

impl<A, E> Clone for Rendezvous<A, E> {
    fn clone(&self) -> Self {
        Rendezvous { meeting: self.meeting.clone() }
    }
}

impl<A, E> fmt::Debug for Rendezvous<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rendezvous({}, {})", self.meeting.accept, self.meeting.enter)
    }
}
