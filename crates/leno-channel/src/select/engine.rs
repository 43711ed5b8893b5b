//! The steps of a select, for all three kinds of caller; `README.md` has the protocol.
//!
//! Whatever ends it, dropped or done, it leaves every line where it stands; what a partner brought
//! to one that is given up goes back.

use std::sync::Arc;

use leno_kernel::policy::{Candidate, Choice, ChoiceKind};
use leno_kernel::{Object, Time, Waiter};

use super::alternative::{Alternative, Attempt};
use super::order::Order;
use super::ticket::Ticket;
use crate::exchange::Seat;

/// See the module.
pub(crate) struct Engine<'a, R> {
    pub(crate) alternatives: Vec<Box<dyn Alternative<R> + 'a>>,
    pub(crate) order: Order<'a>,
    /// While it stands in lines: its ticket, and who is woken.
    standing: Option<(Arc<Ticket>, Waiter)>,
}

impl<'a, R> Engine<'a, R> {
    pub(crate) fn new() -> Self {
        Engine { alternatives: Vec::new(), order: Order::Fair, standing: None }
    }

    /// Takes an alternative that needs no waiting; says which.
    pub(crate) fn attempt(&mut self) -> Option<usize> {
        let count = self.alternatives.len();
        if count == 0 {
            return None;
        }
        let mut first = None;
        if count > 1 && matches!(self.order, Order::Fair) && leno_kernel::has_policy() {
            first = self.ask_policy();
        }
        let alternatives = &mut self.alternatives;
        let first = first.unwrap_or_else(|| {
            self.order.first(|| alternatives.iter_mut().find_map(|one| one.turn()).unwrap_or(0))
        });
        let order = (0..count).map(|step| (first % count + step) % count);
        order.into_iter().find(|place| self.alternatives[*place].attempt(None) == Attempt::Taken)
    }

    fn ask_policy(&mut self) -> Option<usize> {
        let places = 0..self.alternatives.len();
        let ready: Vec<usize> =
            places.filter(|place| self.alternatives[*place].is_ready()).collect();
        if ready.len() < 2 {
            return ready.first().copied();
        }
        let candidate = |place: &usize| match self.alternatives[*place].object() {
            Some(object) => Candidate::Object(object),
            None => Candidate::Other(*place as u64),
        };
        let candidates: Vec<_> = ready.iter().map(candidate).collect();
        let choice = Choice::new(ChoiceKind::Alternative, None, &candidates);
        Some(ready[leno_kernel::choose(&choice)])
    }

    /// Whether another thread may complete one.
    pub(crate) fn is_shared(&self) -> bool {
        self.alternatives.iter().any(|one| one.is_shared())
    }

    /// Stands in every line; says which alternative was taken meanwhile.
    pub(crate) fn enlist(&mut self, waiter: Waiter) -> Option<usize> {
        let object = if self.is_shared() { Object::shared() } else { Object::local() };
        let ticket = Ticket::new(object);
        // From here on a drop leaves the lines again.
        let (ticket, waiter) = self.standing.insert((ticket, waiter));
        for (place, one) in self.alternatives.iter_mut().enumerate() {
            let seat = Seat { ticket: ticket.clone(), alternative: place as u32 };
            match one.enlist(&seat, waiter) {
                Attempt::NotReady => {}
                Attempt::Taken | Attempt::Busy => break,
            }
        }
        ticket.taken()
    }

    /// Looks again after a wake; says which alternative was taken by now.
    pub(crate) fn retry(&mut self) -> Option<usize> {
        let (ticket, waiter) = self.standing.as_ref()?;
        for (place, one) in self.alternatives.iter_mut().enumerate() {
            if let Some(taken) = ticket.taken() {
                return Some(taken);
            }
            let seat = Seat { ticket: ticket.clone(), alternative: place as u32 };
            one.retry(&seat, waiter);
        }
        ticket.taken()
    }

    /// Has another woken from now on, and looks again.
    pub(crate) fn renew(&mut self, new: Waiter) -> Option<usize> {
        let (_, waiter) = self.standing.as_mut()?;
        self.alternatives.iter_mut().for_each(|one| one.renew(waiter, &new));
        *waiter = new;
        self.retry()
    }

    /// Who is woken now, where it stands in lines.
    pub(crate) fn waiter(&self) -> Option<&Waiter> {
        self.standing.as_ref().map(|(_, waiter)| waiter)
    }

    /// What it waits on.
    pub(crate) fn object(&self) -> Option<Object> {
        self.standing.as_ref().map(|(ticket, _)| ticket.object)
    }

    /// When to look again at the latest.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.alternatives.iter().filter_map(|one| one.deadline()).min()
    }

    /// An alternative was taken: leaves all lines, and calls its handler.
    pub(crate) fn finish(&mut self, taken: usize) -> R {
        if let Some((_, waiter)) = self.standing.take() {
            self.alternatives.iter_mut().for_each(|one| one.leave(&waiter));
        }
        self.order.taken(taken);
        let mut all = core::mem::take(&mut self.alternatives);
        let taken = all.swap_remove(taken);
        drop(all);
        taken.finish()
    }

    /// Gives up: leaves all lines.
    pub(crate) fn give_up(&mut self) {
        let Some((ticket, waiter)) = self.standing.take() else { return };
        ticket.give_up();
        self.alternatives.iter_mut().for_each(|one| one.undo(&waiter));
    }
}

impl<R> Drop for Engine<'_, R> {
    fn drop(&mut self) {
        self.give_up();
    }
}
