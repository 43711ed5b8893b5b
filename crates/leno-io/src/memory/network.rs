//! A network in memory.

use core::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use leno_kernel::Time;
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::{common_now, thread_number, world};
use leno_kernel::log::Operation as Kind;

use super::ambient;
use super::choices::Decided;
use super::error::error;
use super::host::Host;
use super::lines::{self, Locked, Queue};
use super::link::{Link, Route};
use super::state::State;
use crate::user::raise;

/// A network in memory: hosts, and connections and datagrams between them. Clones are the same network.
///
/// It does the same again under the same policy: how long something takes, what is cut short or lost
/// ([`Link`]) is put before the policy of whoever sends or receives, and without one nothing goes wrong.
/// Time is that of whoever uses it, real or virtual; systems in real time, threads, and everything in
/// one explored program have a common clock, and may share a network.
///
/// # Errors
/// What goes wrong has the kind that `std::net` gives it, and names both addresses:
/// `ConnectionRefused`, `ConnectionReset`, `BrokenPipe`, `TimedOut`, `AddrInUse`, `AddrNotAvailable`,
/// `HostUnreachable`, `NotFound` for a name. While the calling coroutine's own stack unwinds, whatever
/// would have to wait fails with [`Exiting`](leno_kernel::Exiting).
///
/// # Examples
/// ```
/// use leno_io::memory::Network;
/// use leno_kernel::LocalSystem;
/// use std::io::{Read, Write};
///
/// let system = LocalSystem::builder().virtual_time().build();
/// let network = Network::local();
/// let (server, client) = (network.host("server"), network.host("client"));
/// let listener = server.listen(7)?;
/// drop(system.spawn(move || {
///     let (mut stream, _) = listener.accept().unwrap();
///     std::io::copy(&mut stream.clone(), &mut stream).unwrap();
/// }));
/// let echo = system.spawn(move || -> std::io::Result<String> {
///     let mut stream = client.connect("server:7")?;
///     stream.write_all(b"hello")?;
///     stream.shutdown(std::net::Shutdown::Write);
///     let mut text = String::new();
///     stream.read_to_string(&mut text)?;
///     Ok(text)
/// });
/// system.run()?;
/// assert_eq!(echo.join()??, "hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Network {
    pub(super) inner: Arc<Inner>,
}

/// What all handles refer to.
pub(super) struct Inner {
    queue: Queue,
    /// Of a local network: whose it is.
    owner: Option<u32>,
}

impl Network {
    /// One that any thread may use. A system in which someone waits for it is not at its end: someone
    /// outside may send something.
    pub fn new() -> Network {
        Network::with(None)
    }

    /// One for the coroutines of the calling thread. When all of them wait for each other, their system
    /// sees that nobody can ever run again. For one system of one core; not for an explored program, whose
    /// threads are not interrupted at it.
    ///
    /// # Examples
    /// ```
    /// use leno_io::memory::Network;
    /// use leno_kernel::LocalSystem;
    ///
    /// let (system, network) = (LocalSystem::new(), Network::local());
    /// drop(system.spawn(move || network.host("server").listen(80).unwrap().accept()));
    /// let deadlock = system.run().unwrap_err().to_string();
    /// assert!(deadlock.contains("waiting to receive"), "{deadlock}");
    /// ```
    pub fn local() -> Network {
        Network::with(Some(thread_number()))
    }

    fn with(owner: Option<u32>) -> Network {
        let queue = Queue::new(State::new(owner.is_some()));
        Network { inner: Arc::new(Inner { queue, owner }) }
    }

    /// The host of this name; it is made at the first call.
    pub fn host(&self, name: impl AsRef<str>) -> Host {
        Host::new(self, name.as_ref())
    }

    /// What the way between any two hosts is like, unless [`Self::set_link_between`] has said something
    /// else.
    pub fn set_link(&self, link: Link) {
        self.inner.with(|state| {
            state.routes.usual = link.clone();
            state.routes.all.values_mut().for_each(|route| route.link = link.clone());
        });
    }

    /// What the way between these two hosts is like, or, if they are the same, within it.
    ///
    /// # Panics
    /// If one is of another network.
    #[track_caller]
    pub fn set_link_between(&self, one: &Host, other: &Host, link: Link) {
        let (one, other) = (self.number_of(one), self.number_of(other));
        self.inner.with(|state| {
            let route: &mut Route = state.routes.between(one, other);
            route.link = link;
        });
    }

    #[track_caller]
    fn number_of(&self, host: &Host) -> usize {
        let is_own = Arc::ptr_eq(&host.network().inner, &self.inner);
        assert!(is_own, "host '{}' is of another network", host.name());
        host.number()
    }

    /// Parts hosts from each other: nothing gets from those in `some` to those in `others`, nor back,
    /// until they are [healed](Self::heal). What connections carry stays on its way; datagrams are
    /// lost; who connects waits, and gives up after the link's time.
    ///
    /// # Panics
    /// If one is of another network.
    #[track_caller]
    pub fn partition(&self, some: &[&Host], others: &[&Host]) {
        self.part(some, others, true);
    }

