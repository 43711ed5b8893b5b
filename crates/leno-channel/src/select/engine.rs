//! The steps of a select, for all three kinds of caller; `README.md` has the protocol.
//!
//! Whatever ends it, dropped or done, it leaves every line where it stands; what a partner brought
//! to one that is given up goes back. A select that waits allocates nothing: its alternatives are in
//! the caller's frame, and tickets are used again (`ticket.rs`).

use core::marker::PhantomData;
use std::sync::Arc;

use leno_kernel::layer::{user, world};
use leno_kernel::log::Operation;
use leno_kernel::policy::{Candidate, Choice, ChoiceKind};
use leno_kernel::{Object, Time, Waiter};

use super::alternative::{Attempt, Step};
use super::list::Alternatives;
use super::order::Order;
use super::ticket::Ticket;
use crate::exchange::Coupon;

/// See the module.
pub(crate) struct Engine<'a, R, L: Alternatives<'a, R>> {
    /// There until it ends.
    alternatives: Option<L>,
    pub(crate) order: Order<'a>,
    /// While it stands in lines: its ticket, and who is woken.
    standing: Option<(Arc<Ticket>, Waiter)>,
    result: PhantomData<fn() -> R>,
}

impl<'a, R, L: Alternatives<'a, R>> Engine<'a, R, L> {
    pub(crate) fn new(alternatives: L, order: Order<'a>) -> Self {
        let alternatives = Some(alternatives);
        Engine { alternatives, order, standing: None, result: PhantomData }
    }

    /// One that has begun nothing becomes another.
    pub(crate) fn take(&mut self) -> (L, Order<'a>) {
        debug_assert!(self.standing.is_none(), "a select is changed before it waits");
        (self.end(), self.order)
    }

    fn end(&mut self) -> L {
        self.alternatives.take().expect("there until it ends")
    }

    fn list(&mut self) -> &mut L {
        self.alternatives.as_mut().expect("there until it ends")
    }

    fn at(&mut self, place: usize) -> &mut dyn Step {
        self.list().at(place)
    }

    pub(crate) fn count(&self) -> usize {
        self.alternatives.as_ref().map_or(0, L::count)
    }

    /// Whether there is nothing that could ever be taken.
    pub(crate) fn is_hopeless(&mut self) -> bool {
        !(0..self.count()).any(|place| self.at(place).is_there())
    }

    /// Takes an alternative that needs no waiting; says which.
    pub(crate) fn attempt(&mut self) -> Option<usize> {
        world::point(Operation::Select, None);
        let count = self.count();
        if count == 0 {
            return None;
        }
        let mut first = None;
        if count > 1 && matches!(self.order, Order::Fair) && leno_kernel::layer::has_policy() {
            first = self.ask_policy();
        }
        let order = self.order;
        let first = first.unwrap_or_else(|| {
            order.first(|| (0..count).find_map(|place| self.at(place).turn()).unwrap_or(0))
        });
        let mut order = (0..count).map(|step| (first % count + step) % count);
        order.find(|place| self.at(*place).attempt(None) == Attempt::Taken)
    }

    fn ask_policy(&mut self) -> Option<usize> {
        let places = 0..self.count();
        let ready: Vec<usize> = places.filter(|place| self.at(*place).is_ready()).collect();
        if ready.len() < 2 {
            return ready.first().copied();
        }
        let candidate = |place: &usize| match self.at(*place).object() {
            Some(object) => Candidate::Object(object),
            None => Candidate::Other(*place as u64),
        };
        let candidates: Vec<_> = ready.iter().map(candidate).collect();
        let choice = Choice::new(ChoiceKind::Alternative, None, &candidates);
        Some(ready[leno_kernel::layer::choose(&choice)])
    }

    /// Whether another thread may complete one.
    pub(crate) fn is_shared(&mut self) -> bool {
        (0..self.count()).any(|place| self.at(place).is_shared())
    }

    /// Stands in every line; says which alternative was taken meanwhile.
    pub(crate) fn enlist(&mut self, waiter: Waiter) -> Option<usize> {
        let object = if self.is_shared() { Object::shared() } else { Object::local() };
        let list = self.alternatives.as_mut().expect("there until it ends");
        // From here on a drop leaves the lines again.
        let (ticket, waiter) = self.standing.insert((Ticket::take(object), waiter));
        for place in 0..list.count() {
            let coupon = Coupon { ticket: ticket.clone(), alternative: place as u32 };
            match list.at(place).enlist(&coupon, waiter) {
                Attempt::NotReady => {}
                Attempt::Taken | Attempt::Busy => break,
            }
        }
        look_again(list, ticket, waiter)
    }

    /// Looks again after a wake; says which alternative was taken by now.
    pub(crate) fn retry(&mut self) -> Option<usize> {
        let list = self.alternatives.as_mut().expect("there until it ends");
        let (ticket, waiter) = self.standing.as_ref()?;
        for place in 0..list.count() {
            if let Some(taken) = ticket.taken() {
                return Some(taken);
            }
            let coupon = Coupon { ticket: ticket.clone(), alternative: place as u32 };
            list.at(place).retry(&coupon, waiter);
        }
        look_again(list, ticket, waiter)
    }

    /// Has another woken from now on, and looks again.
    pub(crate) fn renew(&mut self, new: Waiter) -> Option<usize> {
        let list = self.alternatives.as_mut().expect("there until it ends");
        let (_, waiter) = self.standing.as_mut()?;
        (0..list.count()).for_each(|place| list.at(place).renew(waiter, &new));
        *waiter = new;
        self.retry()
    }

    /// Who is woken now, where it stands in lines.
    pub(crate) fn waiter(&self) -> Option<&Waiter> {
        self.standing.as_ref().map(|(_, waiter)| waiter)
    }

    /// Wakes the calling code, which waits here: its next park ends at once.
    pub(crate) fn wake(&self) {
        if let Some((_, waiter)) = &self.standing {
            waiter.clone().wake();
        }
    }

    /// What it waits on.
    pub(crate) fn object(&self) -> Option<Object> {
        self.standing.as_ref().map(|(ticket, _)| ticket.object)
    }

    /// When to look again at the latest.
    pub(crate) fn deadline(&mut self) -> Option<Time> {
        (0..self.count()).filter_map(|place| self.at(place).deadline()).min()
    }

    /// An alternative was taken: leaves all lines, and calls its handler.
    pub(crate) fn finish(&mut self, taken: usize) -> R {
        self.leave(Some(taken));
        self.order.taken(taken);
        self.end().finish(taken)
    }

    /// Gives up: leaves all lines.
    pub(crate) fn give_up(&mut self) {
        if let Some((ticket, _)) = &self.standing {
            ticket.give_up();
            self.leave(None);
        }
    }

    /// Leaves all lines, that of the alternative that was taken last.
    fn leave(&mut self, taken: Option<usize>) {
        let Some((ticket, waiter)) = self.standing.take() else { return };
        let others = (0..self.count()).filter(|place| Some(*place) != taken);
        let list = self.list();
        // A source is code of a user. If one panics, the others are left all the same, and what was taken goes
        // back.
        let mut raised = None;
        for place in others {
            let left = user::call(|| list.at(place).undo(&waiter));
            raised = user::first(raised, left.err());
        }
        if let Some(taken) = taken {
            let left = user::call(|| match raised {
                None => list.at(taken).leave(&waiter),
                Some(_) => list.at(taken).undo(&waiter),
            });
            raised = user::first(raised, left.err());
        }
        ticket.put_away();
        user::discard(waiter);
        if let Some(raised) = raised
            && !std::thread::panicking()
        {
            raised.resume();
        }
    }
}

/// Looks at all lines again if a partner has passed the select over while a source was asked; says which
/// alternative was taken by now.
fn look_again<'a, R>(
    list: &mut impl Alternatives<'a, R>,
    ticket: &Arc<Ticket>,
    waiter: &Waiter,
) -> Option<usize> {
    if ticket.is_late() && ticket.taken().is_none() {
        for place in 0..list.count() {
            let coupon = Coupon { ticket: ticket.clone(), alternative: place as u32 };
            list.at(place).look_again(&coupon, waiter);
        }
        ticket.is_late_no_more();
    }
    ticket.taken()
}

impl<'a, R, L: Alternatives<'a, R>> Drop for Engine<'a, R, L> {
    fn drop(&mut self) {
        let raised = user::call(|| self.give_up()).err();
        let raised = user::first(raised, self.alternatives.take().and_then(L::dispose));
        if let Some(raised) = raised
            && !std::thread::panicking()
        {
            raised.resume();
        }
    }
}
