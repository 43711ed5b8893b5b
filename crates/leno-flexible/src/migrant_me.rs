//! What a body with a stack has of its coroutine, where there is no home core.

use core::fmt;
use core::pin::pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::task::Waker;

use leno_kernel::Exiting;

use crate::raw::migrant::{self, Stack};
use crate::{AsyncBuilder, AsyncMe, CallError, Flexible, Party, Refusal};

/// What [`Me`](crate::Me) is to a body on a home core, for one whose stack goes from thread to thread: what
/// only it can do. See [`Threadless::create_migratable`](crate::Threadless::create_migratable).
///
/// Others are called by [`Self::call`], and kicked through their handles. Whatever else it waits for it waits
/// for by [`Self::wait`], which takes any future, and lets others be active meanwhile. What blocks a thread,
/// leno's own operations that do not end in `_async` among it, blocks its system.
///
/// While the stack unwinds, nothing here waits: detach, passivate and yield do nothing, and the others are
/// refused. A body that holds a lock of its thread, or is in a pinned section
/// ([`leno_coroutine::migrate`]), cannot wait either, since another thread may go on with it: it panics,
/// before anything is done.
///
/// # Examples
/// Waiting in the middle of ordinary calls, which a body without a stack cannot:
/// ```
/// use leno_flexible::{MigrantMe, Threadless};
///
/// struct Tree(Option<(Box<Tree>, u32, Box<Tree>)>);
///
/// fn walk(me: &mut MigrantMe<(), u32>, tree: &Tree) {
///     let Some((left, n, right)) = &tree.0 else { return };
///     walk(me, left);
///     me.detach(*n);
///     walk(me, right);
/// }
///
/// let leaf = |n| Box::new(Tree(Some((Box::new(Tree(None)), n, Box::new(Tree(None))))));
/// let tree = Tree(Some((leaf(1), 2, leaf(3))));
/// let system = Threadless::new();
/// // SAFETY: the body keeps nothing but references to the tree while it waits.
/// let next = unsafe {
///     system.create_migratable("next", move |me: &mut MigrantMe<(), u32>| walk(me, &tree))
/// };
/// assert_eq!((next.call(())?, next.call(())?, next.call(())?), (1, 2, 3));
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub struct MigrantMe<'a, P, R> {
    me: AsyncMe<P, R>,
    name: Arc<str>,
    stack: Stack<'a>,
    /// The body's own, which stays the same.
    waker: Waker,
}

