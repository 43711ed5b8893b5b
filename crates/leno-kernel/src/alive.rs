//! A coroutine that is alive, as reports and dumps show it; and who waits for whom in a circle.

use core::fmt;
use core::panic::Location;
use core::time::Duration;
use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::sync::Arc;

use crate::core::{Core, Exit, Task};
use crate::dump::Depth;
use crate::ledger::{End, Knower, Side};
use crate::sign::Shown;
use crate::{Co, Name, Reason, State, Time};

/// A coroutine that is alive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Alive {
    /// Which one.
    pub co: Co,
    /// Its name.
    pub name: Name,
    /// What it is doing.
    pub state: State,
    /// Since when, roughly: its core looks at the clock once for some turns.
    pub since: Time,
    /// Where it was spawned.
    pub site: &'static Location<'static>,
    /// When it was spawned; when a core took it, if it was spawned for any core.
    pub born: Time,
    /// Whether it is a future, and so has no stack.
    pub is_future: bool,
    /// If it was made to exit and has not yet: how often that was raised in it, and caught.
    pub exits: Option<u8>,
    /// How many wakers of it others hold.
    pub wakers: usize,
    /// What is written on what it waits for.
    pub sign: Option<Shown>,
    /// Who knows the other end of the channel it waits at, if the ledger says.
    pub known_to: Vec<Knower>,
    /// Where it is suspended, if that was asked for and it has a stack.
    pub backtrace: Option<Arc<Backtrace>>,
}

impl Core {
    /// Its coroutines, by slot.
    pub(crate) fn alive(&self, depth: Depth) -> Vec<Alive> {
        let knowers = self.ledger.borrow().knowers();
        let known_to = |state: State| {
            let (channel, side) = match state {
                State::Parked(Reason::Hungry(channel) | Reason::Expecting(channel)) => {
                    (channel, Side::Sending)
                }
                State::Parked(Reason::Blocked(channel)) => (channel, Side::Receiving),
                _ => return Vec::new(),
            };
            knowers.get(&End { channel, side }).cloned().unwrap_or_default()
        };
        let look = |(co, task): (Co, &Task)| Alive {
            known_to: known_to(task.state()),
            ..self.look_at(co, task, depth)
        };
        self.tasks.iter().map(look).collect()
    }

    fn look_at(&self, co: Co, task: &Task, depth: Depth) -> Alive {
        let about = task.about.borrow();
        let is_parked = matches!(task.state(), State::Parked(_));
        Alive {
            co,
            name: about.name.clone(),
            state: task.state(),
            since: task.since.get(),
            site: about.site,
            born: about.born,
            is_future: task.is_future() || self.entry.is_polling(co),
            exits: match task.exit.get() {
                Exit::Asked { raised, .. } => Some(raised),
                Exit::No | Exit::GivenUp => None,
            },
            wakers: task.wakers_held(),
            sign: if is_parked { task.lent.look() } else { None },
            known_to: Vec::new(),
            backtrace: match depth {
                Depth::Frames => task.seat.backtrace().map(Arc::new),
                Depth::States => None,
            },
        }
    }
}

impl Alive {
    /// Its name, or its number if it has none.
    pub(crate) fn shown(&self) -> String {
        shown(self.co, &self.name)
    }

    /// Whom it waits for, if that is one coroutine: the one it joins, has called, or that holds the
    /// lock.
    pub fn waits_for(&self) -> Option<Co> {
        match self.state {
            State::Parked(Reason::Joining(other) | Reason::JoiningOutside(other)) => other,
            State::Parked(Reason::Lock(_)) => self.sign.as_ref()?.holder,
            State::Calling(callee) => Some(callee),
            _ => None,
        }
    }

    /// What it is doing, with the name of what it waits for.
    pub(crate) fn doing(&self) -> String {
        let name = self.sign.as_ref().and_then(|sign| sign.name.as_ref()?.as_str());
        match (self.state, name) {
            (State::Parked(reason), Some(name)) => reason.on(name),
            (state, _) => state.to_string(),
        }
    }

