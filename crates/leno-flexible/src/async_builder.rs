//! Making coroutines that any thread may go on with.

use core::fmt;
use std::sync::Arc;

use leno_kernel::layer::user;

use crate::async_me::AsyncMe;
use crate::call::{AnyCall, typed};
use crate::policy::Serve;
use crate::shared::{Shared, raise};
use crate::table::{Ending, Plan, Runs, Stackless};
use crate::{Flexible, helm, turn};

/// A coroutine without a home core to be made; see [`Threadless`](crate::Threadless).
///
/// # Examples
/// ```
/// use leno_flexible::{AsyncMe, Threadless, policy};
///
/// let system = Threadless::new();
/// let builder = system.coroutine("next").attached_only().serve(policy::calls_first);
/// let next = builder.create(|mut me: AsyncMe<(), u32>| async move {
///     for n in 1.. {
///         me.detach(n).await;
///     }
/// });
/// next.kick()?;
/// assert_eq!(next.call(())?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncBuilder {
    shared: Arc<Shared>,
    plan: Plan,
}

impl AsyncBuilder {
    pub(crate) fn new(shared: Arc<Shared>, name: Arc<str>) -> AsyncBuilder {
        let plan = Plan { name, attached_only: false, priority: 0, serve: None, stack_size: None };
        AsyncBuilder { shared, plan }
    }

    /// It is active only while someone has called it: a kick or a resume alone does nothing. (Dovland
    /// 2006, 4.6.2.)
    pub fn attached_only(mut self) -> AsyncBuilder {
        self.plan.attached_only = true;
        self
    }

    /// More is more urgent, to policies that care.
    pub fn priority(mut self, priority: i32) -> AsyncBuilder {
        self.plan.priority = priority;
        self
    }

    /// Decides which of its requests is served next; by default the first.
    pub fn serve(mut self, policy: impl Serve + 'static) -> AsyncBuilder {
        self.plan.serve = Some(Box::new(policy));
        self
    }

    /// Bytes of stack, a hint, for [`Self::create_migratable`]; what is a future has none. The largest stack has 1 GiB
    /// ([`MAX_SIZE`](leno_context::stack::MAX_SIZE)): a coroutine for which more is asked cannot start.
    pub fn stack_size(mut self, bytes: usize) -> AsyncBuilder {
        self.plan.stack_size = Some(bytes);
        self
    }

    pub(crate) fn name(&self) -> Arc<str> {
        self.plan.name.clone()
    }

    pub(crate) fn stack_size_hint(&self) -> Option<usize> {
        self.plan.stack_size
    }

    /// Makes it: idle. `body` is called now, and the future that it gives is polled when the coroutine is
    /// first active. (Rules 4.3, 4.11.)
    pub fn create<P: Send + 'static, R: Send + 'static, F>(
        self,
        body: impl FnOnce(AsyncMe<P, R>) -> F,
    ) -> Flexible<P, R>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let AsyncBuilder { shared, plan } = self;
        let name = plan.name.clone();
        shared.point();
        let by = shared.requester();
        let own = shared.clone();
        // Code of users, which must not run while the table is locked.
        let me = AsyncMe::new(own.clone(), name.clone());
        let place = me.place();
        let runs = body(me.clone());
        let future = async move {
            runs.await;
            let Some(id) = me.id() else { unreachable!("a body runs when its coroutine was made") };
            own.point();
            // A turn that has ended otherwise has ended so first.
            turn::coroutine(&own);
            let last = me.take_last();
            let mut settle =
                last.map(|last| |call: &dyn AnyCall| typed::<P, R>(call).answer(Ok(last)));
            // What is called from here on is not its doing.
            turn::mark_over(&own);
            own.operate_as_scheduler(|table| table.end(id, Ending::Returned, &mut settle));
            // An answer that nobody gets.
            user::discard(settle);
        };
        let future = Box::pin(future);
        let own = shared.clone();
        let (id, raised) = shared.operate_holding(|table| {
            let id = table.add(plan, |id| {
                place.set(id).expect("a coroutine is made once");
                Runs::Future(Stackless { future, waker: helm::waker(&own, id), inner: None })
            });
            table.created(&by, id);
            id
        });
        let made = Flexible::new(shared, id, name);
        raise(raised);
        made
    }
}

impl fmt::Debug for AsyncBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsyncBuilder({})", self.plan.name)
    }
}