impl<'a, P: Send + 'static, R: Send + 'static> MigrantMe<'a, P, R> {
    pub(crate) fn new(
        me: AsyncMe<P, R>,
        name: Arc<str>,
        stack: Stack<'a>,
        waker: Waker,
    ) -> MigrantMe<'a, P, R> {
        MigrantMe { me, name, stack, waker }
    }

    /// The parameter of the present call: once, and only while someone has called.
    pub fn parameter(&mut self) -> Option<P> {
        self.me.parameter()
    }

    /// Who has called, if anyone.
    pub fn caller(&self) -> Option<Party> {
        self.me.caller()
    }

    /// What it is called.
    pub fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// What whoever has called gets when the body ends. A detach before that makes it void.
    pub fn answer(&mut self, answer: R) {
        self.me.answer(answer);
    }

    /// Answers whoever has called, who goes on, and is idle until it is called, kicked or resumed; without
    /// a caller the answer is dropped. (Rules 4.5, 4.6, 4.14.)
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Panics
    /// When another coroutine than this one calls it, or when it is tied to its thread.
    pub fn detach(&mut self, answer: R) {
        let _ = wait_on(&self.stack, &self.waker, &self.name, self.me.detach(answer));
    }

    /// Is idle until it is kicked or resumed. Whoever has called stays blocked. (Rule 4.9.)
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Panics
    /// As [`Self::detach`].
    pub fn passivate(&mut self) {
        let _ = wait_on(&self.stack, &self.waker, &self.name, self.me.passivate());
    }

    /// Lets others be active, and waits for its next turn. (Rule 4.10.)
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Panics
    /// As [`Self::detach`].
    #[doc(alias = "yield")]
    pub fn yield_now(&mut self) {
        let _ = wait_on(&self.stack, &self.waker, &self.name, self.me.yield_now());
    }

    /// Hands over to `other`, or to the bottom of its chain of callees, and is idle. (Rule 4.7.)
    ///
    /// # Blocking
    /// Until this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Errors
    /// When `other` is not idle, has terminated, or is of another system; in Simula mode also when it is
    /// attached; and while the stack unwinds. Then this coroutine goes on.
    ///
    /// # Panics
    /// As [`Self::detach`].
    pub fn resume<Q, S>(&mut self, other: &Flexible<Q, S>) -> Result<(), Refusal> {
        match wait_on(&self.stack, &self.waker, &self.name, self.me.resume(other)) {
            Ok(resumed) => resumed,
            Err(Exiting) => Err(Refusal::Exiting),
        }
    }

    /// Calls `other`, and waits for its answer, as [`Flexible::call`] does for others. (Rule 4.4.)
    ///
    /// # Blocking
    /// Until the answer is there and this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this unwinds the stack.
    ///
    /// # Errors
    /// As [`Flexible::call`].
    ///
    /// # Panics
    /// As [`Self::detach`].
    pub fn call<Q: Send + 'static, S: Send + 'static>(
        &mut self,
        other: &Flexible<Q, S>,
        parameter: Q,
    ) -> Result<S, CallError> {
        self.try_wait(other.call_async(parameter)).unwrap_or(Err(Refusal::Exiting.into()))
    }

    /// The same, but if `other` is busy, waits for its turn with it, as [`Flexible::call_wait`] does.
    ///
    /// # Blocking
    /// As [`Self::call`].
    ///
    /// # Cancellation
    /// As [`Self::call`].
    ///
    /// # Errors
    /// As [`Flexible::call_wait`].
    ///
    /// # Panics
    /// As [`Self::detach`].
    pub fn call_wait<Q: Send + 'static, S: Send + 'static>(
        &mut self,
        other: &Flexible<Q, S>,
        parameter: Q,
    ) -> Result<S, CallError> {
        self.try_wait(other.call_wait_async(parameter)).unwrap_or(Err(Refusal::Exiting.into()))
    }

    /// Waits for a future, of whatever kind. Others are active meanwhile; whoever has called waits on.
    ///
    /// # Blocking
    /// Until the future is ready and this coroutine is active again.
    ///
    /// # Cancellation
    /// When its system ends, this drops the future and unwinds the stack.
    ///
    /// # Panics
    /// As [`Self::detach`]; and while the stack unwinds (see [`Self::try_wait`]).
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::{MigrantMe, Threadless};
    ///
    /// let (tx, rx) = leno_channel::shared::channel();
    /// let system = Threadless::new();
    /// // SAFETY: the body keeps nothing but the end of a channel, which may be sent, while it waits.
    /// let reads = unsafe {
    ///     system.create_migratable("reads", move |me: &mut MigrantMe<(), u32>| {
    ///         let read = me.wait(rx.recv_async());
    ///         me.answer(read.unwrap_or(0));
    ///     })
    /// };
    /// let writes = std::thread::spawn(move || tx.send(7));
    /// assert_eq!(reads.call(())?, 7);
    /// assert!(writes.join().unwrap().is_ok());
    /// # Ok::<(), leno_flexible::CallError>(())
    /// ```
    #[track_caller]
    pub fn wait<F: Future>(&mut self, future: F) -> F::Output {
        match self.try_wait(future) {
            Ok(output) => output,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same, for destructors.
    ///
    /// # Errors
    /// [`Exiting`], while the stack unwinds: the future is dropped.
    ///
    /// # Panics
    /// As [`Self::detach`].
    #[track_caller]
    pub fn try_wait<F: Future>(&mut self, future: F) -> Result<F::Output, Exiting> {
        wait_on(&self.stack, &self.waker, &self.name, future)
    }

    /// Makes a coroutine of the same system, with a shape, a priority or a policy: one that is a future, or,
    /// by [`AsyncBuilder::create_migratable`], one with a stack.
    pub fn coroutine(&mut self, name: impl Into<Arc<str>>) -> AsyncBuilder {
        self.me.coroutine(name)
    }
}

/// Waits for a future on this stack. Nothing here uses a thread-local: those who do have frames of their own.
#[track_caller]
fn wait_on<F: Future>(
    stack: &Stack<'_>,
    waker: &Waker,
    name: &str,
    future: F,
) -> Result<F::Output, Exiting> {
    if !stack.can_suspend() {
        return Err(Exiting);
    }
    assert!(
        !stack.is_tied(),
        "coroutine '{name}' is tied to its thread, by a lock or a pinned section: it cannot wait, since \
         another thread may go on with it"
    );
    let mut future = pin!(future);
    let mut context = Context::from_waker(waker);
    loop {
        if let Poll::Ready(output) = migrant::poll(future.as_mut(), &mut context) {
            return Ok(output);
        }
        stack.suspend();
    }
}

impl<P, R> fmt::Debug for MigrantMe<'_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Migrant{:?}", self.me)
    }
}

/// A body that begins again at its end, for ever, and keeps whoever has called it, as
/// [`spinning`](crate::spinning) does for one on a home core. (Dovland 2006, 4.6.1.)
///
/// # Examples
/// ```
/// use leno_flexible::{MigrantMe, Threadless, spinning_migrant};
///
/// let system = Threadless::new();
/// let body = spinning_migrant(|me: &mut MigrantMe<u32, u32>| {
///     let n = me.parameter().unwrap_or(0);
///     me.detach(2 * n);
/// });
/// // SAFETY: the body keeps nothing but a number while it waits.
/// let double = unsafe { system.create_migratable("double", body) };
/// assert_eq!((double.call(3)?, double.call(4)?), (6, 8));
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub fn spinning_migrant<P: Send + 'static, R: Send + 'static>(
    mut body: impl FnMut(&mut MigrantMe<'_, P, R>) + Send + 'static,
) -> impl FnOnce(&mut MigrantMe<'_, P, R>) + Send + 'static {
    move |me| {
        loop {
            body(me);
            me.me.spin();
        }
    }
}
