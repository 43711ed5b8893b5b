//! Nodes, and the lines in which they are linked. The claims are those of the module above.

use core::cell::{Cell, UnsafeCell};
use core::ptr::{null, null_mut};
use std::alloc::{Layout, dealloc};

use super::{Left, no_line};
use crate::Waiter;
use crate::queue::Stage;

/// What a queue knows of one that waits.
#[repr(C)]
pub(super) struct Raw<P> {
    /// First, because [`Spares`] links by it whatever `P` is.
    pub(super) next: Cell<*const Raw<P>>,
    pub(super) previous: Cell<*const Raw<P>>,
    /// The line in which it is linked, or [`OUT`].
    pub(super) line: Cell<u32>,
    pub(super) stage: Cell<Stage>,
    /// How it is woken; taken by the one that wakes it.
    pub(super) waiter: UnsafeCell<Option<Waiter>>,
    pub(super) payload: UnsafeCell<P>,
}

pub(super) const OUT: u32 = u32::MAX;

impl<P> Raw<P> {
    #[inline(always)]
    pub(super) fn new(waiter: Waiter, payload: P) -> Raw<P> {
        Raw {
            next: Cell::new(null()),
            previous: Cell::new(null()),
            line: Cell::new(OUT),
            stage: Cell::new(Stage::Waiting),
            waiter: UnsafeCell::new(Some(waiter)),
            payload: UnsafeCell::new(payload),
        }
    }

    /// # Safety
    /// The lock of its queue is held, and it is not changed for as long as this is borrowed.
    #[inline(always)]
    pub(super) unsafe fn payload(&self) -> &P {
        // SAFETY: by the contract.
        unsafe { &*self.payload.get() }
    }

    /// # Safety
    /// The lock of its queue is held, and nobody else uses it for as long as this is borrowed.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(super) unsafe fn payload_mut(&self) -> &mut P {
        // SAFETY: by the contract.
        unsafe { &mut *self.payload.get() }
    }

    /// # Safety
    /// As of [`Self::payload`].
    #[inline(always)]
    pub(super) unsafe fn waiter(&self) -> &Option<Waiter> {
        // SAFETY: by the contract.
        unsafe { &*self.waiter.get() }
    }

    /// # Safety
    /// As of [`Self::payload_mut`].
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(super) unsafe fn waiter_mut(&self) -> &mut Option<Waiter> {
        // SAFETY: by the contract.
        unsafe { &mut *self.waiter.get() }
    }
}

impl<P> Raw<P> {
    /// Takes what it holds out of it.
    ///
    /// # Safety
    /// Nobody else uses it, and its waiter and payload are used no more.
    #[inline(always)]
    pub(super) unsafe fn take(&self) -> Left<P> {
        // SAFETY: by the contract.
        let waiter = unsafe { self.waiter.get().read() };
        // SAFETY: as above.
        let payload = unsafe { self.payload.get().read() };
        Left { stage: self.stage.get(), waiter, payload }
    }
}

/// The nodes of one line, the first come first.
pub(super) struct Line<P> {
    pub(super) first: *const Raw<P>,
    pub(super) last: *const Raw<P>,
}

/// Names a node while it is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(usize);

impl Key {
    #[inline(always)]
    pub(super) fn of<P>(node: *const Raw<P>) -> Key {
        Key(node.addr())
    }

    /// Returns a number that no other linked node has.
    pub fn number(self) -> usize {
        self.0
    }

    /// Makes a key that names no node, for tests.
    #[doc(hidden)]
    pub fn numbered(number: usize) -> Key {
        Key(number)
    }
}

/// What the lock protects.
#[repr(C)]
pub(super) struct Inner<S, P, const N: usize> {
    pub(super) lines: [Line<P>; N],
    pub(super) state: S,
    pub(super) spares: Spares,
    more: More<P>,
}

/// The lines after the first `N`, if some were made. Most queues have none: in one word.
#[allow(clippy::box_collection, reason = "so that it takes a word where there are none")]
type More<P> = Option<Box<Vec<Line<P>>>>;

/// Heap nodes that nobody uses, linked by their first field; their waiters and payloads were moved out. It does not
/// know `P`, so that what a queue is for may borrow from what is dropped with it.
pub(super) struct Spares {
    pub(super) first: *mut u8,
    layout: Layout,
}

