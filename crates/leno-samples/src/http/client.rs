//! A client: one connection, one request at a time.

use std::io::{self, BufRead, ErrorKind, Write};
use std::net::SocketAddr;
use std::time::Duration;

use leno::io::net::TcpStream;

use super::body::Body;
use super::framing::Framing;
use super::head::{Headers, MOST_HEADERS};
use super::input::Input;

/// Bytes of an answer's head.
const MOST_HEAD: usize = 64 * 1024;
/// For how long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// A connection to a server. Requests follow each other on it, as long as the server likes.
pub struct Client {
    stream: TcpStream,
    input: Input,
    host: String,
}

/// An answer. Its body is to be read to its end before the next request.
pub struct Received<'c> {
    /// 200, if all is well.
    pub status: u16,
    /// In order.
    pub headers: Headers,
    /// The rest, to be read.
    pub body: Body<'c>,
}

impl Client {
    /// Connects to a server.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn connect(server: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect_timeout(&server, SILENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Client { input: Input::new(stream.try_clone()?), stream, host: server.to_string() })
    }

    /// Asks for something.
    ///
    /// # Errors
    /// When the server goes away, is silent, or speaks something else.
    pub fn get(&mut self, target: &str) -> io::Result<Received<'_>> {
        self.ask("GET", target, "", &[])
    }

    /// Sends something.
    ///
    /// # Errors
    /// When the server goes away, is silent, or speaks something else.
    pub fn post(&mut self, target: &str, body: &[u8]) -> io::Result<Received<'_>> {
        self.ask("POST", target, &format!("content-length: {}\r\n", body.len()), body)
    }

    fn ask(
        &mut self,
        method: &str,
        target: &str,
        headers: &str,
        body: &[u8],
    ) -> io::Result<Received<'_>> {
        if self.input.is_in_body {
            return Err(io::Error::other("the last answer was not read to its end"));
        }
        let host = &self.host;
        let mut request =
            format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n").into_bytes();
        request.extend_from_slice(body);
        self.stream.write_all(&request)?;
        let (status, headers) = loop {
            match self.read_head()? {
                // Those are only news.
                (100..200, _) => {}
                head => break head,
            }
        };
        let framing = Framing::of_answer(&headers, status)
            .map_err(|_| io::Error::new(ErrorKind::InvalidData, "where does the answer end?"))?;
        Ok(Received { status, headers, body: Body::new(&mut self.input, framing, u64::MAX) })
    }

    fn read_head(&mut self) -> io::Result<(u16, Headers)> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut answer = httparse::Response::new(&mut headers);
            let parsed = answer.parse(self.input.buffered());
            let parsed = parsed.map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
            if let httparse::Status::Complete(length) = parsed {
                let status = answer.code.unwrap_or_default();
                let mut headers = Headers::default();
                headers.read(answer.headers).ok_or(ErrorKind::InvalidData)?;
                self.input.consume(length);
                return Ok((status, headers));
            }
            if self.input.buffered().len() >= MOST_HEAD {
                return Err(io::Error::new(ErrorKind::InvalidData, "the head has no end"));
            }
            if self.input.fill()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
