//! Making coroutines.

use core::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use leno_kernel::layer::user;

use crate::call::{AnyCall, typed};
use crate::policy::Serve;
use crate::shared::{Shared, raise};
use crate::table::{Body, Ending, Id, Plan, Runs};
use crate::{Flexible, Me};

/// A coroutine to be made.
///
/// # Examples
/// ```
/// use leno_flexible::{Me, System, policy, spinning};
///
/// let system = System::new();
/// // Two shapes at once: it begins again at its end, and runs only while someone has called it.
/// let next = system.coroutine("next").attached_only().serve(policy::calls_first).create({
///     let mut n = 0;
///     spinning(move |me: &mut Me<(), u32>| {
///         n += 1;
///         me.detach(n);
///     })
/// });
/// next.kick()?;
/// assert_eq!(next.call(())?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Builder {
    shared: Arc<Shared>,
    plan: Plan,
}

impl Builder {
    pub(crate) fn new(shared: Arc<Shared>, name: Arc<str>) -> Builder {
        let plan = Plan { name, attached_only: false, priority: 0, serve: None, stack_size: None };
        Builder { shared, plan }
    }

    /// It is active only while someone has called it: a kick or a resume alone does nothing. (Dovland
    /// 2006, 4.6.2.) For a body that begins again at its end, see [`spinning`](crate::spinning).
    pub fn attached_only(mut self) -> Builder {
        self.plan.attached_only = true;
        self
    }

    /// More is more urgent, to policies that care.
    pub fn priority(mut self, priority: i32) -> Builder {
        self.plan.priority = priority;
        self
    }

    /// Decides which of its requests is served next; by default the first.
    pub fn serve(mut self, policy: impl Serve + 'static) -> Builder {
        self.plan.serve = Some(Box::new(policy));
        self
    }

    /// Bytes of stack, a hint. The largest stack has 1 GiB
    /// ([`MAX_SIZE`](leno_context::stack::MAX_SIZE)): a coroutine for which more is asked cannot start.
    ///
    /// Whoever has called a coroutine that cannot start, for that or because there is no memory for its stack, gets
    /// [`CallError::Failed`](crate::CallError::Failed); if it was kicked or resumed, its system's failure hook is told.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.plan.stack_size = Some(bytes);
        self
    }

    /// Makes it: idle, and without a stack until it first runs. (Rules 4.3, 4.11.)
    pub fn create<P: Send + 'static, R: Send + 'static>(
        self,
        body: impl FnOnce(&mut Me<P, R>) + Send + 'static,
    ) -> Flexible<P, R> {
        let Builder { shared, plan } = self;
        let name = plan.name.clone();
        shared.point();
        let by = shared.requester();
        let own = shared.clone();
        let (id, raised) = shared.operate_holding(|table| {
            let id = table.add(plan, |id| Runs::Closure(wrap(own, id, body)));
            table.created(&by, id);
            id
        });
        let made = Flexible::new(shared, id, name);
        raise(raised);
        made
    }
}

/// What the kernel runs for a body.
fn wrap<P: Send + 'static, R: Send + 'static>(
    shared: Arc<Shared>,
    id: Id,
    body: impl FnOnce(&mut Me<P, R>) + Send + 'static,
) -> Body {
    Box::new(move || {
        let mut me = Me::new(shared.clone(), id);
        let result = user::call(|| body(&mut me));
        let last = me.take_last();
        let mut settle = last.map(|last| |call: &dyn AnyCall| typed::<P, R>(call).answer(Ok(last)));
        let (ending, exit) = match result {
            Ok(()) => {
                shared.point();
                (Ending::Returned, None)
            }
            Err(panic) if user::is_exit(&panic) => (Ending::Exited, Some(panic)),
            Err(panic) => (Ending::Panicked(panic.into_payload()), None),
        };
        // Whoever exits was not attached by the scheduler, which has to be told.
        let (failure, raised) = match exit.is_some() {
            true => shared.operate_from_outside_holding(|table| table.end(id, ending, &mut settle)),
            false => shared.operate_holding(|table| table.end(id, ending, &mut settle)),
        };
        // The body is over: what an observer raises is none of its own failures.
        if let Some(raised) = raised {
            drop(user::report("an observer or a policy", raised));
        }
        user::discard(settle);
        match (failure, exit, &shared.hook) {
            (_, Some(exit), _) => exit.resume(),
            (Some(failure), None, Some(hook)) => hook(failure),
            // The kernel's report has it.
            (Some(failure), None, None) => resume_unwind(failure.into_payload()),
            (None, None, _) => {}
        }
    })
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builder({})", self.plan.name)
    }
}
