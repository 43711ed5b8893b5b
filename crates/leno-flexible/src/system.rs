//! A system of flexible coroutines.

use core::fmt;
use std::sync::Arc;

use leno_kernel::{System as Kernel, report};

use crate::builder::Builder;
use crate::event::{Event, Observer};
use crate::policy::Schedule;
use crate::shared::{Hook, Shared};
use crate::table::Table;
use crate::{Failure, Flexible, Me, Snapshot, Threadless, scheduler};

/// A system of coroutines, of which at most one is active, and which any number of threads may call.
///
/// They run on a core of their own, the *home core*: a thread that does nothing while there is nothing
/// to do. There may be several systems, which know nothing of each other.
///
/// Dropping it ends all its coroutines, whose destructors run; whoever waits for one gets an error. It
/// waits for that, unless one of its own coroutines drops it.
///
/// # Examples
/// ```
/// use leno_flexible::{Me, System};
///
/// let system = System::new();
/// let lock = system.create("lock", |me: &mut Me<u32, u32>| {
///     loop {
///         let n = me.parameter().unwrap_or(0);
///         me.detach(n + 1);
///     }
/// });
/// std::thread::scope(|s| {
///     for n in 0..3 {
///         let lock = &lock;
///         s.spawn(move || assert_eq!(lock.call(n).unwrap(), n + 1));
///     }
/// });
/// ```
pub struct System {
    shared: Arc<Shared>,
    /// There until the end.
    home: Option<Kernel>,
}

/// A [`System`] to be made.
#[derive(Default)]
pub struct SystemBuilder {
    name: Option<String>,
    schedule: Option<Box<dyn Schedule>>,
    observer: Option<Observer>,
    hook: Option<Box<Hook>>,
    is_simula: bool,
}

impl SystemBuilder {
    /// What its thread is called; by default "flexible".
    pub fn name(mut self, name: impl Into<String>) -> SystemBuilder {
        self.name = Some(name.into());
        self
    }

    /// Decides which waiting coroutine is active next; by default the first.
    pub fn schedule(mut self, policy: impl Schedule + 'static) -> SystemBuilder {
        self.schedule = Some(Box::new(policy));
        self
    }

    /// Tells `f` of every rule that is applied and every operation that is refused, in order, in place of an
    /// earlier observer.
    ///
    /// It is called after the operation, when those whom that wakes were woken, by the one who operates; or by
    /// another one, who is telling it at that moment. It must not operate on the system, and gets a panic if it
    /// does; it may look at it, for example by [`System::snapshot`]. If it panics, it is told nothing any more,
    /// and the operation after which it was called raises the panic; if that was scheduling, the failure hook of
    /// the process is told ([`user::on_failure`](leno_kernel::layer::user::on_failure)). Events wait in memory while it
    /// does not return.
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::{Me, System, spinning};
    /// use std::sync::{Arc, Mutex};
    ///
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let own = log.clone();
    /// let system = System::builder()
    ///     .observer(move |event| own.lock().unwrap().push(event.to_string()))
    ///     .build();
    /// let echo = system.create("echo", spinning(|me: &mut Me<u32, u32>| {
    ///     let n = me.parameter().unwrap_or(0);
    ///     me.detach(n);
    /// }));
    /// echo.call(7)?;
    /// drop(system);
    /// assert!(log.lock().unwrap()[0].contains("'echo'"));
    /// # Ok::<(), leno_flexible::CallError>(())
    /// ```
    pub fn observer(mut self, mut f: impl FnMut(&Event) + Send + 'static) -> SystemBuilder {
        let call = Box::new(move |event: &Event, _: Option<&Snapshot>| f(event));
        self.observer = Some(Observer { call, wants_snapshots: false });
        self
    }

