//! A TCP listener.

use core::fmt;
use core::time::Duration;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use leno_kernel::io::Interest;

use super::stream::TcpStream;
use crate::memory::ambient;
use crate::net::address::ToSocketAddrs;
use crate::net::inner::{Inner, Shared};
use crate::net::methods::{handle, hops, listener};
use crate::net::patience::Patience;
use crate::net::resolve::{first, resolve, resolve_async};

/// A TCP listener, as [`std::net::TcpListener`]. See [`net`](crate::net) for who may use it, and how.
///
/// Several coroutines, threads and futures may accept at once.
///
/// # Examples
/// A server, and how it is told to stop:
/// ```
/// use leno_io::net::{TcpListener, TcpStream};
/// use leno_kernel::{LocalSystem, spawn_local};
/// use std::io::{Read, Write};
///
/// let system = LocalSystem::new();
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let server = system.spawn(move || {
///     // What fails, such as when descriptors run out, is told, and does not end it.
///     for stream in listener.incoming() {
///         match stream {
///             Ok(mut stream) => drop(spawn_local(move || stream.write_all(b"hello"))),
///             Err(error) => eprintln!("{error}"),
///         }
///     }
/// });
/// let client = system.spawn(move || {
///     let mut greetings = String::new();
///     for _ in 0..3 {
///         TcpStream::connect(address)?.read_to_string(&mut greetings)?;
///     }
///     server.cancel();
///     Ok::<_, std::io::Error>(greetings)
/// });
/// system.run()?;
/// assert_eq!(client.join()??, "hellohellohello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TcpListener {
    shared: Arc<Shared<net::TcpListener, Patience>>,
}

impl TcpListener {
    /// Listens at an address; of several, at the first that is free. Port 0 is any that is free.
    ///
    /// # Blocking
    /// Only while the addresses of a host are looked up, as [`resolve`].
    ///
    /// # Errors
    /// Of the last address that was tried; of what was meant, if it is no address; or
    /// [`Exhausted`](crate::net::Exhausted).
    ///
    /// # Panics
    /// As [`resolve`].
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<TcpListener> {
        first(resolve(address)?, Inner::<net::TcpListener>::bind).map(TcpListener::new)
    }

    /// As [`Self::bind`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub async fn bind_async<A: ToSocketAddrs>(address: A) -> io::Result<TcpListener> {
        first(resolve_async(address).await?, Inner::<net::TcpListener>::bind).map(TcpListener::new)
    }

    /// Listens at an address by so many listeners, among which the system shares out whoever connects
    /// (`SO_REUSEPORT`): one for each core, say, so that a connection is accepted where it is served, and
    /// no core wakes another for it. Port 0 is any that is free, the same for all.
    ///
    /// Each has its own line: if nobody accepts at one of them, those who were given to it wait, and when
    /// it is dropped, they are refused. Another process of the same user may listen at the address the
    /// same way. On a network in memory they are handles of one listener.
    ///
    /// # Blocking
    /// As [`Self::bind`].
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) when it is to be none; else as [`Self::bind`].
    ///
    /// # Panics
    /// As [`resolve`].
    ///
    /// # Examples
    /// Two threads, each with a core of its own, share nothing:
    /// ```
    /// use leno_io::net::{TcpListener, TcpStream};
    /// use leno_kernel::{LocalSystem, spawn_local};
    /// use std::io::{Read, Write};
    /// use std::thread;
    ///
    /// let listeners = TcpListener::bind_several("127.0.0.1:0", 2)?;
    /// let address = listeners[0].local_addr()?;
    /// for listener in listeners {
    ///     thread::spawn(move || {
    ///         let system = LocalSystem::new();
    ///         drop(system.spawn(move || {
    ///             for mut stream in listener.incoming().flatten() {
    ///                 drop(spawn_local(move || stream.write_all(b"hello")));
    ///             }
    ///         }));
    ///         system.run()
    ///     });
    /// }
    /// let mut greetings = String::new();
    /// for _ in 0..8 {
    ///     TcpStream::connect(address)?.read_to_string(&mut greetings)?;
    /// }
    /// assert_eq!(greetings, "hello".repeat(8));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn bind_several<A: ToSocketAddrs>(
        address: A,
        count: usize,
    ) -> io::Result<Vec<TcpListener>> {
        TcpListener::several(resolve(address)?, count)
    }

    /// As [`Self::bind_several`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::bind_several`].
    pub async fn bind_several_async<A: ToSocketAddrs>(
        address: A,
        count: usize,
    ) -> io::Result<Vec<TcpListener>> {
        TcpListener::several(resolve_async(address).await?, count)
    }

    fn several(addresses: Vec<SocketAddr>, count: usize) -> io::Result<Vec<TcpListener>> {
        if count == 0 {
            let rule = "at least one listener is needed, so that someone listens";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
        }
        if ambient::here()?.is_some() {
            let bind = Inner::<net::TcpListener>::bind;
            let listener = first(addresses, bind).map(TcpListener::new)?;
            return (0..count).map(|_| listener.try_clone()).collect();
        }
        let beside = |address| Inner::bind_beside(address).map(TcpListener::new);
        let mut all = vec![first(addresses, beside)?];
        let address = all[0].local_addr()?;
        for _ in 1..count {
            all.push(beside(address)?);
        }
        Ok(all)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.local_addr()
    }
}

handle!(TcpListener of net::TcpListener);
hops!(TcpListener);
listener!(TcpListener of net::TcpListener, accepts TcpStream of net::TcpStream, from SocketAddr,
    /// The connections that come to a [`TcpListener`], one after the other; of [`TcpListener::incoming`].
    ///
    /// When descriptors or memory run out, it gives the error ([`Exhausted`](crate::net::Exhausted)) once.
    /// Then it waits, 5 ms at first and up to half a second, and tries again, until a connection can be
    /// accepted; meanwhile connections wait in line. So a server's loop that only reports errors neither
    /// spins nor ends.
    ///
    /// It ends, as an iterator, only while the calling coroutine's stack unwinds.
    ///
    /// # Examples
    /// ```
    /// use leno_io::net::{TcpListener, TcpStream};
    /// use leno_kernel::{LocalSystem, spawn_local};
    ///
    /// let system = LocalSystem::new();
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let server = system.spawn(move || {
    ///     for stream in listener.incoming() {
    ///         match stream {
    ///             Ok(stream) => drop(spawn_local(move || std::io::copy(&mut &stream, &mut &stream))),
    ///             Err(error) => eprintln!("cannot accept: {error}"),
    ///         }
    ///     }
    /// });
    /// drop(system.spawn(move || {
    ///     TcpStream::connect(address).unwrap();
    ///     server.cancel();
    /// }));
    /// system.run()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    incoming Incoming
);

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TcpListener");
        if let Ok(address) = self.local_addr() {
            debug.field("local", &address);
        }
        debug.finish()
    }
}
