//! Unix sockets. They are always the operating system's.

mod connect;
mod datagram;
mod inner;
mod listener;
mod stream;

pub use datagram::UnixDatagram;
pub use listener::{UnixIncoming, UnixListener};
pub use stream::UnixStream;
