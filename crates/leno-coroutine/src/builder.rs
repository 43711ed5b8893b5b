//! Making a coroutine that is not the default one.

use core::panic::Location;

use leno_context::Name;
use leno_context::control::{Kind, Spec};
use leno_context::stack::{self, StackSize};

use crate::ring::Member;
use crate::{Coroutine, CreateError, Suspender, Unstarted, raw, trace};

/// Name and stack size of a coroutine to be made.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::{Builder, Step};
///
/// let echo = Builder::new()
///     .name("echo")
///     .stack_size(256 * 1024)
///     .coroutine(|co, mut n| loop { n = co.suspend(n) })?;
/// assert_eq!(echo.resume(7), Step::Suspended(7));
/// # Ok::<(), leno::CreateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    name: Name,
    stack_size: usize,
}

impl Default for Builder {
    fn default() -> Self {
        Builder { name: Name::NONE, stack_size: stack::DEFAULT_SIZE }
    }
}

impl Builder {
    /// No name, a stack of 64 KiB.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The name that messages, dumps and traces show.
    pub fn name(mut self, name: impl Into<Name>) -> Builder {
        self.name = name.into();
        self
    }

    /// Bytes of stack: a hint. There is a minimum of 16 KiB, sizes are rounded up to a power of
    /// two, and more than 1 GiB is refused when the coroutine is made. A stack uses memory only
    /// where it is touched. A panic that prints a backtrace (`RUST_BACKTRACE=1`) needs about 20 KiB,
    /// so on 16 KiB it becomes an overflow; foreign code, whose frames are not probed, is safest on
    /// 256 KiB and more, which have larger guards.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack_size = bytes;
        self
    }

    /// Makes an asymmetric coroutine.
    ///
    /// # Errors
    /// When there is no stack of that size.
    #[track_caller]
    pub fn coroutine<F, In, Out, Ret>(self, body: F) -> Result<Coroutine<In, Out, Ret>, CreateError>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        Ok(self.unstarted(body).start()?)
    }

    /// Keeps the body for later: the result may move to another thread if the body may.
    #[track_caller]
    pub fn unstarted<F, In, Out, Ret>(self, body: F) -> Unstarted<F, In, Out, Ret>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        Unstarted::new(self, Location::caller(), body)
    }

    /// Makes a member of the current ring; it runs next.
    ///
    /// # Errors
    /// When there is no stack of that size, or no ring can be entered here.
    #[track_caller]
    pub fn spawn<F>(self, body: F) -> Result<Member, crate::ring::SpawnError>
    where
        F: FnOnce() + 'static,
    {
        raw::ring::spawn(self, Location::caller(), body)
    }

    pub(crate) fn spec(
        self,
        site: &'static Location<'static>,
        kind: Kind,
    ) -> Result<Spec, CreateError> {
        match StackSize::holding(self.stack_size) {
            Ok(size) => Ok(Spec { name: self.name, site, size, kind, watched: trace::is_on() }),
            Err(why) => Err(CreateError::new(why, self.name, site)),
        }
    }
}
