//! What is said of coroutines and objects, for people.
//!
//! Coroutines are called by their names, or numbered in the order in which the log first speaks of
//! them; objects likewise. So the numbers are those of the log's text.

use std::collections::HashMap;

use leno_kernel::log::{Log, What};
use leno_kernel::policy::Why;
use leno_kernel::{Co, Object, Reason};

use crate::Names;

/// Numbers and names, as far as the log was read.
pub(crate) struct Words<'a> {
    log: &'a Log,
    names: &'a Names,
    cos: HashMap<Co, usize>,
    order: Vec<Co>,
    objects: HashMap<Object, usize>,
}

impl<'a> Words<'a> {
    pub(crate) fn new(log: &'a Log, names: &'a Names) -> Words<'a> {
        let (cos, objects) = (HashMap::new(), HashMap::new());
        Words { log, names, cos, order: Vec::new(), objects }
    }

    /// The number of a coroutine, from 0.
    pub(crate) fn number(&mut self, co: Co) -> usize {
        *self.cos.entry(co).or_insert_with(|| {
            self.order.push(co);
            self.order.len() - 1
        })
    }

    /// The coroutines that were spoken of, by number.
    pub(crate) fn cos(&self) -> &[Co] {
        &self.order
    }

    /// Its name, or a number instead.
    pub(crate) fn co(&mut self, co: Co) -> String {
        let number = self.number(co) + 1;
        match self.log.name(co).and_then(|name| name.as_str()) {
            Some(name) => name.to_owned(),
            None => format!("coroutine {number}"),
        }
    }

    fn object(&mut self, object: Object) -> String {
        let next = self.objects.len() + 1;
        let number = *self.objects.entry(object).or_insert(next);
        self.names.get(object).map_or_else(|| format!("object {number}"), str::to_owned)
    }

    /// What one who parks for this waits for.
    pub(crate) fn waits(&mut self, reason: Reason) -> String {
        match reason {
            Reason::Passive => "waits to be unparked".to_owned(),
            Reason::Hungry(object) | Reason::Expecting(object) => {
                format!("waits to receive from {}", self.object(object))
            }
            Reason::Blocked(object) => format!("waits to send to {}", self.object(object)),
            Reason::Choosing(object) => format!("waits in select {}", self.object(object)),
            Reason::Entry(object) => format!("waits for a call of {}", self.object(object)),
            Reason::Lock(object) => format!("waits for lock {}", self.object(object)),
            Reason::Answer(object) => format!("waits for the answer of {}", self.object(object)),
            Reason::Joining(Some(co)) | Reason::JoiningOutside(Some(co)) => {
                format!("waits for the end of {}", self.co(co))
            }
            Reason::Sleeping => "sleeps".to_owned(),
            other => other.to_string().replacen("waiting", "waits", 1),
        }
    }

    /// What has happened, in words that follow the name of who did it.
    pub(crate) fn what(&mut self, what: &What) -> String {
        match what {
            What::Spawned { co, .. } => format!("spawns {}", self.co(*co)),
            What::Runs => "runs".to_owned(),
            What::Yielded => "yields".to_owned(),
            What::Parked(reason) => self.waits(*reason),
            What::Calls(co) => format!("calls {}", self.co(*co)),
            What::Woke { co, why } => format!("wakes {}{}", self.co(*co), because(*why)),
            What::Ended(outcome) => format!("ends: {outcome}"),
            What::Chose { kind, object, took, of } => {
                let kind = format!("{kind:?}").to_lowercase();
                let at = object.map_or(String::new(), |o| format!(" at {}", self.object(o)));
                format!("chooses {kind} {took} of {of}{at}")
            }
            What::Begins(operation, object) => {
                format!("begins: {operation} on {}", self.object(*object))
            }
            What::Does(operation, object) => format!("{operation} on {}", self.object(*object)),
            What::Fails(operation, object) => {
                format!("fails: {operation} on {}", self.object(*object))
            }
            What::Marked(word) => word.as_str().unwrap_or_default().to_owned(),
            other => format!("{other:?}"),
        }
    }
}

/// Why it was woken, if that is not plain.
fn because(why: Why) -> &'static str {
    match why {
        Why::Spawned => ": it begins",
        Why::Time => ": its time has come",
        Why::Exit => ": it is to exit",
        _ => "",
    }
}
