//! What a system, its handles and its coroutines share.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use leno_kernel::log::Operation;
use leno_kernel::user::Panic;
use leno_kernel::{
    Object, Reason, Time, Waiter, Wake, current_stack, exit, park, park_until, world,
};

use crate::call::AnyCall;
use crate::party::Outsider;
use crate::table::{Caller, Id, Leavings, Next, Requester, Table, is_asking};
use crate::{Failure, Refusal, helm, turn};

/// Is told of failures that reach no caller.
pub(crate) type Hook = dyn Fn(Failure) + Send + Sync;

/// See the module.
pub(crate) struct Shared {
    table: Mutex<Table>,
    /// Whether it has ended, as the table says.
    has_ended: Arc<AtomicBool>,
    /// Names the system.
    object: Object,
    pub(crate) hook: Option<Box<Hook>>,
    /// Whether it has no home core, so that whoever calls steers.
    pub(crate) is_threadless: bool,
    /// Of a system without a home core, what has reached neither a caller nor the hook.
    failures: Mutex<Vec<Failure>>,
}

/// An operation is performed. However it ends, what it leaves is seen to when the lock is free.
struct InOperation<'a>(Option<MutexGuard<'a, Table>>);

impl InOperation<'_> {
    #[inline]
    fn end(&mut self) -> Option<Panic> {
        let mut table = self.0.take()?;
        let leavings = table.take_leavings();
        drop(table);
        leavings.and_then(Leavings::see_to)
    }
}

impl Drop for InOperation<'_> {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// Goes on with what a policy or an observer has raised.
fn raise(raised: Option<Panic>) {
    if let Some(raised) = raised
        && !std::thread::panicking()
    {
        raised.resume();
    }
}

impl Shared {
    pub(crate) fn new(table: Table, hook: Option<Box<Hook>>, is_threadless: bool) -> Arc<Shared> {
        Arc::new(Shared {
            has_ended: table.has_ended.clone(),
            table: Mutex::new(table),
            object: Object::shared(),
            hook,
            is_threadless,
            failures: Mutex::default(),
        })
    }

    /// # Panics
    /// When a policy or an observer of this system calls it: they run while it is locked.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Table> {
        match self.table.try_lock() {
            Ok(table) => table,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => self.lock_contended(),
        }
    }

    #[cold]
    fn lock_contended(&self) -> MutexGuard<'_, Table> {
        assert!(
            !is_asking(&self.has_ended),
            "a policy or an observer operates on the flexible system that calls it, which is locked meanwhile"
        );
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has ended, by now perhaps.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    /// Before an operation: in a world, others may run first.
    pub(crate) fn point(&self) {
        world::point(Operation::Lock, Some(self.object));
    }

    /// The same before scheduling, which is an operation only if somebody is ready.
    pub(crate) fn point_if_ready(&self) {
        if world::is_here() && self.lock().is_ready() {
            self.point();
        }
    }

    /// An operation: one critical section. Whoever is to be woken is woken after it.
    pub(crate) fn operate<T>(&self, f: impl FnOnce(&mut Table) -> T) -> T {
        let (result, raised) = self.operate_quietly(f);
        raise(raised);
        result
    }

    /// The same for one who has more to do before it goes on with what a policy or an observer has raised: see
    /// [`raise`].
    fn operate_quietly<T>(&self, f: impl FnOnce(&mut Table) -> T) -> (T, Option<Panic>) {
        let mut operation = InOperation(Some(self.lock()));
        let result = f(operation.0.as_mut().expect("it is locked"));
        (result, operation.end())
    }

    /// The same from outside: whoever schedules has to be told, if there is something to do.
    pub(crate) fn operate_from_outside<T>(self: &Arc<Self>, f: impl FnOnce(&mut Table) -> T) -> T {
        if self.is_threadless {
            let ((result, needs_helper), raised) = self.operate_quietly(|table| {
                let result = f(table);
                (result, table.hand_over())
            });
            if needs_helper {
                helm::send_helper(self);
            }
            raise(raised);
            return result;
        }
        let ((result, scheduler), raised) = self.operate_quietly(|table| {
            let result = f(table);
            (result, table.scheduler.filter(|_| table.is_ready() && !table.is_listening))
        });
        if let Some(scheduler) = scheduler {
            Waiter::Co(scheduler).wake();
        }
        raise(raised);
        result
    }

    /// A call from outside, by one who waits for what comes of it, and steers meanwhile, if nobody else does
    /// and there is no home core, until `is_settled` or `limit`.
    pub(crate) fn call_from_outside(
        self: &Arc<Self>,
        m: Id,
        call: Arc<dyn AnyCall>,
        limit: Option<Time>,
        is_settled: impl Fn() -> bool,
    ) -> Result<(), Refusal> {
        let from = Requester::Outside(Outsider::here());
        if !self.is_threadless {
            return self.operate_from_outside(|table| table.call_from_outside(from, m, call));
        }
        let in_world = world::is_here();
        let mut caller = Some(Caller { from, call });
        let (first, raised) = self.operate_quietly(|table| {
            // In a world others may do something first.
            if !in_world && let Some(next) = table.call_directly(m, &mut caller) {
                return Ok(Some(next));
            }
            let Caller { from, call } = caller.take().expect("nobody has called yet");
            table.call_from_outside(from, m, call)?;
            let takes_helm = table.take_helm();
            Ok(takes_helm.then(|| if in_world { Next::InVain } else { table.schedule() }))
        });
        // Whoever has the helm steers first.
        let called = first.map(|first| {
            if let Some(first) = first {
                helm::steer(self, (!in_world).then_some(first), limit, is_settled);
            }
        });
        raise(raised);
        called
    }

    /// A body has panicked, and nobody has called it.
    pub(crate) fn report(&self, failure: Failure) {
        match &self.hook {
            Some(hook) => hook(failure),
            None => self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure),
        }
    }

    pub(crate) fn take_failures(&self) -> Vec<Failure> {
        core::mem::take(&mut self.failures.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The coroutine of this system that runs the calling code.
    pub(crate) fn current(self: &Arc<Self>) -> Option<Id> {
        if self.is_threadless {
            return turn::coroutine(self);
        }
        let co = current_stack()?;
        self.lock().of_co(co)
    }

    /// Whoever runs the calling code, as this system sees it.
    pub(crate) fn requester(self: &Arc<Self>) -> Requester {
        match self.current() {
            Some(id) => self.lock().as_requester(id),
            None => Requester::Outside(Outsider::here()),
        }
    }

    /// Parks the calling coroutine until it is active again.
    ///
    /// # Errors
    /// When it cannot park, because its stack unwinds.
    pub(crate) fn sleep(&self, id: Id) -> Result<(), Refusal> {
        self.sleep_until(id, None).map(|_| ())
    }

    /// The same, until `limit` at most. Whether it is active.
    ///
    /// # Errors
    /// When it cannot park, because its stack unwinds.
    pub(crate) fn sleep_until(&self, id: Id, limit: Option<Time>) -> Result<bool, Refusal> {
        loop {
            if self.lock().is_active(id) {
                return Ok(true);
            }
            let wake = match limit {
                Some(limit) => park_until(Reason::Passive, limit),
                None => park(Reason::Passive),
            };
            match wake {
                Wake::Unparked => {}
                Wake::TimedOut => return Ok(false),
                Wake::Exit => {
                    exit();
                    return Err(Refusal::Exiting);
                }
            }
        }
    }
}
