//! A wait group: a channel that closes when its last sender goes; nothing is ever sent.

use core::convert::Infallible;
use core::fmt;
use core::future::poll_fn;
use core::time::Duration;

use leno_kernel::layer::deadline_in;

use super::{LockError, about};
use crate::Sender;
use crate::channel::Channel;
use crate::error::RecvError;
use crate::flavour::{Flavour, Local, Sealed, Shared};
use crate::recv_future::Waiting;
use crate::select::{Receive, Take, Wrap, sealed};

/// Waiting until all workers are gone. It can be used again.
pub struct WaitGroup<F: Flavour = Local> {
    channel: <F as Sealed>::Ref<Channel<Infallible, F>>,
}

/// One of those that a [`WaitGroup`] waits for, until it is dropped. Clones count for themselves.
#[derive(Clone)]
pub struct Worker<F: Flavour = Local> {
    _end: Sender<Infallible, F>,
}

impl WaitGroup {
    /// For the coroutines of one thread.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::WaitGroup;
    /// use leno_kernel::{LocalSystem, yield_now};
    ///
    /// let (system, group) = (LocalSystem::new(), WaitGroup::local());
    /// for _ in 0..3 {
    ///     let worker = group.worker();
    ///     drop(system.spawn(move || {
    ///         yield_now();
    ///         drop(worker);
    ///     }));
    /// }
    /// let all = system.spawn(move || group.wait());
    /// system.run()?;
    /// all.join()??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn local() -> WaitGroup {
        WaitGroup::with()
    }
}

impl WaitGroup<Shared> {
    /// For any thread.
    ///
    /// # Examples
    /// ```
    /// let group = leno_channel::WaitGroup::shared();
    /// for _ in 0..3 {
    ///     let worker = group.worker();
    ///     std::thread::spawn(move || drop(worker));
    /// }
    /// group.wait().unwrap();
    /// ```
    pub fn shared() -> WaitGroup<Shared> {
        WaitGroup::with()
    }
}

impl<F: Flavour> WaitGroup<F> {
    fn with() -> Self {
        let channel = F::refer(Channel::<Infallible, F>::new(0));
        let mut exchange = channel.lock();
        exchange.senders = 0;
        channel.show_ends(&exchange);
        drop(exchange);
        WaitGroup { channel }
    }

    /// One more to wait for.
    pub fn worker(&self) -> Worker<F> {
        let mut exchange = self.channel.lock();
        exchange.senders += 1;
        self.channel.show_ends(&exchange);
        drop(exchange);
        Worker { _end: Sender::first(self.channel.clone()) }
    }

    /// How many are waited for.
    pub fn workers(&self) -> usize {
        self.channel.lock().senders
    }

    /// Waits until there are no workers.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::wait_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds, if it would have to wait.
    ///
    /// # Panics
    /// As [`Mutex::lock`](crate::Mutex::lock).
    #[track_caller]
    pub fn wait(&self) -> Result<(), LockError> {
        self.channel.await_lock(None).map(drop)
    }

    /// The same, for at most `limit`.
    ///
    /// # Errors
    /// When the time is over; else as [`Self::wait`].
    #[track_caller]
    pub fn wait_timeout(&self, limit: Duration) -> Result<(), LockError> {
        self.channel.await_lock(Some(deadline_in(limit))).map(drop)
    }

    /// As [`Self::wait`], for a future.
    ///
    /// # Examples
    /// ```
    /// leno_kernel::block_on(leno_channel::WaitGroup::local().wait_async());
    /// ```
    pub async fn wait_async(&self) {
        let mut waiting = Waiting::new(&self.channel);
        poll_fn(|context| waiting.poll(context)).await;
    }
}

about!(WaitGroup);

impl<F: Flavour> fmt::Debug for Worker<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
    }
}

impl<F: Flavour> sealed::Sealed for WaitGroup<F> {}

/// Receiving from a wait group is waiting for its end.
impl<F: Flavour> Receive for WaitGroup<F> {
    type Item<'a> = ();

    type Arm<'a, R, H>
        = Take<'a, Infallible, F, Gone, H>
    where
        H: FnOnce(Result<(), RecvError>) -> R;

    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R,
    {
        Take::new(&self.channel, Gone, handler)
    }
}

/// All workers are gone.
pub struct Gone;

impl Wrap<Infallible> for Gone {
    type Item = ();

    fn wrap(self, _: Option<Infallible>) -> Result<(), RecvError> {
        Ok(())
    }
}
