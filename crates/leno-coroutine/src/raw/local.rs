//! Where coroutine-locals are kept.
//!
//! Claim: a value lives from its first use until its coroutine's body has returned or unwound
//! (for a thread's own context, until the thread ends), at a fixed address; references to it
//! exist only inside [`with`], which is left before the body is.

use core::any::Any;
use core::cell::RefCell;
use core::ptr::NonNull;

use leno_context::control::{self, Control};
use leno_context::last_words;
use leno_context::thread::{self, Slot};
use leno_context::user::{self, Panic};

use super::floor;

/// How often values are dropped that destructors of others have made.
const ROUNDS: usize = 32;

/// One context's values, by the address of their `Local`.
#[derive(Default)]
struct Values(RefCell<Vec<(usize, Box<dyn Any>)>>);

/// Calls `f` with the running context's value for `key`, made by `init` on first use.
pub(crate) fn with<T: 'static, R>(key: usize, init: fn() -> T, f: impl FnOnce(&T) -> R) -> R {
    let values = current();
    // SAFETY: the running context's values live while it runs.
    let values = unsafe { values.as_ref() };
    let found = || {
        let values = values.0.borrow();
        let (_, value) = values.iter().find(|(held, _)| *held == key)?;
        Some(NonNull::from_ref(value.downcast_ref::<T>().expect("a local keeps its type")))
    };
    let value = found().unwrap_or_else(|| {
        let value = init();
        values.0.borrow_mut().push((key, Box::new(value)));
        found().expect("just put there")
    });
    // SAFETY: boxed, so it does not move when others are added; dropped after the body only.
    f(unsafe { value.as_ref() })
}

fn current() -> NonNull<Values> {
    let control = control::current();
    let slot = if control.is_null() {
        // In this order: the thread's block is then dropped after the values.
        // SAFETY: it holds null or values, put there and cleared by this module.
        let slot = unsafe { thread::current().slot(Slot::Locals) };
        clear_at_thread_exit();
        slot
    } else {
        // SAFETY: the running coroutine's block is live.
        unsafe { &(*control).locals }
    };
    let values = slot.get().cast::<Values>();
    NonNull::new(values).unwrap_or_else(|| {
        // One pointer for all: an initialiser finds it in the slot while its caller has it.
        let made = NonNull::from(Box::leak(Box::<Values>::default()));
        slot.set(made.as_ptr().cast());
        made
    })
}

/// Drops all values, also those that their destructors make. The first panic of a destructor.
///
/// # Safety
/// `slot` holds null or what [`current`] put there, and nobody refers into it.
unsafe fn clear(slot: &core::cell::Cell<*mut ()>) -> Option<Panic> {
    let mut raised = None;
    for _ in 0..ROUNDS {
        let values = slot.replace(core::ptr::null_mut()).cast::<Values>();
        if values.is_null() {
            return raised;
        }
        // SAFETY: leaked by `current`, just taken out of the slot.
        let values = unsafe { Box::from_raw(values) };
        for (_, value) in values.0.into_inner() {
            raised = floor::first(raised, user::try_dispose(value).err());
        }
    }
    // Leaked: there might be no end to it.
    slot.set(core::ptr::null_mut());
    raised
}

/// Says that a destructor has panicked where nothing can be raised.
#[cold]
fn report(raised: Panic) {
    if !floor::is_exit_here(raised.payload()) {
        last_words::say(format_args!(
            "dropping a coroutine-local panicked where nothing can be raised: the panic goes no further"
        ));
    }
}

/// Drops a coroutine's locals when its body is left.
pub(super) struct Clear(pub(super) NonNull<Control>);

impl Drop for Clear {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the coroutine is running its last lines.
        let block = unsafe { self.0.as_ref() };
        if !block.locals.get().is_null() {
            // SAFETY: the body has been left, and with it every `with`.
            match unsafe { clear(&block.locals) } {
                None => {}
                Some(raised) if std::thread::panicking() => report(raised),
                Some(raised) => raised.resume(),
            }
        }
    }
}

/// Sees to it that the locals of the thread's own context are dropped when the thread ends.
fn clear_at_thread_exit() {
    struct AtExit;
    impl Drop for AtExit {
        fn drop(&mut self) {
            // SAFETY: as in `current`.
            let slot = unsafe { thread::current().slot(Slot::Locals) };
            // SAFETY: the thread's own context has ended; every `with` has been left.
            if let Some(raised) = unsafe { clear(slot) } {
                report(raised);
            }
        }
    }
    thread_local!(static AT_EXIT: AtExit = const { AtExit });
    // Already being destroyed: the values made now are leaked.
    let _ = AT_EXIT.try_with(|_| ());
}
