//! Who operates on a system, and what they are called.

use core::fmt;
use std::sync::Arc;
use std::thread::Thread;

use leno_kernel::layer::who;
use leno_kernel::{Co, Name};

/// Who has called or kicked a coroutine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// A coroutine of the same system, by its name.
    Coroutine(Arc<str>),
    /// A thread, by its name. A coroutine of another system is a thread to this one.
    Thread(Arc<str>),
}

impl Party {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Party::Coroutine(name) | Party::Thread(name) => name,
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Coroutine(name) => write!(f, "coroutine '{name}'"),
            Party::Thread(name) => write!(f, "thread '{name}'"),
        }
    }
}

/// Who operates from outside. What it is called is found out when someone asks.
#[derive(Clone, Debug)]
pub(crate) enum Outsider {
    Thread(Thread),
    /// A coroutine of another system, or a thread of a world.
    Co(Co, Name),
}

impl Outsider {
    /// Whoever runs the calling code.
    pub(crate) fn here() -> Outsider {
        match who() {
            Some((co, name)) => Outsider::Co(co, name),
            None => Outsider::Thread(std::thread::current()),
        }
    }

    pub(crate) fn party(&self) -> Party {
        let name = match self {
            Outsider::Co(co, name) => name.as_str().map_or_else(|| co.to_string(), str::to_owned),
            Outsider::Thread(thread) => {
                thread.name().map_or_else(|| format!("{:?}", thread.id()), str::to_owned)
            }
        };
        Party::Thread(name.into())
    }
}
