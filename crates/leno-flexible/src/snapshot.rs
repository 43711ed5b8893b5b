//! A system as it is, and who waits for whom.

use core::fmt;
use std::sync::Arc;

use crate::policy::Pending;
use crate::{Label, Party, State};

/// A coroutine as it was when someone looked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Its name.
    pub name: Arc<str>,
    /// What it was doing.
    pub state: State,
    /// To whom it was attached.
    pub caller: Option<Party>,
    /// Whom it had called.
    pub callee: Option<Arc<str>>,
    /// Its local set, in order of arrival.
    pub requests: Vec<Pending>,
}

impl Seen {
    /// Whether it could not serve a call at once: it is active, waiting or attached, has called someone,
    /// or waits for something outside.
    pub fn is_busy(&self) -> bool {
        self.state != State::Idle || self.caller.is_some()
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.name, self.state)
    }
}

/// A system as it was when someone looked.
///
/// # Examples
/// ```
/// let system = leno_flexible::System::new();
/// let _m = system.create("m", |me: &mut leno_flexible::Me<(), ()>| me.passivate());
/// assert_eq!(system.snapshot().to_string(), "m[IDLE]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its coroutines.
    pub coroutines: Vec<Seen>,
    /// Those that were waiting, in order of arrival.
    pub queue: Vec<Arc<str>>,
}

/// Somebody who waited for a coroutine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocked {
    /// Who.
    pub who: Party,
    /// For whom.
    pub on: Arc<str>,
    /// What that one was doing.
    pub state: State,
    /// Whether that one was serving it; else its call was pending.
    pub is_served: bool,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.to_string().to_lowercase();
        write!(f, "{} waits on {} ({state})", self.who, self.on)?;
        if self.is_served { Ok(()) } else { f.write_str(", which does not serve it yet") }
    }
}

impl Snapshot {
    /// Whether nobody was active, waiting, or could come back from outside: only a thread could make
    /// anything happen.
    pub fn is_at_rest(&self) -> bool {
        let busy = [State::Active, State::Waiting, State::Parked];
        !self.coroutines.iter().any(|own| busy.contains(&own.state))
    }

    /// Who waited for whom. If the system was [at rest](Self::is_at_rest), none of them will go on unless
    /// another thread calls or kicks the right one.
    pub fn blocked(&self) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        for own in &self.coroutines {
            let pending = own.requests.iter().filter(|request| request.label == Label::Call);
            let pending = pending.map(|request| (&request.from, false));
            let served = own.caller.iter().map(|caller| (caller, true));
            blocked.extend(served.chain(pending).map(|(who, is_served)| Blocked {
                who: who.clone(),
                on: own.name.clone(),
                state: own.state,
                is_served,
            }));
        }
        blocked
    }

    /// The coroutine of this name; the first, if there are several.
    pub fn get(&self, name: &str) -> Option<&Seen> {
        self.coroutines.iter().find(|own| &*own.name == name)
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, own) in self.coroutines.iter().enumerate() {
            write!(f, "{}{own}", if place == 0 { "" } else { " " })?;
        }
        for blocked in self.blocked() {
            write!(f, "\n  {blocked}")?;
        }
        Ok(())
    }
}
