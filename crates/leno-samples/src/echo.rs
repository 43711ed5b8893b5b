//! Sends back what comes.

use std::io;
use std::time::Duration;

use leno::io::net::TcpStream;

/// Echoes until the peer has nothing more to say, or nothing to say for too long; how many bytes.
///
/// # Errors
/// When the peer is silent for longer than `idle`, or takes nothing for as long; or when it goes away
/// without a word.
pub fn echo(stream: &TcpStream, idle: Duration) -> io::Result<u64> {
    stream.set_read_timeout(Some(idle))?;
    stream.set_write_timeout(Some(idle))?;
    // `&TcpStream` reads and writes; so do both at once.
    io::copy(&mut &*stream, &mut &*stream)
}
