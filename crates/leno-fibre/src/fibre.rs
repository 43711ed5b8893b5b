//! A fibre, as others see it.

use core::fmt;

use leno_kernel::{Co, JoinError, JoinHandle};

use crate::Cx;
use crate::scheduler::Doing;

/// A fibre that was spawned. It is no knowledge of any channel: a handle keeps nobody alive, and
/// dropping it changes nothing.
pub struct Fibre<R> {
    handle: JoinHandle<R>,
}

impl<R> Fibre<R> {
    pub(crate) fn new(handle: JoinHandle<R>) -> Fibre<R> {
        Fibre { handle }
    }

    /// Which fibre.
    pub fn co(&self) -> Option<Co> {
        self.handle.co()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Ends it: what it waits for gives up, its stack unwinds, and its destructors run when it has its
    /// turn. One that has ended stays as it is.
    ///
    /// # Examples
    /// ```
    /// leno_fibre::run(|cx| {
    ///     let (_out, inp) = leno_fibre::channel::<u32>();
    ///     let hungry = cx.spawn(move |cx| inp.read(cx));
    ///     cx.yield_now();
    ///     hungry.kill();
    ///     cx.yield_now();
    ///     assert!(hungry.is_finished());
    /// });
    /// ```
    pub fn kill(&self) {
        self.handle.cancel();
    }

    /// Waits for its end.
    ///
    /// # Blocking
    /// Until it has ended, in whatever way.
    ///
    /// # Cancellation
    /// When the calling fibre is to end, this unwinds its stack.
    ///
    /// # Errors
    /// When it did not return: it has starved, was blockaged or killed, or panicked.
    ///
    /// # Panics
    /// When `cx` is not the running fibre's.
    #[track_caller]
    pub fn join(self, cx: &Cx<'_>) -> Result<R, JoinError> {
        cx.does(Doing::Other);
        self.handle.join()
    }

    /// What it returned, or how else it ended; `None` if it has not.
    pub(crate) fn try_join(&self) -> Option<Result<R, JoinError>> {
        self.handle.try_join()
    }
}

impl<R> fmt::Debug for Fibre<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.co() {
            Some(co) => write!(f, "Fibre({co})"),
            None => f.write_str("Fibre(not started)"),
        }
    }
}
