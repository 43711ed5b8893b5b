//! TCP.

mod connect;
mod incoming;
mod inner;
mod listener;
mod stream;

pub use incoming::Incoming;
pub use listener::TcpListener;
pub use stream::TcpStream;
