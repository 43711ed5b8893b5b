//! What has become of a system's coroutines.

use core::fmt;
use core::panic::Location;
use std::any::Any;

use crate::core::Core;
use crate::{Co, Name, Reason, State, Time};

/// A panic that nobody waits for.
#[non_exhaustive]
pub struct Failure {
    /// Whose it was.
    pub co: Co,
    /// Its name.
    pub name: Name,
    /// What it panicked with.
    pub payload: Box<dyn Any + Send>,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({})", self.name.or_id(self.co.bits()))
    }
}

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
    /// Where it was spawned.
    pub site: &'static Location<'static>,
    /// When it was spawned.
    pub born: Time,
}

impl fmt::Display for Alive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, spawned at {}", self.shown(), self.state, self.site)
    }
}

/// How many coroutines have ended, and how; who is left.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Since the system was made: all that were spawned.
    pub spawned: u64,
    /// Those that returned.
    pub returned: u64,
    /// Those that panicked.
    pub panicked: u64,
    /// Those that were made to exit.
    pub exited: u64,
    /// Those that were removed, because nobody could ever have woken them.
    pub removed: u64,
    /// Those that caught their exit again and again: their stacks are leaked.
    pub given_up: u64,
    /// Those that are left.
    pub alive: Vec<Alive>,
    /// Panics since the last report that nobody waits for.
    pub failures: Vec<Failure>,
}

impl Core {
    /// What has become of its coroutines so far. Takes the failures.
    pub(crate) fn report(&self) -> Report {
        let counts = self.counts.get();
        let alive = self.tasks.iter().map(|(co, task)| {
            let about = task.about.borrow();
            let (name, site, born) = (about.name.clone(), about.site, about.born);
            Alive { co, name, state: task.state(), site, born }
        });
        Report {
            spawned: counts.spawned,
            returned: counts.returned,
            panicked: counts.panicked,
            exited: counts.exited,
            removed: counts.removed,
            given_up: counts.given_up,
            alive: alive.collect(),
            failures: self.failures.take(),
        }
    }
}

impl Report {
    /// Both together.
    pub(crate) fn and(mut self, other: Report) -> Report {
        self.spawned += other.spawned;
        self.returned += other.returned;
        self.panicked += other.panicked;
        self.exited += other.exited;
        self.removed += other.removed;
        self.given_up += other.given_up;
        self.alive.extend(other.alive);
        self.failures.extend(other.failures);
        self
    }
}

impl Report {
    /// Those who wait for each other in a circle, so that none of them can ever go on. Each circle
    /// begins with whoever was spawned first.
    pub fn cycles(&self) -> Vec<Vec<&Alive>> {
        let waits_for = |alive: &Alive| match alive.state {
            State::Parked(Reason::Joining(other)) => other,
            State::Calling(callee) => Some(callee),
            _ => None,
        };
        let find = |co: Co| self.alive.iter().find(|alive| alive.co == co);
        let mut cycles: Vec<Vec<&Alive>> = Vec::new();
        for first in &self.alive {
            if cycles.iter().flatten().any(|seen| seen.co == first.co) {
                continue;
            }
            let mut circle = vec![first];
            let mut next = waits_for(first).and_then(find);
            while let Some(alive) = next {
                if alive.co == first.co {
                    cycles.push(circle);
                    break;
                }
                if circle.iter().any(|seen| seen.co == alive.co) {
                    break;
                }
                circle.push(alive);
                next = waits_for(alive).and_then(find);
            }
        }
        cycles
    }
}

impl Alive {
    fn shown(&self) -> String {
        self.name.as_str().map_or_else(|| self.co.to_string(), |name| format!("'{name}'"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} spawned, {} returned", self.spawned, self.returned)?;
        for (count, how) in [
            (self.panicked, "panicked"),
            (self.exited, "exited"),
            (self.removed, "removed"),
            (self.given_up, "given up"),
            (self.alive.len() as u64, "left"),
        ] {
            if count > 0 {
                write!(f, ", {count} {how}")?;
            }
        }
        for alive in &self.alive {
            write!(f, "\n  {alive}")?;
        }
        for circle in self.cycles() {
            write!(f, "\n  a circle: {}", circle[0].shown())?;
            for alive in circle[1..].iter().chain(&circle[..1]) {
                write!(f, " waits for {}", alive.shown())?;
            }
        }
        Ok(())
    }
}

/// Nobody can ever run again, but some have not ended.
#[derive(Debug)]
pub struct Deadlock {
    /// Who is left, and what each waits for.
    pub report: Report,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock: nobody can ever run again; {}", self.report)
    }
}

impl std::error::Error for Deadlock {}

/// A system was shut down, but some of its cores have not stopped in time.
#[derive(Debug)]
#[non_exhaustive]
pub struct Stopped {
    /// What became of the coroutines of those that have.
    pub report: Report,
    /// How many have not: each runs a coroutine that neither ends nor waits.
    pub busy: usize,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (busy, report) = (self.busy, &self.report);
        write!(f, "{busy} core(s) run a coroutine that neither ends nor waits; {report}")
    }
}

impl std::error::Error for Stopped {}
