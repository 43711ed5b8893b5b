//! Fibres without a stack: their bodies are futures, and they end by being dropped.
//!
//! They meet fibres with a stack at the same channels. One that starves, or whose value nobody will
//! read, asks its core to drop it and is not polled again, so that its destructors run.
//!
//! Ends may be bound to one at its spawn; `alone.rs` says how it is known then that nothing else could
//! wake it. Deliberately not here: spawning, and binding or receiving ends later, which fibres with a
//! stack do.

mod alone;

use core::future::pending;
use std::rc::Rc;

use leno_kernel::Outcome;
use leno_kernel::layer::ledger::{End, Side};

use crate::bind::{Bind, Holder};
use crate::{Cx, Fibre, In, Out};
use alone::{Alone, Own};

/// A fibre without a stack, as its own code sees it; see [`Cx::spawn_stackless`].
pub struct StacklessCx {
    own: Rc<Own>,
}

impl StacklessCx {
    #[track_caller]
    fn check(&self) {
        let (own, current) = (self.own.co.get(), leno_kernel::current());
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
        let own = Rc::new(Own::default());
        let cx = StacklessCx { own: own.clone() };
        Fibre::new(leno_kernel::spawn_local_future(async move {
            own.co.set(leno_kernel::current());
            body(cx).await
        }))
    }

    /// The same for one that alone knows `ends`, as by [`Self::spawn_bound`].
    ///
    /// It is removed when nobody can ever wake it. As long as it also waits for something other than
    /// fibres' channels, a timer for one, or polls them by an executor of its own, it could be woken.
    ///
    /// # Panics
    /// As [`Self::spawn_stackless`].
    ///
    /// # Examples
    /// Two fibres, each hungry for what only the other could write.
    /// ```
    /// use leno_fibre::{channel, run};
    ///
    /// let ran = run(|cx| {
    ///     let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
    ///     cx.spawn_stackless_bound((in1, out2), async |cx, (inp, out)| {
    ///         out.write_async(&cx, inp.read_async(&cx).await).await;
    ///     });
    ///     cx.spawn_bound((in2, out1), |cx, (inp, out)| out.write(cx, inp.read(cx)));
    /// });
    /// assert_eq!((ran.report().removed, ran.zombies().len()), (2, 0));
    /// ```
    #[track_caller]
    pub fn spawn_stackless_bound<E: Bind, R: 'static>(
        &self,
        ends: E,
        body: impl for<'c> AsyncFnOnce(StacklessCx, E::Bound<'c>) -> R + 'static,
    ) -> Fibre<R> {
        self.check();
        let own = Rc::new(Own::default());
        let cx = StacklessCx { own: own.clone() };
        let shared = own.clone();
        let whole = async move {
            let co = leno_kernel::current().expect("a core polls it");
            shared.co.set(Some(co));
            let ends = ends.bind_to(&Holder::new(co));
            body(cx, ends).await
        };
        Fibre::new(leno_kernel::spawn_local_future(Alone::new(own, whole)))
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
        let end = End { channel: self.object(), side: Side::Sending };
        match cx.own.wait(end, self.receiver.recv_async()).await {
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
        let end = End { channel: self.object(), side: Side::Receiving };
        if let Err(error) = cx.own.wait(end, self.sender.send_async(value)).await {
            drop(error);
            leave(Outcome::Blockaged).await
        }
    }
}

async fn leave<T>(outcome: Outcome) -> T {
    leno_kernel::layer::exit_as(outcome);
    pending().await
}

impl core::fmt::Debug for StacklessCx {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "StacklessCx({:?})", self.own.co.get())
    }
}