    /// The same, with the system as it was right after each event. That costs a look at all coroutines for each
    /// of them.
    pub fn observer_with_snapshots(
        mut self,
        mut f: impl FnMut(&Event, &Snapshot) + Send + 'static,
    ) -> SystemBuilder {
        let call = Box::new(move |event: &Event, seen: Option<&Snapshot>| {
            if let Some(seen) = seen {
                f(event, seen);
            }
        });
        self.observer = Some(Observer { call, wants_snapshots: true });
        self
    }

    /// Is told of panics that reach no caller, by the coroutine that has panicked. Without it, they are in
    /// [`System::failures`].
    ///
    /// If it panics itself, a system without a home core tells the failure hook of the process
    /// ([`user::on_failure`](leno_kernel::layer::user::on_failure)), and goes on; on a home core that is in
    /// [`System::failures`].
    pub fn on_failure(mut self, f: impl Fn(Failure) + Send + Sync + 'static) -> SystemBuilder {
        self.hook = Some(Box::new(f));
        self
    }

    /// As in Simula: the first coroutine that is created is *main*, and one that detaches or ends without
    /// a caller goes there; one that is attached cannot be resumed.
    pub fn simula(mut self) -> SystemBuilder {
        self.is_simula = true;
        self
    }

    /// Makes it, and starts its home core.
    ///
    /// # Panics
    /// When the machine gives no thread, or the process has 65,536 cores already.
    pub fn build(self) -> System {
        let name = self.name.unwrap_or_else(|| "flexible".to_owned());
        let home = match Kernel::builder().cores(1).name(name).build() {
            Ok(home) => home,
            Err(error) => panic!("{error}"),
        };
        let table = Table::new(self.schedule, self.observer, self.is_simula);
        let shared = Shared::new(table, self.hook, false);
        let own = shared.clone();
        drop(home.spawn(move || scheduler::run(&own)));
        System { shared, home: Some(home) }
    }

    /// Makes a system without a home core: whoever calls runs its coroutines, which are futures.
    pub fn threadless(self) -> Threadless {
        let table = Table::new(self.schedule, self.observer, self.is_simula);
        Threadless::new_with(Shared::new(table, self.hook, true))
    }
}

impl System {
    /// First come, first served, in both queues.
    ///
    /// # Panics
    /// As [`SystemBuilder::build`].
    #[allow(clippy::new_without_default, reason = "it starts a thread, which a default should not")]
    pub fn new() -> System {
        System::builder().build()
    }

    /// Another policy, a hook for failures, Simula's rules.
    pub fn builder() -> SystemBuilder {
        SystemBuilder::default()
    }

    /// Makes a coroutine: idle, and without a stack until it first runs. (Rule 4.11.)
    pub fn create<P: Send + 'static, R: Send + 'static>(
        &self,
        name: impl Into<Arc<str>>,
        body: impl FnOnce(&mut Me<P, R>) + Send + 'static,
    ) -> Flexible<P, R> {
        self.coroutine(name).create(body)
    }

    /// The same, with a shape, a priority or a policy.
    pub fn coroutine(&self, name: impl Into<Arc<str>>) -> Builder {
        Builder::new(self.shared.clone(), name.into())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Its coroutines as they are, and who waits for whom.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.lock().snapshot()
    }

    /// Refuses everything from now on, and tells whoever waits for a coroutine so. Nobody becomes active
    /// any more; coroutines are ended when the system is dropped.
    pub fn stop(&self) {
        self.shared.operate(|table| table.stop());
    }

    /// Panics since the last look that have reached no caller and no hook.
    ///
    /// # Blocking
    /// As [`leno_kernel::System::report`].
    pub fn failures(&self) -> Vec<report::Failure> {
        self.home.as_ref().map(|home| home.report().failures).unwrap_or_default()
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if self.shared.current().is_some() {
            // One of its own coroutines drops it: the home core ends by itself, and nobody waits for that. Before the
            // system stops: a waker that is called then may suspend the coroutine, which nobody schedules any more.
            drop(self.home.take());
        }
        self.stop();
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "System({})", self.snapshot())
    }
}
