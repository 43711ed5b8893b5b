//! What has happened, in order: who ran, parked and woke whom, what was sent, chosen, ended.
//!
//! A system that is built with a log keeps the last events of each core. Without one, each event
//! costs a branch. Events of one core are in the order in which they happened; those of several
//! cores are merged by time.
//!
//! As text, coroutines and objects are called by their names, or numbered in the order in which the
//! log first speaks of them. So two runs that do the same give the same text.

mod event;
mod ring;

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;

pub use event::{Event, Operation, What};
pub(crate) use ring::Ring;

use crate::core::Core;
use crate::layer::Sign;
use crate::policy::ChoiceKind;
use crate::raw::entered::{self, Here};
use crate::{Co, Name, Object, Reason, State};

/// What has happened in a system, the oldest first.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Options, yield_now};
///
/// let system = LocalSystem::builder().virtual_time().log(1_000).build();
/// drop(system.spawn_with(&Options::new().name("cook"), || yield_now())?);
/// system.run()?;
/// let log = system.log().to_string();
/// assert!(log.contains("'cook' yields"), "{log}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Log {
    events: Vec<Event>,
    lost: u64,
    /// Of those that were alive when the log was taken; for others their spawning tells.
    names: HashMap<Co, Name>,
    /// What objects were called when something was done to them.
    objects: HashMap<Object, Arc<Name>>,
}

/// An event in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Who did it.
    pub by: String,
    /// What it did.
    pub what: String,
}

impl Log {
    /// The events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How many older events were not kept.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The name of a coroutine, as far as the log knows.
    pub fn name(&self, co: Co) -> Option<&Name> {
        self.names.get(&co)
    }

    /// The name of an object, as far as the log knows.
    pub fn object_name(&self, object: Object) -> Option<&Name> {
        self.objects.get(&object).map(|name| &**name)
    }

    /// One that knows only names.
    pub(crate) fn of_names(names: Vec<(Co, Name)>) -> Log {
        Log { names: names.into_iter().collect(), ..Log::default() }
    }

    /// Each event in words.
    pub fn lines(&self) -> Vec<Line> {
        let mut words = Words { log: self, cos: HashMap::new(), objects: HashMap::new() };
        let line = |event: &Event| {
            let by = event.by.map_or("outside".to_owned(), |co| words.co(co));
            Line { by, what: words.what(&event.what) }
        };
        self.events.iter().map(line).collect()
    }

    /// Both, merged by time.
    pub(crate) fn and(mut self, other: Log) -> Log {
        self.events.extend(other.events);
        // Stable: the events of a core stay in their order.
        self.events.sort_by_key(|event| event.at);
        self.lost += other.lost;
        self.names.extend(other.names);
        self.objects.extend(other.objects);
        self
    }
}

impl Core {
    /// Writes an event down, if there is a log.
    #[inline(always)]
    pub(crate) fn log(&self, by: Option<Co>, what: impl FnOnce() -> What) {
        if let Some(ring) = self.observation.log() {
            self.write_down(ring, by, what());
        }
    }

    #[cold]
    #[inline(never)]
    fn write_down(&self, ring: &Ring, by: Option<Co>, what: What) {
        let (at, core) = (self.clock.in_operation(), self.number());
        ring.add(Event { at, core, by, what });
    }

    /// What has happened on it; nothing, if there is no log.
    pub(crate) fn take_log(&self) -> Log {
        let Some(ring) = self.observation.log() else { return Log::default() };
        let (events, lost) = ring.snapshot();
        let mut names: HashMap<Co, Name> = HashMap::new();
        for event in &events {
            if let What::Spawned { co, name, .. } = &event.what {
                names.insert(*co, name.clone());
            }
        }
        names.extend(self.tasks.iter().map(|(co, task)| (co, task.about.borrow().name.clone())));
        Log { events, lost, names, objects: ring.names() }
    }
}

/// Whether what happens in the calling code is written down.
#[inline]
pub fn is_on() -> bool {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => inside.core.observation.log().is_some(),
        Here::Future(core, _) => core.observation.log().is_some(),
        Here::Thread => false,
    })
}

/// Writes down what the calling coroutine does, if its system has a log.
pub fn add(what: impl FnOnce() -> What) {
    if !is_on() {
        return;
    }
    // Code of a user, which may suspend the calling code: nothing refers to the core meanwhile.
    let what = what();
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => inside.core.log(Some(inside.co), || what),
        Here::Future(core, co) => core.log(Some(co), || what),
        Here::Thread => {}
    });
}

