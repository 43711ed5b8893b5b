//! Bodies with a stack, run by a core.
//!
//! Claims:
//! - A [`Stack`] stays on the thread that made it, and is resumed only while it is suspended: it
//!   is neither `Send` nor `Sync`, its core takes it out of its slot to resume it.
//! - [`suspend`] is called by code that runs inside the coroutine, as [`super::entered`] has found
//!   out, so whoever resumed it waits for it.
//! - A stack is given back when its body has ended. A suspended one that is dropped is leaked: its
//!   frames may be borrowed from.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leno_context::control::{self, Control, Kind, Spec, bits};
use leno_context::stack::{StackError, StackSize};
use leno_context::unwind::{self, code};
use leno_context::word::{EMPTY, Word};
use leno_coroutine::floor;

use crate::core::About;

/// A body that has started, with its stack.
pub(crate) struct Stack {
    control: NonNull<Control>,
    _stays: PhantomData<*mut ()>,
}

type Closure = Box<dyn FnOnce()>;

impl Stack {
    /// Takes a stack for a body, which must not unwind. It runs when it is first resumed.
    pub(crate) fn new(about: &About, body: Closure) -> Result<Stack, (StackError, Closure)> {
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
            Ok(control) => Ok(Stack { control, _stays: PhantomData }),
            Err((error, _)) => Err((error, ManuallyDrop::into_inner(body))),
        }
    }

    /// Who it is to [`super::entered`] and [`suspend`].
    #[inline(always)]
    pub(crate) fn control(&self) -> NonNull<Control> {
        self.control
    }

    /// Runs the body until it suspends, and gives the stack back; or until it ends.
    #[inline(always)]
    pub(crate) fn resume(self) -> Option<Stack> {
        // SAFETY: live: its body has not ended.
        let block = unsafe { self.control.as_ref() };
        block.mark(bits::RUNNING);
        // SAFETY: new or suspended, of this thread; it takes no word.
        let (_, code) = unsafe { unwind::resume(block, EMPTY, code::GO) };
        if code == code::SUSPENDED {
            block.mark(bits::SUSPENDED);
            return Some(self);
        }
        // SAFETY: it has ended; its frames are gone.
        unsafe { control::release(self.control) };
        None
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
    unwind::begun();
    // SAFETY: a running coroutine's block is live.
    let block = unsafe { &*control };
    // SAFETY: created with a `Closure`, which nobody has taken.
    let body = unsafe { block.take_body::<Closure>() };
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        unwind::give_up("a body of the kernel unwound past its end");
    }
    // SAFETY: nothing on this stack is needed any more.
    unsafe { unwind::finish(control, EMPTY, code::RETURNED) }
}

/// Runs `f`, the whole work of a body, and ends the locals of its coroutine, also if it unwinds.
pub(crate) fn with_locals<R>(f: impl FnOnce() -> R) -> R {
    struct Clear(NonNull<Control>);
    impl Drop for Clear {
        fn drop(&mut self) {
            // SAFETY: the running coroutine, whose body has done its work.
            unsafe { floor::clear_locals(self.0) };
        }
    }
    let _clear = NonNull::new(control::current()).map(Clear);
    f()
}
