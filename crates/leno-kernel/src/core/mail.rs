//! What other threads ask of a core: its mailbox, and how much of it was read.
//!
//! Invariants:
//! - `read` counts the messages that were taken out of the mailbox, from what had been sent before the core began: so it
//!   is never more than [`Mailbox::sent`], and a core for which both are equal has read all its mail.
//! - Messages that were taken out are in the hands of [`Core::read_messages`] alone: user code that is called for one of
//!   them may make the core read again, and finds what has come since.
//!
//! Not here: how a message gets in, and wakes a core that sleeps; see [`crate::mailbox`].

use core::cell::{Cell, RefCell};

use super::Core;
use crate::bell::Bell;
use crate::mailbox::{Address, Mailbox, Message};
use crate::policy::{Hint, Why};
use crate::{Outcome, user};

/// See the module.
pub(crate) struct Mail {
    mailbox: &'static Mailbox,
    /// Kept for its memory; empty.
    reading: RefCell<Vec<Message>>,
    read: Cell<usize>,
    /// What `read` was when the core was last about to sleep.
    read_before: Cell<usize>,
}

impl Mail {
    pub(super) fn new(address: Address) -> Mail {
        Mail {
            mailbox: address.mailbox,
            reading: RefCell::default(),
            read: Cell::new(address.sent),
            read_before: Cell::new(address.sent),
        }
    }

    #[inline(always)]
    pub(crate) fn mailbox(&self) -> &'static Mailbox {
        self.mailbox
    }

    /// Rung when something has come, and for what else the core is to look at.
    #[inline(always)]
    pub(crate) fn bell(&self) -> &'static Bell {
        &self.mailbox.bell
    }

    /// How many messages the core has read.
    pub(super) fn read(&self) -> usize {
        self.read.get()
    }

    /// Whether the core has read anything since this was last asked.
    pub(super) fn has_read_since(&self) -> bool {
        let read = self.read.get();
        self.read_before.replace(read) != read
    }

    /// Takes what has come.
    #[inline(always)]
    fn receive(&self, empty: &mut Vec<Message>) {
        self.mailbox.receive(empty);
        self.read.set(self.read.get() + empty.len());
    }
}

impl Core {
    /// The number by which other threads address it.
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.mail.mailbox.number
    }

    /// Does what other threads have asked for, if the bell says that there is something.
    pub(crate) fn read_mail(&self) {
        if self.mail.mailbox.bell.take() {
            self.read_messages();
        }
    }

    pub(super) fn read_messages(&self) {
        let mut messages = self.mail.reading.take();
        self.mail.receive(&mut messages);
        let mut raised = None;
        for message in messages.drain(..) {
            match message {
                Message::Unpark(co) => {
                    self.unpark(co, Why::Unparked, Hint::Back);
                }
                Message::Cancel(co) => drop(self.cancel(co, Outcome::Exited)),
                // It may ask the platform, which is code of a user: the others are read all the same.
                Message::Run(f) => raised = user::first(raised, user::call(|| f(self)).err()),
            }
        }
        self.mail.reading.replace(messages);
        if let Some(panic) = raised {
            panic.resume();
        }
    }
}
