//! What a channel holds: messages, how many ends are open, who waits. No locks, no waking: whoever
//! holds the lock of a channel calls this, and wakes others afterwards.
//!
//! - A channel is closed when all its senders have closed: receivers take what is left, then the close.
//! - It is cancelled when all its receivers have: its messages are dropped, and sends are refused.
//! - Messages given back go to the front, past the capacity if need be: nothing is lost or reordered.
//! - A message that an attempt has taken which may put it back is *held*: it keeps its room, and no other receiver takes
//!   what comes after it, nor the close. One that finds it so is told when it is put back, or gone.

use leno_kernel::layer::is_planted;

/// A channel's state; `K` is who waits.
///
/// Messages are in two stacks, so that each end only pushes or pops: those *ahead* are received next, the
/// last one first; those *behind* were sent later. When none is ahead, those behind are turned round. With
/// room for one, a message is ahead at once.
pub(crate) struct State<T, K> {
    ahead: Vec<T>,
    behind: Vec<T>,
    /// For how many more messages there is room; less than 0 if some were given back past the capacity, or
    /// nobody receives.
    room: isize,
    /// How little room there was at least.
    least: isize,
    capacity: usize,
    /// Whether control goes from hand to hand at this channel.
    pub(crate) is_chain: bool,
    pub(crate) senders: usize,
    receivers: usize,
    /// Whether a sender, or a receiver, has not ended by itself, but by a panic or with the graph.
    pub(crate) is_cut: bool,
    pub(crate) is_broken: bool,
    pub(crate) to_send: Vec<K>,
    pub(crate) to_receive: Vec<K>,
    sent: u64,
    /// How many messages are held, and by which attempt.
    held: usize,
    holder: u64,
    /// Whether another receiver has come meanwhile.
    is_wanted: bool,
}

/// The room of a channel from which nobody receives.
const CANCELLED: isize = isize::MIN / 2;
/// The most that any channel has room for.
const MOST: usize = isize::MAX as usize / 4;
/// Memory for so many messages at most is there before they are.
const PREPARED: usize = 1024;

/// What became of a message to be sent.
pub(crate) enum Push<T> {
    /// It is in the channel; whether that is full now.
    Done(bool),
    Full(T),
    Refused(T),
}

/// What one attempt to receive came to.
#[derive(Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Take<T> {
    Got(T),
    Empty,
    Closed,
}

/// Numbers of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// How many messages have been sent into it.
    pub sent: u64,
    /// How many wait in it.
    pub waiting: usize,
    /// How many have waited in it at most.
    pub most: usize,
    /// How many it has room for.
    pub capacity: usize,
}