impl Drop for Spares {
    fn drop(&mut self) {
        let mut next = self.first;
        while !next.is_null() {
            let spare = next;
            // SAFETY: the memory of a node of this layout, whose first field is the link.
            next = unsafe { spare.cast::<*mut u8>().read() };
            // SAFETY: it came from a box, and nobody else has it.
            unsafe { dealloc(spare, self.layout) };
        }
    }
}

// SAFETY: the nodes to which it points are used under the lock only, as if they were part of it.
unsafe impl<S: Send, P: Send, const N: usize> Send for Inner<S, P, N> {}

impl<S, P, const N: usize> Inner<S, P, N> {
    pub(super) fn new(state: S) -> Self {
        let lines = [const { Line { first: null(), last: null() } }; N];
        let spares = Spares { first: null_mut(), layout: Layout::new::<Raw<P>>() };
        Inner { lines, state, spares, more: None }
    }

    /// Whether there is such a line.
    #[inline(always)]
    pub(super) fn has_line(&self, line: usize) -> bool {
        line < N || line - N < self.more.as_ref().map_or(0, |more| more.len())
    }

    /// Makes sure that there are so many lines.
    pub(super) fn make_lines(&mut self, lines: usize) {
        let more = lines.saturating_sub(N);
        if more > self.more.as_ref().map_or(0, |more| more.len()) {
            assert!(lines <= OUT as usize, "so many lines have no number");
            let new = || Line { first: null(), last: null() };
            self.more.get_or_insert_default().resize_with(more, new);
        }
    }

    #[inline(always)]
    pub(super) fn line(&self, line: usize) -> &Line<P> {
        match self.lines.get(line) {
            Some(own) => own,
            None => self.line_made(line),
        }
    }

    #[inline(never)]
    fn line_made(&self, line: usize) -> &Line<P> {
        let made = self.more.as_ref().and_then(|more| more.get(line - N));
        made.unwrap_or_else(|| no_line(line))
    }

    #[inline(always)]
    pub(super) fn line_mut(&mut self, line: usize) -> &mut Line<P> {
        match self.lines.get_mut(line) {
            Some(own) => own,
            None => Self::line_made_mut(&mut self.more, line),
        }
    }

    #[inline(never)]
    fn line_made_mut(more: &mut More<P>, line: usize) -> &mut Line<P> {
        let made = more.as_mut().and_then(|more| more.get_mut(line - N));
        made.unwrap_or_else(|| no_line(line))
    }

    /// The node in a line after `node`, or the first.
    #[inline(always)]
    pub(super) fn after(&self, line: usize, node: *const Raw<P>) -> *const Raw<P> {
        // SAFETY: a linked node is live.
        unsafe { node.as_ref() }.map_or_else(|| self.line(line).first, |node| node.next.get())
    }

    /// The node of a line that has this key.
    #[inline(always)]
    pub(super) fn find(&self, line: usize, key: Key) -> Option<&Raw<P>> {
        let mut node = self.line(line).first;
        while Key::of(node) != key {
            if node.is_null() {
                return None;
            }
            node = self.after(line, node);
        }
        // SAFETY: a linked node is live.
        unsafe { node.as_ref() }
    }

    /// Adds a node at the end of a line.
    ///
    /// # Safety
    /// It is in no line, and stays live until it is unlinked.
    #[inline(always)]
    pub(super) unsafe fn link(&mut self, line: usize, node: &Raw<P>) {
        // It panics if there is no such line, before anything has changed.
        let own = self.line_mut(line);
        node.line.set(line as u32);
        let line = own;
        node.previous.set(line.last);
        // SAFETY: a linked node is live.
        match unsafe { line.last.as_ref() } {
            None => line.first = node,
            Some(last) => last.next.set(node),
        }
        line.last = node;
    }

    /// Takes a node out of its line, if it is in one.
    #[inline(always)]
    pub(super) fn unlink(&mut self, node: &Raw<P>) {
        let line = node.line.replace(OUT);
        if line == OUT {
            return;
        }
        let line = self.line_mut(line as usize);
        let (previous, next) = (node.previous.get(), node.next.replace(null()));
        // SAFETY: linked nodes are live; these are its neighbours.
        match unsafe { previous.as_ref() } {
            None => line.first = next,
            Some(previous) => previous.next.set(next),
        }
        // SAFETY: as above.
        match unsafe { next.as_ref() } {
            None => line.last = previous,
            Some(next) => next.previous.set(previous),
        }
    }
}
