//! Who looks at the clock and for the order to stop, for all connections of a server.
//!
//! A connection says what it does from now on, and for how long it may: that is a store or two, for each
//! request. One coroutine, [`Watch::run`], looks when the first of them can be late, and when the order
//! comes; nothing wakes it in between. Whoever is late is cancelled: its stack unwinds, whatever its handler
//! waits for, and the connection is closed. At the order, those are late who wait for a request that has not
//! come.
//!
//! All are of one core, so nothing changes between a look and what is done about it.
//!
//! # Why it is never late itself
//! It looks again when the first limit that it has seen is over, and not later than the shortest limit from
//! now: what begins after a look has at least that long.
//!
//! # Rejected
//! A select for each request (the client, the order, the time) and a `timeout` round each handler: that is a
//! coroutine made and ended, two timers and three places in line for each request.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use leno::channel::{Receiver, Sender, Source, bounded, select};
use leno::io::net::TcpStream;
use leno::io::time::sleep_until;
use leno::kernel::{Co, Time, cancel, current, now};

use super::server::Limits;
use crate::serve::Stopped;

/// Between two looks, at least.
const PAUSE: Duration = Duration::from_millis(1);

/// See the module.
pub(super) struct Watch<'s> {
    stopped: &'s Stopped,
    limits: &'s Limits,
    all: RefCell<BTreeMap<Co, Rc<Watched>>>,
    /// Tells that there is someone again.
    arrival: (Sender<()>, Receiver<()>),
}

/// A connection that is looked after.
pub(super) struct Watched {
    stream: TcpStream,
    does: Cell<Does>,
    until: Cell<Time>,
}

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// It waits for a request.
    Wait,
    /// It answers one.
    Answer,
    /// Something that has a limit of its own.
    Other,
}

/// Looks after a connection as long as this is there.
pub(super) struct Guard<'w> {
    watch: &'w Watch<'w>,
    co: Co,
    watched: Rc<Watched>,
}

impl<'s> Watch<'s> {
    pub(super) fn new(stopped: &'s Stopped, limits: &'s Limits) -> Watch<'s> {
        Watch { stopped, limits, all: RefCell::default(), arrival: bounded(1) }
    }

    /// Looks after the calling coroutine, and the connection that it serves.
    pub(super) fn enter(&self, stream: TcpStream) -> Guard<'_> {
        let co = current().expect("a connection is served by a coroutine");
        let watched =
            Watched { stream, does: Cell::new(Does::Other), until: Cell::new(Time::NEVER) };
        let watched = Rc::new(watched);
        self.all.borrow_mut().insert(co, watched.clone());
        let guard = Guard { watch: self, co, watched };
        if self.all.borrow().len() == 1 {
            // If that was told already, it need not be told again.
            let _told = self.arrival.0.try_send(());
        }
        guard
    }

    /// Looks after all of them, until it is cancelled.
    pub(super) fn run(&self) {
        while !self.is_told_to_stop() {}
        for watched in self.all.borrow().values() {
            if watched.does.get() == Does::Wait {
                watched.until.set(Time::START);
            }
        }
        loop {
            match self.look() {
                Some(next) => sleep_until(next),
                None => drop(self.arrival.1.recv()),
            }
        }
    }

    /// Waits for the order to stop, or until someone can be late.
    fn is_told_to_stop(&self) -> bool {
        let (order, arrival) = (self.stopped.order(), &self.arrival.1);
        let is_told = match self.look() {
            Some(next) => select! {
                recv(order) -> _ => true,
                after(next.since(now())) => false,
            },
            None => select! {
                recv(order) -> _ => true,
                recv(arrival) -> _ => false,
            },
        };
        is_told.unwrap_or(true)
    }

    /// Does something about those who are late. When to look again, if there is anyone.
    fn look(&self) -> Option<Time> {
        let now = now();
        let is_late = |(_, watched): &(&Co, &Rc<Watched>)| watched.until.get() <= now;
        let own = |(co, watched): (&Co, &Rc<Watched>)| (*co, watched.clone());
        // Under exploration others may run, and end, while something is done about one.
        let late: Vec<_> = self.all.borrow().iter().filter(is_late).map(own).collect();
        for (co, watched) in late {
            // Who is about to read a request does something else when it is looked at again.
            if watched.does.get() == Does::Answer || !watched.has_something() {
                watched.until.set(Time::NEVER);
                cancel(co);
            }
        }
        let first = self.all.borrow().values().map(|watched| watched.until.get()).min()?;
        let shortest = self.limits.idle.min(self.limits.request);
        Some(first.min(now + shortest).max(now + PAUSE))
    }
}

impl Watched {
    /// Whether there is something to read.
    fn has_something(&self) -> bool {
        self.stream.readable().is_ready()
    }

    fn does(&self, what: Does, until: Time) {
        self.does.set(what);
        self.until.set(until);
    }
}

impl Guard<'_> {
    /// It waits for a request now. Whether it may: not after the order to stop, unless one has come.
    pub(super) fn waits(&self) -> bool {
        if self.watch.stopped.is_now() && !self.watched.has_something() {
            return false;
        }
        self.watched.does(Does::Wait, now() + self.watch.limits.idle);
        true
    }

    /// A request has begun to come.
    pub(super) fn reads(&self) {
        self.watched.does(Does::Other, Time::NEVER);
    }

    /// It answers a request now.
    pub(super) fn answers(&self) {
        self.watched.does(Does::Answer, now() + self.watch.limits.request);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.watch.all.borrow_mut().remove(&self.co);
    }
}
