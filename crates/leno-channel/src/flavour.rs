//! Local or shared: the one thing in which two kinds of channel differ.
//!
//! Everything in this crate is written once, over a [`Flavour`]: how something is referred to, how
//! it is locked. [`Local`] has a reference count and a borrow flag, [`Shared`] an atomic count and a
//! mutex. Locks are held for a few instructions, never while anyone waits or code of a user runs: a policy is
//! asked before (`Channel::asked`), wakers and values are dropped after.

use core::cell::{RefCell, RefMut};
use core::ops::{Deref, DerefMut};
use core::task::Context;
use std::rc::Rc;
use std::sync::Arc;

use leno_context::Here;
use leno_kernel::{Object, Waiter};

use crate::sync::{Held, Mutex, MutexGuard, lock};

/// For one thread: neither `Send` nor atomic.
#[derive(Clone, Copy, Debug)]
pub enum Local {}

/// For any thread.
#[derive(Clone, Copy, Debug)]
pub enum Shared {}

/// [`Local`] or [`Shared`].
pub trait Flavour: Sealed + Sized + 'static {}

impl Flavour for Local {}
impl Flavour for Shared {}

/// What a flavour consists of; nobody else can make one.
pub trait Sealed {
    /// Whether any thread may use it.
    const SHARED: bool;
    /// A counted reference.
    type Ref<X>: Clone + Deref<Target = X>;
    /// Something that is used by one at a time.
    type Lock<X>;
    /// The right to use it.
    type Guard<'a, X: 'a>: DerefMut<Target = X>;

    /// Makes a reference.
    fn refer<X>(target: X) -> Self::Ref<X>;
    /// Makes a lock.
    fn guard<X>(content: X) -> Self::Lock<X>;
    /// Locks. Whether values are streamed through it matters if it is locked.
    fn lock<'a, X>(lock: &'a Self::Lock<X>, streamed: &bool) -> Self::Guard<'a, X>;
    /// Names something new that can be waited on.
    fn object() -> Object;
    /// Who is to be woken for this future.
    fn waiter(context: &Context<'_>) -> Waiter;
}

impl Sealed for Local {
    const SHARED: bool = false;
    type Ref<X> = Here<Rc<X>>;
    type Lock<X> = RefCell<X>;
    type Guard<'a, X: 'a> = Held<RefMut<'a, X>>;

    #[inline(always)]
    fn refer<X>(target: X) -> Here<Rc<X>> {
        Here::new(Rc::new(target))
    }

    #[inline(always)]
    fn guard<X>(content: X) -> RefCell<X> {
        RefCell::new(content)
    }

    #[inline(always)]
    fn lock<'a, X>(lock: &'a RefCell<X>, _streamed: &bool) -> Held<RefMut<'a, X>> {
        Held::new(lock.borrow_mut())
    }

    fn object() -> Object {
        Object::local()
    }

    /// The coroutine itself where that is enough: then its system knows that nobody outside can
    /// wake it.
    fn waiter(context: &Context<'_>) -> Waiter {
        Waiter::of(context)
    }
}

impl Sealed for Shared {
    const SHARED: bool = true;
    type Ref<X> = Arc<X>;
    type Lock<X> = Mutex<X>;
    type Guard<'a, X: 'a> = Held<MutexGuard<'a, X>>;

    #[inline(always)]
    fn refer<X>(target: X) -> Arc<X> {
        Arc::new(target)
    }

    #[inline(always)]
    fn guard<X>(content: X) -> Mutex<X> {
        Mutex::new(content)
    }

    #[inline(always)]
    fn lock<'a, X>(mutex: &'a Mutex<X>, streamed: &bool) -> Held<MutexGuard<'a, X>> {
        lock(mutex, streamed)
    }

    fn object() -> Object {
        Object::shared()
    }

    fn waiter(context: &Context<'_>) -> Waiter {
        Waiter::Waker(context.waker().clone())
    }
}
