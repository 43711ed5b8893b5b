//! Nodes of a wait queue: where they lie, and who may touch them. [`crate::queue`] has the protocol.
//!
//! A node lies in the frame of [`Guard::wait`], or on the heap if its owner has no frame that stays ([`HeapNode`]). The
//! queue links nodes by raw pointers.
//!
//! Claims:
//! - A node that is linked is live. `wait` unlinks its own before it returns or unwinds; the memory of a [`HeapNode`] is
//!   freed by the queue alone, after its owner has given it back. A node whose owner is forgotten keeps its memory: the
//!   heap's, or that of a stack that nobody gets again.
//! - The fields of a node are used by the code that holds the lock of its queue: only a [`Guard`] gives access, and a
//!   [`Handle`] is refused by the guard of another queue.
//! - A node that is linked has the number of its line, and no line goes before its queue.
//! - While a node is linked there are shared references to it only; all its fields are cells.
//! - A reference to a payload borrows the guard, exclusively if it is `&mut`. A [`Key`] is compared with the
//!   addresses of linked nodes and never followed itself.

mod frame;
mod node;

use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull, null};

pub use self::frame::{First, Next, Sleep};
pub use self::node::Key;
use self::node::{Inner, OUT, Raw};
use crate::queue::{Lock, Stage};
use crate::{Co, Waiter, user};

/// State, and `N` lines of those who wait for it to change, behind one lock; more can be made ([`Guard::make_lines`]).
///
/// `S` is the state, `P` what each that waits brings along or is handed. See [the module](crate::queue).
#[repr(C)]
pub struct WaitQueue<L: Lock, S, P, const N: usize> {
    inner: L::Cell<Inner<S, P, N>>,
    looks_away: bool,
}

impl<L: Lock, S, P, const N: usize> WaitQueue<L, S, P, N> {
    /// Makes a queue in which nobody waits.
    pub fn new(state: S) -> Self {
        const { assert!(N < OUT as usize, "so many lines have no number") }
        WaitQueue { inner: L::new(Inner::new(state)), looks_away: false }
    }

    /// Makes one through which much is passed at a time: who finds it locked waits a moment before the next try, so
    /// that the other side can pass the next thing, too, with the lock in its own cache.
    pub fn streamed(state: S) -> Self {
        WaitQueue { looks_away: true, ..WaitQueue::new(state) }
    }

    /// Locks it.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> Guard<'_, L, S, P, N> {
        Guard { held: L::lock(&self.inner, self.looks_away), queue: self }
    }

    /// Returns the state, without locking: nobody else can use the queue.
    pub fn get_mut(&mut self) -> &mut S {
        &mut L::get_mut(&mut self.inner).state
    }
}

/// The lock of a [`WaitQueue`]: access to its state and to those who wait. A critical section: no user code runs
/// while there is one.
pub struct Guard<'c, L: Lock, S, P, const N: usize> {
    held: L::Guard<'c, Inner<S, P, N>>,
    queue: &'c WaitQueue<L, S, P, N>,
}

impl<L: Lock, S, P, const N: usize> Deref for Guard<'_, L, S, P, N> {
    type Target = S;

    #[inline(always)]
    fn deref(&self) -> &S {
        &self.held.state
    }
}

impl<L: Lock, S, P, const N: usize> DerefMut for Guard<'_, L, S, P, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S {
        &mut self.held.state
    }
}

/// One that waits, as seen by others.
pub struct Waiting<'g, P> {
    /// Its name while it is in a line.
    pub key: Key,
    /// How it is woken, if that was not done.
    pub waiter: Option<&'g Waiter>,
    /// What it brings along.
    pub payload: &'g P,
}

impl<'g, P> Waiting<'g, P> {
    /// # Safety
    /// The lock of its queue is held for `'g`, and nothing is changed meanwhile.
    #[inline(always)]
    unsafe fn of(node: &'g Raw<P>) -> Self {
        // SAFETY: by the contract.
        let waiter = unsafe { node.waiter() };
        // SAFETY: by the contract.
        let payload = unsafe { node.payload() };
        Waiting { key: Key::of(node), waiter: waiter.as_ref(), payload }
    }
}

impl<'c, L: Lock, S, P, const N: usize> Guard<'c, L, S, P, N> {
    /// Makes sure that there are so many lines, for queues of which that is not known when they are made: those after
    /// the first `N` are made here, and stay. Who needs one no more uses its number again.
    ///
    /// # Panics
    /// If it is no number below 2³².
    pub fn make_lines(&mut self, lines: usize) {
        self.held.make_lines(lines);
    }

