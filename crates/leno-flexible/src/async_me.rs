//! What a body without a stack has of its coroutine.

use core::fmt;
use core::future::poll_fn;
use core::marker::PhantomData;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::task::Poll;
use std::sync::{Arc, Mutex, OnceLock};

use crate::call::{Types, typed};
use crate::shared::{Shared, raise};
use crate::table::{Id, Leave};
use crate::turn::{self, End};
use crate::{AsyncBuilder, Flexible, Party, Refusal};
use leno_kernel::layer::user::{Locked, lock};

/// What [`Me`](crate::Me) is to a body with a stack, for one that is a future: what only it can do.
///
/// Others are called by [`Flexible::call_async`], and kicked as always. One that awaits anything else, such
/// as a channel, lets others be active meanwhile, and stands in the queue again when it is woken.
///
/// A coroutine does one thing at a time: of operations that are polled together, as by a `join`, the first
/// ends the turn, and the others are refused, or panic.
pub struct AsyncMe<P, R> {
    shared: Arc<Shared>,
    name: Arc<str>,
    /// Known as soon as the coroutine is made.
    id: Arc<OnceLock<Id>>,
    /// What is answered at the end.
    last: Arc<Last<R>>,
    types: Types<P, R>,
}

/// The last answer. Only its coroutine uses it, on whatever thread that is; it is mostly not there.
struct Last<R> {
    is_there: AtomicBool,
    answer: Mutex<Option<R>>,
}

impl<R> Last<R> {
    fn lock(&self) -> Locked<'_, Option<R>> {
        lock(&self.answer)
    }
}

impl<P, R> AsyncMe<P, R> {
    pub(crate) fn new(shared: Arc<Shared>, name: Arc<str>) -> AsyncMe<P, R> {
        let last = Last { is_there: AtomicBool::new(false), answer: Mutex::new(None) };
        let (id, last) = (Arc::default(), Arc::new(last));
        AsyncMe { shared, name, id, last, types: PhantomData }
    }

    pub(crate) fn clone(&self) -> AsyncMe<P, R> {
        let (shared, name) = (self.shared.clone(), self.name.clone());
        let (id, last) = (self.id.clone(), self.last.clone());
        AsyncMe { shared, name, id, last, types: PhantomData }
    }

    /// Where its number goes.
    pub(crate) fn place(&self) -> Arc<OnceLock<Id>> {
        self.id.clone()
    }

    /// Returns its number; `None` before the coroutine is made, in the closure that gives its body.
    pub(crate) fn id(&self) -> Option<Id> {
        self.id.get().copied()
    }

    pub(crate) fn take_last(&self) -> Option<R> {
        if !self.last.is_there.load(Relaxed) {
            return None;
        }
        self.last.is_there.store(false, Relaxed);
        self.last.lock().take()
    }
}

impl<P: Send + 'static, R: Send + 'static> AsyncMe<P, R> {
    /// The parameter of the present call: once, and only while someone has called.
    pub fn parameter(&mut self) -> Option<P> {
        let own = self.id()?;
        let of_turn = turn::current(&self.shared, |id, turn| {
            let is_open = id == own && turn.end == End::Open;
            is_open.then(|| typed::<P, R>(&**turn.call.as_ref()?).take_parameter())
        });
        match of_turn.flatten() {
            Some(parameter) => parameter,
            None => {
                turn::coroutine(&self.shared);
                // One that is kept after its coroutine has ended names nobody.
                let call = self.shared.lock().get(own)?.caller.as_ref()?.call.clone();
                typed::<P, R>(&*call).take_parameter()
            }
        }
    }

    /// Who has called, if anyone; nobody before the coroutine is made.
    pub fn caller(&self) -> Option<Party> {
        let own = self.id()?;
        turn::coroutine(&self.shared);
        self.shared.lock().get(own)?.caller.as_ref().map(|caller| caller.from.party())
    }

    /// What it is called; "(ended)" if it is kept after the coroutine and all its handles are gone.
    pub fn name(&self) -> Arc<str> {
        let is_gone = self.id().is_some_and(|own| self.shared.lock().get(own).is_none());
        if is_gone { "(ended)".into() } else { self.name.clone() }
    }

    /// Answers whoever has called, who goes on, and is idle until it is called, kicked or resumed; without
    /// a caller the answer is dropped. (Rules 4.5, 4.6, 4.14.)
    ///
    /// # Blocking
    /// Never; it is pending until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, the body is dropped.
    ///
    /// # Panics
    /// When another coroutine than this one polls it, or this one when its turn has ended already.
    pub async fn detach(&mut self, answer: R) {
        self.take_last();
        self.leave(Leave::Detach, Some(answer)).await;
    }

    /// What whoever has called gets when the body ends. A detach before that makes it void.
    pub fn answer(&mut self, answer: R) {
        let before = self.last.lock().replace(answer);
        self.last.is_there.store(true, Relaxed);
        drop(before);
    }

    /// Is idle until it is kicked or resumed. Whoever has called stays blocked. (Rule 4.9.)
    ///
    /// # Blocking
    /// Never; it is pending until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, the body is dropped.
    ///
    /// # Panics
    /// As [`Self::detach`].
    pub async fn passivate(&mut self) {
        self.leave(Leave::Passivate, None).await;
    }

    /// Lets others be active, and waits for its next turn. (Rule 4.10.)
    ///
    /// # Blocking
    /// Never; it is pending until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, the body is dropped.
    ///
    /// # Panics
    /// As [`Self::detach`].
    #[doc(alias = "yield")]
    pub async fn yield_now(&mut self) {
        self.leave(Leave::Yield, None).await;
    }

