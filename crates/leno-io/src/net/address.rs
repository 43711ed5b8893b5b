//! What can be connected or bound to: addresses, and names of hosts.
//!
//! `std`'s trait of this name asks for the addresses of a host while it blocks. Ours only says what
//! is meant; [`resolve`](super::resolve()) asks, and parks meanwhile.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What is meant by a [`ToSocketAddrs`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// An address.
    One(SocketAddr),
    /// Several addresses, to be tried in order.
    Many(Vec<SocketAddr>),
    /// A host, to be looked up, and a port.
    Host(String, u16),
}

/// Something that can be connected or bound to. The same types have it as `std`'s trait of this name.
///
/// # Examples
/// ```
/// use leno_io::net::{Endpoint, ToSocketAddrs};
///
/// assert!(matches!("127.0.0.1:80".endpoint()?, Endpoint::One(_)));
/// assert_eq!(("leno.example", 80).endpoint()?, Endpoint::Host("leno.example".to_owned(), 80));
/// assert!("no port".endpoint().is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ToSocketAddrs {
    /// What is meant. It does not wait, and asks nobody.
    ///
    /// # Errors
    /// When it is no address.
    fn endpoint(&self) -> io::Result<Endpoint>;
}

impl ToSocketAddrs for SocketAddr {
    fn endpoint(&self) -> io::Result<Endpoint> {
        Ok(Endpoint::One(*self))
    }
}

impl ToSocketAddrs for SocketAddrV4 {
    fn endpoint(&self) -> io::Result<Endpoint> {
        Ok(Endpoint::One((*self).into()))
    }
}

impl ToSocketAddrs for SocketAddrV6 {
    fn endpoint(&self) -> io::Result<Endpoint> {
        Ok(Endpoint::One((*self).into()))
    }
}

impl ToSocketAddrs for (IpAddr, u16) {
    fn endpoint(&self) -> io::Result<Endpoint> {
        Ok(Endpoint::One((*self).into()))
    }
}

impl ToSocketAddrs for (Ipv4Addr, u16) {
    fn endpoint(&self) -> io::Result<Endpoint> {
        Ok(Endpoint::One((*self).into()))
    }
}

impl ToSocketAddrs for (Ipv6Addr, u16) {
    fn endpoint(&self) -> io::Result<Endpoint> {
        Ok(Endpoint::One((*self).into()))
    }
}

impl ToSocketAddrs for (&str, u16) {
    fn endpoint(&self) -> io::Result<Endpoint> {
        let (host, port) = *self;
        Ok(match host.parse::<IpAddr>() {
            Ok(address) => Endpoint::One((address, port).into()),
            Err(_) => Endpoint::Host(host.to_owned(), port),
        })
    }
}

impl ToSocketAddrs for (String, u16) {
    fn endpoint(&self) -> io::Result<Endpoint> {
        (&*self.0, self.1).endpoint()
    }
}

impl ToSocketAddrs for str {
    fn endpoint(&self) -> io::Result<Endpoint> {
        if let Ok(address) = self.parse() {
            return Ok(Endpoint::One(address));
        }
        let (host, port) = self.rsplit_once(':').ok_or_else(|| refuse(self, "it has no port"))?;
        let port = port.parse().map_err(|_| refuse(self, "its port is no number below 65536"))?;
        (host, port).endpoint()
    }
}

impl ToSocketAddrs for String {
    fn endpoint(&self) -> io::Result<Endpoint> {
        (**self).endpoint()
    }
}

impl ToSocketAddrs for [SocketAddr] {
    fn endpoint(&self) -> io::Result<Endpoint> {
        Ok(Endpoint::Many(self.to_vec()))
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    fn endpoint(&self) -> io::Result<Endpoint> {
        (**self).endpoint()
    }
}

fn refuse(text: &str, why: &str) -> io::Error {
    let message = format!("{text:?} is no address of a socket, such as \"host:80\": {why}");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
