//! Those outside a graph who wait for it, and how they are told that they wait in vain; the protocol is in the module
//! above.

use core::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;

use leno_kernel::layer::queue::{First, Guard, Next, Shared, Stage, WaitQueue};
use leno_kernel::layer::{is_planted, user};
use leno_kernel::{Reason, Waiter, Wake, park};

use super::{Core, OUTSIDE, Ticket, Waited};

/// The ends outside, and those who wait there.
pub(super) type Outside = WaitQueue<Shared, Ends, Blocked, 1>;
type Open<'o> = Guard<'o, Shared, Ends, Blocked, 1>;

/// The ends of a graph that nobody inside has.
#[derive(Default)]
pub(super) struct Ends {
    waits: u64,
    pub(super) ends: usize,
}

/// One who waits outside.
pub(super) struct Blocked {
    number: u64,
    /// Where, if it has looked in vain.
    place: Cell<Option<Place>>,
}

/// What one waits for outside.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// For something at this end, which stands for so many. Several may wait at one.
    End(usize, usize),
    /// For all nodes to rest.
    Rest,
}

impl Blocked {
    fn new(outside: &mut Ends, place: Option<Place>) -> Blocked {
        outside.waits += 1;
        Blocked { number: outside.waits, place: Cell::new(place) }
    }
}

/// Whether someone waits at each end.
fn are_idle(outside: &Open<'_>) -> bool {
    let ends = || {
        outside.iter(0).filter_map(|one| match one.payload.place.get() {
            Some(Place::End(end, count)) => Some((end, count)),
            _ => None,
        })
    };
    let is_first = |at: usize, end| ends().take(at).all(|(other, _)| other != end);
    let each = ends().enumerate().filter(|(at, (end, _))| is_first(*at, *end));
    // The first is all that it takes, as a rule.
    ends().map(|(_, count)| count).sum::<usize>() >= outside.ends
        && each.map(|(_, (_, count))| count).sum::<usize>() >= outside.ends
}

impl Core {
    /// One node runs no more for now.
    pub(super) fn rests(&self) {
        if self.running.fetch_sub(1, SeqCst) <= 1 {
            self.tell_if_stuck(self.outside.lock());
        }
    }

    /// Tells those outside if nobody can ever go on; those who wait for that, if nobody runs.
    pub(super) fn tell_if_stuck(&self, mut outside: Open<'_>) {
        if self.running.load(SeqCst) > 0 {
            return;
        }
        let are_idle = are_idle(&outside);
        let is_told = |one: &Blocked| match one.place.get() {
            Some(Place::End(..)) => are_idle,
            Some(Place::Rest) => true,
            None => false,
        };
        let mut told = Vec::new();
        loop {
            let mut all = outside.iter(0);
            let next = all.find(|one| is_told(one.payload)).map(|one| one.key);
            drop(all);
            let Some(key) = next else { break };
            let settled = outside.settle(0, key, Stage::Refused, (), |_, ()| ());
            told.extend(settled.ok().and_then(|((), waiter)| waiter));
        }
        drop(outside);
        user::wake_all(told);
    }

    /// Ends a wait outside.
    pub(super) fn wake_outside(&self, ticket: Ticket) {
        let mut outside = self.outside.lock();
        let mut all = outside.iter(0);
        let key = all.find(|one| one.payload.number == ticket.number).map(|one| one.key);
        drop(all);
        let Some(key) = key else { return };
        let settled = outside.settle(0, key, Stage::Met, (), |_, ()| ());
        drop(outside);
        let waiter = settled.ok().and_then(|((), waiter)| waiter);
        if let Some(waiter) = waiter.filter(|_| !is_planted("graph-wake")) {
            waiter.wake();
        }
    }

    /// Has the calling code wait, unless `look` finds that it need not, until it is woken or told that nobody can go on.
    pub(super) fn wait_outside(
        &self,
        reason: Reason,
        place: Place,
        look: impl FnOnce(Ticket) -> bool,
    ) -> Waited {
        // Not under the lock: it panics where nobody may wait, and a panic hook is user code.
        let waiter = Waiter::current();
        let mut outside = self.outside.lock();
        let blocked = Blocked::new(&mut outside, None);
        let number = blocked.number;
        let first = || {
            if look(Ticket { node: OUTSIDE, number }) {
                return First::Leave;
            }
            let outside = self.outside.lock();
            let mut all = outside.iter(0);
            let own = all.find(|one| one.payload.number == number);
            own.as_ref().inspect(|own| own.payload.place.set(Some(place)));
            let is_settled = own.is_none();
            drop(all);
            if is_settled {
                return First::Leave;
            }
            self.tell_if_stuck(outside);
            First::Wait
        };
        self.parks(outside, waiter, blocked, first, reason)
    }

    /// Waits until no node runs; `None` if none does.
    pub(super) fn wait_for_rest(&self) -> Option<Waited> {
        let waiter = Waiter::current();
        let mut outside = self.outside.lock();
        if self.running.load(SeqCst) <= 0 {
            drop(outside);
            drop(waiter);
            return None;
        }
        let blocked = Blocked::new(&mut outside, Some(Place::Rest));
        Some(self.parks(outside, waiter, blocked, || First::Wait, Reason::Passive))
    }

    fn parks<'o>(
        &self,
        outside: Open<'o>,
        waiter: Waiter,
        blocked: Blocked,
        first: impl FnOnce() -> First,
        reason: Reason,
    ) -> Waited {
        let mut is_to_exit = false;
        let next = || {
            is_to_exit = park(reason) == Wake::Exit;
            if is_to_exit { Next::Leave } else { Next::Look }
        };
        let (outside, left) = outside.wait(0, waiter, blocked, first, next, |_, _| ());
        drop(outside);
        match left.stage {
            _ if is_to_exit => Waited::Exit,
            Stage::Refused => Waited::InVain,
            _ => Waited::Look,
        }
    }
}
