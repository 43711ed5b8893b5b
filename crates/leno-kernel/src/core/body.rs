//! What a coroutine runs, unless it sits on a stack: a closure that has not started, or a future.

use core::pin::Pin;

use crate::raw::closure::Closure;

/// See the module.
#[derive(Default)]
pub(crate) enum Body {
    /// It has a stack, or is running, or has ended.
    #[default]
    None,
    /// It takes a stack when it first runs.
    Closure(Closure<'static>),
    /// It is polled, on the stack of the core's loop.
    Future(Pin<Box<dyn Future<Output = ()>>>),
}
