//! What a system, its handles and its coroutines share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leno_kernel::log::Operation;
use leno_kernel::{Object, Reason, Waiter, Wake, current_stack, exit, park, world};

use crate::party::Outsider;
use crate::table::{Id, Requester, Table};
use crate::{Failure, Refusal};

/// Is told of failures that reach no caller.
pub(crate) type Hook = dyn Fn(Failure) + Send + Sync;

/// See the module.
pub(crate) struct Shared {
    table: Mutex<Table>,
    /// Names the system.
    object: Object,
    pub(crate) hook: Option<Box<Hook>>,
}

impl Shared {
    pub(crate) fn new(table: Table, hook: Option<Box<Hook>>) -> Arc<Shared> {
        Arc::new(Shared { table: Mutex::new(table), object: Object::shared(), hook })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before an operation: in a world, others may run first.
    pub(crate) fn point(&self) {
        world::point(Operation::Lock, Some(self.object));
    }

    /// An operation: one critical section. Whoever is to be woken is woken after it.
    pub(crate) fn operate<T>(&self, f: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.lock();
        let result = f(&mut table);
        let (wakes, garbage) = table.take_leavings();
        drop(table);
        wakes.into_iter().for_each(Waiter::wake);
        drop(garbage);
        result
    }

    /// The same from outside: the scheduler has to be told, if there is something for it to do.
    pub(crate) fn operate_from_outside<T>(&self, f: impl FnOnce(&mut Table) -> T) -> T {
        let (result, scheduler) = self.operate(|table| {
            let result = f(table);
            (result, table.scheduler.filter(|_| table.is_ready()))
        });
        if let Some(scheduler) = scheduler {
            Waiter::Co(scheduler).wake();
        }
        result
    }

    /// The coroutine of this system that runs the calling code.
    pub(crate) fn current(&self) -> Option<Id> {
        let co = current_stack()?;
        self.lock().of_co(co)
    }

    /// Whoever runs the calling code, as this system sees it.
    pub(crate) fn requester(&self) -> Requester {
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
        loop {
            if self.lock().is_active(id) {
                return Ok(());
            }
            if park(Reason::Passive) == Wake::Exit {
                exit();
                return Err(Refusal::Exiting);
            }
        }
    }
}
