//! One connection: request after request, until one of both has had enough.

use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use leno::io::net::TcpStream;
use leno::io::time::timeout;

use super::answer::{Answer, Given, Room};
use super::body::Body;
use super::framing::Framing;
use super::head::{Head, Refused};
use super::input::Input;
use super::server::Limits;
use super::watch::Guard;
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
    pub head: &'c Head,
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
    pub(super) guard: Guard<'a>,
}

/// What one request after the other uses again.
#[derive(Default)]
struct Kept {
    head: Head,
    room: Room,
}

/// What comes next on a connection.
enum Next {
    Request,
    Refusal(Refused),
    End,
}

impl<H: Fn(&mut Request<'_>, Answer<'_>) -> io::Result<()>> Connection<'_, H> {
    /// Serves it to its end.
    pub(super) fn serve(&self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_write_timeout(Some(self.limits.stall))?;
        let mut input = Input::new(self.stream.try_clone()?);
        let mut kept = Kept::default();
        loop {
            let has_more = match self.next(&mut input, &mut kept.head)? {
                Next::Request => {
                    // When it takes too long, an answer may have begun, so nothing more can be said.
                    self.guard.answers();
                    self.answer(&mut input, &mut kept)?
                }
                Next::Refusal(refused) => self.refuse(refused, &mut kept.room)?,
                Next::End => return Ok(()),
            };
            if !has_more {
                self.guard.reads();
                return self.farewell();
            }
        }
    }

    /// Waits for a request to begin. Whether one does: not when the time is over, nor after the order to
    /// stop.
    fn is_spoken_to(&self, input: &mut Input) -> io::Result<bool> {
        if !self.guard.waits() {
            return Ok(false);
        }
        // It is watched instead.
        self.stream.set_read_timeout(None)?;
        let count = input.fill()?;
        self.stream.set_read_timeout(Some(self.limits.stall))?;
        Ok(count > 0)
    }

    /// Reads the next head.
    fn next(&self, input: &mut Input, head: &mut Head) -> io::Result<Next> {
        if input.buffered().is_empty() && !self.is_spoken_to(input)? {
            return Ok(Next::End);
        }
        self.guard.reads();
        // Mostly a head comes in one piece.
        if let Some(next) = self.take_head(input, head) {
            return Ok(next);
        }
        let late = Ok(Next::Refusal(Refused(408)));
        let trickled = timeout(self.limits.head, || {
            loop {
                if input.fill()? == 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                if let Some(next) = self.take_head(input, head) {
                    return Ok(next);
                }
            }
        });
        trickled.unwrap_or(late)
    }

    /// The head that is there; `None` if there is more to come.
    fn take_head(&self, input: &mut Input, head: &mut Head) -> Option<Next> {
        let most = self.limits.head_bytes;
        match head.read(input.buffered()) {
            Ok(Some(length)) if length <= most => {
                input.consume(length);
                Some(Next::Request)
            }
            Ok(None) if input.buffered().len() < most => None,
            Ok(_) => Some(Next::Refusal(Refused(431))),
            Err(refused) => Some(Next::Refusal(refused)),
        }
    }

    /// A request and its answer. Whether another may follow.
    fn answer(&self, input: &mut Input, Kept { head, room }: &mut Kept) -> io::Result<bool> {
        let framing = match Framing::of_request(head, self.limits.body_bytes) {
            Ok(framing) => framing,
            Err(refused) => return self.refuse(refused, room),
        };
        let given = Cell::new(Given::Nothing);
        let mut body = Body::new(input, framing, self.limits.body_bytes);
        if head.version > 0 && head.headers.has("expect", "100-continue") {
            body = body.on_demand(self.stream, &given);
        }
        let ending = head.keeps_alive().then_some(self.stopped);
        let asked = (head.method.as_str(), head.version);
        let answer = Answer::new(self.stream, &given, room, asked, ending);
        let mut request = Request { peer: self.peer, head, body };
        let handled = (self.handler)(&mut request, answer);
        room.tidy();
        match (given.get(), handled) {
            (Given::Whole, Ok(())) => Ok(request.body.skip(SKIPPED)),
            (Given::Last, Ok(())) => Ok(false),
            (Given::Nothing, Ok(())) => self.refuse(Refused(500), room),
            (Given::Nothing, Err(error)) => self.refuse(Refused(status_of(&error)), room),
            (_, handled) => {
                // The client must not take what it has got for all, so it sees a reset.
                self.stream.set_linger(Some(Duration::ZERO))?;
                handled.and(Err(io::Error::other("an answer has begun, and was not finished")))
            }
        }
    }

    /// Says why there is no answer, and that nothing more may follow.
    fn refuse(&self, Refused(status): Refused, room: &mut Room) -> io::Result<bool> {
        let given = Cell::default();
        Answer::new(self.stream, &given, room, ("", 1), None).send(status, "")?;
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
