//! What has become of a system's coroutines.

use core::fmt;

use leno_context::user::Panic;

use crate::alive;
pub use crate::alive::{Alive, Busy};
use crate::core::Core;
use crate::dump::Depth;
use crate::{Co, Name};

/// A panic that nobody waits for.
#[non_exhaustive]
pub struct Failure {
    /// Whose it was.
    pub co: Co,
    /// Its name.
    pub name: Name,
    /// What it panicked with.
    pub payload: Panic,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.payload.message().unwrap_or("not with text");
        write!(f, "Failure({} panicked: {text})", self.name.or_id(self.co.bits()))
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
    /// Those that were made to exit when nobody could run, though the world knew an end by which it
    /// could have woken them.
    pub zombies: u64,
    /// Those that caught their exit again and again: their stacks are leaked.
    pub given_up: u64,
    /// Those that are left.
    pub alive: Vec<Alive>,
    /// Cores that have not answered; what became of their coroutines is not in the report.
    pub busy: Vec<Busy>,
    /// Panics since the last report that nobody waits for: the handle had been dropped when it happened. One that is
    /// dropped later takes the panic with it.
    pub failures: Vec<Failure>,
}

impl Core {
    /// What has become of its coroutines so far. Takes the failures.
    pub(crate) fn report(&self) -> Report {
        Report { failures: self.endings.take_failures(), ..self.survey(Depth::States) }
    }

    /// A report has come too late for whoever has asked for it: its failures are for the next one.
    pub(crate) fn take_back(&self, report: Report) {
        self.endings.put_failures_back(report.failures);
    }

    /// The same without failures, which stay.
    pub(crate) fn survey(&self, depth: Depth) -> Report {
        let counts = self.observation.counts();
        Report {
            spawned: counts.spawned,
            returned: counts.returned,
            panicked: counts.panicked,
            exited: counts.exited,
            removed: counts.removed,
            zombies: counts.zombies,
            given_up: counts.given_up,
            alive: self.alive(depth),
            busy: Vec::new(),
            failures: Vec::new(),
        }
    }
}

impl Report {
    /// Drops it. Payloads of panics are a user's, and may panic when they are dropped.
    pub(crate) fn dispose(self) {
        drop(self.failures);
    }

    /// Both together.
    pub(crate) fn and(mut self, other: Report) -> Report {
        self.spawned += other.spawned;
        self.returned += other.returned;
        self.panicked += other.panicked;
        self.exited += other.exited;
        self.removed += other.removed;
        self.zombies += other.zombies;
        self.given_up += other.given_up;
        self.alive.extend(other.alive);
        self.busy.extend(other.busy);
        self.failures.extend(other.failures);
        self
    }
}

impl Report {
    /// Those who wait for each other in a circle, by joins, calls and locks, so that none of them can
    /// ever go on. Each circle is named once, and begins with whoever is listed first.
    pub fn cycles(&self) -> Vec<Vec<&Alive>> {
        alive::cycles(self.alive.iter())
    }

    /// How many there were, and what became of them.
    pub(crate) fn counts(&self) -> String {
        let mut text = format!("{} spawned, {} returned", self.spawned, self.returned);
        for (count, how) in [
            (self.panicked, "panicked"),
            (self.exited, "exited"),
            (self.zombies, "of them zombies"),
            (self.removed, "removed"),
            (self.given_up, "given up"),
            (self.alive.len() as u64, "left"),
        ] {
            if count > 0 {
                text += &format!(", {count} {how}");
            }
        }
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.counts())?;
        for alive in &self.alive {
            write!(f, "\n  {alive}")?;
        }
        for busy in &self.busy {
            write!(f, "\n  {busy}")?;
        }
        for circle in self.cycles() {
            f.write_str("\n  ")?;
            alive::write_circle(f, &circle)?;
        }
        Ok(())
    }
}

/// Nobody can ever run again, but some have not ended.
pub struct Deadlock {
    /// Who is left, and what each waits for.
    pub report: Box<Report>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock: nobody can ever run again; {}", self.report)
    }
}

/// As it is told, since this is what `unwrap` and a `main` that returns errors print.
impl fmt::Debug for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Deadlock {}

/// A system was shut down, but some of its coroutines have not stopped in time.
#[non_exhaustive]
pub struct Stopped {
    /// What became of the others, who is left, and which cores do not answer: each of those runs a
    /// coroutine that neither ends nor waits.
    pub report: Box<Report>,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, busy) = (self.report.alive.len(), self.report.busy.len());
        f.write_str("not stopped in time: ")?;
        if busy > 0 {
            let s = if busy == 1 { "" } else { "s" };
            write!(f, "{busy} core{s} with a coroutine that neither ends nor waits; ")?;
        }
        if left > 0 {
            let s = if left == 1 { " that waits" } else { "s that wait" };
            write!(f, "{left} coroutine{s}; ")?;
        }
        fmt::Display::fmt(&self.report, f)
    }
}

/// As it is told; see [`Deadlock`].
impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Stopped {}
