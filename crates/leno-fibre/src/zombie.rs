//! Fibres that are left when nothing can run.

use core::fmt;
use std::collections::HashMap;

use leno_kernel::layer::ledger::Knower;
use leno_kernel::report::Alive;
use leno_kernel::{Co, Object, Reason, State};

/// A fibre that waited when nothing could run any more, though someone knew what could have woken it:
/// a livelock (Skaller 2017). Usually a variable that holds an end nobody will use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Zombie {
    /// The fibre, as it was.
    pub alive: Alive,
    /// Who could have woken it.
    pub known_to: Vec<String>,
}

impl Zombie {
    pub(crate) fn all(alive: &[Alive]) -> Vec<Zombie> {
        let names: HashMap<Co, &Alive> = alive.iter().map(|one| (one.co, one)).collect();
        let name = |co: Co| {
            let name = names.get(&co).and_then(|one| one.name.as_str());
            name.map_or_else(|| format!("fibre {co}"), |name| format!("fibre '{name}'"))
        };
        let zombie = |one: &Alive| Zombie { alive: one.clone(), known_to: known_to(one, &name) };
        alive.iter().map(zombie).collect()
    }

    /// Which fibre.
    pub fn co(&self) -> Co {
        self.alive.co
    }

    /// The channel it waits at, if it does.
    pub fn channel(&self) -> Option<Object> {
        match self.alive.state {
            State::Parked(
                Reason::Hungry(channel) | Reason::Expecting(channel) | Reason::Blocked(channel),
            ) => Some(channel),
            _ => None,
        }
    }
}

fn known_to(one: &Alive, name: &impl Fn(Co) -> String) -> Vec<String> {
    let free = |n: usize| format!("the world, by {n} free end{}", if n == 1 { "" } else { "s" });
    let ends = one.sign.as_ref().map_or(0, |sign| match one.state {
        State::Parked(Reason::Hungry(_) | Reason::Expecting(_)) => sign.senders,
        State::Parked(Reason::Blocked(_)) => sign.receivers,
        _ => 0,
    });
    if let State::Parked(Reason::Joining(Some(other))) = one.state {
        return vec![format!("the end of {}", name(other))];
    }
    if one.known_to.is_empty() && ends > 0 {
        return vec![free(ends)];
    }
    let knower = |knower: &Knower| match knower {
        Knower::Co(co) => name(*co),
        Knower::Parcel(channel) => format!("whoever reads from channel {channel}"),
        Knower::World => "the world".to_owned(),
    };
    one.known_to.iter().map(knower).collect()
}

impl fmt::Display for Zombie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.alive)?;
        if self.known_to.is_empty() {
            return Ok(());
        }
        write!(f, "; it could be woken by {}", self.known_to.join(", "))
    }
}
