//! Groups, to which one sends to reach all that are in it (multicast). A network in memory has none.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::UdpSocket;

impl UdpSocket {
    /// Receives what is sent to this group, at this interface.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn join_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.shared.inner.for_groups(|socket| socket.join_multicast_v4(group, interface))
    }

    /// Receives it no more.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn leave_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.shared.inner.for_groups(|socket| socket.leave_multicast_v4(group, interface))
    }

    /// Receives what is sent to this group, at this interface.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.shared.inner.for_groups(|socket| socket.join_multicast_v6(group, interface))
    }

    /// Receives it no more.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.shared.inner.for_groups(|socket| socket.leave_multicast_v6(group, interface))
    }

    /// Whether what this socket sends to a group comes back to this machine.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_multicast_loop_v4(&self, comes_back: bool) -> io::Result<()> {
        self.shared.inner.for_groups(|socket| socket.set_multicast_loop_v4(comes_back))
    }

    /// Whether what this socket sends to a group comes back to this machine.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.shared.inner.for_groups(|socket| socket.multicast_loop_v4())
    }

    /// How many hops what is sent to a group may take: 1, if nothing else is said.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.shared.inner.for_groups(|socket| socket.set_multicast_ttl_v4(ttl))
    }

    /// How many hops what is sent to a group may take.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.shared.inner.for_groups(|socket| socket.multicast_ttl_v4())
    }

    /// Whether what this socket sends to a group comes back to this machine.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_multicast_loop_v6(&self, comes_back: bool) -> io::Result<()> {
        self.shared.inner.for_groups(|socket| socket.set_multicast_loop_v6(comes_back))
    }

    /// Whether what this socket sends to a group comes back to this machine.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.shared.inner.for_groups(|socket| socket.multicast_loop_v6())
    }
}
