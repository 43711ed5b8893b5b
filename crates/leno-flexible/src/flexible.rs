//! The handle of a coroutine: what threads and other coroutines can do with it.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use std::sync::Arc;

use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::{Sign, deadline_in, listen, park_on, park_on_until, world};
use leno_kernel::{Object, Reason, Time, Waiter, Wake, can_park, exit, now};

use crate::call::{AnyCall, Call, Types, refused};
use crate::call_future::CallFuture;
use crate::shared::{Shared, raise};
use crate::snapshot::Seen;
use crate::table::Id;
use crate::{CallError, Party, Refusal, State, helm, turn};

/// A coroutine that threads and coroutines can call: with a `P`, and it answers with an `R`.
///
/// It is a handle: cloning it gives another one for the same coroutine, and dropping all does not end
/// it.
///
/// # Examples
/// ```
/// use leno_flexible::{Me, System};
///
/// let system = System::new();
/// let upper = system.create("upper", |me: &mut Me<String, String>| {
///     loop {
///         let text = me.parameter().unwrap_or_default();
///         me.detach(text.to_uppercase());
///     }
/// });
/// let other = upper.clone();
/// std::thread::spawn(move || assert_eq!(other.call("a".into()).unwrap(), "A")).join().unwrap();
/// assert_eq!(upper.call("b".into())?, "B");
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
///
/// A handle is of exactly the types of its coroutine:
/// ```compile_fail
/// use leno_flexible::Flexible;
///
/// type Any = for<'a> fn(&'a str);
///
/// fn with_any(handle: Flexible<fn(&'static str), ()>) -> Flexible<Any, ()> {
///     handle // the body would be given what it does not expect
/// }
/// ```
pub struct Flexible<P, R> {
    named: Arc<Named>,
    types: Types<P, R>,
}

/// What all handles of a coroutine share.
struct Named {
    shared: Arc<Shared>,
    id: Id,
    name: Arc<str>,
    sign: Sign,
}

impl Drop for Named {
    fn drop(&mut self) {
        self.shared.operate_as_scheduler(|table| table.forget(self.id));
    }
}

impl<P, R> Flexible<P, R> {
    pub(crate) fn new(shared: Arc<Shared>, id: Id, name: Arc<str>) -> Self {
        let sign = Sign::new(Object::shared());
        sign.set_name(name.clone());
        let named = Arc::new(Named { shared, id, name, sign });
        Flexible { named, types: PhantomData }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.named.shared
    }

    pub(crate) fn id(&self) -> Id {
        self.named.id
    }

    /// What it is called.
    pub fn name(&self) -> Arc<str> {
        self.named.name.clone()
    }

    /// What it is doing, by now perhaps no longer.
    pub fn state(&self) -> State {
        self.shared().lock().cell(self.id()).state
    }

    /// To whom it is attached.
    pub fn caller(&self) -> Option<Party> {
        self.look().caller
    }

    /// It and its requests, as they are.
    pub fn look(&self) -> Seen {
        self.shared().lock().seen(self.id())
    }

    /// Lets it run some time, whoever calls this, and returns at once. If it is busy, the kick is kept in
    /// its local set, and served when it is idle and nobody's; so not while it is attached, even if it
    /// passivates. See [`Self::prod`]. (Rules 4.8, 4.15.)
    ///
    /// # Errors
    /// When it has terminated, or its system has ended.
    pub fn kick(&self) -> Result<(), Refusal> {
        self.shared().point();
        let from = self.shared().requester();
        self.shared().operate_from_outside(|table| table.kick(&from, self.id()))
    }

    /// A kick that is not kept in the local set, but ends the next passivate, if it is busy. It is for
    /// those who look and then passivate: between the two no wake-up is lost.
    ///
    /// # Errors
    /// When it has terminated, or its system has ended.
    pub fn prod(&self) -> Result<(), Refusal> {
        self.shared().point();
        let from = self.shared().requester();
        self.shared().operate_from_outside(|table| table.permit(&from, self.id()))
    }
}

impl<P: Send + 'static, R: Send + 'static> Flexible<P, R> {
    /// Calls it, and waits until it detaches from this call or ends.
    ///
    /// From a thread: if it is busy, the call waits in its local set for its turn, with its parameter.
    /// (Rules 4.12, 4.17.) From a coroutine of the same system: it must be idle and not attached; the
    /// bottom of its chain of callees runs next. (Rule 4.4.) A coroutine of another system is a thread to
    /// this one.
    ///
    /// # Blocking
    /// The calling thread blocks; the calling coroutine parks.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, the call is withdrawn and its stack unwinds; what was called
    /// goes on without a caller.
    ///
    /// # Errors
    /// When the call is refused (a cycle, a busy one, one that has terminated, a system that has ended),
    /// when the body ends without an answer, or when it panics.
    ///
    /// # Panics
    /// Inside a future that a core polls, or in a body of a [`Threadless`](crate::Threadless) system, which
    /// awaits [`Self::call_async`], or has [`MigrantMe::call`](crate::MigrantMe::call).
    #[track_caller]
    pub fn call(&self, parameter: P) -> Result<R, CallError> {
        self.call_as(parameter, false, None)
    }

