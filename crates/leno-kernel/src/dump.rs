//! A dump: every coroutine of a system as it is now. Its text is for a bug report.
//!
//! A *report* says what has become of everyone, and takes the failures along; a *dump* says what
//! those who are alive are doing, and changes nothing. A core answers for its own coroutines. One
//! that does not answer is shown as it is seen from outside, by its window.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;

use crate::alive::{self, Alive, Exits};
use crate::ask::{Deadline, PATIENCE, ask};
use crate::core::Core;
use crate::frames;
use crate::mailbox::{self, Mailbox};
use crate::report::{Busy, Report};
use crate::system::Team;
use crate::window::{Title, Window};
use crate::{Co, Platform, State, Time};

/// How much a dump says of each coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Depth {
    /// What it does, for how long, what it waits for and who could wake it.
    #[default]
    States,
    /// That, and where: a backtrace of each that is suspended on a stack of its own. It takes some
    /// microseconds each, and its core's time.
    Frames,
}

/// Every coroutine of a system, or of all systems of the process, as they were when it was taken.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Options, dump::Depth, spawn_local, yield_now};
///
/// let system = LocalSystem::new();
/// drop(system.spawn_with(&Options::new().name("reader"), || {
///     let writer = spawn_local(yield_now);
///     writer.join().unwrap();
/// })?);
/// assert_eq!(system.dump(Depth::States).alive().next().unwrap().name.as_str(), Some("reader"));
/// println!("{}", system.dump(Depth::Frames));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Dump {
    /// The cores that have answered, by system.
    pub cores: Vec<CoreDump>,
    /// The cores that have not, as they are seen from outside.
    pub busy: Vec<Busy>,
}

/// What a [`Dump`] says of one core.
#[derive(Debug)]
#[non_exhaustive]
pub struct CoreDump {
    /// Its number.
    pub core: u32,
    /// Whether it is no core, but the futures of a system that any core of it may poll.
    pub is_team: bool,
    /// What time it is there.
    pub now: Time,
    /// Whether that time is virtual.
    pub is_virtual: bool,
    /// Who decides what runs next.
    pub policy: String,
    /// What has become of its coroutines; without failures, which are left where they are.
    pub report: Report,
    title: Arc<Title>,
}

impl Core {
    pub(crate) fn dump(&self, depth: Depth) -> CoreDump {
        CoreDump {
            core: self.number(),
            is_team: false,
            now: self.clock.in_operation(),
            is_virtual: self.clock.is_virtual(),
            policy: self.policy_name(),
            report: self.survey(depth),
            title: self.observation.window().title.clone(),
        }
    }
}

impl Team {
    /// Its movable futures.
    fn dump(&self) -> CoreDump {
        CoreDump {
            core: self.movables.number(),
            is_team: true,
            now: self.clock.now(),
            is_virtual: false,
            policy: String::new(),
            report: self.movables.report(),
            title: self.title.clone(),
        }
    }
}

impl Dump {
    /// Every coroutine in it.
    pub fn alive(&self) -> impl Iterator<Item = &Alive> {
        self.cores.iter().flat_map(|core| &core.report.alive)
    }

    /// Those who wait for each other in a circle, by joins, calls and locks, so that none of them can
    /// ever go on. Each circle is named once.
    pub fn cycles(&self) -> Vec<Vec<&Alive>> {
        alive::cycles(self.alive())
    }

