//! A rendezvous of one with n. (Dovland 2006, 6.2.1.)

use core::fmt;
use core::num::NonZeroUsize;
use core::time::Duration;
use std::sync::Arc;

use super::desk::{Unserved, ask, ask_async};
use super::ground::Ground;
use super::meeting::{Accepting, MeetError, Meeting};
use super::rendezvous::entered;

/// How many enter at most.
const MOST: usize = 1 << 24;

/// Where one who accepts meets n who enter, one after the other and in order of arrival, and gives each an `A`
/// for its `E`. Each of those goes on as soon as it was met; whoever accepts goes on when it has met n.
///
/// It is a handle: cloning it gives another one for the same place.
///
/// # Examples
/// ```
/// use leno_flexible::{System, synchroniser::NWay};
///
/// let system = System::new();
/// let bus: NWay<u32, &str> = NWay::new(&system, "bus", 3);
/// for name in ["ann", "bob", "cid"] {
///     let bus = bus.clone();
///     std::thread::spawn(move || assert_eq!(bus.enter(name).unwrap(), 42));
/// }
/// let mut passengers = bus.accept(42)?; // to line 42
/// passengers.sort();
/// assert_eq!(passengers, ["ann", "bob", "cid"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NWay<A = (), E = ()> {
    meeting: Arc<Meeting<A, E>>,
    n: usize,
}

impl<A: Clone + Send + 'static, E: Send + 'static> NWay<A, E> {
    /// Two coroutines, `NAME.accept` and `NAME.enter`.
    ///
    /// # Panics
    /// When `n` is zero, or more than 2²⁴: whoever accepts brings a value for each.
    pub fn new(system: &impl Ground, name: &str, n: usize) -> NWay<A, E> {
        let Some(n) = NonZeroUsize::new(n) else {
            panic!("the n-way rendezvous '{name}' is of nobody: n must be at least 1");
        };
        assert!(n.get() <= MOST, "the n-way rendezvous '{name}' is of at most {MOST}, not of {n}");
        NWay { meeting: Meeting::new(system, name), n: n.get() }
    }

    /// How many meet one.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Meets n who enter: gives each of them `value`, and gets what they bring, in order of arrival. Of several
    /// who accept, one is served to the end before the next.
    ///
    /// # Blocking
    /// Until n have been met.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it leaves, and its stack unwinds. Those whom it has met by then
    /// have gone on.
    ///
    /// # Errors
    /// When the system has ended or the caller's stack unwinds, with what those brought who were met by then.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::accept_async`].
    #[track_caller]
    pub fn accept(&self, value: A) -> Result<Vec<E>, MeetError<Vec<E>>> {
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
    /// As [`Self::accept`], and when the time is over.
    ///
    /// # Panics
    /// As [`Self::accept`].
    #[track_caller]
    pub fn accept_timeout(&self, value: A, limit: Duration) -> Result<Vec<E>, MeetError<Vec<E>>> {
        accepted(ask(&self.meeting.accept, self.accepting(value), Some(limit)))
    }

    /// The same for a future, which leaves when it is dropped.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn accept_async(&self, value: A) -> Result<Vec<E>, MeetError<Vec<E>>> {
        accepted(ask_async(&self.meeting.accept, self.accepting(value)).await)
    }

    /// Is one of those n: brings `value`, and gets what whoever accepts gives.
    ///
    /// # Blocking
    /// Until someone accepts and it is this one's turn; not for the others of its group.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it leaves, and its stack unwinds.
    ///
    /// # Errors
    /// When the system has ended or the caller's stack unwinds, with `value`.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::enter_async`].
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
    /// As [`Self::enter`].
    ///
    /// # Errors
    /// As [`Self::enter`], and when the time is over; then nobody was met, and nobody will be.
    ///
    /// # Panics
    /// As [`Self::enter`].
    #[track_caller]
    pub fn enter_timeout(&self, value: E, limit: Duration) -> Result<A, MeetError<E>> {
        entered(ask(&self.meeting.enter, self.meeting.entering(value), Some(limit)))
    }

    /// The same for a future, which leaves when it is dropped.
    ///
    /// # Errors
    /// As [`Self::enter`].
    pub async fn enter_async(&self, value: E) -> Result<A, MeetError<E>> {
        entered(ask_async(&self.meeting.enter, self.meeting.entering(value)).await)
    }

    fn accepting(&self, value: A) -> Accepting<A, E> {
        self.meeting.accepting(std::iter::repeat_n(value, self.n).collect())
    }
}

fn accepted<A, E>(
    result: Result<Vec<E>, Unserved<Accepting<A, E>>>,
) -> Result<Vec<E>, MeetError<Vec<E>>> {
    result.map_err(|Unserved { error, question }| {
        let met = question.expect("nobody serves it half").met;
        MeetError::new(met, error)
    })
}

impl<A, E> Clone for NWay<A, E> {
    fn clone(&self) -> Self {
        NWay { meeting: self.meeting.clone(), n: self.n }
    }
}

impl<A, E> fmt::Debug for NWay<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NWay({}, {}, {})", self.n, self.meeting.accept, self.meeting.enter)
    }
}
