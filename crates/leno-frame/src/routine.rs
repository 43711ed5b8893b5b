//! Functions that can be stored, as types; and how they are named where a coroutine starts.

use std::future::Future;

use crate::handle::{Co, Seed};
use crate::point::Call;

/// What `#[resumable]` makes of a function. It is not implemented by hand.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a resumable fn")]
pub trait Routine: Sized + 'static {
    /// What it suspends with.
    type Yield: Send + 'static;
    /// What it goes on with.
    type Input: Send + 'static;
    /// What it is lent while it runs.
    type Context: 'static;
    /// Its arguments, as a tuple.
    type Args: Send + 'static;
    /// What it returns.
    type Output: Send + 'static;

    #[doc(hidden)]
    fn body<'f>(
        seed: Seed<'f, Self::Yield, Self::Input, Self::Context>,
        args: Args<Self>,
    ) -> impl Future<Output = Self::Output> + Send + 'f;
}

/// The arguments of a call of `R`, on their way into its body; none if the body is restored.
#[doc(hidden)]
pub struct Args<R: Routine>(Option<R::Args>);

impl<R: Routine> Args<R> {
    pub(crate) fn new(call: Option<Call<R>>) -> Self {
        Args(call.map(Call::into_args))
    }

    pub(crate) fn take(self) -> Option<R::Args> {
        self.0
    }
}

/// A resumable function of up to eight parameters after its handle, or a closure that calls one, such as a method:
/// `|co: &mut Co<..>, object: T| object.method(co)`. It is where a coroutine starts. The tuple `A` holds the
/// parameters.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot start a coroutine with these arguments",
    note = "a coroutine starts with a `#[resumable]` fn and a tuple of its arguments after `co`, such as \
            `(1, \"x\".to_string())`, `(1,)` or `()`; give generic fns their types: `f::<u32>`",
    note = "a method starts in a closure, which is also what it is restored by: \
            `|co: &mut Co<..>, object: T| object.method(co)`"
)]
pub trait Entry<R: Routine, A> {
    #[doc(hidden)]
    fn call(self, co: &mut Co<R::Yield, R::Input, R::Context>, args: A) -> Call<R>;
}

macro_rules! entry {
    ($($arg:ident),*) => {
        impl<R: Routine, F, $($arg),*> Entry<R, ($($arg,)*)> for F
        where
            F: FnOnce(&mut Co<R::Yield, R::Input, R::Context>, $($arg),*) -> Call<R>,
        {
            #[allow(non_snake_case)]
            fn call(
                self,
                co: &mut Co<R::Yield, R::Input, R::Context>,
                ($($arg,)*): ($($arg,)*),
            ) -> Call<R> {
                self(co, $($arg),*)
            }
        }
    };
}

entry!();
entry!(A);
entry!(A, B);
entry!(A, B, D);
entry!(A, B, D, E);
entry!(A, B, D, E, G);
entry!(A, B, D, E, G, H);
entry!(A, B, D, E, G, H, K);
entry!(A, B, D, E, G, H, K, L);
