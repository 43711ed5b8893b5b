//! Bodies with a stack, run by a core.
//!
//! Claims:
//! - A [`Seat`] stays on the thread that made it: it is neither `Send` nor `Sync`. What sits in it is
//!   resumed only while its block says new or suspended, and leaves the seat when it has ended.
//! - [`suspend`] and [`hand_on`] are called by code that runs inside the coroutine, as
//!   [`super::entered`] has found out, so whoever resumed it waits for it.
//! - Whoever is handed on to sits on the same core, so its loop waits for it as well as for the other.
//! - A stack is given back when its body has ended. A suspended one that leaves its seat is leaked:
//!   its frames may be borrowed from.

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leno_context::control::{self, Control, Kind, Spec, bits};
use leno_context::stack::{StackError, StackSize};
use leno_context::unwind::{self, code};
use leno_context::word::{EMPTY, Word};
use leno_context::{State, switch};
use leno_coroutine::floor;

use super::closure::Closure;
use crate::core::About;
use crate::user;

/// Where a started body with its stack sits, if there is one.
pub(crate) struct Seat(Cell<*mut Control>);

/// With what a coroutine has come back.
#[derive(Clone, Copy)]
pub(crate) struct Code(usize);

/// How a turn has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It has suspended.
    Suspended,
    /// Its body has ended; the seat is free.
    Ended,
}

impl Seat {
    pub(crate) const fn new() -> Seat {
        Seat(Cell::new(core::ptr::null_mut()))
    }

    /// Takes a stack for a body, which must not unwind. It runs when it is first resumed. The seat
    /// is free before.
    pub(crate) fn take(
        &self,
        about: &About,
        body: Closure<'static>,
    ) -> Result<(), (StackError, Closure<'static>)> {
        debug_assert!(self.is_free());
        let size = match StackSize::holding(about.stack_size) {
            Ok(size) => size,
            Err(error) => return Err((error, body)),
        };
        let spec = Spec {
            name: about.name.clone(),
            site: about.site,
            size,
            kind: Kind::Asymmetric,
            watched: false,
        };
        let mut body = ManuallyDrop::new(body);
        // SAFETY: used again only if it was not moved out.
        match unsafe { control::create(spec, &mut body, main) } {
            Ok(control) => {
                self.0.set(control.as_ptr());
                Ok(())
            }
            Err((error, _)) => Err((error, ManuallyDrop::into_inner(body))),
        }
    }

    /// Whether nobody sits here.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        self.0.get().is_null()
    }

    /// Who sits here, to [`super::entered`] and [`suspend`].
    #[inline(always)]
    pub(crate) fn control(&self) -> NonNull<Control> {
        NonNull::new(self.0.get()).expect("someone sits here")
    }

    /// Runs the body that sits here until it suspends or ends; or until another one does, to which it
    /// was [`hand_on`]: then [`Self::left`] is that one's seat.
    #[inline(always)]
    pub(crate) fn resume(&self) -> Code {
        let control = self.control();
        // SAFETY: who sits here has not ended, so its block is live.
        let block = unsafe { control.as_ref() };
        assert!(matches!(block.state(), State::New | State::Suspended), "it is running already");
        block.mark(bits::RUNNING);
        // SAFETY: new or suspended, of this thread; it takes no word.
        let (_, code) = unsafe { unwind::resume(block, EMPTY, code::GO) };
        Code(code)
    }

    /// Whoever sits here has come back by a [`Self::resume`], which gave `code`.
    #[inline(always)]
    pub(crate) fn left(&self, code: Code) -> Left {
        let control = self.control();
        if code.0 == code::SUSPENDED {
            // SAFETY: suspended, so its block is live.
            unsafe { control.as_ref() }.mark(bits::SUSPENDED);
            return Left::Suspended;
        }
        self.0.set(core::ptr::null_mut());
        // SAFETY: it has ended; its frames are gone.
        unsafe { control::release(control) };
        Left::Ended
    }

    /// Where whoever sits here is suspended. `None` if nobody is, or has no stack left to look with.
    pub(crate) fn backtrace(&self) -> Option<Backtrace> {
        let control = NonNull::new(self.0.get())?;
        // SAFETY: who sits here has not ended, so its block is live.
        let block = unsafe { control.as_ref() };
        // SAFETY: live, and of this thread.
        unsafe { floor::backtrace(block) }
    }

    /// Leaves whoever sits here suspended for ever.
    pub(crate) fn give_up(&self) {
        self.0.set(core::ptr::null_mut());
    }

    /// Starts loading what a resume will need.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        let block = self.0.get().cast::<u8>().cast_const();
        if !block.is_null() {
            for line in [0, 64, 128, 192] {
                switch::prefetch(block.wrapping_sub(line));
            }
        }
    }
}

