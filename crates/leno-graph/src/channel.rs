//! A channel, and what is known of it without knowing its type.
//!
//! Before `build` a channel only counts its ends. `build` links it to what runs the graph and to the
//! nodes at its ends, once; from then on it can be used. Locks are held for a few instructions, never
//! while anyone waits or user code runs: messages are dropped, and wakers called, after the lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use leno_kernel::{Object, is_planted, user};

use crate::fate;
use crate::lock::{Locked, lock};
use crate::mode::Schedule;
use crate::state::{Counters, Push, State, Take};

/// What both ends refer to.
#[doc(hidden)]
pub struct Channel<T, S: Schedule> {
    /// Joins receive in the order of these.
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) object: Object,
    state: S::Lock<State<T, S::Ticket>>,
    linked: OnceLock<Linked<S>>,
    pub(crate) feed: OnceLock<S::Feed<T>>,
}

/// Where a channel is in a graph that is built.
pub struct Linked<S: Schedule> {
    pub(crate) core: S::Core,
    /// Which of the core's channels it is.
    pub(crate) index: usize,
    pub(crate) producers: Box<[usize]>,
    pub(crate) consumers: Box<[usize]>,
    /// Whether control goes from hand to hand.
    pub(crate) is_chain: bool,
    /// Who sends into it, where control goes from hand to hand.
    pub(crate) producer: Option<S::Peer>,
    /// Whether its receiver has control passed to its sender, to get it back with the next message: only
    /// in a chain, and only while the sender runs.
    pub(crate) is_awaited: AtomicBool,
    /// What is locked around operations on channels that are joined or selected from, so that no
    /// attempt that is rolled back can be seen.
    pub(crate) gate: Option<Arc<Mutex<()>>>,
}

impl<S: Schedule> Linked<S> {
    /// Shuts out others from all channels that are joined or selected with this one.
    #[inline(always)]
    pub(crate) fn shut(&self) -> Option<Locked<MutexGuard<'_, ()>>> {
        self.gate.as_deref().map(lock)
    }

    /// The nodes that send into it, or those that receive from it.
    pub(crate) fn nodes(&self, sends: bool) -> &[usize] {
        if sends { &self.producers } else { &self.consumers }
    }

    /// Whether control is to be handed to whoever receives from here.
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        self.is_awaited.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set_awaited(&self, is_awaited: bool) {
        self.is_awaited.store(is_awaited, Ordering::Relaxed);
    }

    /// Starts whoever is expected to send.
    pub(crate) fn start_producers(&self) {
        self.producers.iter().for_each(|node| S::start(&self.core, *node));
    }

    /// Starts whoever is expected to receive.
    pub(crate) fn start_consumers(&self) {
        self.consumers.iter().for_each(|node| S::start(&self.core, *node));
    }

    /// Wakes all of them. A waker that panics takes neither the message nor the turn of the caller, and the
    /// others are woken; its panic goes to the failure hook.
    #[inline(always)]
    pub(crate) fn wake(&self, tickets: Vec<S::Ticket>) {
        if !S::IS_PARALLEL {
            // Nodes of sequential graphs have no wakers of others.
            tickets.into_iter().for_each(|ticket| S::wake(&self.core, ticket));
        } else if !tickets.is_empty() {
            user::each("a waker", tickets, |ticket| S::wake(&self.core, ticket));
        }
    }
}

impl<T, S: Schedule> Channel<T, S> {
    pub(crate) fn new(name: Option<String>, capacity: usize) -> Channel<T, S> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Channel {
            number,
            name: name.unwrap_or_else(|| format!("#{number}")),
            object: Object::shared(),
            state: S::guard(State::new(capacity)),
            linked: OnceLock::new(),
            feed: OnceLock::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> S::Guard<'_, State<T, S::Ticket>> {
        S::lock(&self.state)
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn linked(&self) -> &Linked<S> {
        self.linked.get().expect("ends that can be used are of a graph that is built")
    }

    /// Whether the graph it is in was dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.linked.get().is_some_and(|linked| S::fate(&linked.core).is_dropped())
    }

    /// One more end to send through.
    pub(crate) fn add_sender(&self) {
        self.state().senders += 1;
    }

    /// One more end to receive from.
    pub(crate) fn add_receiver(&self) {
        self.state().add_receiver();
    }

    /// One end to send through is closed, or cut off.
    pub(crate) fn close_sender(&self, is_cut: bool) {
        self.leave(|state| {
            state.senders -= 1;
            state.is_cut |= is_cut;
            (state.senders == 0).then(|| core::mem::take(&mut state.to_receive))
        });
    }

