//! A socket of a network in memory: what [`Os`](super::os::Os) is for one of the operating system's.
//!
//! Which of the two a socket is, is decided where it is bound or connected: on a host of a network in
//! memory ([`Host::enter`](crate::memory::Host::enter)), and in an explored program, it is that host's,
//! else the machine's. What is accepted is of the listener's kind.

use core::convert::Infallible;
use core::future::poll_fn;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use core::task::{Context, Poll, ready};
use std::io::{self, ErrorKind::WouldBlock};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

use leno_kernel::Time;
use leno_kernel::io::Interest;

use super::inner::Tried;
use crate::memory::{Alarms, Listener, Ready, Socket, Stream, Watch};

/// What stands for `std`'s socket on a network in memory.
pub(crate) trait Twin: AsFd + From<OwnedFd> {
    type Memory: Watch;
}

impl Twin for TcpStream {
    type Memory = Stream;
}

impl Twin for TcpListener {
    type Memory = Listener;
}

impl Twin for UdpSocket {
    type Memory = Socket;
}

/// Files name Unix sockets, and a network in memory has none.
impl Twin for UnixStream {
    type Memory = Infallible;
}

impl Twin for UnixListener {
    type Memory = Infallible;
}

impl Twin for UnixDatagram {
    type Memory = Infallible;
}

/// See the module.
pub(crate) struct Memory<M> {
    pub(crate) socket: M,
    alarms: Alarms,
    /// What users set and get back; nothing depends on it here.
    pub(crate) nodelay: AtomicBool,
    pub(crate) broadcast: AtomicBool,
    ttl: AtomicU32,
}

impl<M: Watch> Memory<M> {
    pub(crate) fn new(socket: M) -> Memory<M> {
        Memory {
            socket,
            alarms: Alarms::default(),
            nodelay: AtomicBool::new(false),
            broadcast: AtomicBool::new(false),
            ttl: AtomicU32::new(64),
        }
    }

    #[track_caller]
    pub(crate) fn io<R>(
        &self,
        interest: Interest,
        deadline: Option<Time>,
        mut operation: impl FnMut() -> Tried<R>,
    ) -> io::Result<R> {
        loop {
            match operation() {
                Err(error) if error.kind() == WouldBlock => self.wait(interest, deadline)?,
                result => return result.map(|(result, _)| result),
            }
        }
    }

    pub(crate) fn io_async<'a, R, O>(
        &'a self,
        interest: Interest,
        mut operation: O,
    ) -> impl Future<Output = io::Result<R>> + Unpin + use<'a, R, O, M>
    where
        O: FnMut() -> Tried<R> + Unpin,
    {
        // In a box: futures of sockets of the operating system's should be small.
        let mut wait: Option<Box<Ready<'a>>> = None;
        poll_fn(move |context| {
            loop {
                if let Some(ready) = &mut wait {
                    ready!(Pin::new(&mut **ready).poll(context))?;
                    wait = None;
                }
                match operation() {
                    Err(error) if error.kind() == WouldBlock => {
                        wait = Some(Box::new(self.ready(interest)));
                    }
                    result => return Poll::Ready(result.map(|(result, _)| result)),
                }
            }
        })
    }

    pub(crate) fn poll_io<R>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        mut operation: impl FnMut() -> Tried<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            match operation() {
                Err(error) if error.kind() == WouldBlock => {
                    ready!(self.alarms.poll(&self.socket, interest, context));
                }
                result => return Poll::Ready(result.map(|(result, _)| result)),
            }
        }
    }

    pub(crate) fn try_io<R>(&self, mut operation: impl FnMut() -> Tried<R>) -> io::Result<R> {
        operation().map(|(result, _)| result)
    }

    #[track_caller]
    pub(crate) fn wait(&self, interest: Interest, deadline: Option<Time>) -> io::Result<()> {
        self.socket.wait_ready(interest, deadline)
    }

    pub(crate) fn ready(&self, interest: Interest) -> Ready<'_> {
        self.socket.ready(interest)
    }

    pub(crate) fn set_ttl(&self, ttl: u32) {
        self.ttl.store(ttl, Relaxed);
    }

    pub(crate) fn ttl(&self) -> u32 {
        self.ttl.load(Relaxed)
    }
}

/// What cannot be had of a socket in memory.
pub(crate) fn not_here<R>(what: &str) -> io::Result<R> {
    let message = format!("a socket of a network in memory has no {what}");
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}
