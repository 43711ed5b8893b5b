//! On which host the calling code runs.
//!
//! A host is entered by [`Host::enter`], and inherited: whatever is spawned inside, coroutine, future,
//! helper or thread of an explored program, is on that host, and what it spawns in turn
//! ([`heritage`]). Threads made by other means are on none until they enter one.
//! In an explored program everyone else is on the host `local` of the world's own network, which is made
//! at its first use.
//!
//! What is inherited is a number; this table says which host it is. It keeps no network alive: once all
//! handles, streams and listeners of a network are gone, its numbers name nothing.

use core::future::poll_fn;
use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, Weak};

use leno_kernel::layer::{heritage, world};

use super::error::error;
use super::host::Host;
use super::network::{Inner, Network};
use crate::user::{Locked, lock};

static HOSTS: Mutex<BTreeMap<u32, (Weak<Inner>, usize)>> = Mutex::new(BTreeMap::new());

fn hosts() -> Locked<'static, BTreeMap<u32, (Weak<Inner>, usize)>> {
    lock(&HOSTS)
}

/// What those who enter a network without a host are on.
const LOCAL: &str = "local";

/// The host on which the calling code runs, if it is on one.
///
/// # Errors
/// When it was on a network that is gone.
pub(crate) fn here() -> io::Result<Option<Host>> {
    let number = heritage::current();
    if number == 0 {
        return Ok(world::own(Network::new).map(|network| network.host(LOCAL)));
    }
    let known = hosts().get(&number).and_then(|(network, host)| Some((network.upgrade()?, *host)));
    let text = "the network on whose host this code was entered or spawned is gone";
    let (inner, host) = known.ok_or_else(|| error(ErrorKind::NotConnected, text))?;
    Ok(Some(Host::numbered(&Network { inner }, host)))
}

/// A network is gone.
pub(super) fn forget(numbers: impl Iterator<Item = u32>) {
    let mut hosts = hosts();
    numbers.for_each(|number| drop(hosts.remove(&number)));
}

impl Host {
    /// Calls `f` on this host: the sockets of [`net`](crate::net) that it opens, and that whatever it
    /// spawns opens, are on this host of this network, and not the machine's.
    ///
    /// # Examples
    /// ```
    /// use leno_io::memory::{Host, Network};
    /// use leno_kernel::{LocalSystem, spawn_local};
    ///
    /// let (system, network) = (LocalSystem::new(), Network::local());
    /// let name = || Host::current().map(|host| host.name());
    /// let inside = network.host("server").enter(|| system.spawn(move || spawn_local(name).join()));
    /// system.run()?;
    /// assert_eq!(inside.join()??.as_deref(), Some("server"));
    /// assert_eq!(name(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        heritage::with(self.heritage(), f)
    }

    /// The same for a future, for as long as it runs.
    pub async fn enter_async<F: Future>(&self, future: F) -> F::Output {
        let (mut future, number) = (pin!(future), self.heritage());
        poll_fn(|context| heritage::with(number, || future.as_mut().poll(context))).await
    }

    /// The host on which the calling code runs; `None` on none, or if its network is gone.
    pub fn current() -> Option<Host> {
        here().ok().flatten()
    }

    fn heritage(&self) -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let inner = &self.network().inner;
        inner.with(|state| {
            let machine = &mut state.hosts[self.number()];
            *machine.heritage.get_or_insert_with(|| {
                let mut hosts = hosts();
                let mut number = 0;
                // Wraps round after four thousand million hosts; most of them are gone by then.
                while number == 0 || hosts.contains_key(&number) {
                    number = NEXT.fetch_add(1, Relaxed);
                }
                hosts.insert(number, (std::sync::Arc::downgrade(inner), self.number()));
                number
            })
        })
    }
}

impl Network {
    /// Calls `f` on the host `local` of this network; see [`Host::enter`].
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        self.host(LOCAL).enter(f)
    }

    /// The same for a future, for as long as it runs.
    pub async fn enter_async<F: Future>(&self, future: F) -> F::Output {
        self.host(LOCAL).enter_async(future).await
    }
}
