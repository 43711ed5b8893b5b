//! How the rest of the process reaches a core: a mailbox and a bell.
//!
//! Every core has a number, and a mailbox that is found by it. Mailboxes are never freed, so a
//! [`Co`] may be woken by anyone at any time; a message for a coroutine that is gone names nobody.
//! When a core ends, its number and mailbox serve another one later. Ids stay unique all the same,
//! because the new core's generations begin where the old one's ended.

use std::sync::OnceLock;

use crate::bell::Bell;
use crate::co::{CORES, GENERATIONS};
use crate::core::Core;
use crate::sync::{AtomicUsize, Mutex, Ordering::SeqCst, lock};
use crate::{Co, CoresError};

/// What is sent to a core.
pub(crate) enum Message {
    /// Unpark this coroutine.
    Unpark(Co),
    /// Make this coroutine exit.
    Cancel(Co),
    /// Do this on the core.
    Run(Box<dyn FnOnce(&Core) + Send>),
}

/// See the module.
pub(crate) struct Mailbox {
    pub(crate) number: u32,
    pub(crate) bell: Bell,
    inner: Mutex<Inner>,
    sent: AtomicUsize,
}

struct Inner {
    messages: Vec<Message>,
    open: bool,
    /// The generation that the next core with this number begins with.
    generation: u32,
}

impl Mailbox {
    pub(crate) fn new(number: u32) -> Mailbox {
        Mailbox {
            number,
            bell: Bell::new(),
            inner: Mutex::new(Inner { messages: Vec::new(), open: false, generation: 1 }),
            sent: AtomicUsize::new(0),
        }
    }

    #[cfg(all(test, loom))]
    pub(crate) fn set_open(&self) {
        lock(&self.inner).open = true;
    }

    /// Sends a message. If the core has ended, it is dropped.
    pub(crate) fn send(&self, message: Message) {
        let mut inner = lock(&self.inner);
        if !inner.open {
            drop(inner);
            return drop(message);
        }
        self.sent.fetch_add(1, SeqCst);
        inner.messages.push(message);
        drop(inner);
        self.bell.ring();
    }

    /// How many messages have been sent, since the process began.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(SeqCst)
    }

    /// Swaps all messages that have arrived into `empty`.
    pub(crate) fn receive(&self, empty: &mut Vec<Message>) {
        debug_assert!(empty.is_empty());
        core::mem::swap(&mut lock(&self.inner).messages, empty);
    }
}

static MAILBOXES: [OnceLock<Box<[OnceLock<Mailbox>]>>; CHUNKS] =
    [const { OnceLock::new() }; CHUNKS];
const CHUNK: usize = 256;
const CHUNKS: usize = CORES as usize / CHUNK;

static NUMBERS: std::sync::Mutex<Numbers> =
    std::sync::Mutex::new(Numbers { free: Vec::new(), next: 0 });

fn numbers() -> std::sync::MutexGuard<'static, Numbers> {
    NUMBERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct Numbers {
    free: Vec<u32>,
    next: u32,
}

/// The mailbox of the core with this number, which exists.
#[inline]
pub(crate) fn of(core: u32) -> &'static Mailbox {
    let chunk = MAILBOXES[core as usize / CHUNK]
        .get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
    chunk[core as usize % CHUNK].get_or_init(|| Mailbox::new(core))
}

/// A mailbox for a new core.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    pub(crate) mailbox: &'static Mailbox,
    /// What the core's ids begin with.
    pub(crate) generation: u32,
}

impl Address {
    /// Gives it back unused.
    pub(crate) fn give_back(self) {
        close(self.mailbox, self.generation);
    }
}

/// Takes a mailbox for a new core.
pub(crate) fn open() -> Result<Address, CoresError> {
    loop {
        let mut numbers = numbers();
        let number = match numbers.free.pop() {
            Some(number) => number,
            None if numbers.next == CORES => return Err(CoresError { limit: CORES }),
            None => {
                numbers.next += 1;
                numbers.next - 1
            }
        };
        drop(numbers);
        let mailbox = of(number);
        let mut inner = lock(&mailbox.inner);
        // A number whose generations are used up is not used again.
        if inner.generation < GENERATIONS / 2 {
            inner.open = true;
            return Ok(Address { mailbox, generation: inner.generation });
        }
    }
}

/// Gives a mailbox back; `generation` is greater than any that was used.
pub(crate) fn close(mailbox: &'static Mailbox, generation: u32) {
    let mut inner = lock(&mailbox.inner);
    inner.open = false;
    inner.generation = generation;
    let left = core::mem::take(&mut inner.messages);
    drop(inner);
    drop(left);
    numbers().free.push(mailbox.number);
}
