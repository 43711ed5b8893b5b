//! Coroutines that borrow.
//!
//! Claim: no child of a scope has a frame left when [`scope`] returns or unwinds, even if its
//! handle was forgotten. Why: the scope lists its children and ends all of them before it lets go
//! of the frame that owns what they borrow; a child that cannot be ended aborts the process. As
//! in `std::thread::scope`, `'scope` is invariant and chosen by the callee, so handles cannot
//! outlive the call.

use core::cell::RefCell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use std::panic::Location;

use leno_context::control::{Control, Kind};
use leno_context::user::{self, Panic};
use leno_context::{State, Status, thread, unwind};

use super::chain::Owner;
use super::coroutine;
use super::exit::{self, Ended};
use super::floor;
use crate::{Builder, Coroutine, CreateError, Suspender};

/// Creates coroutines that may borrow from outside the scope; made by [`scope`].
pub struct Scope<'scope, 'env> {
    owner: Owner,
    children: RefCell<Vec<Child>>,
    /// It began in the destructor of a thread-local: then its children can be unwound there.
    at_thread_end: bool,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

struct Child {
    status: Status,
    end: unsafe fn(NonNull<Control>, bool) -> Ended,
}

/// Runs `f` with a scope, in which coroutines may borrow whatever outlives the call.
///
/// When `f` returns or panics, coroutines of the scope that have not finished are ended: their
/// stacks unwind, their destructors run. Then the result is returned, or the panic goes on.
///
/// # Panics
/// With the panic of `f`; or else with the first that ending a coroutine raised: that of a body
/// that caught its exit, or of dropping what one that never ran had captured. A destructor that
/// panics while the stack of a started coroutine unwinds aborts the process, as in any unwinding.
/// So does a coroutine that cannot be ended, with a message: its body catches exit eight times, the
/// build has `panic = "abort"`, or the scope began before its thread's end and is left in the destructor
/// of a thread-local.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::scope;
///
/// let words = ["one", "two"];
/// let lengths: Vec<usize> = scope(|s| {
///     let each = s.coroutine(|co, ()| {
///         words.iter().for_each(|word| co.suspend(word.len()));
///     });
///     each.iter().collect()
/// });
/// assert_eq!(lengths, [3, 3]);
/// ```
///
/// What the scope creates cannot leave it:
/// ```compile_fail
/// # use leno_coroutine as leno;
/// use leno::scope;
///
/// let escaped = scope(|s| s.coroutine(|co, ()| co.suspend(())));
/// ```
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let scope = Scope {
        owner: Owner::here(),
        children: RefCell::default(),
        at_thread_end: thread::is_ending() && !leno_context::is_planted("thread-end"),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = user::call(|| f(&scope));
    let failed = scope.end_children();
    leave(result, failed)
}

/// Returns what the closure of a scope whose children have ended returned, or goes on with the panic that
/// comes first: that of the closure, else the one raised by its children, but an exit before either.
pub(super) fn leave<R>(result: Result<R, Panic>, failed: Option<Panic>) -> R {
    let raised = match (result, failed) {
        (Ok(result), None) => return result,
        (Ok(result), failed) => floor::first(failed, user::try_dispose(result).err()),
        (Err(panic), failed) => floor::first(Some(panic), failed),
    };
    raised.expect("one of them").resume()
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Makes a coroutine that may borrow for `'scope`, with the default stack.
    ///
    /// # Panics
    /// When there is no memory for a stack; [`Self::coroutine_with`] returns an error instead. When the
    /// calling code does not run inside the coroutine whose scope it is.
    #[track_caller]
    pub fn coroutine<F, In, Out, Ret>(
        &'scope self,
        body: F,
    ) -> ScopedCoroutine<'scope, In, Out, Ret>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'scope,
        In: 'scope,
        Out: 'scope,
        Ret: 'scope,
    {
        match self.coroutine_with(Builder::new(), body) {
            Ok(coroutine) => coroutine,
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes a coroutine that may borrow for `'scope`, with the builder's name and stack size.
    ///
    /// # Errors
    /// When there is no stack of that size.
    ///
    /// # Panics
    /// When the calling code does not run inside the coroutine whose scope it is.
    #[track_caller]
    pub fn coroutine_with<F, In, Out, Ret>(
        &'scope self,
        builder: Builder,
        body: F,
    ) -> Result<ScopedCoroutine<'scope, In, Out, Ret>, CreateError>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'scope,
        In: 'scope,
        Out: 'scope,
        Ret: 'scope,
    {
        // SAFETY: the scope is in frames of its owner, and stays on their thread.
        unsafe { self.owner.assert_inside("a scope") };
        let spec = builder.spec(Location::caller(), Kind::Asymmetric)?;
        let mut body = ManuallyDrop::new(body);
        // SAFETY: the scope ends the coroutine before `'scope` does.
        let made = unsafe { coroutine::create(spec, &mut body) };
        let coroutine: Coroutine<In, Out, Ret> =
            made.inspect_err(|_| drop(ManuallyDrop::into_inner(body)))?;
        let mut children = self.children.borrow_mut();
        if children.len() == children.capacity() {
            children.retain(|child| !child.status.is_finished());
        }
        children.push(Child { status: coroutine.status(), end: exit::end::<Out, Ret> });
        Ok(ScopedCoroutine { coroutine, scope: PhantomData })
    }

    /// Ends all children; the first panic raised by a destructor meanwhile. Nothing unwinds out of here.
    fn end_children(&self) -> Option<Panic> {
        let mut failed = None;
        loop {
            // Destructors may create further children, so the list is read anew each time. A
            // child that waits for another one (Running) ends when that one has ended.
            let next = {
                let mut children = self.children.borrow_mut();
                children.retain(|child| !child.status.is_finished());
                let waiting = |child: &&Child| child.status.state() != State::Running;
                children.iter().rev().find(waiting).map(|child| (child.status, child.end))
            };
            let Some((status, end)) = next else { break };
            let Some(control) = status.control() else { continue };
            // SAFETY: live, of this thread, not running; its handle cannot be used any more.
            match unsafe { end(control, self.at_thread_end) } {
                Ended::Gone(panic) => failed = floor::first(failed, panic),
                // SAFETY: still live.
                Ended::Refused => exit::abort_scope(exit::refused(unsafe { control.as_ref() })),
                Ended::CannotUnwind => {
                    // SAFETY: still live.
                    let block = unsafe { control.as_ref() };
                    unwind::give_up(format_args!("{}", exit::cannot_unwind("a scope", block)));
                }
            }
        }
        if !self.children.borrow().is_empty() {
            unwind::give_up("a scope ended while one of its coroutines was running");
        }
        failed
    }
}

impl core::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Nothing is borrowed while it is written: that is code of a user, which may suspend for ever.
        let children = self.children.borrow().len();
        write!(f, "Scope({children} children)")
    }
}

/// A [`Coroutine`] of a scope, used through `Deref`. Dropping it ends it, forgetting it leaves
/// that to the scope.
pub struct ScopedCoroutine<'scope, In, Out, Ret = ()> {
    coroutine: Coroutine<In, Out, Ret>,
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<In, Out, Ret> Deref for ScopedCoroutine<'_, In, Out, Ret> {
    type Target = Coroutine<In, Out, Ret>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.coroutine
    }
}

impl<In, Out, Ret> Drop for ScopedCoroutine<'_, In, Out, Ret> {
    #[inline]
    fn drop(&mut self) {
        if !self.coroutine.is_finished() {
            self.coroutine.end(true);
        }
    }
}

impl<In, Out, Ret> core::fmt::Debug for ScopedCoroutine<'_, In, Out, Ret> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.coroutine.fmt(f)
    }
}
