//! What has come over a connection and was not taken yet.

use std::io::{self, BufRead, Read};

use leno::io::net::TcpStream;

/// As much is read at once.
const READ: usize = 8 * 1024;

/// A connection's reading side. Unlike a [`BufReader`](io::BufReader), it can hold more than one read's
/// worth: a head is looked at as a whole.
pub(super) struct Input {
    stream: TcpStream,
    /// Room, which is kept: making it anew would write all of it for every request.
    bytes: Vec<u8>,
    /// How many of them have come.
    came: usize,
    /// How many of those were taken.
    taken: usize,
    /// A body has begun, and was not read to its end.
    pub(super) is_in_body: bool,
}

impl Input {
    pub(super) fn new(stream: TcpStream) -> Input {
        Input { stream, bytes: Vec::new(), came: 0, taken: 0, is_in_body: false }
    }

    /// What is there.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.bytes[self.taken..self.came]
    }

    /// Waits for more; how much, which is nothing at the end.
    pub(super) fn fill(&mut self) -> io::Result<usize> {
        self.bytes.copy_within(self.taken..self.came, 0);
        self.came -= self.taken;
        self.taken = 0;
        let wanted = self.came + READ;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        let count = self.stream.read(&mut self.bytes[self.came..wanted])?;
        self.came += count;
        Ok(count)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.buffered().is_empty() {
            self.fill()?;
        }
        Ok(self.buffered())
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // What would only pass through does not.
        if self.buffered().is_empty() && buffer.len() >= READ {
            return self.stream.read(buffer);
        }
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}
