//! Giving an answer.

use std::cell::Cell;
use std::fmt::{Display, Write as _};
use std::io::{self, IoSlice, Write};

use leno::io::net::TcpStream;

use crate::serve::Stopped;

/// Bytes that are gathered before they are sent.
const GATHERED: usize = 16 * 1024;
/// A body of so many bytes is copied behind its head; a larger one is sent from where it is.
const COPIED: usize = 2 * 1024;

/// How far an answer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Given {
    #[default]
    Nothing,
    /// Its head was sent, and the rest was not.
    Begun,
    /// And another may follow on the connection.
    Whole,
    /// And it was the last one.
    Last,
}

/// Where answers are put together, one after the other on a connection. It is kept: most answers need no
/// more room than the one before.
#[derive(Default)]
pub(super) struct Room {
    headers: String,
    bytes: Vec<u8>,
}

impl Room {
    /// Keeps what most answers need, and no more.
    pub(super) fn tidy(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(2 * COPIED);
    }
}

/// The answer to a request, to be given: at once ([`Answer::send`]), or bit by bit ([`Answer::start`]).
///
/// If it is dropped, the client is told that the server failed.
#[must_use = "a request is to be answered"]
pub struct Answer<'c> {
    stream: &'c TcpStream,
    given: &'c Cell<Given>,
    room: &'c mut Room,
    /// What was asked for is the head alone.
    is_head_only: bool,
    /// Of HTTP/1: 0 or 1.
    version: u8,
    /// When it is the last one on the connection: when told to stop; in any case, if there is nothing.
    ending: Option<&'c Stopped>,
}

impl<'c> Answer<'c> {
    pub(super) fn new(
        stream: &'c TcpStream,
        given: &'c Cell<Given>,
        room: &'c mut Room,
        (method, version): (&str, u8),
        ending: Option<&'c Stopped>,
    ) -> Answer<'c> {
        let is_head_only = method == "HEAD";
        room.headers.clear();
        Answer { stream, given, room, is_head_only, version, ending }
    }

    /// Adds a header. Those that say where the body ends are not the handler's.
    ///
    /// # Panics
    /// If it has line breaks: then it would be more than one header.
    pub fn header(self, name: &str, value: impl Display) -> Answer<'c> {
        let headers = &mut self.room.headers;
        let before = headers.len();
        let _never_fails = write!(headers, "{name}: {value}");
        let header = &headers[before..];
        assert!(
            !header.contains(['\r', '\n']),
            "a header is one line, and this is not: {header:?}"
        );
        headers.push_str("\r\n");
        self
    }

    /// Gives all of it at once, in one system call.
    ///
    /// # Errors
    /// When the client has gone, or takes nothing.
    pub fn send(mut self, status: u16, body: impl AsRef<[u8]>) -> io::Result<()> {
        let body = body.as_ref();
        let whole = self.put_head(status, Some(body.len() as u64));
        let (bytes, rest) = match self.is_head_only {
            true => (&self.room.bytes, &[][..]),
            false if body.len() > COPIED => (&self.room.bytes, body),
            false => {
                self.room.bytes.extend_from_slice(body);
                (&self.room.bytes, &[][..])
            }
        };
        self.given.set(Given::Begun);
        if rest.is_empty() {
            (&mut &*self.stream).write_all(bytes)?;
        } else {
            write_both(self.stream, bytes, rest)?;
        }
        self.given.set(whole);
        Ok(())
    }

    /// Begins an answer whose length is not known yet.
    ///
    /// # Errors
    /// When the client has gone, or takes nothing.
    pub fn start(self, status: u16) -> io::Result<Out<'c>> {
        let ending = if self.version == 0 { Ending::Connection } else { Ending::Chunk };
        self.begin(status, ending)
    }

    /// Begins an answer of this length.
    ///
    /// # Errors
    /// When the client has gone, or takes nothing.
    pub fn start_sized(self, status: u16, length: u64) -> io::Result<Out<'c>> {
        self.begin(status, Ending::Length(length))
    }

    fn begin(mut self, status: u16, ending: Ending) -> io::Result<Out<'c>> {
        let length = if let Ending::Length(length) = ending { Some(length) } else { None };
        let whole = self.put_head(status, length);
        let Answer { stream, given, room, is_head_only, .. } = self;
        let gathered = &mut room.bytes;
        given.set(Given::Begun);
        (&mut &*stream).write_all(gathered)?;
        gathered.clear();
        Ok(Out { stream, given, whole, ending, is_head_only, gathered })
    }

    /// Puts the head into the room. What the answer will be when it is whole.
    fn put_head(&mut self, status: u16, length: Option<u64>) -> Given {
        let Room { headers, bytes } = &mut *self.room;
        bytes.clear();
        put(
            bytes,
            &["HTTP/1.1 ", digits(status.into(), &mut [0; 20]), " ", reason(status), "\r\n"],
        );
        put(bytes, &[headers]);
        match length {
            Some(length) => put(bytes, &["content-length: ", digits(length, &mut [0; 20]), "\r\n"]),
            None if self.version == 0 => {}
            None => put(bytes, &["transfer-encoding: chunked\r\n"]),
        }
        let ends_with_connection = self.version == 0 && length.is_none();
        let is_last = ends_with_connection || self.ending.is_none_or(Stopped::is_now);
        if is_last {
            put(bytes, &["connection: close\r\n"]);
        } else if self.version == 0 {
            put(bytes, &["connection: keep-alive\r\n"]);
        }
        put(bytes, &["\r\n"]);
        if is_last { Given::Last } else { Given::Whole }
    }
}

