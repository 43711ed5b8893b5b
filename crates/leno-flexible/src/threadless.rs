//! A system without a thread of its own.

use core::fmt;
use std::sync::Arc;

use crate::async_builder::AsyncBuilder;
use crate::shared::Shared;
use crate::table::Table;
use crate::{AsyncMe, Failure, Flexible, Snapshot, System, SystemBuilder, helm};

/// A system of coroutines without a home core: a thread that calls runs them itself, until it has its
/// answer, if no other thread does so already. While nobody calls there is no thread, and nothing is
/// done.
///
/// Its bodies are futures: they have no stack, so any thread may go on with them. With an `unsafe` promise
/// they may be ordinary code with a stack: see [`Self::create_migratable`]. Everything else is as in
/// a [`System`], with the same handles: any thread may call and kick, at most one coroutine is active.
///
/// Whoever has its answer returns; if others are waiting then, a thread that is still in a call goes on
/// with them. If there is none (somebody was kicked, or a body was woken from outside), a helper thread of
/// the process does, which costs what waking a thread costs: so do not kick or prod one that has nothing to do.
/// A body that blocks its thread blocks its system.
///
/// If a coroutine of a [`leno_kernel`] system that runs a body is cancelled while the body waits by an operation of the
/// kernel, the exit unwinds the body, too, whose coroutine has terminated then. The system goes on.
///
/// Dropping it drops all bodies, and calls that wait for one of them return an error. If a thread runs a body at that
/// moment, that thread drops them, when the turn of the body has ended; the drop does not wait for that.
///
/// # Examples
/// ```
/// use leno_flexible::{AsyncMe, Threadless};
///
/// let system = Threadless::new();
/// let sum = system.create("sum", |mut me: AsyncMe<u32, u32>| async move {
///     let mut sum = 0;
///     loop {
///         sum += me.parameter().unwrap_or(0);
///         me.detach(sum).await;
///     }
/// });
/// std::thread::scope(|s| {
///     s.spawn(|| sum.call(3).unwrap());
///     s.spawn(|| sum.call(4).unwrap());
/// });
/// assert_eq!(sum.call(0)?, 7);
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub struct Threadless {
    shared: Arc<Shared>,
}

impl Threadless {
    /// First come, first served, in both queues.
    #[allow(clippy::new_without_default, reason = "as with systems that have a thread")]
    pub fn new() -> Threadless {
        System::builder().threadless()
    }

    /// Another policy, a hook for failures, Simula's rules; [`SystemBuilder::threadless`] ends it.
    pub fn builder() -> SystemBuilder {
        System::builder()
    }

    pub(crate) fn new_with(shared: Arc<Shared>) -> Threadless {
        Threadless { shared }
    }

    /// Makes a coroutine: idle. (Rule 4.11.)
    pub fn create<P: Send + 'static, R: Send + 'static, F>(
        &self,
        name: impl Into<Arc<str>>,
        body: impl FnOnce(AsyncMe<P, R>) -> F,
    ) -> Flexible<P, R>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.coroutine(name).create(body)
    }

    /// The same, with a shape, a priority or a policy.
    pub fn coroutine(&self, name: impl Into<Arc<str>>) -> AsyncBuilder {
        AsyncBuilder::new(self.shared.clone(), name.into())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Its coroutines as they are, and who waits for whom.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.lock().snapshot()
    }

    /// Refuses everything from now on, and tells whoever waits for a coroutine so. Nobody becomes active
    /// any more; bodies are dropped with the system.
    pub fn stop(&self) {
        self.shared.operate(Table::stop);
    }

    /// Panics since the last look that have reached no caller and no hook.
    pub fn failures(&self) -> Vec<Failure> {
        self.shared.take_failures()
    }
}

impl Drop for Threadless {
    fn drop(&mut self) {
        helm::stop_and_sweep(&self.shared);
    }
}

impl fmt::Debug for Threadless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Threadless({})", self.snapshot())
    }
}
