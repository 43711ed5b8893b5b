//! One who accepts meets one who enters, or several, one after the other. (Dovland 2006, 6.2.1.)
//!
//! Two desks: one for those who accept, one for those who enter. A claim is put into the room when its desk
//! has run and has to wait: so whoever finds it there has met one that is *attached and passivated*. To ask
//! only if the other desk has a caller would be wrong, as that one may be attached and not have run yet:
//! then both would wait.
//!
//! Invariants: of the two places in the room at most one is taken by a claim that could be met; whoever
//! accepts meets as many as it wants and no more, in order of arrival, and the next who accepts waits
//! meanwhile.

use core::fmt;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::claim::{Claim, Outcome};
use super::desk::{self, Desk};
use super::ground::Ground;
use crate::CallError;
use leno_kernel::layer::user::{self, lock};

/// A meeting has not taken place, or not with all: what was brought, or what those brought who were met, and why.
///
/// # Examples
/// ```
/// use core::time::Duration;
/// use leno_flexible::{System, synchroniser::Rendezvous};
///
/// let system = System::new();
/// let swap: Rendezvous<&str, u32> = Rendezvous::new(&system, "swap");
/// let alone = swap.accept_timeout("a pie", Duration::from_millis(1)).unwrap_err();
/// assert!(alone.to_string().starts_with("the meeting has not taken place: coroutine 'swap.accept'"));
/// assert_eq!(alone.value, "a pie");
/// ```
#[non_exhaustive]
pub struct MeetError<V> {
    /// What was brought to a rendezvous and not taken, or those whom an [`NWay`](super::NWay) has met.
    pub value: V,
    /// Why.
    pub error: CallError,
}

impl<V> MeetError<V> {
    pub(super) fn new(value: V, error: CallError) -> MeetError<V> {
        MeetError { value, error }
    }
}

impl<V> fmt::Display for MeetError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the meeting has not taken place: {}", self.error)
    }
}

impl<V> std::error::Error for MeetError<V> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

leno_context::debug_as_told!(MeetError<V>);

/// What one who accepts asks for.
pub(super) struct Accepting<A, E> {
    /// One for each who is still to be met.
    pub(super) gives: VecDeque<A>,
    pub(super) met: Vec<E>,
    meeting: Arc<Meeting<A, E>>,
}

/// What one who enters asks for.
pub(super) struct Entering<E> {
    /// There until someone is met.
    pub(super) brings: Option<E>,
}

type AcceptClaim<A, E> = Claim<Accepting<A, E>, Vec<E>>;
type EnterClaim<A, E> = Claim<Entering<E>, A>;

/// See the module.
pub(super) struct Meeting<A, E> {
    room: Arc<Mutex<Room<A, E>>>,
    pub(super) accept: Desk<Accepting<A, E>, Vec<E>>,
    pub(super) enter: Desk<Entering<E>, A>,
}

/// Those who are attached and passivated.
struct Room<A, E> {
    accepts: Option<Arc<AcceptClaim<A, E>>>,
    enters: Option<Arc<EnterClaim<A, E>>>,
    is_over: bool,
}

impl<A: Send + 'static, E: Send + 'static> Meeting<A, E> {
    pub(super) fn new(system: &impl Ground, name: &str) -> Arc<Meeting<A, E>> {
        let site = system.site();
        let room = Room { accepts: None, enters: None, is_over: false };
        let room = Arc::new(Mutex::new(room));
        let (own, over) = (room.clone(), room.clone());
        let accept = desk::open(
            &site,
            format!("{name}.accept").into(),
            move |claim| look_for_entrant(&own, claim),
            move || lock(&over).is_over,
        );
        let (own, over) = (room.clone(), room.clone());
        let enter = desk::open(
            &site,
            format!("{name}.enter").into(),
            move |claim| look_for_master(&own, claim),
            move || lock(&over).is_over,
        );
        Arc::new(Meeting { room, accept, enter })
    }

    pub(super) fn accepting(self: &Arc<Self>, gives: VecDeque<A>) -> Accepting<A, E> {
        Accepting { met: Vec::with_capacity(gives.len()), gives, meeting: self.clone() }
    }

    pub(super) fn entering(&self, brings: E) -> Entering<E> {
        Entering { brings: Some(brings) }
    }
}

/// The desk for those who accept looks at one.
fn look_for_entrant<A: Send + 'static, E: Send + 'static>(
    room: &Mutex<Room<A, E>>,
    claim: &Arc<AcceptClaim<A, E>>,
) -> Outcome {
    let waits = lock(room).enters.take();
    if let Some(entrant) = waits {
        match meet(claim, &entrant) {
            Some(meeting) => drop(meeting.enter.prod()),
            // One of the two is gone, and not this entrant.
            None if entrant.is_asked() => lock(room).enters = Some(entrant),
            None => {}
        }
    }
    // Nobody is asked for, if this one was met by the other desk, wants no more, or is gone.
    if !claim.is_asked() {
        return Outcome::Over;
    }
    lock(room).accepts = Some(claim.clone());
    Outcome::Waits
}

/// The desk for those who enter looks at one.
fn look_for_master<A: Send + 'static, E: Send + 'static>(
    room: &Mutex<Room<A, E>>,
    claim: &Arc<EnterClaim<A, E>>,
) -> Outcome {
    let waits = lock(room).accepts.take();
    if let Some(master) = waits {
        let met = meet(&master, claim);
        if master.is_asked() {
            // It wants more, or this one has not met it.
            lock(room).accepts = Some(master);
        } else if let Some(meeting) = met {
            let _ = meeting.accept.prod();
        }
    }
    if !claim.is_asked() {
        return Outcome::Over;
    }
    lock(room).enters = Some(claim.clone());
    Outcome::Waits
}

/// Both swap what they have, if both are still there. Whether they did: the desks of both.
fn meet<A, E>(
    master: &AcceptClaim<A, E>,
    entrant: &EnterClaim<A, E>,
) -> Option<Arc<Meeting<A, E>>> {
    let (mut met, mut answered) = (None, None);
    master.decide(|accepting| {
        (_, answered) = entrant.decide_holding(|entering| {
            let gives = accepting.gives.pop_front()?;
            accepting.met.extend(entering.brings.take());
            met = Some(accepting.meeting.clone());
            Some(gives)
        });
        accepting.gives.is_empty().then(|| core::mem::take(&mut accepting.met))
    });
    user::discard(answered);
    met
}

impl<A, E> Drop for Meeting<A, E> {
    fn drop(&mut self) {
        lock(&self.room).is_over = true;
        let _ = (self.accept.kick(), self.enter.kick());
    }
}