/// Appends these. Formatting them would take longer than all else that is done to give an answer.
fn put(bytes: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
}

/// A number in decimal.
fn digits(mut number: u64, room: &mut [u8; 20]) -> &str {
    let mut begin = room.len();
    loop {
        begin -= 1;
        room[begin] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    str::from_utf8(&room[begin..]).expect("digits are text")
}

/// Sends both, one behind the other, without copying them.
fn write_both(mut stream: &TcpStream, head: &[u8], body: &[u8]) -> io::Result<()> {
    let mut parts = &mut [IoSlice::new(head), IoSlice::new(body)][..];
    while !parts.is_empty() {
        match stream.write_vectored(parts)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => IoSlice::advance_slices(&mut parts, count),
        }
    }
    Ok(())
}

/// Where the body of an answer ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// After so many more bytes.
    Length(u64),
    Chunk,
    Connection,
}

/// The body of an answer that has begun. What is written is gathered; flushing sends it at once.
/// [`Out::finish`] ends it. If it is dropped before, the connection ends, so that the client sees that
/// something is missing.
#[must_use = "an answer that is not finished ends the connection"]
pub struct Out<'c> {
    stream: &'c TcpStream,
    given: &'c Cell<Given>,
    whole: Given,
    ending: Ending,
    is_head_only: bool,
    gathered: &'c mut Vec<u8>,
}

impl Out<'_> {
    /// Ends the answer.
    ///
    /// # Errors
    /// When the client has gone, or takes nothing; `InvalidInput` when it is shorter than was said.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self.ending {
            _ if self.is_head_only => {}
            Ending::Chunk => self.stream.write_all(b"0\r\n\r\n")?,
            Ending::Length(1..) => return Err(unlike_said()),
            Ending::Length(0) | Ending::Connection => {}
        }
        self.given.set(self.whole);
        Ok(())
    }
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Ending::Length(left) = &mut self.ending {
            *left = left.checked_sub(bytes.len() as u64).ok_or_else(unlike_said)?;
        }
        if !self.is_head_only {
            self.gathered.extend_from_slice(bytes);
        }
        if self.gathered.len() >= GATHERED {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // An empty chunk would be the end.
        if self.gathered.is_empty() {
            return Ok(());
        }
        if matches!(self.ending, Ending::Chunk) {
            let line = format!("{:x}\r\n", self.gathered.len());
            self.gathered.splice(..0, line.into_bytes());
            self.gathered.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(self.gathered)?;
        self.gathered.clear();
        Ok(())
    }
}

fn unlike_said() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the answer has not the length that was said")
}

/// Returns the reason phrase of a registered status.
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn numbers_are_written_as_they_are() {
        for number in [0, 7, 10, 200, 1_048_576, u64::MAX] {
            assert_eq!(digits(number, &mut [0; 20]), number.to_string());
        }
    }
}
