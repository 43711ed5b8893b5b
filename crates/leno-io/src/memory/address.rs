//! Who is meant: an address, or the name of a host.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::Host;
use super::error::error;
use super::network::Network;

/// Where something on a network is: `"server:80"`, `("server", 80)`, `(&host, 80)`, or an address. Names
/// are those of the network's hosts; `localhost` is the host itself.
pub trait Address {
    /// As an address.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if no host has the name,
    /// [`InvalidInput`](ErrorKind::InvalidInput) if it is none.
    fn resolve(&self, network: &Network) -> io::Result<SocketAddr>;
}

impl Address for SocketAddr {
    fn resolve(&self, _: &Network) -> io::Result<SocketAddr> {
        Ok(*self)
    }
}

impl Address for SocketAddrV4 {
    fn resolve(&self, _: &Network) -> io::Result<SocketAddr> {
        Ok((*self).into())
    }
}

impl Address for SocketAddrV6 {
    fn resolve(&self, _: &Network) -> io::Result<SocketAddr> {
        Ok((*self).into())
    }
}

impl Address for (IpAddr, u16) {
    fn resolve(&self, _: &Network) -> io::Result<SocketAddr> {
        Ok((*self).into())
    }
}

impl Address for (&Host, u16) {
    fn resolve(&self, _: &Network) -> io::Result<SocketAddr> {
        Ok(SocketAddr::new(self.0.address(), self.1))
    }
}

impl Address for (&str, u16) {
    fn resolve(&self, network: &Network) -> io::Result<SocketAddr> {
        Ok(SocketAddr::new(named(self.0, network)?, self.1))
    }
}

impl Address for str {
    fn resolve(&self, network: &Network) -> io::Result<SocketAddr> {
        if let Ok(address) = self.parse() {
            return Ok(address);
        }
        let parts = self.rsplit_once(':');
        let parts = parts.and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let text = || format!("'{self}' is no address: a name or number, a colon, a port");
        parts.ok_or_else(|| error(ErrorKind::InvalidInput, text()))?.resolve(network)
    }
}

impl Address for String {
    fn resolve(&self, network: &Network) -> io::Result<SocketAddr> {
        self.as_str().resolve(network)
    }
}

impl<A: Address + ?Sized> Address for &A {
    fn resolve(&self, network: &Network) -> io::Result<SocketAddr> {
        (**self).resolve(network)
    }
}

fn named(name: &str, network: &Network) -> io::Result<IpAddr> {
    if name == "localhost" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let known = network
        .inner
        .with(|state| state.hosts.iter().find(|host| host.name == name).map(|host| host.address));
    let text = || format!("the network has no host '{name}'; Network::host makes one");
    known.ok_or_else(|| error(ErrorKind::NotFound, text()))
}
