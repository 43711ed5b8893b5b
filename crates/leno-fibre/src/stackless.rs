//! Fibres without a stack: their bodies are futures, and they end by being dropped.
//!
//! They meet fibres with a stack at the same channels. One that starves, or whose value nobody will
//! read, asks its core to drop it and is not polled again, so that its destructors run.
//!
//! Deliberately not here: bound ends. A future that borrows its own context cannot be named by the
//! brand of a fibre, so its ends are free.

use core::cell::Cell;
use core::future::pending;
use std::rc::Rc;

use leno_kernel::{Co, Outcome};

use crate::{Cx, Fibre, In, Out};

/// A fibre without a stack, as its own code sees it; see [`Cx::spawn_stackless`].
pub struct StacklessCx {
    /// Known when it is first polled.
    co: Rc<Cell<Option<Co>>>,
}

impl StacklessCx {
    #[track_caller]
    fn check(&self) {
        let (own, current) = (self.co.get(), leno_kernel::current());
        assert!(
            own.is_some() && own == current,
            "the context of a fibre without a stack was used elsewhere: a fibre's context is its own"
        );
    }
}

impl Cx<'_> {
    /// Spawns a fibre without a stack: a future, which costs only what it keeps across its waits.
    ///
    /// # Panics
    /// When this is not the running fibre's, or the run holds 4 million fibres already.
    ///
    /// # Examples
    /// ```
    /// leno_fibre::run(|cx| {
    ///     let (out, inp) = leno_fibre::channel();
    ///     cx.spawn_stackless(async move |cx| {
    ///         for i in 1..=10 {
    ///             out.write_async(&cx, i).await;
    ///         }
    ///     });
    ///     cx.spawn(move |cx| loop { println!("{}", inp.read(cx)) });
    /// });
    /// ```
    #[track_caller]
    pub fn spawn_stackless<R: 'static, F: Future<Output = R> + 'static>(
        &self,
        body: impl FnOnce(StacklessCx) -> F + 'static,
    ) -> Fibre<R> {
        self.check();
        let co = Rc::new(Cell::new(None));
        let cx = StacklessCx { co: co.clone() };
        Fibre::new(leno_kernel::spawn_local_future(async move {
            co.set(leno_kernel::current());
            body(cx).await
        }))
    }
}

impl<T> In<T> {
    /// As [`Self::read`], for a fibre without a stack.
    ///
    /// # Cancellation
    /// If nobody can ever write, the fibre starves: it is dropped.
    ///
    /// # Panics
    /// When `cx` is not that of the fibre that is being polled.
    pub async fn read_async(&self, cx: &StacklessCx) -> T {
        cx.check();
        match self.receiver.recv_async().await {
            Ok(value) => value,
            Err(_) => leave(Outcome::Starved).await,
        }
    }
}

impl<T> Out<T> {
    /// As [`Self::write`], for a fibre without a stack.
    ///
    /// # Cancellation
    /// If nobody can ever read, the fibre ends by blockage: the value and the fibre are dropped.
    ///
    /// # Panics
    /// When `cx` is not that of the fibre that is being polled.
    pub async fn write_async(&self, cx: &StacklessCx, value: T) {
        cx.check();
        if let Err(error) = self.sender.send_async(value).await {
            drop(error);
            leave(Outcome::Blockaged).await
        }
    }
}

async fn leave<T>(outcome: Outcome) -> T {
    leno_kernel::exit_as(outcome);
    pending().await
}

impl core::fmt::Debug for StacklessCx {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "StacklessCx({:?})", self.co.get())
    }
}