/// Suspends the running coroutine of `control`: its core goes on.
///
/// # Safety
/// The calling code runs inside the coroutine, directly or in coroutines that it has resumed.
#[inline(always)]
pub(crate) unsafe fn suspend(control: NonNull<Control>) {
    // SAFETY: running, so its block is live.
    let block = unsafe { control.as_ref() };
    // SAFETY: by the contract.
    unsafe { unwind::suspend(block, EMPTY) };
}

/// Suspends the running coroutine of `control`, and continues the one in `next`: its core goes on
/// when that one suspends or ends. Nothing unwinds on this thread.
///
/// # Safety
/// As for [`suspend`]. The one in `next` is suspended.
#[inline(always)]
pub(crate) unsafe fn hand_on(control: NonNull<Control>, next: &Seat) {
    let next = next.control();
    // SAFETY: running, so its block is live.
    let block = unsafe { control.as_ref() };
    // SAFETY: who sits somewhere has not ended.
    let next = unsafe { next.as_ref() };
    assert!(next.state() == State::Suspended, "it is running already");
    block.mark(bits::SUSPENDED);
    next.mark(bits::RUNNING);
    // SAFETY: by the contract; bodies of the kernel take no word.
    unsafe { unwind::hand_on(block, next) };
}

/// Whether the running coroutine of `control` may suspend: not while its own stack unwinds.
///
/// # Safety
/// `control` is live.
pub(crate) unsafe fn can_suspend(control: NonNull<Control>) -> bool {
    // SAFETY: live by the contract.
    unwind::can_suspend(unsafe { control.as_ref() })
}

/// Raises exit in the running coroutine of `control`: its body unwinds.
///
/// # Safety
/// As for [`suspend`].
pub(crate) unsafe fn exit(control: NonNull<Control>) -> ! {
    // SAFETY: live by the contract.
    unwind::exit(unsafe { control.as_ref() })
}

/// The base of every stack.
unsafe extern "C-unwind" fn main(_: Word, _go: usize, control: *mut Control) -> ! {
    // SAFETY: the first thing on this stack.
    unsafe { unwind::begun() };
    // SAFETY: a running coroutine's block is live.
    let block = unsafe { &*control };
    // SAFETY: created with a `Closure`, which nobody has taken.
    let body = unsafe { block.take_body::<Closure<'static>>() };
    if catch_unwind(AssertUnwindSafe(|| body.call())).is_err() {
        unwind::give_up("a body of the kernel unwound past its end");
    }
    // What was called after the body's work, wakers and destructors of results, may have made locals again.
    // SAFETY: it runs, so its block is live; nothing of the body is left.
    let cleared = user::call(|| unsafe { floor::clear_locals(NonNull::from(block)) });
    if let Err(panic) = cleared {
        drop(crate::user::report("a destructor", panic));
    }
    // SAFETY: nothing on this stack is needed any more.
    unsafe { unwind::finish(control, EMPTY, code::RETURNED) }
}

/// Runs `f`, the whole work of a body, and ends the locals of its coroutine, also if it unwinds. Their
/// destructors are part of that work: what they raise leaves this, after what `f` has raised.
pub(crate) fn with_locals<R>(f: impl FnOnce() -> R) -> R {
    let result = user::call(f);
    let cleared = user::call(|| {
        if let Some(control) = NonNull::new(control::current()) {
            // SAFETY: the running coroutine, whose body has done its work.
            unsafe { floor::clear_locals(control) };
        }
    });
    match (result, cleared) {
        (Ok(result), Ok(())) => result,
        (Ok(result), Err(panic)) => {
            user::dispose(result);
            panic.resume()
        }
        (Err(first), cleared) => {
            let panic = user::first(Some(first), cleared.err());
            panic.expect("there is one").resume()
        }
    }
}
