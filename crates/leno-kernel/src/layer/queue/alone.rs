use core::fmt;

use crate::Waiter;

/// One that waits where nobody else can: what a node is of a queue with one line for one, which needs no line, and no
/// lock. For a slot that is settled once, by a protocol of its own: the code that takes this out of the slot wakes it.
pub struct Alone<P> {
    waiter: Waiter,
    payload: P,
}

impl<P> Alone<P> {
    /// Makes one that is woken like this, and brings a payload along.
    pub fn new(waiter: Waiter, payload: P) -> Alone<P> {
        Alone { waiter, payload }
    }

    /// Returns what it brings along.
    pub fn payload_mut(&mut self) -> &mut P {
        &mut self.payload
    }

    /// Wakes it, and drops what it brings along: user code, both.
    pub fn wake(self) {
        let Alone { waiter, payload } = self;
        waiter.wake();
        drop(payload);
    }
}

impl<P> fmt::Debug for Alone<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alone")
    }
}