    /// Asks these cores, all at once.
    pub(crate) fn of(cores: Vec<(&'static Mailbox, Arc<Window>)>, depth: Depth) -> Dump {
        let deadline = Deadline::after(PATIENCE);
        let answers: Vec<_> = cores
            .into_iter()
            .map(|(mailbox, window)| {
                // Nobody reads its mail; whoever has the system can ask it.
                let answer =
                    window.is_run().then(|| ask(mailbox, move |core| core.dump(depth), |_, _| ()));
                (window, answer)
            })
            .collect();
        let mut dump = Dump::default();
        for (window, answer) in answers {
            match answer.and_then(|answer| answer.wait_until(deadline)) {
                Some(core) => dump.cores.push(core),
                None => dump.busy.push(window.look(PATIENCE)),
            }
        }
        dump
    }
}

impl Dump {
    /// And those that are no core's, after the cores of their system.
    pub(crate) fn and_futures(mut self, team: &Team) -> Dump {
        let futures = team.dump();
        if futures.report.spawned > 0 {
            self.cores.push(futures);
            self.cores.sort_by_key(|core| (core.title.object, core.is_team));
        }
        self
    }
}

/// Every coroutine of every system of the process.
///
/// # Blocking
/// Until each core has answered, or a second has passed; one that is busy longer is shown as it is
/// seen from outside. A [`LocalSystem`](crate::LocalSystem) that nobody runs is named, not more. Programs
/// that are explored meanwhile are left out: a question would be a step of theirs that nobody decides.
pub fn dump_all(depth: Depth) -> Dump {
    let mut cores = mailbox::with_windows();
    cores.retain(|(mailbox, _)| mailbox.is_of_this_world());
    cores.sort_by_key(|(mailbox, window)| (window.title.object, mailbox.number));
    let dump = Dump::of(cores, depth);
    mailbox::teams().iter().fold(dump, |dump, team| dump.and_futures(team))
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: HashMap<Co, String> =
            self.alive().map(|alive| (alive.co, numbered(alive))).collect();
        let name = |co: Co| names.get(&co).cloned().unwrap_or_else(|| co.to_string());
        let mut system = None;
        for core in &self.cores {
            if system != Some(core.title.object) {
                let Title { name, cores, .. } = &*core.title;
                let s = if *cores == 1 { "" } else { "s" };
                writeln!(f, "system '{name}', {cores} core{s}")?;
            }
            system = Some(core.title.object);
            core.write(f, &name)?;
        }
        for busy in &self.busy {
            writeln!(f, "{busy}")?;
        }
        for circle in self.cycles() {
            alive::write_circle(f, &circle)?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl CoreDump {
    fn write(&self, f: &mut fmt::Formatter<'_>, name: &impl Fn(Co) -> String) -> fmt::Result {
        let (core, now, policy) = (self.core, self.now, &self.policy);
        let kind = if self.is_virtual { " of virtual time" } else { "" };
        if self.is_team {
            writeln!(f, "any core at {now}, by turns: {}", self.report.counts())?;
        } else {
            writeln!(f, "core {core} at {now}{kind}, {policy}: {}", self.report.counts())?;
        }
        for alive in &self.report.alive {
            self.write_alive(f, alive, name)?;
        }
        Ok(())
    }

    fn write_alive(
        &self,
        f: &mut fmt::Formatter<'_>,
        alive: &Alive,
        name: &impl Fn(Co) -> String,
    ) -> fmt::Result {
        let kind = if alive.is_future { ", a future," } else { "" };
        write!(f, "  {}{kind} is {}", numbered(alive), alive.doing())?;
        // When a turn began is not written down: it would cost each turn.
        if alive.state != State::Running {
            write!(f, " for {}", Age(self.now.since(alive.since)))?;
        }
        writeln!(f, "{}", Exits(alive.exits))?;
        if let Some(others) = alive.woken_by(name) {
            writeln!(f, "    to be woken by {others}")?;
        }
        let age = Age(self.now.since(alive.born));
        writeln!(f, "    alive for {age}, spawned at {}", alive.site)?;
        let Some(backtrace) = &alive.backtrace else { return Ok(()) };
        for frame in frames::trimmed(backtrace) {
            let mut lines = frame.lines();
            writeln!(f, "    in {}", lines.next().unwrap_or_default())?;
            lines.try_for_each(|line| writeln!(f, "       {line}"))?;
        }
        Ok(())
    }
}

/// Name and number.
fn numbered(alive: &Alive) -> String {
    match alive.name.as_str() {
        Some(name) => format!("'{name}' ({})", alive.co),
        None => alive.co.to_string(),
    }
}

struct Age(Duration);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?}", self.0)
    }
}
