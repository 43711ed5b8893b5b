//! One connection: request after request, until one of both has had enough.

use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};
use std::net::Shutdown;
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
    /// What it begins with.
    pub head: Head,
    /// The rest, to be read.
    pub body: Body<'c>,
}

/// Serves a connection to its end.
pub(super) fn serve_connection(
    stream: &TcpStream,
    stopped: &Stopped,
    limits: &Limits,
    handler: &impl Fn(&mut Request<'_>, Answer<'_>) -> io::Result<()>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(limits.stall))?;
    stream.set_write_timeout(Some(limits.stall))?;
    let mut input = Input::new(stream.try_clone()?);
    while is_spoken_to(stream, &input, stopped, limits.idle) {
        let head = match next_head(&mut input, limits)? {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(()),
            Err(refused) => {
                refuse(stream, refused)?;
                return farewell(stream);
            }
        };
        let answered = timeout(limits.request, || {
            answer_one(stream, &mut input, head, stopped, limits, handler)
        });
        // When it has taken too long, an answer may have begun, so nothing more can be said.
        if !answered?? {
            return farewell(stream);
        }
    }
    Ok(())
}

/// Waits for a request to begin. Whether one does: not when the time is over, nor after the order to stop.
fn is_spoken_to(stream: &TcpStream, input: &Input, stopped: &Stopped, idle: Duration) -> bool {
    !input.buffered().is_empty()
        || select! {
            priority;
            source(stream.readable()) -> ready => ready.is_ok(),
            recv(*stopped.order()) -> _ => false,
            after(idle) => false,
        } == Ok(true)
}

/// The head of the next request; `None` if the client has no more.
fn next_head(input: &mut Input, limits: &Limits) -> io::Result<Result<Option<Head>, Refused>> {
    // Mostly it comes in one piece.
    if input.buffered().is_empty() && input.fill()? == 0 {
        return Ok(Ok(None));
    }
    match take_head(input, limits.head_bytes) {
        Ok(None) => match timeout(limits.head, || wait_for_head(input, limits.head_bytes)) {
            Ok(head) => head,
            Err(_) => Ok(Err(Refused(408))),
        },
        known => Ok(known),
    }
}

fn wait_for_head(input: &mut Input, most: usize) -> io::Result<Result<Option<Head>, Refused>> {
    loop {
        if input.fill()? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match take_head(input, most) {
            Ok(None) => {}
            known => return Ok(known),
        }
    }
}

/// The head that is there, if it is whole, and no longer than allowed.
fn take_head(input: &mut Input, most: usize) -> Result<Option<Head>, Refused> {
    match Head::parse(input.buffered())? {
        Some((head, length)) if length <= most => {
            input.consume(length);
            Ok(Some(head))
        }
        None if input.buffered().len() < most => Ok(None),
        _ => Err(Refused(431)),
    }
}

/// A request and its answer. Whether another may follow.
fn answer_one(
    stream: &TcpStream,
    input: &mut Input,
    head: Head,
    stopped: &Stopped,
    limits: &Limits,
    handler: &impl Fn(&mut Request<'_>, Answer<'_>) -> io::Result<()>,
) -> io::Result<bool> {
    let framing = match Framing::of_request(&head.headers, limits.body_bytes) {
        Ok(framing) => framing,
        Err(refused) => return refuse(stream, refused).map(|()| false),
    };
    let mut body = Body::new(input, framing, limits.body_bytes);
    if head.headers.has("expect", "100-continue") {
        body = body.on_demand(stream);
    }
    let given = Cell::new(Given::Nothing);
    let ending = head.keeps_alive().then_some(stopped);
    let answer = Answer::new(stream, &given, (&head.method, head.version), ending);
    let mut request = Request { head, body };
    let handled = handler(&mut request, answer);
    match (given.get(), handled) {
        (Given::Whole, Ok(())) => Ok(request.body.skip(SKIPPED)),
        (Given::Last, Ok(())) => Ok(false),
        (Given::Nothing, Err(error)) => refuse(stream, Refused(status_of(&error))).map(|()| false),
        (Given::Nothing, Ok(())) => refuse(stream, Refused(500)).map(|()| false),
        (_, handled) => {
            // The client must not take what it has got for all, so it sees a reset.
            stream.set_linger(Some(Duration::ZERO))?;
            handled.and(Err(io::Error::other("an answer has begun, and was not finished")))
        }
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

/// Says why there is no answer, and that this was all.
fn refuse(stream: &TcpStream, Refused(status): Refused) -> io::Result<()> {
    let given = Cell::default();
    Answer::new(stream, &given, ("", 1), None).send(status, "")
}

/// Ends a connection whose client may still send. What arrives at a socket that is closed resets it, and
/// the client may lose its answer; so a little more is read.
fn farewell(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let _gone = timeout(FAREWELL, || io::copy(&mut stream.by_ref().take(SKIPPED), &mut io::sink()));
    Ok(())
}
