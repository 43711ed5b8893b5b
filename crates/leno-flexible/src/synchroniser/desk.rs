//! Desks: coroutines that serve one client at a time.
//!
//! The client's side is [`ask`], the coroutine's is made by [`open`]. Three things can happen to a desk that has
//! passivated with a client: it is prodded, and looks again; the client gives up, and prods it; the client
//! gives up and the next one is attached at once. So a desk looks for a new parameter first, always, and
//! then at the claim: one that is over is detached from, which is nobody's detach if its client is gone. A
//! later client cannot get it: a desk that is active is attached to nobody new.
//!
//! When nobody can come any more, whoever has dropped the last handle says so and kicks the desk: a kick is
//! kept until the desk is idle and nobody's, so that it will look, and end.

use core::time::Duration;
use std::sync::Arc;

use leno_kernel::layer::{has_policy, user};

use super::claim::{Claim, Found, Outcome};
use super::ground::Site;
use crate::policy::Pending;
use crate::{AsyncBuilder, AsyncMe, Builder, CallError, Failure, Flexible, Me};

/// A desk, as its clients know it.
pub(super) type Desk<Q, G> = Flexible<Arc<Claim<Q, G>>, ()>;

/// Opens a desk, which serves clients in order of arrival until nobody can come any more.
pub(super) fn open<Q: Send + 'static, G: Send + 'static>(
    site: &Site,
    name: Arc<str>,
    mut serve: impl FnMut(&Arc<Claim<Q, G>>) -> Outcome + Send + 'static,
    is_over: impl Fn() -> bool + Send + 'static,
) -> Desk<Q, G> {
    let shared = site.shared.clone();
    // First come, first served is how it is anyhow, unless a driver decides; but it is promised here, and
    // no choice.
    let in_order = has_policy().then_some(|_: &[Pending]| 0);
    if site.is_threadless {
        let mut builder = AsyncBuilder::new(shared, name);
        if let Some(in_order) = in_order {
            builder = builder.serve(in_order);
        }
        builder.create(move |mut me: AsyncMe<_, ()>| async move {
            let mut claim = None;
            loop {
                match next(me.parameter(), &mut claim, &mut serve, &is_over) {
                    Next::Detach => me.detach(()).await,
                    Next::Passivate => me.passivate().await,
                    Next::End => return,
                }
            }
        })
    } else {
        let mut builder = Builder::new(shared, name);
        if let Some(in_order) = in_order {
            builder = builder.serve(in_order);
        }
        builder.create(move |me: &mut Me<_, ()>| {
            let mut claim = None;
            loop {
                match next(me.parameter(), &mut claim, &mut serve, &is_over) {
                    Next::Detach => me.detach(()),
                    Next::Passivate => me.passivate(),
                    Next::End => return,
                }
            }
        })
    }
}

/// What a desk does next.
enum Next {
    Detach,
    Passivate,
    End,
}

/// A desk that is active looks at its client.
fn next<Q, G>(
    parameter: Option<Arc<Claim<Q, G>>>,
    claim: &mut Option<Arc<Claim<Q, G>>>,
    serve: &mut impl FnMut(&Arc<Claim<Q, G>>) -> Outcome,
    is_over: &impl Fn() -> bool,
) -> Next {
    if parameter.is_some() {
        user::discard(core::mem::replace(claim, parameter));
    }
    let outcome = claim.as_ref().map(serve);
    if outcome != Some(Outcome::Waits) {
        user::discard(claim.take());
        if is_over() {
            return Next::End;
        }
    }
    match outcome {
        Some(Outcome::Over) => Next::Detach,
        Some(Outcome::Waits) | None => Next::Passivate,
    }
}

/// Runs code of users for a client: if it panics, that is the answer, and the desk goes on.
pub(super) fn guarded<R>(name: &Arc<str>, code: impl FnOnce() -> R) -> Result<R, Failure> {
    match user::call(code) {
        Ok(result) => Ok(result),
        Err(exit) if user::is_exit(&exit) => exit.resume(),
        Err(panic) => Err(Failure::new(name.clone(), panic.into_payload())),
    }
}

/// A call that has brought nothing.
pub(super) struct Unserved<Q> {
    pub(super) error: CallError,
    /// What was asked; not there if someone had begun to serve it.
    pub(super) question: Option<Q>,
}

/// What comes of code of users that a desk has run.
pub(super) fn answered<Q, R>(
    result: Result<Result<R, Failure>, Unserved<Q>>,
) -> Result<R, CallError> {
    match result {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(failure)) => Err(CallError::Failed(failure)),
        Err(Unserved { error, .. }) => Err(error),
    }
}

/// The claim of a client, closed when that goes, however it goes.
struct Open<'a, Q: Send + 'static, G: Send + 'static> {
    claim: Arc<Claim<Q, G>>,
    desk: &'a Desk<Q, G>,
    is_settled: bool,
}

impl<'a, Q: Send + 'static, G: Send + 'static> Open<'a, Q, G> {
    fn new(desk: &'a Desk<Q, G>, question: Q) -> Self {
        Open { claim: Arc::new(Claim::new(question)), desk, is_settled: false }
    }

    fn settle(mut self, result: Result<(), CallError>) -> Result<G, Unserved<Q>> {
        self.is_settled = true;
        let (found, error) = (self.claim.close(), result.err());
        if error.is_some() {
            // It may still think that this client waits.
            let _ = self.desk.prod();
        }
        let question = match found {
            Found::Granted(granted) => return Ok(granted),
            Found::Question(question) => Some(question),
            Found::Nothing => None,
        };
        let error = error.unwrap_or_else(|| CallError::NoAnswer { coroutine: self.desk.name() });
        Err(Unserved { error, question })
    }
}

impl<Q: Send + 'static, G: Send + 'static> Drop for Open<'_, Q, G> {
    fn drop(&mut self) {
        if !self.is_settled {
            let found = self.claim.close();
            let _ = self.desk.prod();
            user::discard(found);
        }
    }
}

/// Asks a desk, and waits until it is granted, for at most `limit`.
#[track_caller]
pub(super) fn ask<Q: Send + 'static, G: Send + 'static>(
    desk: &Desk<Q, G>,
    question: Q,
    limit: Option<Duration>,
) -> Result<G, Unserved<Q>> {
    let open = Open::new(desk, question);
    let result = desk.call_patiently(open.claim.clone(), limit);
    open.settle(result)
}

/// The same for a future.
pub(super) async fn ask_async<Q: Send + 'static, G: Send + 'static>(
    desk: &Desk<Q, G>,
    question: Q,
) -> Result<G, Unserved<Q>> {
    let open = Open::new(desk, question);
    let result = desk.call_async(open.claim.clone()).await;
    open.settle(result)
}
