//! Reading a body.

use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read, Write};

use leno::io::net::TcpStream;

use super::answer::Given;
use super::framing::Framing;
use super::input::Input;

/// Bytes of the line before a chunk, and of all trailers together.
const MOST_OVERHEAD: usize = 1024;

/// The body of a request or of an answer, to be read to its end.
///
/// # Errors
/// `FileTooLarge` when it is larger than allowed, `InvalidData` when its chunks are malformed,
/// `UnexpectedEof` when the connection ends before it does. After an error all reads fail.
pub struct Body<'c> {
    input: &'c mut Input,
    rest: Rest,
    /// How many more bytes are allowed.
    allowed: u64,
    /// Who waits to be told to go on before sending the body (`Expect: 100-continue`).
    waiting: Option<(&'c TcpStream, &'c Cell<Given>)>,
}

/// What is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// So many bytes.
    Length(u64),
    /// So many bytes of a chunk, then others.
    Chunk(u64),
    /// A chunk, from its first line on.
    Chunks,
    /// Everything until the connection ends.
    UntilEnd,
    Nothing,
    /// Reading it has failed, in this way: what follows is unknown.
    Broken(ErrorKind),
}

impl<'c> Body<'c> {
    pub(super) fn new(input: &'c mut Input, framing: Framing, allowed: u64) -> Body<'c> {
        let rest = match framing {
            Framing::Length(0) => Rest::Nothing,
            Framing::Length(length) => Rest::Length(length),
            Framing::Chunked => Rest::Chunks,
            Framing::UntilEnd => Rest::UntilEnd,
        };
        input.is_in_body = rest != Rest::Nothing;
        Body { input, rest, allowed, waiting: None }
    }

    /// Tells the peer, which waits for that, to send the body; when it is read before the answer has begun.
    pub(super) fn on_demand(mut self, peer: &'c TcpStream, given: &'c Cell<Given>) -> Body<'c> {
        self.waiting = (self.rest != Rest::Nothing).then_some((peer, given));
        self
    }

    /// How long it is, or the rest of it, if that is known.
    pub fn length(&self) -> Option<u64> {
        match self.rest {
            Rest::Length(length) => Some(length),
            Rest::Nothing => Some(0),
            _ => None,
        }
    }

    /// Reads the rest, if that is not much, so that another request can follow: whether it can.
    pub(super) fn skip(&mut self, most: u64) -> bool {
        // The usual case, for which `copy` would clear its buffer.
        if self.rest == Rest::Nothing {
            return true;
        }
        if self.waiting.is_some() {
            return false;
        }
        let skipped = io::copy(&mut self.take(most), &mut io::sink());
        skipped.is_ok() && self.rest == Rest::Nothing
    }

    fn end(&mut self) -> usize {
        self.rest = Rest::Nothing;
        self.input.is_in_body = false;
        0
    }

    /// The line before a chunk. The last chunk is empty, and trailers follow, which nobody wants.
    fn begin_chunk(&mut self) -> io::Result<()> {
        let length = loop {
            match httparse::parse_chunk_size(self.input.buffered()) {
                Ok(httparse::Status::Complete((line, length)))
                    if is_plain(&self.input.buffered()[..line]) =>
                {
                    self.input.consume(line);
                    break length;
                }
                Ok(httparse::Status::Partial) if self.is_line_open() => {
                    if self.input.fill()? == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                _ => return Err(malformed("the length of a chunk")),
            }
        };
        self.rest = Rest::Chunk(length);
        if length == 0 {
            let mut trailers = Vec::new();
            while !trailers.ends_with(b"\n\r\n") && trailers != b"\r\n" {
                let left = (MOST_OVERHEAD - trailers.len()) as u64;
                if self.input.by_ref().take(left).read_until(b'\n', &mut trailers)? == 0 {
                    return Err(malformed("what follows the last chunk"));
                }
                if !trailers.ends_with(b"\r\n") {
                    return Err(malformed("what follows the last chunk"));
                }
            }
            self.end();
        }
        Ok(())
    }

    /// Whether more of the line before a chunk may come.
    fn is_line_open(&self) -> bool {
        let buffered = self.input.buffered();
        buffered.len() < MOST_OVERHEAD && !buffered.contains(&b'\n')
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        let mut end = [0; 2];
        self.input.read_exact(&mut end)?;
        self.rest = Rest::Chunks;
        if end == *b"\r\n" { Ok(()) } else { Err(malformed("the end of a chunk")) }
    }
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read_some(buffer);
        if let Err(error) = &read
            && error.kind() != ErrorKind::Interrupted
        {
            self.rest = Rest::Broken(error.kind());
        }
        read
    }
}

impl Body<'_> {
    fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The peer would take it for a part of an answer that has begun. It has seen that answer's status by
        // then, and sends the body, or does not.
        if let Some((mut peer, given)) = self.waiting.take()
            && given.get() == Given::Nothing
        {
            peer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let most = loop {
            match self.rest {
                Rest::Nothing => return Ok(0),
                Rest::Broken(kind) => return Err(kind.into()),
                Rest::Chunks => self.begin_chunk()?,
                Rest::Chunk(0) => self.end_chunk()?,
                Rest::Length(left) | Rest::Chunk(left) => {
                    break left.min(buffer.len() as u64) as usize;
                }
                Rest::UntilEnd => break buffer.len(),
            }
        };
        let count = self.input.read(&mut buffer[..most])?;
        let allowed = self.allowed.checked_sub(count as u64);
        self.allowed = allowed.ok_or_else(|| {
            io::Error::new(ErrorKind::FileTooLarge, "the body is larger than allowed")
        })?;
        match &mut self.rest {
            Rest::UntilEnd if count == 0 => return Ok(self.end()),
            _ if count == 0 && most > 0 => return Err(ErrorKind::UnexpectedEof.into()),
            Rest::Length(left) | Rest::Chunk(left) => *left -= count as u64,
            _ => {}
        }
        if self.rest == Rest::Length(0) {
            self.end();
        }
        Ok(count)
    }
}

/// Whether a line before a chunk has one end, and nothing in it that others could take for one.
fn is_plain(line: &[u8]) -> bool {
    let inside = line.strip_suffix(b"\r\n").unwrap_or(b"\n");
    inside.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control())
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{what} is malformed"))
}
