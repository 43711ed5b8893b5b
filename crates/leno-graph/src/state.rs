//! What a channel holds: messages, how many ends are open, who waits. No locks, no waking: whoever
//! holds the lock of a channel calls this, and wakes others afterwards.
//!
//! - A channel is closed when all its senders have closed: receivers take what is left, then the close.
//! - It is cancelled when all its receivers have: its messages are dropped, and sends are refused.
//! - Messages given back go to the front, past the capacity if need be: nothing is lost or reordered.

use std::collections::VecDeque;

/// A channel's state; `K` is who waits.
pub(crate) struct State<T, K> {
    /// The message that is received next: with room for one, the ring behind it is never used.
    front: Option<T>,
    /// Those behind it; empty if there is none in front.
    messages: VecDeque<T>,
    capacity: usize,
    pub(crate) senders: usize,
    pub(crate) receivers: usize,
    pub(crate) to_send: Vec<K>,
    pub(crate) to_receive: Vec<K>,
    sent: u64,
    most: usize,
}

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
        State {
            front: None,
            messages: VecDeque::with_capacity(capacity.saturating_sub(1).min(1024)),
            capacity,
            senders: 0,
            receivers: 0,
            to_send: Vec::new(),
            to_receive: Vec::new(),
            sent: 0,
            most: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) -> Push<T> {
        if self.receivers == 0 {
            return Push::Refused(value);
        }
        if self.front.is_none() {
            self.front = Some(value);
            self.sent += 1;
            self.most = self.most.max(1);
            return Push::Done(self.capacity <= 1);
        }
        let length = self.len();
        if length >= self.capacity {
            return Push::Full(value);
        }
        self.messages.push_back(value);
        self.sent += 1;
        self.most = self.most.max(length + 1);
        Push::Done(length + 1 >= self.capacity)
    }

    #[inline(always)]
    pub(crate) fn take(&mut self) -> Take<T> {
        match self.front.take() {
            Some(value) => {
                if !self.messages.is_empty() {
                    self.front = self.messages.pop_front();
                }
                Take::Got(value)
            }
            None if self.senders == 0 => Take::Closed,
            None => Take::Empty,
        }
    }

    /// A message goes through it without a stay.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        self.sent += 1;
    }

    /// Puts a message to the front again.
    pub(crate) fn give_back(&mut self, value: T) {
        if let Some(second) = self.front.replace(value) {
            self.messages.push_front(second);
        }
    }

    /// Drops everything: all receivers have left.
    pub(crate) fn empty(&mut self) -> (Option<T>, VecDeque<T>) {
        (self.front.take(), core::mem::take(&mut self.messages))
    }

    fn len(&self) -> usize {
        self.messages.len() + usize::from(self.front.is_some())
    }

    pub(crate) fn has_message(&self) -> bool {
        self.front.is_some()
    }

    /// Whether receiving would not wait.
    pub(crate) fn can_take(&self) -> bool {
        self.has_message() || self.senders == 0
    }

    /// Whether sending would not wait.
    pub(crate) fn can_push(&self) -> bool {
        self.len() < self.capacity || self.receivers == 0
    }

    pub(crate) fn grow(&mut self) -> usize {
        self.capacity *= 2;
        self.capacity
    }

    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = self.capacity.max(capacity);
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { sent: self.sent, waiting: self.len(), most: self.most, capacity: self.capacity }
    }
}