    /// Who could wake it. `name` knows coroutines.
    pub(crate) fn woken_by(&self, name: impl Fn(Co) -> String) -> Option<String> {
        let State::Parked(reason) = self.state else {
            return self.waits_for().map(name);
        };
        if !self.known_to.is_empty() {
            let knower = |knower: &Knower| match knower {
                Knower::Co(co) => name(*co),
                Knower::Parcel(channel) => format!("whoever receives from channel {channel}"),
                Knower::World => "the world".to_owned(),
            };
            return Some(self.known_to.iter().map(knower).collect::<Vec<_>>().join(", "));
        }
        let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        Some(match reason {
            Reason::Joining(other) | Reason::JoiningOutside(other) => other.map(name)?,
            Reason::Hungry(_) | Reason::Expecting(_) => {
                count(self.sign.as_ref()?.senders, "sender")
            }
            Reason::Blocked(_) => count(self.sign.as_ref()?.receivers, "receiver"),
            Reason::Lock(_) => match self.sign.as_ref()?.holder {
                Some(holder) => format!("{}, which holds it", name(holder)),
                None => "whoever holds it".to_owned(),
            },
            Reason::Sleeping => "time".to_owned(),
            Reason::Io | Reason::Descriptor(..) => "the machine".to_owned(),
            Reason::Blocking => "a helper thread".to_owned(),
            Reason::Children => "the last of its children".to_owned(),
            Reason::Future if self.wakers > 0 => count(self.wakers, "waker"),
            Reason::Passive | Reason::Future => "whoever knows it".to_owned(),
            Reason::Scheduling => "one of its sink".to_owned(),
            Reason::Stack => "time, and memory".to_owned(),
            Reason::Answer(_) => "whom it has called".to_owned(),
            Reason::Choosing(_) | Reason::Entry(_) => return None,
        })
    }
}

impl fmt::Display for Alive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}{}", self.shown(), self.doing(), Exits(self.exits))?;
        write!(f, ", spawned at {}", self.site)
    }
}

/// A name, or the number of who has none.
pub(crate) fn shown(co: Co, name: &Name) -> String {
    name.as_str().map_or_else(|| co.to_string(), |name| format!("'{name}'"))
}

/// That one was made to exit.
pub(crate) struct Exits(pub(crate) Option<u8>);

impl fmt::Display for Exits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(0) => f.write_str(", and is to exit"),
            Some(times) => write!(f, ", and is to exit, which it has caught {times} time(s)"),
        }
    }
}

/// Those who wait for each other in a circle. Each circle is named once, and begins with whoever is
/// listed first.
pub(crate) fn cycles<'a>(all: impl Iterator<Item = &'a Alive>) -> Vec<Vec<&'a Alive>> {
    let all: Vec<&Alive> = all.collect();
    let places: HashMap<Co, usize> = all.iter().enumerate().map(|(n, one)| (one.co, n)).collect();
    let next = |n: usize| places.get(&all[n].waits_for()?).copied();
    // In which walk each was come by; everybody waits for one at most, so a walk is a line.
    let mut walks = vec![usize::MAX; all.len()];
    let mut cycles = Vec::new();
    for start in 0..all.len() {
        let mut at = Some(start);
        while let Some(n) = at.filter(|n| walks[*n] == usize::MAX) {
            walks[n] = start;
            at = next(n);
        }
        if let Some(first) = at.filter(|n| walks[*n] == start) {
            let mut circle = vec![first];
            circle.extend(
                core::iter::successors(next(first), |n| next(*n)).take_while(|n| *n != first),
            );
            let least = circle.iter().enumerate().min_by_key(|(_, n)| **n).map_or(0, |(at, _)| at);
            circle.rotate_left(least);
            cycles.push(circle.into_iter().map(|n| all[n]).collect());
        }
    }
    cycles
}

/// A circle, as text.
pub(crate) fn write_circle(f: &mut fmt::Formatter<'_>, circle: &[&Alive]) -> fmt::Result {
    write!(f, "a circle: {}", circle[0].shown())?;
    for alive in circle[1..].iter().chain(&circle[..1]) {
        write!(f, " waits for {}", alive.shown())?;
    }
    Ok(())
}

/// A core that has not answered, as it is seen from outside.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// Its number.
    pub core: u32,
    /// Whether someone runs it: a [`LocalSystem`](crate::LocalSystem) is run by whoever calls `run`.
    pub is_run: bool,
    /// Whom it runs; `None` if its own loop.
    pub co: Option<Co>,
    /// The name of that one; only the beginning of a long one.
    pub name: Name,
    /// Where that one was spawned.
    pub site: Option<&'static Location<'static>>,
    /// How long the turn has lasted, roughly; in virtual time, how long was waited for an answer.
    pub lasted: Duration,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {} does not answer: ", self.core)?;
        let Some(co) = self.co else {
            return f.write_str(if self.is_run {
                "it runs its own loop"
            } else {
                "nobody runs it"
            });
        };
        write!(
            f,
            "it has run {}",
            self.name.as_str().map_or(String::new(), |n| format!("'{n}' "))
        )?;
        match self.site {
            Some(site) => write!(f, "({co}, spawned at {site})")?,
            None => write!(f, "({co})")?,
        }
        write!(f, " for {:.1?}", self.lasted)
    }
}
