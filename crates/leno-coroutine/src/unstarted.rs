//! A coroutine that has not started: a body and what it asks for, no stack.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::panic::Location;

use leno_context::control::Kind;

use crate::{Builder, Coroutine, CreateError, Suspender, raw};

/// A body that becomes a [`Coroutine`] on the thread that starts it.
///
/// It is `Send` if its body is: a coroutine that has not started may go anywhere.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::{Builder, Step};
///
/// let unstarted = Builder::new().unstarted(|co, ()| co.suspend(1));
/// std::thread::spawn(move || {
///     let coroutine = unstarted.start()?;
///     assert_eq!(coroutine.resume(()), Step::Suspended(1));
///     Ok::<(), leno::CreateError>(())
/// })
/// .join()
/// .unwrap()?;
/// # Ok::<(), leno::CreateError>(())
/// ```
pub struct Unstarted<F, In, Out, Ret> {
    builder: Builder,
    site: &'static Location<'static>,
    body: F,
    types: PhantomData<fn(In) -> (Out, Ret)>,
}

impl<F, In, Out, Ret> Unstarted<F, In, Out, Ret> {
    pub(crate) fn new(builder: Builder, site: &'static Location<'static>, body: F) -> Self {
        Unstarted { builder, site, body, types: PhantomData }
    }

    /// Takes a stack; the coroutine now belongs to this thread and runs when resumed.
    ///
    /// # Errors
    /// When there is no stack of the size asked for; everything is given back in the error.
    pub fn start(self) -> Result<Coroutine<In, Out, Ret>, StartError<Self>>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        let spec = match self.builder.clone().spec(self.site, Kind::Asymmetric) {
            Ok(spec) => spec,
            Err(error) => return Err(StartError { error, unstarted: self }),
        };
        let mut body = ManuallyDrop::new(self.body);
        raw::coroutine::create_static(spec, &mut body).map_err(|error| {
            let body = ManuallyDrop::into_inner(body);
            StartError { error, unstarted: Unstarted::new(self.builder, self.site, body) }
        })
    }

    /// The body, not run.
    pub fn into_body(self) -> F {
        self.body
    }
}

impl<F, In, Out, Ret> fmt::Debug for Unstarted<F, In, Out, Ret> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unstarted({:?})", self.builder)
    }
}

/// An [`Unstarted`] could not be started: there is no stack for it. It is given back.
///
/// `U` is the [`Unstarted`].
pub struct StartError<U> {
    error: CreateError,
    unstarted: U,
}

impl<U> StartError<U> {
    /// What could not be started, as it was.
    pub fn into_unstarted(self) -> U {
        self.unstarted
    }

    /// Why.
    pub fn create_error(&self) -> &CreateError {
        &self.error
    }
}

impl<U> From<StartError<U>> for CreateError {
    fn from(error: StartError<U>) -> CreateError {
        error.error
    }
}

leno_context::debug_as_told!(StartError<U>);

impl<U> fmt::Display for StartError<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<U> std::error::Error for StartError<U> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
