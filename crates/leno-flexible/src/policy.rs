//! Who is active next, and which request is served next: code of users.
//!
//! A policy is asked about a copy, while the system is not locked. It must not operate on the system, and gets a
//! panic if it does; it may look at it. If what it was asked about has changed meanwhile, it is asked again, up to
//! 16 times. A [`Schedule`] that panics stops its system. A [`Serve`] that panics is removed: the first request is
//! served, and the operation after which it was asked raises the panic, or the failure hook of the process is told if
//! that was scheduling. By default both are first come, first
//! served, which is fair; under [exploration](leno_kernel::layer::world) the driver decides.

use core::cmp::Reverse;
use std::sync::Arc;

use crate::{Label, Party};

/// A coroutine that is waiting, as a [`Schedule`] sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Waiting {
    /// Its name.
    pub name: Arc<str>,
    /// As it was created with; more is more urgent, 0 if nothing was said.
    pub priority: i32,
    /// To whom it is attached.
    pub caller: Option<Party>,
    /// How many requests it has that it does not serve yet.
    pub requests: usize,
}

/// A request in a local set, as a [`Serve`] sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// What is asked for.
    pub label: Label,
    /// By whom.
    pub from: Party,
}

/// Decides which waiting coroutine is active next. Any closure of the right type is one.
pub trait Schedule: Send {
    /// Which of them, from 0. They are in order of arrival, and at least two.
    fn pick(&mut self, waiting: &[Waiting]) -> usize;
}

impl<F: FnMut(&[Waiting]) -> usize + Send> Schedule for F {
    fn pick(&mut self, waiting: &[Waiting]) -> usize {
        self(waiting)
    }
}

/// Decides which request of its local set a coroutine serves next. Any closure of the right type is one.
pub trait Serve: Send {
    /// Which of them, from 0. They are in order of arrival, and at least two.
    fn pick(&mut self, pending: &[Pending]) -> usize;
}

impl<F: FnMut(&[Pending]) -> usize + Send> Serve for F {
    fn pick(&mut self, pending: &[Pending]) -> usize {
        self(pending)
    }
}

/// Whoever is most urgent; of those, whoever came first.
///
/// # Examples
/// ```
/// let system = leno_flexible::System::builder().schedule(leno_flexible::policy::by_priority).build();
/// # drop(system);
/// ```
pub fn by_priority(waiting: &[Waiting]) -> usize {
    let urgent = waiting.iter().enumerate().min_by_key(|(_, own)| Reverse(own.priority));
    urgent.map_or(0, |(place, _)| place)
}

/// Whoever came last.
pub fn last(waiting: &[Waiting]) -> usize {
    waiting.len() - 1
}

/// Calls before kicks.
pub fn calls_first(pending: &[Pending]) -> usize {
    first(pending, Label::Call)
}

/// Kicks before calls.
pub fn kicks_first(pending: &[Pending]) -> usize {
    first(pending, Label::Kick)
}

fn first(pending: &[Pending], label: Label) -> usize {
    pending.iter().position(|own| own.label == label).unwrap_or(0)
}
