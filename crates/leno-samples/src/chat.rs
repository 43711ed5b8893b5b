//! A chat server: lines of text, each to everybody else.
//!
//! ```text
//!   reader of ann --.                 .--> outbox --> writer of ann
//!   reader of bob ---+--> the room --+---> outbox --> writer of bob
//!   reader of cy  --'   (the state)   '--> outbox --> writer of cy
//! ```
//!
//! One coroutine, the room, owns the list of members; all others talk to it. So there is nothing to lock,
//! and everybody sees the same order of lines. An outbox holds a few lines: whoever does not take them is
//! shown the door, since the room waits for nobody.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;

use leno::channel::{Receiver, Sender, bounded, channel};
use leno::io::net::{TcpListener, TcpStream};
use leno::io::time::timeout;
use leno::kernel::scope;

use crate::serve::{self, Stopped, serve_refusing};

/// What a chat allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of the server.
    pub server: serve::Limits,
    /// Bytes of a line, its end included.
    pub line: u64,
    /// Lines that wait for a member who is slow to take them.
    pub outbox: usize,
    /// For how long one who comes may be without a name.
    pub entry: Duration,
    /// For how long a member may take nothing, though there is something for it.
    pub stall: Duration,
}

impl Default for Limits {
    /// 1,000 bytes, 100 lines, a minute, 10 seconds.
    fn default() -> Self {
        Limits {
            server: serve::Limits::default(),
            line: 1000,
            outbox: 100,
            entry: Duration::from_secs(60),
            stall: Duration::from_secs(10),
        }
    }
}

/// A line as it goes out; all members share it.
type Line = Rc<str>;

/// What the room is told.
enum Told {
    /// Someone wants to come in, and is told whether the name is free.
    Joins {
        name: Line,
        outbox: Sender<Line>,
        answer: Sender<bool>,
    },
    Says {
        name: Line,
        text: String,
    },
    Leaves {
        name: Line,
    },
}

/// Serves until told to stop; then everybody is shown the door. Whether all went by themselves.
///
/// # Panics
/// As [`serve::serve`].
pub fn chat(listener: TcpListener, stopped: &Stopped, limits: &Limits) -> bool {
    scope(|scope| {
        let (room, told) = bounded(100);
        // Ends when nobody is left who could tell it something.
        scope.spawn(move || keep_room(&told));
        let refusal = b"* too many connections\n";
        serve_refusing(listener, stopped, limits.server, refusal, move |stream| {
            // That a member went away without a word is no news.
            let _ended = attend(&stream, &room, stopped, limits);
        })
    })
}

/// Who is there, each with an outbox; without one, if shown the door and not gone yet.
type Members = BTreeMap<Line, Option<Sender<Line>>>;

/// The room.
fn keep_room(told: &Receiver<Told>) {
    let mut members = Members::new();
    for told in told {
        match told {
            Told::Joins { name, outbox, answer } => {
                let is_free = !members.contains_key(&name);
                // Nobody waits for the answer if the connection has gone.
                if answer.send(is_free).is_ok() && is_free {
                    tell(&mut members, &name, &format!("* {name} is here\n"));
                    members.insert(name, Some(outbox));
                }
            }
            Told::Says { name, text } => tell(&mut members, &name, &format!("{name}: {text}\n")),
            Told::Leaves { name } => {
                if members.remove(&name).is_some() {
                    tell(&mut members, &name, &format!("* {name} has left\n"));
                }
            }
        }
    }
}

/// Sends a line to all but one. Whose outbox is full loses it.
fn tell(members: &mut Members, but: &str, line: &str) {
    let line = Line::from(line);
    for (_, outbox) in members.iter_mut().filter(|(name, _)| &***name != but) {
        outbox.take_if(|outbox| outbox.try_send(line.clone()).is_err());
    }
}

/// Serves one member.
fn attend(
    stream: &TcpStream,
    room: &Sender<Told>,
    stopped: &Stopped,
    limits: &Limits,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(limits.stall))?;
    let mut lines = BufReader::new(stream);
    let entered = scope(|scope| {
        // Whoever has no name when the order to stop comes needs none.
        let closer = scope.spawn(|| {
            stopped.wait();
            stream.shutdown(Shutdown::Both)
        });
        let entered = timeout(limits.entry, || come_in(stream, &mut lines, room, limits));
        closer.cancel();
        entered
    });
    let Some((name, outbox)) = entered?? else { return Ok(()) };
    scope(|scope| {
        scope.spawn(|| write_out(stream, &outbox, stopped));
        let result = read_in(&mut lines, &name, room, limits);
        // It drops the outbox's other end, so the writer ends, too.
        let _closed = room.send(Told::Leaves { name });
        result
    })
}

/// Asks for a name until there is one that nobody has; `None` if the peer goes away.
fn come_in(
    mut stream: &TcpStream,
    lines: &mut impl BufRead,
    room: &Sender<Told>,
    limits: &Limits,
) -> io::Result<Option<(Line, Receiver<Line>)>> {
    loop {
        stream.write_all(b"your name?\n")?;
        let Some(name) = read_line(lines, limits.line)? else { return Ok(None) };
        let name = Line::from(printable(&name));
        let (outbox, inbox) = bounded(limits.outbox);
        let (answer, answered) = channel();
        if !name.is_empty() {
            let _closed = room.send(Told::Joins { name: name.clone(), outbox, answer });
            if answered.recv() == Ok(true) {
                return Ok(Some((name, inbox)));
            }
        }
    }
}

/// What a member says, to its end.
fn read_in(
    lines: &mut impl BufRead,
    name: &Line,
    room: &Sender<Told>,
    limits: &Limits,
) -> io::Result<()> {
    while let Some(line) = read_line(lines, limits.line)? {
        let text = printable(&line);
        let _closed = room.send(Told::Says { name: name.clone(), text });
    }
    Ok(())
}

/// What a member is told, until it is shown the door, which ends its reader as well.
fn write_out(stream: &TcpStream, outbox: &Receiver<Line>, stopped: &Stopped) {
    let mut out = BufWriter::new(stream);
    let result = loop {
        let next = leno::channel::select! {
            recv(outbox) -> line => line.ok(),
            recv(stopped.order()) -> _ => None,
        };
        let Ok(Some(line)) = next else { break out.write_all(b"* good bye\n") };
        let lines = std::iter::once(line).chain(outbox.try_iter());
        let written = lines.into_iter().try_for_each(|line| out.write_all(line.as_bytes()));
        // One system call for all that was there.
        if let Err(error) = written.and_then(|()| out.flush()) {
            break Err(error);
        }
    };
    let _gone = result.and_then(|()| out.flush());
    let _gone = stream.shutdown(Shutdown::Both);
}

/// Returns a line as others may see it. Control characters are replaced, since they are orders to terminals:
/// they move the cursor, rename the window and more.
fn printable(line: &str) -> String {
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    line.trim().chars().map(shown).collect()
}

/// A line; `None` at the end.
fn read_line(from: &mut impl BufRead, most: u64) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let count = from.take(most).read_until(b'\n', &mut line)?;
    if count as u64 == most && line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
    }
    let line = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok((count > 0).then_some(line))
}
