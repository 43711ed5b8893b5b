//! Sockets: TCP, UDP and Unix, for coroutines, threads and futures alike.
//!
//! They look like those of [`std::net`] and [`std::os::unix::net`], and waiting for one keeps nobody else
//! from running:
//!
//! | who calls | what it calls | what waiting does |
//! | --- | --- | --- |
//! | a coroutine with a stack | `read`, `write`, `accept`, .. | parks it |
//! | a thread | the same | blocks it |
//! | a future, on any executor | `read_async`, .. | leaves its waker |
//! | a hand-written future | `poll_read`, .. | leaves its waker |
//! | whoever must not wait | `try_read`, .. | fails with `WouldBlock` |
//! | a select | `readable`, `writable`, .. | is one of several |
//!
//! - **Sharing.** All operations take `&self`; a `&TcpStream` can be read from and written to, and
//!   [`TcpStream::try_clone`] gives another handle of the same stream without another descriptor. Any thread
//!   and any core may use a socket, also several at once. It is watched by the core that first waits for
//!   it.
//! - **Limits.** Every wait can have one: `set_read_timeout` and `set_write_timeout` hold for reads and
//!   writes of coroutines, threads and the `_async` twins; `connect_timeout`, `accept_timeout` and
//!   [`resolve_timeout`] for themselves; [`time::timeout`](crate::time::timeout()) for anything.
//! - **Cancellation.** When a coroutine is to exit, or a future is dropped, it waits no more; an operation
//!   that had to wait has done nothing.
//! - **Fairness.** Who finds a socket ready again and again lets others run now and then.
//! - **Exhaustion.** When descriptors run out, the error says so ([`Exhausted`]); then whoever accepts at that
//!   listener waits first, longer each time, be it by [`TcpListener::incoming`] or in a select. So no loop
//!   spins, and all recover.
//! - **Errors** of connecting, binding and looking up say which address or host they are about. They have the
//!   kinds that `std`'s have; the system's number is that of their [source](std::error::Error::source).
//!
//! - **Tests.** On a host of a [network in memory](crate::memory), and in an explored program, the TCP and
//!   UDP sockets that are bound or connected are that network's, and not the machine's: a server and its
//!   clients run there unchanged. Such sockets have no descriptor.
//!
//! A stream's read that gets less than it asked for has emptied it, so the next one waits without trying.
//!
//! Deliberately not here: `set_nonblocking`, since these sockets never block a core, and the `try_` forms
//! never wait; TLS, which works unchanged over [`Read`](std::io::Read) and [`Write`](std::io::Write).

mod accept;
mod address;
mod exhausted;
mod inner;
mod limits;
mod memory;
mod methods;
mod patience;
mod ready;
mod resolve;
mod tcp;
#[cfg(feature = "tokio")]
mod tokio;
mod udp;
mod unix;

pub use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6};

pub use address::{Endpoint, ToSocketAddrs};
pub use exhausted::{Exhausted, Resource};
pub use ready::Ready;
pub use resolve::{resolve, resolve_async, resolve_timeout};
pub use tcp::{Incoming, TcpListener, TcpStream};
pub use udp::UdpSocket;
pub use unix::{UnixDatagram, UnixIncoming, UnixListener, UnixStream};
