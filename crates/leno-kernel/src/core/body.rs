//! What a coroutine runs: a closure that has not started, a stack, or a future.

use core::pin::Pin;

use crate::raw::stack::Stack;

/// See the module.
#[derive(Default)]
pub(crate) enum Body {
    /// It has ended, or is running.
    #[default]
    None,
    /// It takes a stack when it first runs.
    Closure(Box<dyn FnOnce()>),
    /// It has started.
    Stack(Stack),
    /// It is polled, on the stack of the core's loop.
    Future(Pin<Box<dyn Future<Output = ()>>>),
}