    /// Whether nobody is in a line.
    #[inline(always)]
    pub fn is_empty(&self, line: usize) -> bool {
        self.held.line(line).first.is_null()
    }

    /// Whether two or more are in a line.
    #[inline(always)]
    pub fn has_several(&self, line: usize) -> bool {
        let line = self.held.line(line);
        !ptr::eq(line.first, line.last)
    }

    /// Returns those of a line, the first come first.
    pub fn iter(&self, line: usize) -> impl Iterator<Item = Waiting<'_, P>> {
        let mut node = null();
        core::iter::from_fn(move || {
            node = self.held.after(line, node);
            // SAFETY: a linked node is live.
            let node = unsafe { node.as_ref() }?;
            // SAFETY: `self` is borrowed.
            Some(unsafe { Waiting::of(node) })
        })
    }

    /// Returns one of a line. It takes as long as it stands far behind.
    #[inline(always)]
    pub fn get(&self, line: usize, key: Key) -> Option<Waiting<'_, P>> {
        // SAFETY: `self` is borrowed.
        self.held.find(line, key).map(|node| unsafe { Waiting::of(node) })
    }

    /// Returns the first of a line.
    #[inline(always)]
    pub fn first(&self, line: usize) -> Option<Waiting<'_, P>> {
        // SAFETY: a linked node is live.
        let node = unsafe { self.held.line(line).first.as_ref() }?;
        // SAFETY: `self` is borrowed.
        Some(unsafe { Waiting::of(node) })
    }

    /// Ends the wait of one of a line: takes it out, says how, and has `hand` give it `value`, or take what it brings.
    /// Returns what `hand` does, and how to wake it. `hand` runs under the lock: it is no user code, and does not panic.
    ///
    /// # Errors
    /// `value`, if it is not in that line.
    #[inline(always)]
    pub fn settle<V, R>(
        &mut self,
        line: usize,
        key: Key,
        stage: Stage,
        value: V,
        hand: impl FnOnce(&mut P, V) -> R,
    ) -> Result<(R, Option<Waiter>), V> {
        let inner = &mut *self.held;
        let Some(node) = inner.find(line, key) else { return Err(value) };
        // SAFETY: a linked node is live, also while its queue is borrowed for something else.
        let node = unsafe { &*ptr::from_ref(node) };
        inner.unlink(node);
        node.stage.set(stage);
        // SAFETY: the lock is held and borrowed exclusively, and nothing else of the node is borrowed.
        let waiter = unsafe { node.waiter_mut() };
        // SAFETY: as above.
        let payload = unsafe { node.payload_mut() };
        let waiter = waiter.take().filter(|_| !leno_context::is_planted("queue-wake"));
        Ok((hand(payload, value), waiter))
    }

    /// As [`Self::settle`], of the first in a line.
    ///
    /// # Errors
    /// `value`, if nobody is in that line.
    #[inline(always)]
    pub fn settle_first<V, R>(
        &mut self,
        line: usize,
        stage: Stage,
        value: V,
        hand: impl FnOnce(&mut P, V) -> R,
    ) -> Result<(R, Option<Waiter>), V> {
        match self.first(line).map(|first| first.key) {
            Some(first) => self.settle(line, first, stage, value, hand),
            None => Err(value),
        }
    }

    /// Ends the wait of the only one in a line, if that is a coroutine and `is_plain` says so: the usual case, in few
    /// instructions.
    ///
    /// # Errors
    /// `value`, if it is not that case.
    #[inline(always)]
    pub fn settle_only<V, R>(
        &mut self,
        line: usize,
        is_plain: impl FnOnce(&P) -> bool,
        value: V,
        hand: impl FnOnce(&mut P, V) -> R,
    ) -> Result<(R, Co), V> {
        let line = self.held.line_mut(line);
        let first = line.first;
        // SAFETY: a linked node is live.
        let Some(node) = (unsafe { first.as_ref() }) else { return Err(value) };
        if !ptr::eq(first, line.last) {
            return Err(value);
        }
        // SAFETY: as in `settle`.
        let waiter = unsafe { node.waiter_mut() };
        // SAFETY: as above.
        let payload = unsafe { node.payload_mut() };
        let Some(Waiter::Co(co)) = *waiter else { return Err(value) };
        if !is_plain(payload) {
            return Err(value);
        }
        // A number, which needs no destructor.
        core::mem::forget(waiter.take());
        (line.first, line.last) = (null(), null());
        node.line.set(OUT);
        node.stage.set(Stage::Met);
        Ok((hand(payload, value), co))
    }

    /// Ends the waits of all in a line, and says how. Returns how to wake them, the first come first.
    pub fn settle_all(&mut self, line: usize, stage: Stage) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        while let Ok(((), waiter)) = self.settle_first(line, stage, (), |_, ()| ()) {
            waiters.extend(waiter);
        }
        waiters
    }

    /// Takes one out of a line, and leaves it at that: its wait was ended elsewhere.
    pub fn remove(&mut self, line: usize, key: Key) {
        let inner = &mut *self.held;
        if let Some(node) = inner.find(line, key) {
            // SAFETY: as in `settle`.
            let node = unsafe { &*ptr::from_ref(node) };
            inner.unlink(node);
        }
    }

    /// Takes the waiter of one that stays in its line.
    pub fn take_waiter(&mut self, line: usize, key: Key) -> Option<Waiter> {
        let node = self.held.find(line, key)?;
        // SAFETY: the lock is held, and nothing of the node is borrowed.
        unsafe { node.waiter_mut() }.take()
    }

    /// Has one on the heap wait at the end of a line.
    ///
    /// # Panics
    /// If there is no such line. What was given is leaked then.
    pub fn link_on_heap(
        &mut self,
        line: usize,
        waiter: Waiter,
        payload: P,
    ) -> HeapNode<'c, L, S, P, N> {
        if !self.held.has_line(line) {
            // Dropping them is user code, and the lock is held.
            core::mem::forget((waiter, payload));
            no_line(line);
        }
        let inner = &mut *self.held;
        let node = match NonNull::new(inner.spares.first) {
            None => NonNull::from(Box::leak(Box::new(Raw::new(waiter, payload)))),
            Some(spare) => {
                // SAFETY: the memory of a node, whose first field is the link.
                inner.spares.first = unsafe { spare.cast::<*mut u8>().read() };
                let spare = spare.cast::<Raw<P>>();
                // SAFETY: as above; nobody else has it, and there is nothing in it.
                unsafe { spare.write(Raw::new(waiter, payload)) };
                spare
            }
        };
        // SAFETY: it is in no line, and is freed by the queue only, from among the spare ones.
        let raw = unsafe { node.as_ref() };
        // SAFETY: as above.
        unsafe { inner.link(line, raw) };
        HeapNode { node: Pointer(node), queue: self.queue }
    }

    /// Has a future wait in a line with this waiter and payload from now on: where it stands already, or at the end.
    /// Returns what is needed no more; dropping that is user code.
    ///
    /// # Panics
    /// As [`Self::link_on_heap`], and if its node is of another queue: what was given is leaked then, too.
    pub fn link_again(
        &mut self,
        own: &mut Option<HeapNode<'c, L, S, P, N>>,
        line: usize,
        waiter: Waiter,
        payload: P,
    ) -> Option<Left<P>> {
        let is_own = |own: &HeapNode<'c, L, S, P, N>| ptr::eq(self.queue, own.queue);
        if !self.held.has_line(line) || !own.as_ref().is_none_or(is_own) {
            // As above.
            core::mem::forget((waiter, payload));
            own.iter().for_each(|own| self.check(own.queue));
            no_line(line);
        }
        if let Some(own) = own.as_ref().filter(|own| self.is_in(own.handle(), line)) {
            let waiter = self.set_waiter(own.handle(), waiter);
            let payload = core::mem::replace(self.payload(own.handle()), payload);
            return Some(Left { stage: Stage::Waiting, waiter, payload });
        }
        let left = own.take().map(|own| self.leave(own));
        *own = Some(self.link_on_heap(line, waiter, payload));
        left
    }

    /// Whether one on the heap stands in this line.
    fn is_in(&self, at: Handle<'_, 'c, L, S, P, N>, line: usize) -> bool {
        self.check(at.queue);
        at.raw.line.get() as usize == line
    }

    /// Ends the wait of one on the heap, however that stands. Returns what it holds; dropping that is user code.
    #[inline(always)]
    pub fn leave(&mut self, own: HeapNode<'c, L, S, P, N>) -> Left<P> {
        self.check(own.queue);
        let spare = own.node.0;
        core::mem::forget(own);
        // SAFETY: it is live until its owner gives it back, here.
        let node = unsafe { spare.as_ref() };
        // SAFETY: it is a spare one from now on.
        let left = unsafe { self.take_back(node) };
        let inner = &mut *self.held;
        node.next.set(inner.spares.first.cast_const().cast());
        inner.spares.first = spare.as_ptr().cast();
        left
    }

    /// Takes a node out of its line, if it is there, and what it holds out of it.
    ///
    /// # Safety
    /// It is of this queue, and its waiter and payload are used no more.
    #[inline(always)]
    unsafe fn take_back(&mut self, node: &Raw<P>) -> Left<P> {
        self.held.unlink(node);
        // SAFETY: by the contract; nobody else finds it any more.
        unsafe { node.take() }
    }

    #[inline(always)]
    fn check(&self, queue: &WaitQueue<L, S, P, N>) {
        assert!(ptr::eq(self.queue, queue), "a node of another queue");
    }

    /// Returns what has become of a wait.
    #[inline(always)]
    pub fn stage(&self, at: Handle<'_, 'c, L, S, P, N>) -> Stage {
        self.check(at.queue);
        at.raw.stage.get()
    }

    /// Returns what one's own node brings along, or was handed.
    #[inline(always)]
    pub fn payload<'g>(&'g mut self, at: Handle<'g, 'c, L, S, P, N>) -> &'g mut P {
        self.check(at.queue);
        // SAFETY: the lock is held and borrowed exclusively, and the node as long.
        unsafe { at.raw.payload_mut() }
    }

    /// Returns how one's own node is woken, if that was not done.
    pub fn waiter<'g>(&'g self, at: Handle<'g, 'c, L, S, P, N>) -> Option<&'g Waiter> {
        self.check(at.queue);
        // SAFETY: the lock is held and borrowed, and the node as long.
        unsafe { at.raw.waiter() }.as_ref()
    }

    /// Has another waiter woken from now on. Returns the old one; dropping it is user code.
    pub fn set_waiter(&mut self, at: Handle<'_, 'c, L, S, P, N>, new: Waiter) -> Option<Waiter> {
        self.check(at.queue);
        // SAFETY: the lock is held and borrowed exclusively.
        unsafe { at.raw.waiter_mut() }.replace(new)
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_line(line: usize) -> ! {
    panic!("a wait queue has no line {line}")
}

/// What a wait has left behind.
pub struct Left<P> {
    /// What had become of it.
    pub stage: Stage,
    /// How it would have been woken.
    pub waiter: Option<Waiter>,
    /// What it brought along, or was handed.
    pub payload: P,
}

/// One's own node on the heap, for use with the guard of its queue.
pub struct Handle<'n, 'c, L: Lock, S, P, const N: usize> {
    raw: &'n Raw<P>,
    queue: &'c WaitQueue<L, S, P, N>,
}

impl<L: Lock, S, P, const N: usize> Clone for Handle<'_, '_, L, S, P, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Lock, S, P, const N: usize> Copy for Handle<'_, '_, L, S, P, N> {}

impl<L: Lock, S, P, const N: usize> Handle<'_, '_, L, S, P, N> {
    /// Returns its name, as long as it is linked.
    pub fn key(self) -> Key {
        Key::of(self.raw)
    }
}

struct Pointer<P>(NonNull<Raw<P>>);

// SAFETY: it is followed under the lock of its queue, by those who have a reference to that.
unsafe impl<P> Send for Pointer<P> {}
// SAFETY: as above.
unsafe impl<P> Sync for Pointer<P> {}

/// A wait on the heap, in memory that the queue uses again; unlinked when it is dropped.
pub struct HeapNode<'c, L: Lock, S, P, const N: usize> {
    node: Pointer<P>,
    queue: &'c WaitQueue<L, S, P, N>,
}

impl<'c, L: Lock, S, P, const N: usize> HeapNode<'c, L, S, P, N> {
    /// Returns it for use with a guard.
    #[inline(always)]
    pub fn handle(&self) -> Handle<'_, 'c, L, S, P, N> {
        // SAFETY: it is live until its owner gives it back.
        Handle { raw: unsafe { self.node.0.as_ref() }, queue: self.queue }
    }
}

impl<L: Lock, S, P, const N: usize> Drop for HeapNode<'_, L, S, P, N> {
    fn drop(&mut self) {
        let own = HeapNode { node: Pointer(self.node.0), queue: self.queue };
        let left = self.queue.lock().leave(own);
        user::discard(left);
    }
}
