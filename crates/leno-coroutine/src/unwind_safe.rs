//! Handles may cross `catch_unwind`: nothing broken can be seen through one afterwards.
//!
//! A panic that leaves a body finishes its coroutine, with its frames and its locals; what is left
//! is a handle that says so. A panic in an operation comes before it has changed anything. What
//! bodies share otherwise (a cell, a lock) they share by types of their own.

use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::migrate::{self, Migrant};
use crate::{Coroutine, Scope, ScopedCoroutine, Suspender, ring, shared};

macro_rules! unwind_safe {
    ($([$($parameter:tt)*] $handle:ty;)*) => {
        $(
            impl<$($parameter)*> UnwindSafe for $handle {}
            impl<$($parameter)*> RefUnwindSafe for $handle {}
        )*
    };
}

unwind_safe! {
    [In, Out, Ret] Coroutine<In, Out, Ret>;
    [In, Out, Ret] ScopedCoroutine<'_, In, Out, Ret>;
    [In, Out, Ret] shared::Coroutine<In, Out, Ret>;
    [In, Out, Ret] Migrant<In, Out, Ret>;
    [In, Out] Suspender<In, Out>;
    [] migrate::Member;
    [] shared::Stacks;
    [] Scope<'_, '_>;
    [] ring::Scope<'_, '_>;
}