    /// The same for at most `limit`. When the time is over, the call is withdrawn.
    ///
    /// # Blocking
    /// As [`Self::call`], for `limit` at most. A coroutine of the same system then stands in the queue,
    /// and goes on when its turn comes.
    ///
    /// # Cancellation
    /// As [`Self::call`].
    ///
    /// # Errors
    /// As [`Self::call`], and when the time is over: [`CallError::TimedOut`].
    ///
    /// # Panics
    /// Inside a future that a core polls.
    #[track_caller]
    pub fn call_timeout(&self, parameter: P, limit: Duration) -> Result<R, CallError> {
        self.call_as(parameter, false, Some(deadline_in(limit)))
    }

    /// The same, but a coroutine that calls a busy one waits for its turn, as a thread does. A wait that
    /// could end only after the calling coroutine has gone on is refused.
    ///
    /// # Blocking
    /// As [`Self::call`].
    ///
    /// # Cancellation
    /// As [`Self::call`].
    ///
    /// # Errors
    /// As [`Self::call`], but not because it is busy.
    ///
    /// # Panics
    /// Inside a future that a core polls.
    #[track_caller]
    pub fn call_wait(&self, parameter: P) -> Result<R, CallError> {
        self.call_as(parameter, true, None)
    }

    /// Busy or not, and for at most `limit` if there is one.
    #[track_caller]
    pub(crate) fn call_patiently(
        &self,
        parameter: P,
        limit: Option<Duration>,
    ) -> Result<R, CallError> {
        self.call_as(parameter, true, limit.map(deadline_in))
    }

    /// For those who look before they call: whether a call could be made here, and may wait. A call that could
    /// not says why, so it is to be made.
    pub(crate) fn could_wait(&self) -> bool {
        self.shared().point();
        !self.has_ended() && !turn::is_here() && !turn::is_steering(self.shared()) && can_park()
    }

