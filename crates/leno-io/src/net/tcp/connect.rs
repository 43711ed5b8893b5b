//! Connecting without blocking: a socket that does not block begins to connect, becomes writable when that
//! has come to something, and then says to what.
//!
//! On loopback that is so at once. Others get their turn all the same, or whoever makes many connections
//! would overrun the listener on its own core.

use std::io;
use std::net::{SocketAddr, TcpStream};

use leno_kernel::Time;
use leno_kernel::io::Interest;
use socket2::{Domain, Protocol, Socket, Type};

use crate::memory::ambient;
use crate::named::addressing;
use crate::net::exhausted::explained;
use crate::net::inner::{Inner, Tried};
use crate::streak::{give_way, give_way_async};

impl Inner<TcpStream> {
    /// Connects to this address, until the deadline at most.
    #[track_caller]
    pub(crate) fn connect(
        address: SocketAddr,
        deadline: Option<Time>,
    ) -> io::Result<Inner<TcpStream>> {
        if let Some(host) = ambient::here()? {
            return Ok(Inner::memory(host.connect_until(address, deadline)?));
        }
        let explain = addressing("connect to", address);
        let inner = begin(address).map_err(&explain)?;
        give_way();
        let connected = inner.io(Interest::WRITE, deadline, || inner.connected());
        connected.map_err(|error| explain(too_late(error, address)))?;
        Ok(inner)
    }

    /// The same, for a future.
    pub(crate) async fn connect_async(address: SocketAddr) -> io::Result<Inner<TcpStream>> {
        if let Some(host) = ambient::here()? {
            return Ok(Inner::memory(host.connect_async(address).await?));
        }
        let explain = addressing("connect to", address);
        let inner = begin(address).map_err(&explain)?;
        give_way_async().await;
        inner.io_async(Interest::WRITE, || inner.connected()).await.map_err(explain)?;
        Ok(inner)
    }

    /// What has come of connecting.
    fn connected(&self) -> Tried<()> {
        if let Some(error) = self.take_error()? {
            return Err(error);
        }
        match self.peer_addr() {
            Ok(_) => Ok(((), false)),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => Err(error),
        }
    }
}

/// A stream of the operating system that begins to connect.
fn begin(address: SocketAddr) -> io::Result<Inner<TcpStream>> {
    leno_kernel::io::permit()?;
    let kind = Type::STREAM.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP));
    let socket = socket.map_err(explained)?;
    match socket.connect(&address.into()) {
        Ok(()) => {}
        // It goes on meanwhile; after an interruption, too.
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(explained(error)),
    }
    Inner::os_nonblocking(socket.into())
}

fn too_late(error: io::Error, address: SocketAddr) -> io::Error {
    // The system has a limit of its own, whose error has a number.
    if error.kind() != io::ErrorKind::TimedOut || error.raw_os_error().is_some() {
        return error;
    }
    let message = format!("the time is over in which to connect to {address}");
    io::Error::new(io::ErrorKind::TimedOut, message)
}
