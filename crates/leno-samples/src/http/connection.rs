//! One connection: request after request, until one of both has had enough.

use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use leno::channel::select;
use leno::io::net::TcpStream;
use leno::io::time::timeout;

use super::answer::{Answer, Given};
use super::body::Body;
use super::framing::Framing;
use super::head::{Head, Refused};
use super::input::Input;
use super::server::Limits;
use crate::serve::Stopped;

/// What of an unread body is skipped rather than closing the connection.
const SKIPPED: u64 = 64 * 1024;
/// For how long a client that sends what nobody wants is listened to, so that it sees its answer.
const FAREWELL: Duration = Duration::from_secs(1);

/// A request.
pub struct Request<'c> {
    /// From where it came, unless the client had gone before that could be asked.
    pub peer: Option<SocketAddr>,
    /// What it begins with.
    pub head: Head,
    /// The rest, to be read.
    pub body: Body<'c>,
}

/// One connection.
pub(super) struct Connection<'a, H> {
    pub(super) stream: &'a TcpStream,
    pub(super) peer: Option<SocketAddr>,
    pub(super) stopped: &'a Stopped,
    pub(super) limits: &'a Limits,
    pub(super) handler: &'a H,
}

/// What comes next on it.
enum Next {
    Request(Head),
    Refusal(Refused),
    End,
}

impl<H: Fn(&mut Request<'_>, Answer<'_>) -> io::Result<()>> Connection<'_, H> {
    /// Serves it to its end.
    pub(super) fn serve(&self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(self.limits.stall))?;
        self.stream.set_write_timeout(Some(self.limits.stall))?;
        let mut input = Input::new(self.stream.try_clone()?);
        while self.is_spoken_to(&input) {
            let has_more = match self.next(&mut input)? {
                // When it takes too long, an answer may have begun, so nothing more can be said.
                Next::Request(head) => {
                    timeout(self.limits.request, || self.answer(&mut input, head))??
                }
                Next::Refusal(refused) => self.refuse(refused)?,
                Next::End => return Ok(()),
            };
            if !has_more {
                return self.farewell();
            }
        }
        Ok(())
    }

    /// Waits for a request to begin. Whether one does: not when the time is over, nor after the order to
    /// stop.
    fn is_spoken_to(&self, input: &Input) -> bool {
        !input.buffered().is_empty()
            || select! {
                priority;
                source(self.stream.readable()) -> ready => ready.is_ok(),
                recv(self.stopped.order()) -> _ => false,
                after(self.limits.idle) => false,
            } == Ok(true)
    }

    fn next(&self, input: &mut Input) -> io::Result<Next> {
        if input.buffered().is_empty() && input.fill()? == 0 {
            return Ok(Next::End);
        }
        // Mostly a head comes in one piece.
        if let Some(next) = self.take_head(input) {
            return Ok(next);
        }
        let late = Ok(Next::Refusal(Refused(408)));
        let trickled = timeout(self.limits.head, || {
            loop {
                if input.fill()? == 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                if let Some(next) = self.take_head(input) {
                    return Ok(next);
                }
            }
        });
        trickled.unwrap_or(late)
    }

    /// The head that is there; `None` if there is more to come.
    fn take_head(&self, input: &mut Input) -> Option<Next> {
        let most = self.limits.head_bytes;
        match Head::parse(input.buffered()) {
            Ok(Some((head, length))) if length <= most => {
                input.consume(length);
                Some(Next::Request(head))
            }
            Ok(None) if input.buffered().len() < most => None,
            Ok(_) => Some(Next::Refusal(Refused(431))),
            Err(refused) => Some(Next::Refusal(refused)),
        }
    }

    /// A request and its answer. Whether another may follow.
    fn answer(&self, input: &mut Input, head: Head) -> io::Result<bool> {
        let framing = match Framing::of_request(&head.headers, self.limits.body_bytes) {
            Ok(framing) => framing,
            Err(refused) => return self.refuse(refused),
        };
        let mut body = Body::new(input, framing, self.limits.body_bytes);
        if head.headers.has("expect", "100-continue") {
            body = body.on_demand(self.stream);
        }
        let given = Cell::new(Given::Nothing);
        let ending = head.keeps_alive().then_some(self.stopped);
        let answer = Answer::new(self.stream, &given, (&head.method, head.version), ending);
        let mut request = Request { peer: self.peer, head, body };
        let handled = (self.handler)(&mut request, answer);
        match (given.get(), handled) {
            (Given::Whole, Ok(())) => Ok(request.body.skip(SKIPPED)),
            (Given::Last, Ok(())) => Ok(false),
            (Given::Nothing, Ok(())) => self.refuse(Refused(500)),
            (Given::Nothing, Err(error)) => self.refuse(Refused(status_of(&error))),
            (_, handled) => {
                // The client must not take what it has got for all, so it sees a reset.
                self.stream.set_linger(Some(Duration::ZERO))?;
                handled.and(Err(io::Error::other("an answer has begun, and was not finished")))
            }
        }
    }

    /// Says why there is no answer, and that nothing more may follow.
    fn refuse(&self, Refused(status): Refused) -> io::Result<bool> {
        let given = Cell::default();
        Answer::new(self.stream, &given, ("", 1), None).send(status, "")?;
        Ok(false)
    }

    /// Ends the connection, though the client may still send. What arrives at a socket that is closed
    /// resets it, and the client may lose its answer; so a little more is read.
    fn farewell(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let mut rest = self.stream.take(SKIPPED);
        let _gone = timeout(FAREWELL, || io::copy(&mut rest, &mut io::sink()));
        Ok(())
    }
}

/// What a client is told when its handler fails before it has answered.
fn status_of(error: &io::Error) -> u16 {
    match error.kind() {
        ErrorKind::FileTooLarge => 413,
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => 400,
        ErrorKind::TimedOut => 408,
        _ => 500,
    }
}
