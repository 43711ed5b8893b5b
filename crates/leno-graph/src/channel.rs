//! A channel, and what is known of it without knowing its type.
//!
//! Before `build` a channel only counts its ends. `build` links it to what runs the graph and to the
//! nodes at its ends, once; from then on it can be used. Locks are held for a few instructions, never
//! while anyone waits or user code runs: messages are dropped, and wakers called, after the lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use leno_kernel::Object;
use leno_kernel::layer::{is_planted, user};

use crate::fate;
use crate::mode::Schedule;
use crate::state::{Counters, Push, State, Take};
use crate::woken::Woken;

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
}

impl<S: Schedule> Linked<S> {
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

    /// Wakes a few. A waker that panics takes neither the message nor the turn of the caller, and the
    /// others are woken; its panic goes to the failure hook.
    #[inline(always)]
    fn wake(&self, woken: &Woken<S::Ticket>) {
        if !S::IS_PARALLEL {
            // Nodes of sequential graphs have no wakers of others.
            woken.few().for_each(|ticket| S::wake(&self.core, ticket));
        } else if !woken.is_empty() {
            user::each("a waker", woken.few(), |ticket| S::wake(&self.core, ticket));
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
        let mut state = self.state();
        state.senders -= 1;
        state.is_cut |= is_cut;
        let woken = match state.senders {
            0 => Woken::all_of(&mut state.to_receive),
            _ => Woken::NONE,
        };
        drop(state);
        self.wake_receivers(woken);
    }

    /// One end to receive from is cancelled, or cut off. If it was the last, the messages are dropped.
    pub(crate) fn cancel_receiver(&self, is_cut: bool) {
        let mut state = self.state();
        state.is_broken |= is_cut;
        let messages = state.remove_receiver();
        let woken = match messages {
            Some(_) if !is_planted("graph-cancel") => Woken::all_of(&mut state.to_send),
            _ => Woken::NONE,
        };
        drop(state);
        self.wake_senders_from(woken);
        fate::dispose_all(messages.into_iter().flatten().flatten());
    }

    /// Wakes these, and those after them, of the line to receive.
    #[inline(always)]
    pub(crate) fn wake_receivers(&self, woken: Woken<S::Ticket>) {
        self.wake_line(woken, false);
    }

    /// Wakes these, and those after them, of the line to send.
    #[inline(always)]
    pub(crate) fn wake_senders_from(&self, woken: Woken<S::Ticket>) {
        self.wake_line(woken, true);
    }

    #[inline(always)]
    fn wake_line(&self, mut woken: Woken<S::Ticket>, sends: bool) {
        while !woken.is_empty() {
            self.linked().wake(&woken);
            let left = woken.left();
            if left == 0 {
                return;
            }
            let mut state = self.state();
            let line = if sends { &mut state.to_send } else { &mut state.to_receive };
            woken = Woken::first_of(line, left);
        }
    }

    /// One attempt to send, and who is to be woken for it: see [`Self::wake_receivers`].
    #[inline(always)]
    pub(crate) fn push(&self, value: T) -> (Push<T>, Woken<S::Ticket>) {
        let mut state = self.state();
        let pushed = state.push(value);
        let woken = match &pushed {
            Push::Done(_) => Woken::all_of(&mut state.to_receive),
            _ => Woken::NONE,
        };
        (pushed, woken)
    }

    /// One attempt to receive; who waits for room is woken.
    #[inline(always)]
    pub(crate) fn take(&self) -> Take<T> {
        let mut state = self.state();
        let taken = if S::IS_PARALLEL { state.try_take(0) } else { state.take() };
        if !state.to_send.is_empty() && matches!(taken, Take::Got(_)) {
            let woken = Woken::all_of(&mut state.to_send);
            drop(state);
            self.wake_senders_from(woken);
        }
        taken
    }

    /// Puts a message that an attempt has taken to the front again, and returns which receivers are to be woken.
    pub(crate) fn put_back(&self, value: T, attempt: u64) -> Woken<S::Ticket> {
        let mut state = self.state();
        let is_to_wake = match attempt {
            0 => {
                state.give_back(value);
                S::IS_PARALLEL
            }
            _ => state.put_back(value),
        };
        match is_to_wake {
            true => Woken::all_of(&mut state.to_receive),
            false => Woken::NONE,
        }
    }

    /// Has one who waits to send stand in line, unless it need not wait: whether it does.
    pub(crate) fn waits_to_send(&self, ticket: S::Ticket) -> bool {
        let mut state = self.state();
        let waits = !state.can_push();
        if waits {
            state.to_send.push(ticket);
        }
        waits
    }

    /// One who waited to send stands in line no more.
    pub(crate) fn sends_no_more(&self, ticket: S::Ticket) {
        self.state().to_send.retain(|other| *other != ticket);
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
    /// Wakes those who wait to send, if there is room.
    fn wake_senders(&self);
    /// An attempt to receive has succeeded: wakes those who wait for that.
    fn commit(&self, attempt: u64);
    /// One end to send through, or to receive from, is no more.
    fn end_sender(&self, is_cut: bool);
    fn end_receiver(&self, is_cut: bool);
    /// What the kernel calls it.
    fn object(&self) -> Object;
    /// Has one who waits to receive stand in line here.
    fn watch(&self, ticket: S::Ticket);
    /// As [`Self::watch`], unless it need not wait: whether it does.
    fn waits_to_receive(&self, ticket: S::Ticket) -> bool;
    /// One who waited to receive stands in line no more.
    fn unwatch(&self, ticket: S::Ticket);
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

    fn wake_senders(&self) {
        let mut state = self.state();
        let woken = match state.can_push() {
            true => Woken::all_of(&mut state.to_send),
            false => Woken::NONE,
        };
        drop(state);
        self.wake_senders_from(woken);
    }

    fn commit(&self, attempt: u64) {
        let mut state = self.state();
        let receivers = match state.commit(attempt) {
            true => Woken::all_of(&mut state.to_receive),
            false => Woken::NONE,
        };
        let senders = match state.can_push() {
            true => Woken::all_of(&mut state.to_send),
            false => Woken::NONE,
        };
        drop(state);
        self.wake_receivers(receivers);
        self.wake_senders_from(senders);
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

    fn watch(&self, ticket: S::Ticket) {
        self.state().to_receive.push(ticket);
    }

    fn waits_to_receive(&self, ticket: S::Ticket) -> bool {
        let mut state = self.state();
        let waits = !state.can_take();
        if waits {
            state.to_receive.push(ticket);
        }
        waits
    }

    fn unwatch(&self, ticket: S::Ticket) {
        self.state().to_receive.retain(|other| *other != ticket);
    }
}