    /// Whether its system has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.shared().has_ended()
    }

    #[track_caller]
    fn call_as(&self, parameter: P, waits: bool, limit: Option<Time>) -> Result<R, CallError> {
        let shared = self.shared();
        assert!(
            !turn::is_here(),
            "a blocking call of coroutine '{}' by one that has no home core: nobody would run the \
             others; await `call_async`, or use `MigrantMe::call`",
            self.name()
        );
        let call = Arc::new(Call::new(parameter));
        shared.point_to_wait();
        if !can_park() {
            // Says so, if it is a future.
            drop(Waiter::current());
            return refused(Refusal::Exiting);
        }
        if shared.is_threadless && turn::is_steering(shared) {
            return refused(Refusal::Steers { coroutine: self.name() });
        }
        // Whoever has no home core was refused above.
        let own = if shared.is_threadless { None } else { shared.current() };
        match own {
            Some(own) => {
                let (called, raised) = shared.operate_holding(|table| {
                    table.check_turn(own)?;
                    match waits {
                        true => table.call_wait(own, self.id(), call.clone()),
                        false => table.call(own, self.id(), call.clone()),
                    }
                });
                if let Some(raised) = raised {
                    // It goes on when this coroutine is active again, with nothing of a call.
                    let more = if called.is_ok() { self.give_up(own)?.1 } else { None };
                    user::discard(call);
                    raise(user::first(Some(raised), more));
                    return refused(Refusal::Exiting);
                }
                called?;
                if !shared.sleep_until(own, limit)? {
                    let (given_up, raised) = self.give_up(own)?;
                    raise(raised);
                    if let Some(served) = given_up {
                        return Err(CallError::TimedOut { coroutine: self.name(), served });
                    }
                }
                call.take_answer().expect("whoever detaches from a coroutine answers first")
            }
            None => {
                let made = Made { callee: self, call: Some(call) };
                let call = made.call();
                let (called, raised) =
                    shared.call_from_outside(self.id(), call.clone(), limit, || call.is_settled());
                raise(raised);
                match called {
                    Ok(()) => self.wait_for_answer(made, limit),
                    Err(refusal) => {
                        made.into_call();
                        refused(refusal)
                    }
                }
            }
        }
    }

    /// Gives up the call of a coroutine with a stack, which goes on when its turn comes. What that one was doing, if it
    /// was serving the call, or nothing if the call is settled; and what an observer has raised, for when this
    /// coroutine is active again.
    #[allow(clippy::type_complexity, reason = "what the table says, and what is raised later")]
    fn give_up(&self, own: Id) -> Result<(Option<Option<State>>, Option<Panic>), Refusal> {
        let shared = self.shared();
        let (given_up, raised) = shared.operate_holding(|table| table.give_up(own, self.id()));
        shared.sleep(own)?;
        Ok((given_up, raised))
    }

    /// Blocks the calling thread until the call is settled; it steers meanwhile, if nobody else does.
    #[track_caller]
    fn wait_for_answer(&self, made: Made<'_, P, R>, limit: Option<Time>) -> Result<R, CallError> {
        let call = made.call();
        if call.is_settled() {
            let call = made.into_call().expect("it is taken once");
            return call.into_answer().expect("a settled call has its answer once");
        }
        let (shared, sign) = (self.shared(), &self.named.sign);
        let is_free = || shared.is_threadless && shared.lock().has_free_helm();
        // Often it comes before a thread has fallen asleep and been woken.
        let _ = listen(|| call.is_settled() || is_free());
        let reason = Reason::Answer(sign.object());
        loop {
            if shared.is_threadless && !call.is_settled() && self.steer(call, limit) {
                continue;
            }
            if let Some(answer) = call.take_answer() {
                made.into_call();
                return answer;
            }
            if world::is_here() {
                // Others may run before it stands in line.
                shared.point();
            }
            // A clock is code of a user, which could take a wake that is meant for the wait.
            let is_late = limit.is_some_and(|limit| now() >= limit);
            let park = || match limit {
                Some(limit) => park_on_until(reason, sign, limit),
                None => park_on(reason, sign),
            };
            let wake = call.wait(Waiter::current(), || !is_late && is_free(), park);
            if wake == Wake::Unparked {
                continue;
            }
            let served = self.withdraw(call.clone());
            let answer = call.take_answer();
            made.into_call();
            if let Some(answer) = answer {
                return answer;
            }
            if wake == Wake::Exit {
                exit();
                return refused(Refusal::Exiting);
            }
            return Err(CallError::TimedOut { coroutine: self.name(), served });
        }
    }

    /// C3 of [`helm`]. Whether it had the helm, and its call may be settled now.
    pub(crate) fn steer(&self, call: &Call<P, R>, limit: Option<Time>) -> bool {
        let is_late = limit.is_some_and(|limit| now() >= limit);
        let steers = turn::steers(self.shared());
        let takes_helm = !is_late && self.shared().take_helm();
        match steers {
            Some(_steers) if takes_helm => {
                raise(helm::steer(self.shared(), None, limit, || call.is_settled()));
                true
            }
            // It cannot steer itself, and is answered by one who can.
            None if takes_helm => {
                helm::send_helper(self.shared());
                false
            }
            _ => false,
        }
    }

    /// The same for a future: the call is made when it is first polled, and withdrawn when it is dropped.
    ///
    /// # Blocking
    /// Never; it is pending until the answer is there.
    ///
    /// # Cancellation
    /// By dropping it.
    ///
    /// # Errors
    /// As [`Self::call`].
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::{Me, System};
    ///
    /// let system = System::new();
    /// let one = system.create("one", |me: &mut Me<u32, u32>| {
    ///     let n = me.parameter().unwrap_or(0);
    ///     me.detach(n + 1);
    /// });
    /// assert_eq!(leno_kernel::block_on(one.call_async(1))?, 2);
    /// # Ok::<(), leno_flexible::CallError>(())
    /// ```
    pub fn call_async(&self, parameter: P) -> CallFuture<P, R> {
        CallFuture::new(self.clone(), parameter, false)
    }

    /// As [`Self::call_wait`], for a future.
    ///
    /// # Blocking
    /// Never; it is pending until the answer is there.
    ///
    /// # Cancellation
    /// By dropping it.
    ///
    /// # Errors
    /// As [`Self::call_wait`].
    pub fn call_wait_async(&self, parameter: P) -> CallFuture<P, R> {
        CallFuture::new(self.clone(), parameter, true)
    }

    pub(crate) fn withdraw(&self, call: Arc<Call<P, R>>) -> Option<State> {
        let call: Arc<dyn AnyCall> = call;
        self.shared().operate_from_outside(|table| table.withdraw(self.id(), &call))
    }
}

/// A call from outside that was made, and is taken back if whoever has made it unwinds.
struct Made<'a, P: Send + 'static, R: Send + 'static> {
    callee: &'a Flexible<P, R>,
    call: Option<Arc<Call<P, R>>>,
}

impl<P: Send + 'static, R: Send + 'static> Made<'_, P, R> {
    fn call(&self) -> &Arc<Call<P, R>> {
        self.call.as_ref().expect("it is taken once")
    }

    /// It has come to its end.
    fn into_call(mut self) -> Option<Arc<Call<P, R>>> {
        self.call.take()
    }
}

impl<P: Send + 'static, R: Send + 'static> Drop for Made<'_, P, R> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.callee.withdraw(call.clone());
            // What it carries belongs to users.
            user::discard(call);
        }
    }
}

impl<P, R> Clone for Flexible<P, R> {
    fn clone(&self) -> Self {
        Flexible { named: self.named.clone(), types: PhantomData }
    }
}

/// `name[STATE]`
impl<P, R> fmt::Display for Flexible<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.look().fmt(f)
    }
}

impl<P, R> fmt::Debug for Flexible<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flexible({self})")
    }
}
