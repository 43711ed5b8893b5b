//! Asynchronous methods.
//!
//! Protocol, between those who send and those who take: a message is put into the queue first, and then
//! the bell is rung for whoever says that it waits; a desk says so first, and then looks. So either it sees the
//! message, or it is prodded after it has looked.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::{Flexible, Refusal, State};
use leno_kernel::layer::user::{Locked, lock};

/// Has a desk look again; or, at the end, end.
type Rouse = Box<dyn Fn(bool) + Send + Sync>;

/// Who is to be told of messages.
#[derive(Default)]
pub(super) struct Bell {
    desks: Mutex<Vec<(Arc<AtomicBool>, Arc<Rouse>)>>,
    /// Whether there are chords of posts alone.
    reacts: AtomicBool,
    is_over: AtomicBool,
}

impl Bell {
    fn lock(&self) -> Locked<'_, Vec<(Arc<AtomicBool>, Arc<Rouse>)>> {
        lock(&self.desks)
    }

    pub(super) fn add(&self, waits: Arc<AtomicBool>, rouse: Rouse) {
        self.lock().push((waits, Arc::new(rouse)));
    }

    pub(super) fn set_reacts(&self) {
        self.reacts.store(true, SeqCst);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    /// Has those look who wait.
    pub(super) fn ring(&self) {
        let waiting: Vec<_> =
            self.lock().iter().filter(|own| own.0.load(SeqCst)).cloned().collect();
        waiting.iter().for_each(|(_, rouse)| rouse(false));
    }

    /// Nobody can call any more.
    pub(super) fn end(&self) {
        self.is_over.store(true, SeqCst);
        let all = core::mem::take(&mut *self.lock());
        all.iter().for_each(|(_, rouse)| rouse(true));
    }
}

/// An asynchronous method of [`Chords`](super::Chords): sending to it never waits.
///
/// It is a handle: cloning it gives another one for the same method.
pub struct Post<T> {
    pub(super) queue: Arc<Queue<T>>,
}

pub(super) struct Queue<T> {
    pub(super) name: Arc<str>,
    messages: Mutex<VecDeque<T>>,
    pub(super) bell: Arc<Bell>,
    conductor: Flexible<(), ()>,
}

impl<T> Queue<T> {
    fn lock(&self) -> Locked<'_, VecDeque<T>> {
        lock(&self.messages)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn take(&self) -> T {
        self.lock().pop_front().expect("only the active coroutine takes, and has seen it")
    }
}

/// Nobody will take a message: its system has ended. It is given back.
pub struct PostError<T> {
    /// The message.
    pub message: T,
    /// Why.
    pub refusal: Refusal,
}

impl<T: Send + 'static> Post<T> {
    pub(super) fn new(name: Arc<str>, bell: Arc<Bell>, conductor: Flexible<(), ()>) -> Post<T> {
        Post { queue: Arc::new(Queue { name, messages: Mutex::default(), bell, conductor }) }
    }

    /// Sends a message, which is kept until a chord takes it. Never waits, and may be called anywhere.
    ///
    /// # Errors
    /// When the system or the last handle of the [`Chords`](super::Chords) and its enquiries is gone.
    pub fn send(&self, message: T) -> Result<(), PostError<T>> {
        let queue = &*self.queue;
        if queue.bell.is_over() || queue.conductor.state() == State::Terminated {
            let refusal = Refusal::Stopped { coroutine: queue.name.clone() };
            return Err(PostError { message, refusal });
        }
        queue.lock().push_back(message);
        queue.bell.ring();
        if queue.bell.reacts.load(SeqCst) {
            let _ = queue.conductor.prod();
        }
        Ok(())
    }

    /// How many messages nobody has taken, by now perhaps others.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }
}

impl<T> Clone for Post<T> {
    fn clone(&self) -> Self {
        Post { queue: self.queue.clone() }
    }
}

impl<T> fmt::Debug for Post<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Post({}, {} pending)", self.queue.name, self.queue.len())
    }
}

impl<T> fmt::Display for PostError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nobody will take the message: {}", self.refusal)
    }
}

impl<T> std::error::Error for PostError<T> {}

leno_context::debug_as_told!(PostError<T>);