impl<T, K> State<T, K> {
    pub(crate) fn new(capacity: usize) -> State<T, K> {
        let capacity = capacity.min(MOST);
        let prepared = capacity.min(PREPARED);
        State {
            ahead: Vec::with_capacity(prepared),
            behind: Vec::with_capacity(if capacity == 1 { 0 } else { prepared }),
            room: CANCELLED,
            least: capacity as isize,
            capacity,
            is_chain: false,
            senders: 0,
            receivers: 0,
            is_cut: false,
            is_broken: false,
            to_send: Vec::new(),
            to_receive: Vec::new(),
            sent: 0,
            held: 0,
            holder: 0,
            is_wanted: false,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) -> Push<T> {
        if self.room <= 0 {
            return self.refuse(value);
        }
        self.room -= 1;
        if self.capacity == 1 {
            self.ahead.push(value);
        } else {
            self.behind.push(value);
        }
        self.sent += 1;
        if self.room < self.least {
            self.least = self.room;
        }
        Push::Done(self.room == 0)
    }

    #[cold]
    fn refuse(&self, value: T) -> Push<T> {
        if self.receivers == 0 { Push::Refused(value) } else { Push::Full(value) }
    }

    /// The next message, if there is one.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.ahead.is_empty() {
            if self.behind.is_empty() {
                return None;
            }
            self.turn_round();
        }
        self.room += 1;
        self.ahead.pop()
    }

    fn turn_round(&mut self) {
        core::mem::swap(&mut self.ahead, &mut self.behind);
        self.ahead.reverse();
    }

    #[inline(always)]
    pub(crate) fn take(&mut self) -> Take<T> {
        match self.pop() {
            Some(value) => Take::Got(value),
            None if self.senders == 0 => Take::Closed,
            None => Take::Empty,
        }
    }

    /// As [`Self::take`], by an attempt that may put it back: then it is held. Number 0 is one that may not.
    pub(crate) fn try_take(&mut self, attempt: u64) -> Take<T> {
        if self.is_held(attempt) {
            self.is_wanted = true;
            return Take::Empty;
        }
        let taken = self.take();
        if attempt != 0 && matches!(taken, Take::Got(_)) {
            self.room -= 1;
            self.held += 1;
            self.holder = attempt;
        }
        taken
    }

    /// Whether another attempt holds a message.
    pub(crate) fn is_held(&self, attempt: u64) -> bool {
        self.held > 0 && self.holder != attempt && !is_planted("graph-held")
    }

    /// Puts a message that an attempt holds to the front again. Whether receivers are to be woken.
    pub(crate) fn put_back(&mut self, value: T) -> bool {
        self.ahead.push(value);
        self.held -= 1;
        self.held == 0 && self.is_no_longer_wanted()
    }

    /// An attempt has succeeded: what it holds is gone. Whether receivers are to be woken.
    pub(crate) fn commit(&mut self, attempt: u64) -> bool {
        if self.held == 0 || self.holder != attempt {
            return false;
        }
        self.room += self.held as isize;
        self.held = 0;
        self.is_no_longer_wanted()
    }

    fn is_no_longer_wanted(&mut self) -> bool {
        core::mem::take(&mut self.is_wanted) && !is_planted("graph-wanted")
    }

    /// Looks whether there is something to take, besides what this attempt holds.
    pub(crate) fn peek(&mut self, attempt: u64) -> Take<()> {
        match self.len() {
            0 if self.is_held(attempt) => {
                self.is_wanted = true;
                Take::Empty
            }
            0 if self.senders == 0 => Take::Closed,
            0 => Take::Empty,
            _ => Take::Got(()),
        }
    }

    /// A message goes through it without a stay.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        self.sent += 1;
    }

    /// Puts a message to the front again.
    pub(crate) fn give_back(&mut self, value: T) {
        self.room -= 1;
        self.ahead.push(value);
    }

    /// One more receives.
    pub(crate) fn add_receiver(&mut self) {
        self.receivers += 1;
        self.room = self.capacity as isize - self.len() as isize;
    }

    /// One receives no more; what was in the channel, if that was the last one.
    pub(crate) fn remove_receiver(&mut self) -> Option<[Vec<T>; 2]> {
        self.receivers -= 1;
        (self.receivers == 0).then(|| {
            self.room = CANCELLED;
            [&mut self.ahead, &mut self.behind].map(core::mem::take)
        })
    }

    pub(crate) fn receivers(&self) -> usize {
        self.receivers
    }

    fn len(&self) -> usize {
        self.ahead.len() + self.behind.len()
    }

    pub(crate) fn has_message(&self) -> bool {
        self.len() > 0
    }

    /// Whether receiving would not wait.
    pub(crate) fn can_take(&self) -> bool {
        self.has_message() || self.senders == 0
    }

    /// Whether sending would not wait.
    pub(crate) fn can_push(&self) -> bool {
        self.room > 0 || self.receivers == 0
    }

    pub(crate) fn grow(&mut self) -> usize {
        self.set_capacity(2 * self.capacity);
        self.capacity
    }

    /// Makes room for so many at least.
    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        let more = capacity.min(MOST).saturating_sub(self.capacity);
        self.capacity += more;
        self.room += more as isize;
        self.least += more as isize;
    }

    pub(crate) fn counters(&self) -> Counters {
        let most = (self.capacity as isize - self.least).max(0).unsigned_abs();
        Counters { sent: self.sent, waiting: self.len() + self.held, most, capacity: self.capacity }
    }
}
