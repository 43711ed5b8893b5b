//! How many turns may pass before a core's loop looks around: at its mail, the clock, descriptors.
//!
//! The loop gives out [`TURNS`] turns between two looks. A turn may be *handed on*: the coroutine that leaves switches to
//! the next one itself, and the loop sees that one come back. Turns may be *attached*, on top of a coroutine that is
//! a scheduler. Both are counted here as turns of the loop, so that neither keeps it from looking around.
//!
//! Invariants:
//! - `hands` is not zero only during a turn that the loop has given out, and not while another one runs on top of
//!   it: such a turn ends where it was begun.
//! - No more than [`TURNS`] turns pass between two looks, whatever kind they are; attached ones only as long as
//!   the scheduler asks [`Turns::is_look_due`] after each.

use core::cell::Cell;

/// How many turns are taken between two looks at the mail and the clock.
pub(super) const TURNS: usize = 64;

/// See the module.
#[derive(Default)]
pub(super) struct Turns {
    /// How often the turn that the loop has begun may be handed on.
    hands: Cell<usize>,
    /// How many turns were attached since the loop last looked around, as far as that counts.
    attached: Cell<usize>,
}

/// What was counted when the loop gave out a turn.
pub(super) struct Begun {
    hands: usize,
    attached: usize,
}

impl Turns {
    /// The loop looks around, or there is nothing for it to look at.
    #[inline(always)]
    pub(super) fn looked(&self) {
        self.attached.set(0);
    }

    /// The loop gives out a turn that may be handed on so often.
    #[inline(always)]
    pub(super) fn begin(&self, hands: usize) -> Begun {
        self.hands.set(hands);
        Begun { hands, attached: self.attached.get() }
    }

    /// It has come back. How many turns were taken besides: those that were attached before a look meanwhile are not
    /// counted any more.
    #[inline(always)]
    pub(super) fn end(&self, begun: Begun) -> usize {
        let taken = begun.hands - self.hands.replace(0);
        taken + self.attached.get().saturating_sub(begun.attached)
    }

    /// Whether the turn may be handed on.
    #[inline(always)]
    pub(super) fn may_hand_on(&self) -> bool {
        self.hands.get() > 0
    }

    /// The turn is handed on.
    #[inline(always)]
    pub(super) fn hand_on(&self) {
        self.hands.set(self.hands.get() - 1);
    }

    /// The turn is not handed on when it ends: the loop goes on then.
    pub(super) fn end_at_loop(&self) {
        self.hands.set(0);
    }

    /// Another turn begins on top of this one, to end where it was begun. Gives what [`Self::go_on`] takes.
    pub(super) fn hold(&self) -> usize {
        self.hands.replace(0)
    }

    /// The turn that was held goes on.
    pub(super) fn go_on(&self, hands: usize) {
        self.hands.set(hands);
    }

    /// A turn is attached.
    pub(super) fn attach(&self) {
        self.attached.set(self.attached.get() + 1);
    }

    /// The loop is to look around at the next opportunity.
    pub(super) fn use_up(&self) {
        self.attached.set(TURNS);
    }

    /// Whether so many were attached that the loop has to look around, if there is something for it.
    #[inline(always)]
    pub(super) fn is_look_due(&self) -> bool {
        self.attached.get() >= TURNS
    }
}