    /// Hands over to `other`, or to the bottom of its chain of callees, and is idle. (Rule 4.7.)
    ///
    /// # Blocking
    /// Never; it is pending until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, the body is dropped.
    ///
    /// # Errors
    /// When `other` is not idle, has terminated, or is of another system; in Simula mode also when it is
    /// attached. Then this coroutine goes on.
    ///
    /// # Panics
    /// As [`Self::detach`].
    pub async fn resume<Q, S>(&mut self, other: &Flexible<Q, S>) -> Result<(), Refusal> {
        if !Arc::ptr_eq(&self.shared, other.shared()) {
            return Err(Refusal::Foreign { by: self.name(), coroutine: other.name() });
        }
        let mut left_at = None;
        poll_fn(move |context| {
            let (id, turn) = self.turn();
            if let Some(left_at) = left_at {
                return if turn == left_at { Poll::Pending } else { Poll::Ready(Ok(())) };
            }
            self.shared.point();
            turn::coroutine(&self.shared);
            let waker = context.waker().clone();
            let (done, raised) = self.shared.operate_holding(|table| {
                if !table.is_active(id) {
                    return Err(None);
                }
                table.resume(id, other.id())?;
                table.leaves_in(id, waker);
                Ok(())
            });
            if done.is_ok() {
                turn::has_ended(&self.shared);
            }
            raise(raised);
            match done {
                Ok(()) => {
                    left_at = Some(turn);
                    Poll::Pending
                }
                Err(Some(refusal)) => Poll::Ready(Err(refusal)),
                Err(None) => self.refuse(),
            }
        })
        .await
    }

    /// Makes a coroutine of the same system; see [`Threadless::create`](crate::Threadless::create).
    pub fn create<Q: Send + 'static, S: Send + 'static, F>(
        &mut self,
        name: impl Into<Arc<str>>,
        body: impl FnOnce(AsyncMe<Q, S>) -> F,
    ) -> Flexible<Q, S>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.coroutine(name).create(body)
    }

    /// The same, with a shape, a priority or a policy.
    pub fn coroutine(&mut self, name: impl Into<Arc<str>>) -> AsyncBuilder {
        AsyncBuilder::new(self.shared.clone(), name.into())
    }

    /// An operation that ends the turn: pending until the next one.
    fn leave(&mut self, leave: Leave, answer: Option<R>) -> impl Future<Output = ()> {
        let (mut answer, mut left_at) = (answer, None);
        poll_fn(move |context| {
            if let Some(left_at) = left_at {
                // It is polled when it is active; but perhaps twice in a turn.
                return if self.turn().1 == left_at { Poll::Pending } else { Poll::Ready(()) };
            }
            self.shared.point();
            let Some(id) = self.id() else { self.refuse() };
            let mut answer = answer.take();
            let ended = turn::current(&self.shared, |own, turn| {
                if own != id || turn.end != End::Open {
                    return None;
                }
                turn.end = End::By(leave);
                // If nobody has called, it is dropped by the caller of this: here the turns are borrowed.
                if let Some(call) = &turn.call
                    && let Some(answer) = answer.take()
                {
                    typed::<P, R>(&**call).put(Ok(answer));
                }
                Some((turn.number, turn.is_own(context.waker())))
            });
            let Some((number, is_own)) = ended.flatten() else { self.refuse() };
            left_at = Some(number);
            if !is_own {
                turn::coroutine(&self.shared);
                let waker = context.waker().clone();
                self.shared.operate(|table| table.leaves_in(id, waker));
            }
            Poll::Pending
        })
    }

    /// The turn is another's, or has ended.
    #[track_caller]
    fn refuse(&self) -> ! {
        self.turn();
        panic!("coroutine '{}' does one thing at a time: this turn has ended", self.name())
    }

    /// Returns its number, and that of its turn.
    #[track_caller]
    fn turn(&self) -> (Id, u64) {
        let own = self.id();
        let turn =
            turn::current(&self.shared, |id, turn| (own == Some(id)).then_some((id, turn.number)));
        turn.flatten().unwrap_or_else(|| {
            panic!(
                "the operations of coroutine '{}' are for its own body, and another one uses them",
                self.name()
            )
        })
    }

    pub(crate) fn spin(&self) {
        self.shared.point();
        // Another one may poll the body, before or after its coroutine is there.
        let (own, _) = self.turn();
        self.shared.operate(|table| table.spin(own));
    }
}

impl<P, R> fmt::Debug for AsyncMe<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsyncMe({})", self.name)
    }
}

/// A body that begins again at its end, for ever, and keeps whoever has called it, as
/// [`spinning`](crate::spinning) does for one with a stack. (Dovland 2006, 4.6.1.)
///
/// # Examples
/// ```
/// use leno_flexible::{AsyncMe, Threadless, spinning_async};
///
/// let system = Threadless::new();
/// let double = system.create("double", spinning_async(|mut me: AsyncMe<u32, u32>| async move {
///     let n = me.parameter().unwrap_or(0);
///     me.detach(2 * n).await;
/// }));
/// assert_eq!((double.call(3)?, double.call(4)?), (6, 8));
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub fn spinning_async<P: Send + 'static, R: Send + 'static, F>(
    mut body: impl FnMut(AsyncMe<P, R>) -> F + Send + 'static,
) -> impl FnOnce(AsyncMe<P, R>) -> Pin<Box<dyn Future<Output = ()> + Send>>
where
    F: Future<Output = ()> + Send + 'static,
{
    move |me| {
        Box::pin(async move {
            loop {
                body(me.clone()).await;
                me.spin();
            }
        })
    }
}
