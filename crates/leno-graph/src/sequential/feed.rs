//! Nodes that are iterators: the receiver of their channel asks them itself, and gets the message from the
//! call. Nothing is put into the channel, and nobody is suspended.
//!
//! The chain is asked for the first message, when the node starts, and where nobody receives by hand; then
//! [`Runner::Loop`] sends one message after the other.

use core::cell::RefCell;
use std::rc::Rc;

use leno_kernel::layer::user;

use super::{Runner, Want};
use crate::channel::Channel;
use crate::mode::Sequential;
use crate::sender::Sender;
use crate::state::{Push, Take};

/// An iterator that is a channel's sender.
#[doc(hidden)]
pub struct Feed<T> {
    iterator: Rc<RefCell<dyn Iterator<Item = T>>>,
    node: usize,
}

/// Asks an iterator for a message; not one that is being asked.
#[inline(always)]
#[track_caller]
fn next<I: Iterator + ?Sized>(iterator: &RefCell<I>) -> Option<I::Item> {
    match iterator.try_borrow_mut() {
        Ok(mut iterator) => iterator.next(),
        Err(_) => panic!("an iterator that sends into a channel cannot receive from it"),
    }
}

/// Asks an iterator for a message, on behalf of the one outside, which panics if it does. `None` if it has
/// ended.
#[inline(always)]
pub(super) fn ask_outside<T>(feed: &Feed<T>, channel: &Channel<T, Sequential>) -> Option<T> {
    match user::call(|| next(&feed.iterator)) {
        Ok(value) => asked(feed, channel, value),
        Err(panic) => {
            let core = &channel.linked().core;
            if !user::is_exit(&panic) {
                core.fate.fail(&core.node(feed.node).name, None);
            }
            falls(feed, channel);
            panic.resume()
        }
    }
}

/// Asks an iterator for a message, on behalf of a node. If it panics, its channel is cut; the exit of a coroutine around
/// it also goes on.
#[inline(always)]
pub(super) fn ask<T>(feed: &Feed<T>, channel: &Channel<T, Sequential>) -> Take<T> {
    match user::call(|| next(&feed.iterator)) {
        Ok(value) => asked(feed, channel, value).map_or(Take::Closed, Take::Got),
        Err(panic) if user::is_exit(&panic) => {
            falls(feed, channel);
            panic.resume();
        }
        Err(panic) => {
            let core = &channel.linked().core;
            core.fall(feed.node, panic);
            core.end(feed.node);
            Take::Closed
        }
    }
}

/// Counts what an iterator has given, or ends its node.
#[inline(always)]
fn asked<T>(feed: &Feed<T>, channel: &Channel<T, Sequential>, value: Option<T>) -> Option<T> {
    match value {
        Some(_) => channel.state().pass(),
        None => channel.linked().core.end(feed.node),
    }
    value
}

/// Ends the node of an iterator that unwinds; whoever asked it gets what it raised.
#[cold]
fn falls<T>(feed: &Feed<T>, channel: &Channel<T, Sequential>) {
    let core = &channel.linked().core;
    core.node(feed.node).has_fallen.set(true);
    core.end(feed.node);
}

/// Makes an iterator the sender of a channel.
pub(crate) fn feeds<T: 'static>(
    node: usize,
    sender: Sender<T, Sequential>,
    iterator: impl Iterator<Item = T> + 'static,
) -> Runner {
    let iterator = Rc::new(RefCell::new(iterator));
    let feed = Feed { iterator: iterator.clone(), node };
    let is_first = sender.tip.channel.feed.set(feed).is_ok();
    debug_assert!(is_first, "a deterministic channel has one sender");
    Runner::Loop(RefCell::new(Box::new(move || {
        let channel = &sender.tip.channel;
        let linked = channel.linked();
        loop {
            if !channel.state().can_push() {
                linked.core.node(node).want.set(Want::Send(linked.index));
                return false;
            }
            // Not while the channel is in use: the iterator may do anything.
            let Some(value) = next(&iterator) else { return true };
            let pushed = channel.state().push(value);
            match pushed {
                Push::Done(_) if linked.is_awaited() => return false,
                Push::Done(_) => {}
                Push::Full(_) | Push::Refused(_) => return true,
            }
        }
    })))
}
