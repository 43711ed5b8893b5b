//! TCP.

mod connect;
mod inner;
mod listener;
mod stream;

pub use listener::{Incoming, TcpListener};
pub use stream::TcpStream;
