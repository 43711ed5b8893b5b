//! A channel as the ledger sees it: which of its ends are known to whom.
//!
//! Every end of a fibre's channel holds a [`Hold`]. A *free* end is known to the world: it is a plain
//! value, and may be anywhere. A *bound* end is known to one fibre, and a *carried* one to whoever
//! receives from the channel that carries it. Only the last two need the ledger, so a channel is
//! written into one when its first end is bound; until then a free end costs a counter.
//!
//! Invariants:
//! - a channel is in the ledger of one core at a time, its *book*, as long as that core is there; an end that is bound to a fibre of
//!   another core stays known to the world, so that nobody is removed wrongly;
//! - in its book each end is known exactly as often as there are holds of it.

use core::cell::Cell;
use std::rc::Rc;

use leno_context::user::StateCell;
use leno_kernel::Object;
use leno_kernel::layer::ledger::{Book, End, Knower, Side};

/// What all ends of a channel share.
pub(crate) struct Wire {
    pub(crate) object: Object,
    /// How many free ends there are of each side.
    sending: Cell<usize>,
    receiving: Cell<usize>,
    book: StateCell<Option<Book>>,
}

impl Wire {
    pub(crate) fn new(object: Object) -> Rc<Wire> {
        let wire = Wire {
            object,
            sending: Cell::new(0),
            receiving: Cell::new(0),
            book: StateCell::default(),
        };
        Rc::new(wire)
    }

    fn free(&self, side: Side) -> &Cell<usize> {
        match side {
            Side::Sending => &self.sending,
            Side::Receiving => &self.receiving,
        }
    }

    fn end(&self, side: Side) -> End {
        End { channel: self.object, side }
    }

    fn learn(&self, knower: Knower, side: Side) {
        if knower == Knower::World {
            self.free(side).set(self.free(side).get() + 1);
        }
        if let Some(book) = &*self.book.borrow() {
            book.learn(knower, self.end(side));
        }
    }

    fn forget(&self, knower: Knower, side: Side) {
        if knower == Knower::World {
            self.free(side).set(self.free(side).get() - 1);
        }
        if let Some(book) = &*self.book.borrow() {
            // Of a fibre that has ended it is forgotten already.
            book.forget(knower, self.end(side));
        }
    }

    /// Whether the calling fibre's core has, or now gets, the book.
    fn is_booked_here(&self) -> bool {
        let Some(here) = Book::here() else { return false };
        let mut book = self.book.borrow_mut();
        if book.as_ref().is_some_and(Book::is_open) {
            return *book == Some(here);
        }
        // Whoever had bound ends in a run that is over has ended with it.
        for side in [Side::Sending, Side::Receiving] {
            (0..self.free(side).get()).for_each(|_| here.learn(Knower::World, self.end(side)));
        }
        *book = Some(here);
        true
    }
}

/// That someone knows one end of a channel.
pub(crate) struct Hold {
    pub(crate) wire: Rc<Wire>,
    side: Side,
    knower: Knower,
}

impl Hold {
    /// Known to the world.
    pub(crate) fn free(wire: Rc<Wire>, side: Side) -> Hold {
        wire.learn(Knower::World, side);
        Hold { wire, side, knower: Knower::World }
    }

    /// Another one, of the same end, known to the world.
    pub(crate) fn another(&self) -> Hold {
        Hold::free(self.wire.clone(), self.side)
    }

    /// From now on this one knows it. Learnt before it is forgotten, so that it is always known.
    pub(crate) fn pass_to(&mut self, knower: Knower) {
        if knower != Knower::World && !self.wire.is_booked_here() {
            return;
        }
        self.wire.learn(knower, self.side);
        self.wire.forget(self.knower, self.side);
        self.knower = knower;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.wire.forget(self.knower, self.side);
    }
}
