//! Synchronous methods: desks that look for a chord that can run.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use super::Inner;
use super::header::Joined;
use super::post::Bell;
use crate::synchroniser::claim::{Claim, Outcome};
use crate::synchroniser::desk::{self, Desk, answered, ask, ask_async, guarded};
use crate::{CallError, Failure};
use leno_kernel::layer::user::lock;

/// A synchronous method of [`Chords`](super::Chords), to be called with an `A` for an `R`.
///
/// It is a handle: cloning it gives another one for the same method.
pub struct Enquiry<A, R> {
    name: Arc<str>,
    desk: Desk<A, Result<R, Failure>>,
    chords: Arc<Mutex<Vec<Chord<A, R>>>>,
    inner: Arc<Inner>,
}

/// What a chord of an enquiry does, if it can.
type Play<A, R> = dyn Fn(A) -> R + Send + Sync;

/// See [`Chords::chord`](super::Chords::chord).
struct Chord<A, R> {
    is_ready: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Takes the messages at once, and then may take its time.
    play: Arc<Play<A, R>>,
}

impl<A: Send + 'static, R: Send + 'static> Enquiry<A, R> {
    pub(super) fn new(name: Arc<str>, inner: &Arc<Inner>) -> Enquiry<A, R> {
        let chords: Arc<Mutex<Vec<Chord<A, R>>>> = Arc::default();
        let waits = Arc::new(AtomicBool::new(false));
        let bell = inner.bell.clone();
        let (own, says, called) = (chords.clone(), waits.clone(), name.clone());
        let serve = move |claim: &Arc<Claim<_, _>>| look(&called, &own, &says, claim);
        let desk: Desk<A, _> = desk::open(&inner.site, name.clone(), serve, move || bell.is_over());
        let handle = desk.clone();
        inner.bell.add(
            waits,
            Box::new(move |is_over| drop(if is_over { handle.kick() } else { handle.prod() })),
        );
        Enquiry { name, desk, chords, inner: inner.clone() }
    }

    pub(super) fn add<M: Send + 'static>(
        &self,
        posts: Joined<M>,
        body: impl Fn(A, M) -> R + Send + Sync + 'static,
    ) {
        let posts = Arc::new(posts);
        let own = posts.clone();
        let is_ready = Arc::new(move || own.is_ready());
        let play = Arc::new(move |argument| {
            let messages = posts.take();
            body(argument, messages)
        });
        lock(&self.chords).push(Chord { is_ready, play });
        let _ = self.desk.prod();
    }

    /// Calls it, and waits until one of its chords has run.
    ///
    /// # Blocking
    /// Until a chord has all its messages and its body has run, and while others who came earlier wait.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it leaves the queue, and its stack unwinds. A body that has
    /// begun runs to its end; its messages are gone.
    ///
    /// # Errors
    /// When the body panics, the system has ended, or the caller's stack unwinds.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::call_async`].
    #[track_caller]
    pub fn call(&self, argument: A) -> Result<R, CallError> {
        answered(ask(&self.desk, argument, None))
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::call`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::call`].
    ///
    /// # Errors
    /// As [`Self::call`], and [`CallError::TimedOut`]; then no body has begun, or its answer is lost.
    ///
    /// # Panics
    /// As [`Self::call`].
    #[track_caller]
    pub fn call_timeout(&self, argument: A, limit: Duration) -> Result<R, CallError> {
        answered(ask(&self.desk, argument, Some(limit)))
    }

    /// The same for a future, which leaves the queue when it is dropped.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn call_async(&self, argument: A) -> Result<R, CallError> {
        answered(ask_async(&self.desk, argument).await)
    }
}

impl<A, R> Enquiry<A, R> {
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn bell(&self) -> &Arc<Bell> {
        &self.inner.bell
    }
}

/// A desk looks at its client: the first chord that can run does.
fn look<A, R>(
    name: &Arc<str>,
    chords: &Mutex<Vec<Chord<A, R>>>,
    waits: &AtomicBool,
    claim: &Claim<A, Result<R, Failure>>,
) -> Outcome {
    if !claim.is_asked() {
        waits.store(false, SeqCst);
        return Outcome::Over;
    }
    waits.store(true, SeqCst);
    let ready =
        lock(chords).iter().find(|chord| (chord.is_ready)()).map(|chord| chord.play.clone());
    let Some(play) = ready else { return Outcome::Waits };
    waits.store(false, SeqCst);
    // Nobody has taken a message in between: this coroutine is the active one.
    if let Some(argument) = claim.take() {
        claim.finish(guarded(name, || play(argument)));
    }
    Outcome::Over
}

impl<A, R> Clone for Enquiry<A, R> {
    fn clone(&self) -> Self {
        let (name, desk) = (self.name.clone(), self.desk.clone());
        Enquiry { name, desk, chords: self.chords.clone(), inner: self.inner.clone() }
    }
}

impl<A, R> fmt::Debug for Enquiry<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Enquiry({})", self.desk)
    }
}
