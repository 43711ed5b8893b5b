//! Local or shared: the one thing in which two kinds of channel differ.
//!
//! Everything in this crate is written once, over a [`Flavour`]: how something is referred to, how
//! it is locked. [`Local`] has a reference count and a borrow flag, [`Shared`] an atomic count and a
//! mutex. Locks are held for a few instructions, never while anyone waits or code of a user runs: a policy is
//! asked before (`Channel::asked`), wakers and values are dropped after.

use core::ops::Deref;
use core::task::Context;
use std::rc::Rc;
use std::sync::Arc;

use leno_context::Here;
use leno_kernel::layer::queue::Lock;
pub use leno_kernel::layer::queue::{Local, Shared};
use leno_kernel::{Object, Waiter};

/// [`Local`] or [`Shared`].
pub trait Flavour: Sealed + Lock + Sized + 'static {}

impl Flavour for Local {}
impl Flavour for Shared {}

/// What a flavour consists of; nobody else can make one.
pub trait Sealed {
    /// Whether any thread may use it.
    const SHARED: bool;
    /// A counted reference.
    type Ref<X>: Clone + Deref<Target = X>;

    /// Makes a reference.
    fn refer<X>(target: X) -> Self::Ref<X>;
    /// Names something new that can be waited on.
    fn object() -> Object;
    /// Who is to be woken for this future.
    fn waiter(context: &Context<'_>) -> Waiter;
}

impl Sealed for Local {
    const SHARED: bool = false;
    type Ref<X> = Here<Rc<X>>;

    #[inline(always)]
    fn refer<X>(target: X) -> Here<Rc<X>> {
        Here::new(Rc::new(target))
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

    #[inline(always)]
    fn refer<X>(target: X) -> Arc<X> {
        Arc::new(target)
    }

    fn object() -> Object {
        Object::shared()
    }

    fn waiter(context: &Context<'_>) -> Waiter {
        Waiter::Waker(context.waker().clone())
    }
}
