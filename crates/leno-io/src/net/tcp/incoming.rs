//! Connections, one after the other.

use std::io;

use super::listener::TcpListener;
use super::stream::TcpStream;
use crate::net::patience::{Patience, is_exiting};

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
#[derive(Debug)]
pub struct Incoming<'a> {
    listener: &'a TcpListener,
    patience: Patience,
}

impl<'a> Incoming<'a> {
    pub(super) fn new(listener: &'a TcpListener) -> Incoming<'a> {
        Incoming { listener, patience: Patience::default() }
    }

    /// The next one, for a future on any executor.
    ///
    /// # Cancellation
    /// A future that is dropped has accepted nothing.
    ///
    /// # Errors
    /// As described above.
    pub async fn next_async(&mut self) -> io::Result<TcpStream> {
        loop {
            self.patience.wait_async().await;
            let accepted = self.listener.accept_async().await.map(|(stream, _)| stream);
            if self.patience.is_news(&accepted) {
                return accepted;
            }
        }
    }
}

/// Waits as [`TcpListener::accept`] does.
impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<TcpStream>> {
        loop {
            self.patience.wait();
            let accepted = self.listener.accept().map(|(stream, _)| stream);
            if is_exiting(&accepted) {
                return None;
            }
            if self.patience.is_news(&accepted) {
                return Some(accepted);
            }
        }
    }
}