/// Lets the log of the calling coroutine's system call something by its name, if it has one.
pub fn call_by_name(sign: &Sign) {
    let ring = |core: &Core| {
        if let Some(ring) = core.observation.log()
            && let Some(name) = sign.name()
        {
            ring.call(sign.object(), name);
        }
    };
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => ring(inside.core),
        Here::Future(core, _) => ring(core),
        Here::Thread => {}
    });
}

/// Writes a word of one's own into the log of the calling coroutine's system, if it has one.
pub fn mark(word: impl Into<Name>) {
    add(|| What::Marked(word.into()));
}

/// Numbers coroutines and objects in the order in which they are first spoken of.
struct Words<'a> {
    log: &'a Log,
    cos: HashMap<Co, usize>,
    objects: HashMap<Object, usize>,
}

impl Words<'_> {
    fn co(&mut self, co: Co) -> String {
        let next = self.cos.len() + 1;
        let number = *self.cos.entry(co).or_insert(next);
        match self.log.name(co).and_then(Name::as_str) {
            Some(name) => format!("'{name}'"),
            None => format!("coroutine {number}"),
        }
    }

    fn object(&mut self, object: Object) -> String {
        let next = self.objects.len() + 1;
        let number = *self.objects.entry(object).or_insert(next);
        match self.log.object_name(object).and_then(Name::as_str) {
            Some(name) => format!("'{name}'"),
            None => format!("object {number}"),
        }
    }

    fn state(&mut self, reason: Reason) -> String {
        match reason {
            Reason::Hungry(object) => format!("to receive from {}", self.object(object)),
            Reason::Expecting(object) => {
                format!("to receive from {}, or for its close", self.object(object))
            }
            Reason::Blocked(object) => format!("to send to {}", self.object(object)),
            Reason::Choosing(object) => format!("in select {}", self.object(object)),
            Reason::Entry(object) => format!("for a call of {}", self.object(object)),
            Reason::Lock(object) => format!("for {}", self.object(object)),
            Reason::Answer(object) => format!("for the answer of {}", self.object(object)),
            Reason::Joining(Some(co)) | Reason::JoiningOutside(Some(co)) => {
                format!("for the end of {}", self.co(co))
            }
            other => State::Parked(other).to_string(),
        }
    }

    fn what(&mut self, what: &What) -> String {
        match what {
            What::Spawned { co, site, .. } => format!("spawns {} at {site}", self.co(*co)),
            What::Runs => "runs".to_owned(),
            What::Yielded => "yields".to_owned(),
            What::Parked(reason) => format!("parks: {}", self.state(*reason)),
            What::Calls(co) => format!("calls {}", self.co(*co)),
            What::Woke { co, why } => format!("wakes {} ({why:?})", self.co(*co)),
            What::Ended(outcome) => format!("ends: {outcome}"),
            What::Chose { kind, object, took, of } => {
                let about =
                    object.map_or(String::new(), |object| format!(" at {}", self.object(object)));
                format!("chooses {}{about}", choice(*kind, *took, *of))
            }
            What::Begins(operation, object) => {
                format!("begins {operation} on {}", self.object(*object))
            }
            What::Does(operation, object) => {
                format!("does {operation} on {}", self.object(*object))
            }
            What::Fails(operation, object) => {
                format!("fails to {operation} on {}", self.object(*object))
            }
            What::Marked(word) => format!("says: {}", word.as_str().unwrap_or_default()),
        }
    }
}

/// What was chosen, in words.
fn choice(kind: ChoiceKind, took: usize, of: usize) -> String {
    let number = took + 1;
    match kind {
        ChoiceKind::Waiter => format!("waiter {number} of {of}"),
        ChoiceKind::Alternative => format!("alternative {number} of {of}"),
        ChoiceKind::Timer => format!("timer {number} of {of}"),
        ChoiceKind::Victim => format!("core {number} of {of} to take work from"),
        ChoiceKind::After if took == 0 => "to run on".to_owned(),
        ChoiceKind::After => "to let the other run first".to_owned(),
        ChoiceKind::Network => format!("way {number} of {of} of the network"),
        ChoiceKind::Slice if took == 0 => "that its slice goes on".to_owned(),
        ChoiceKind::Slice => "that its slice is over".to_owned(),
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lost > 0 {
            writeln!(f, "({} older events were not kept)", self.lost)?;
        }
        for (event, line) in self.events.iter().zip(self.lines()) {
            writeln!(f, "{} {} {}", event.at, line.by, line.what)?;
        }
        Ok(())
    }
}