    /// Ends a partition: what was on its way goes on.
    ///
    /// # Panics
    /// If one is of another network.
    #[track_caller]
    pub fn heal(&self, some: &[&Host], others: &[&Host]) {
        self.part(some, others, false);
    }

    /// Ends all partitions.
    pub fn heal_all(&self) {
        self.inner.point(Kind::Close);
        let now = common_now();
        self.inner.with(|state| {
            let parted = state.routes.all.iter().filter(|(_, route)| route.is_parted);
            let parted: Vec<_> = parted.map(|(pair, _)| *pair).collect();
            parted.into_iter().for_each(|(one, other)| state.part(one, other, false, now));
        });
    }

    #[track_caller]
    fn part(&self, some: &[&Host], others: &[&Host], is_parted: bool) {
        let numbers =
            |hosts: &[&Host]| -> Vec<_> { hosts.iter().map(|host| self.number_of(host)).collect() };
        let (some, others) = (numbers(some), numbers(others));
        self.inner.point(Kind::Close);
        let now = common_now();
        self.inner.with(|state| {
            for one in &some {
                for other in &others {
                    state.part(*one, *other, is_parted, now);
                }
            }
        });
    }

    /// Loses all connections between two hosts; how many. See [`Stream::sever`](super::Stream::sever).
    ///
    /// # Panics
    /// If one is of another network.
    #[track_caller]
    pub fn sever(&self, one: &Host, other: &Host) -> usize {
        let pair = (self.number_of(one), self.number_of(other));
        self.inner.point(Kind::Close);
        let now = common_now();
        self.inner.with(|state| {
            let all = state.connections.iter();
            let between = |hosts: (usize, usize)| hosts == pair || hosts == (pair.1, pair.0);
            let lost =
                all.filter(|(_, connection)| between(connection.hosts()) && !connection.is_lost());
            let lost: Vec<_> = lost.map(|(number, _)| *number).collect();
            lost.iter().for_each(|number| state.sever(*number, now));
            lost.len()
        })
    }

    /// How many connections have an end that is not closed: what a test may compare, before and after.
    pub fn connections(&self) -> usize {
        self.inner.with(|state| state.connections.len())
    }
}

impl Default for Network {
    fn default() -> Self {
        Network::new()
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hosts, connections) =
            self.inner.with(|state| (state.hosts.len(), state.connections.len()));
        write!(f, "Network({hosts} hosts, {connections} connections)")
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let network = self.lock();
        let heritages: Vec<_> = network.hosts.iter().filter_map(|host| host.heritage).collect();
        drop(network);
        ambient::forget(heritages.into_iter());
    }
}

impl Inner {
    /// Calls `f` under the lock, and then wakes those that it names, also those after one that panics. `f` calls no
    /// user code: what a policy has a say in goes through [`Self::decide`].
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let (result, raised) = self.with_then(f, |_, _| ());
        raise(raised);
        result
    }

    /// As [`Self::with`]; also returns the exit that a waker raises: it goes on when the result is where it belongs.
    /// `then` comes into line under the same lock, after those have gone whom `f` wakes.
    pub(super) fn with_then<'a, R>(
        &'a self,
        f: impl FnOnce(&mut State) -> R,
        then: impl FnOnce(&mut Locked<'a>, &R),
    ) -> (R, Option<Panic>) {
        let mut network = self.lock();
        let result = f(&mut network);
        let woken = lines::settle(&mut network);
        then(&mut network, &result);
        drop(network);
        let raised = user::call(|| user::wake_all(woken)).err();
        (result, raised)
    }

    pub(super) fn lock(&self) -> Locked<'_> {
        self.queue.lock()
    }

    /// Closes something in a destructor. The clock and the policy are user code: if the clock panics, the network
    /// goes by the last time that it knows; if the coroutine's exit comes out of the policy, by the shortest
    /// latency. What was raised goes on once all is closed and woken.
    pub(super) fn close(&self, close: impl FnMut(&mut State, Time) -> Decided<()>) {
        self.close_by(common_now, close);
    }

    /// The same with a point before it.
    pub(super) fn close_at_point(&self, close: impl FnMut(&mut State, Time) -> Decided<()>) {
        let now = || {
            self.point(Kind::Close);
            common_now()
        };
        self.close_by(now, close);
    }

    fn close_by(
        &self,
        now: impl FnOnce() -> Time,
        mut close: impl FnMut(&mut State, Time) -> Decided<()>,
    ) {
        let now = user::call(now);
        let ((), raised) = self.decide_anyway(|state| {
            let now = *now.as_ref().unwrap_or(&state.latest);
            close(state, now)
        });
        raise(user::first(now.err(), raised));
    }

    pub(super) fn is_local(&self) -> bool {
        self.owner.is_some()
    }

    /// Something that touches more than one object, and never waits: others may run first.
    pub(super) fn point(&self, kind: Kind) {
        if world::is_observed() && !self.is_local() {
            world::point(kind, None);
        }
    }

    /// A local network is used by its own thread.
    pub(super) fn check_caller(&self) -> io::Result<()> {
        match self.owner {
            Some(owner) if owner != thread_number() => Err(error(
                ErrorKind::Unsupported,
                "a local network is for the coroutines of the thread that made it; use Network::new",
            )),
            _ => Ok(()),
        }
    }
}