    /// One end to receive from is cancelled, or cut off. If it was the last, the messages are dropped.
    pub(crate) fn cancel_receiver(&self, is_cut: bool) {
        let mut messages = None;
        self.leave(|state| {
            state.is_broken |= is_cut;
            messages = state.remove_receiver();
            let is_last = messages.is_some() && !is_planted("graph-cancel");
            is_last.then(|| core::mem::take(&mut state.to_send))
        });
        fate::dispose_all(messages.into_iter().flatten().flatten());
    }

    fn leave(&self, change: impl FnOnce(&mut State<T, S::Ticket>) -> Option<Vec<S::Ticket>>) {
        let woken = change(&mut self.state());
        if let (Some(woken), Some(linked)) = (woken, self.linked.get()) {
            linked.wake(woken);
        }
    }

    /// One attempt to send, and whom to wake for it.
    #[inline(always)]
    pub(crate) fn push(&self, value: T) -> (Push<T>, Vec<S::Ticket>) {
        let mut state = self.state();
        let pushed = state.push(value);
        let woken = match &pushed {
            Push::Done(_) if !state.to_receive.is_empty() => core::mem::take(&mut state.to_receive),
            _ => Vec::new(),
        };
        (pushed, woken)
    }

    /// One attempt to receive; who waits for room is woken.
    #[inline(always)]
    pub(crate) fn take(&self) -> Take<T> {
        let mut state = self.state();
        let taken = state.take();
        if !state.to_send.is_empty() && matches!(taken, Take::Got(_)) {
            let woken = core::mem::take(&mut state.to_send);
            drop(state);
            self.linked().wake(woken);
        }
        taken
    }
}

/// A channel whose type is not known.
#[doc(hidden)]
pub trait Link<S: Schedule> {
    /// Its number, unique in the process.
    fn number(&self) -> u64;
    /// What messages call it.
    fn name(&self) -> &str;
    /// Makes it usable.
    fn link(&self, linked: Linked<S>);
    /// Where it is, if it is built.
    fn get_linked(&self) -> Option<&Linked<S>>;
    /// Whether receiving would not wait.
    fn can_take(&self) -> bool;
    /// Whether a message is in it.
    fn has_message(&self) -> bool;
    /// Whether sending would not wait.
    fn can_push(&self) -> bool;
    /// How many ends are open, to send and to receive.
    fn ends(&self) -> (usize, usize);
    /// Makes room for twice as many; how many that are.
    fn grow(&self) -> usize;
    /// Makes room for so many at least.
    fn set_capacity(&self, capacity: usize);
    /// What has gone through it.
    fn counters(&self) -> Counters;
    /// Takes those who wait to send.
    fn senders_waiting(&self) -> Vec<S::Ticket>;
    /// One end to send through, or to receive from, is no more.
    fn end_sender(&self, is_cut: bool);
    fn end_receiver(&self, is_cut: bool);
    /// What the kernel calls it.
    fn object(&self) -> Object;
    /// Who waits to receive also waits here.
    fn watch(&self, ticket: &S::Ticket);
    /// Who waits to receive waits no more.
    fn unwatch(&self, ticket: &S::Ticket);
}

impl<T, S: Schedule> Link<S> for Channel<T, S> {
    fn number(&self) -> u64 {
        self.number
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn link(&self, linked: Linked<S>) {
        self.state().is_chain = linked.is_chain;
        let is_first = self.linked.set(linked).is_ok();
        debug_assert!(is_first, "a channel is built once");
    }

    fn get_linked(&self) -> Option<&Linked<S>> {
        self.linked.get()
    }

    fn can_take(&self) -> bool {
        self.state().can_take()
    }

    fn has_message(&self) -> bool {
        self.state().has_message()
    }

    fn can_push(&self) -> bool {
        self.state().can_push()
    }

    fn ends(&self) -> (usize, usize) {
        let state = self.state();
        (state.senders, state.receivers())
    }

    fn grow(&self) -> usize {
        self.state().grow()
    }

    fn set_capacity(&self, capacity: usize) {
        self.state().set_capacity(capacity);
    }

    fn counters(&self) -> Counters {
        self.state().counters()
    }

    fn senders_waiting(&self) -> Vec<S::Ticket> {
        core::mem::take(&mut self.state().to_send)
    }

    fn end_sender(&self, is_cut: bool) {
        self.close_sender(is_cut);
    }

    fn end_receiver(&self, is_cut: bool) {
        self.cancel_receiver(is_cut);
    }

    fn object(&self) -> Object {
        self.object
    }

    fn watch(&self, ticket: &S::Ticket) {
        self.state().to_receive.push(ticket.clone());
    }

    fn unwatch(&self, ticket: &S::Ticket) {
        self.state().to_receive.retain(|other| other != ticket);
    }
}
