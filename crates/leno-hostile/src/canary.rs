//! What notices the use of memory after its end, and values dropped twice.
//!
//! Each watched value has a number in a table of the process, which says whether it lives. So a second drop
//! is seen although the memory may be somebody else's by then.

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};

const MAGIC: u64 = 0x600d_600d_600d_600d;
const MOST: usize = if cfg!(miri) { 1 << 14 } else { 1 << 22 };
const LIVE: u8 = 1;
const GONE: u8 = 2;

static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Whether each value lives. It is indexed, not borrowed: miri looks at each byte of what is borrowed.
static TABLE: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];

fn lives(id: usize) -> bool {
    id < MOST && TABLE[id].load(SeqCst) == LIVE
}

/// Ends the process: leno has broken a promise.
pub fn violation(what: &str) -> ! {
    crate::child::tell(&format!("hostile: VIOLATION: {what}"));
    std::process::abort()
}

/// A value that knows whether it lives.
#[derive(Debug)]
pub struct Canary {
    magic: u64,
    id: usize,
    heap: Box<[u64; 2]>,
}

impl Canary {
    /// Makes one that lives.
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Canary {
        let id = NEXT.fetch_add(1, SeqCst) % MOST;
        TABLE[id].store(LIVE, SeqCst);
        Canary { magic: MAGIC, id, heap: Box::new([MAGIC ^ id as u64; 2]) }
    }

    /// Ends the process unless it lives.
    pub fn check(&self) {
        if self.magic != MAGIC {
            violation("the memory of a value was overwritten");
        }
        if !lives(self.id) {
            violation("a value is used that was dropped before");
        }
        if *self.heap != [MAGIC ^ self.id as u64; 2] {
            violation("the heap memory of a value was overwritten");
        }
    }

    /// Lends it for as long as it lives, if leno keeps its promises.
    pub fn lend(&self) -> Lent<'_> {
        Lent { id: self.id, life: PhantomData }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.check();
        TABLE[self.id].store(GONE, SeqCst);
        *self.heap = [0xdead_dead_dead_dead; 2];
        self.magic = 0xdead_dead_dead_dead;
    }
}

/// A borrow of a [`Canary`] that can be checked after the end of what it borrows from.
#[derive(Clone, Copy, Debug)]
pub struct Lent<'a> {
    id: usize,
    life: PhantomData<&'a Canary>,
}

impl Lent<'_> {
    /// Ends the process unless the lender lives.
    pub fn check(self) {
        if !lives(self.id) {
            violation("a borrow is used after the end of what it borrows from");
        }
    }
}

/// The children of a scope, counted outside of it: when this is dropped, all of them have ended.
#[derive(Debug, Default)]
pub struct Family(Rc<Cell<usize>>);

impl Family {
    /// Counts one more, until what this returns is dropped.
    pub fn child(&self) -> Living {
        self.0.set(self.0.get() + 1);
        Living(self.0.clone())
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if self.0.get() > 0 {
            violation("a scope is left while a child of it lives");
        }
    }
}

/// What a child owns as long as it lives.
#[derive(Debug)]
pub struct Living(Rc<Cell<usize>>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
