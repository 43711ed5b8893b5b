//! Symmetric coroutines: members of a ring that pass control among themselves.
//!
//! A ring belongs to the context that entered it, its *initial member*: a plain thread, or a
//! coroutine that called `ring::scope`. Control moves by *hops*; at any time one member is
//! current, the others wait in the queue, new, suspended, or (the initial one) simply left.
//!
//! Claims:
//! - Everything here is used by one thread: rings are found through the thread's block, and by
//!   the stack the calling code runs on. That also tells a ring from the one around it, and a
//!   member from an asymmetric coroutine inside it, without any book-keeping on resume.
//! - A member is continued only by its ring, when it is taken out of the queue (or drained), so
//!   each context is continued once.
//! - A finished member's stack is released by whoever runs next, who is on another stack.
//! - A ring outlives its members: it is freed by the scope that drained it, or by the thread's
//!   exit if it is empty.

use core::cell::{Cell, RefCell, UnsafeCell};
use core::panic::Location;
use core::ptr::NonNull;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use leno_context::control::{self, Control, Kind, Spec, bits};
use leno_context::stack::StackSize;
use leno_context::thread::{self, Slot, Thread};
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::word::{EMPTY, Word};
use leno_context::{Name, State, Status, overflow, switch};

use super::exit::{self, Ended};
use super::local;
use super::queue::Queue;
use crate::ring::{Drained, Failure, Member, RingError, SpawnError};
use crate::{Builder, trace};

/// Prefetch this many places ahead, in queues too long for the caches.
const AHEAD: u64 = 8;

/// A ring; see the module.
pub(crate) struct Ring {
    initial: NonNull<Control>,
    /// The coroutine that entered it; null for a plain thread.
    host: *mut Control,
    /// The ring its host was in when it entered this one.
    outer: *mut (),
    /// Entered by code that was itself unwinding: then members may hop although `panicking()`.
    unwinding: bool,
    /// Members may borrow: all of them must end before the ring does.
    borrows: bool,
    current: Cell<NonNull<Control>>,
    queue: UnsafeCell<Queue>,
    /// A member that has finished and whose stack is still to be released.
    dead: Cell<Option<NonNull<Control>>>,
    /// An exit aimed further out, to be raised in the initial member.
    raise: Cell<Option<Box<dyn Any + Send>>>,
    draining: Cell<bool>,
    failures: RefCell<Vec<Failure>>,
}

impl Ring {
    /// Enters a new ring in the running context.
    fn enter(borrows: bool) -> NonNull<Ring> {
        let host = control::current();
        let initial = control::spare_block();
        let spec = Spec {
            name: Name::from("initial"),
            site: Location::caller(),
            size: StackSize::DEFAULT,
            kind: Kind::Member,
            watched: trace::is_on(),
        };
        // SAFETY: a spare block is ours.
        unsafe { control::set_up(initial.as_ptr(), spec, None, never) };
        // SAFETY: just set up.
        let block = unsafe { initial.as_ref() };
        block.mark(bits::RUNNING);
        let slot = entered(host);
        let ring = NonNull::from_mut(Box::leak(Box::new(Ring {
            initial,
            host,
            outer: slot.get(),
            unwinding: std::thread::panicking(),
            borrows,
            current: Cell::new(initial),
            queue: UnsafeCell::new(Queue::new()),
            dead: Cell::new(None),
            raise: Cell::new(None),
            draining: Cell::new(false),
            failures: RefCell::default(),
        })));
        block.ring.set(ring.as_ptr().cast());
        if host.is_null() {
            if let Some((low, high)) = overflow::thread_range() {
                block.set_range(low, high);
            }
        // SAFETY: the running coroutine's block is live.
        } else if let Some(stack) = unsafe { &*host }.stack() {
            block.set_range(stack.limit().addr(), stack.top().addr());
        }
        slot.set(ring.as_ptr().cast());
        thread::current().slot(Slot::RingUsed).set(ring.as_ptr().cast());
        ring
    }

    /// Leaves and frees a ring that has no members left.
    ///
    /// # Safety
    /// `ring` was made by [`Self::enter`] in this context and is not used afterwards.
    unsafe fn leave(ring: NonNull<Ring>) {
        // SAFETY: leaked by `enter`.
        let ring = unsafe { Box::from_raw(ring.as_ptr()) };
        entered(ring.host).set(ring.outer);
        thread::current().slot(Slot::RingUsed).set(core::ptr::null_mut());
        // SAFETY: the ring is gone, and with it the last user of the block.
        unsafe { control::give_back_block(ring.initial) };
    }

    #[inline(always)]
    fn current(&self) -> &Control {
        // SAFETY: the current member is live.
        unsafe { self.current.get().as_ref() }
    }

    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "one thread, no reference survives a hop")]
    fn queue(&self) -> &mut Queue {
        // SAFETY: only this thread uses the ring, and every use ends before the next begins.
        unsafe { &mut *self.queue.get() }
    }

    #[inline(always)]
    fn can_hop(&self) -> bool {
        !std::thread::panicking() || self.unwinding
    }

    /// Gives control to `to`, which is out of the queue; returns when control comes back.
    #[inline(always)]
    fn hop(&self, to: NonNull<Control>, code: usize) {
        let from = self.current.get();
        // SAFETY: the current member is live while it runs here.
        let from = unsafe { from.as_ref() };
        // SAFETY: members of the queue are live.
        let target = unsafe { to.as_ref() };
        from.mark(bits::SUSPENDED);
        target.mark(bits::RUNNING);
        self.current.set(to);
        if target.watched() {
            trace::event(if code == code::GO { "hop to" } else { "exit" }, target);
        }
        // SAFETY: the target was left by a hop, or is fresh, and is continued by this ring only.
        let (word, code) =
            unsafe { switch::transfer(from.context(), target.context(), EMPTY, code) };
        if code != code::GO {
            // SAFETY: the word is what the code says.
            unsafe { self.summoned(from, word, code) };
        }
        self.settle();
    }

    /// Continued with another code than GO.
    ///
    /// # Safety
    /// Word and code came with the switch to `own`.
    #[cold]
    #[inline(never)]
    unsafe fn summoned(&self, own: &Control, mut word: Word, mut code: usize) {
        while code == code::SHOW {
            // SAFETY: the word of a SHOW, whose sender waits.
            unsafe { unwind::show(word) };
            // SAFETY: the sender has left its context there.
            (word, code) =
                unsafe { switch::transfer(own.context(), own.back(), EMPTY, code::SUSPENDED) };
        }
        if code == code::EXIT {
            self.settle();
            unwind::exit(own);
        }
    }

    /// What whoever runs next does for whoever ran before.
    #[inline(always)]
    fn settle(&self) {
        if let Some(dead) = self.dead.take() {
            self.bury(dead);
        }
    }

    #[cold]
    #[inline(never)]
    fn bury(&self, dead: NonNull<Control>) {
        // SAFETY: it has finished, and this code runs on another stack.
        unsafe { control::release(dead) };
        if let Some(payload) = self.raise.take() {
            resume_unwind(payload);
        }
    }

    /// The next member to run, out of the queue, with a glance further ahead.
    #[inline(always)]
    fn next(&self) -> Option<NonNull<Control>> {
        let queue = self.queue();
        if let Some(later) = queue.peek(AHEAD) {
            let line = later.as_ptr().cast::<u8>();
            switch::prefetch(line);
            switch::prefetch(line.wrapping_sub(64));
            switch::prefetch(line.wrapping_sub(128));
        }
        queue.pop_front()
    }

    #[inline(always)]
    fn yield_now(&self) {
        if !self.can_hop() {
            return;
        }
        if self.draining.get() {
            return self.yield_draining();
        }
        let Some(next) = self.next() else { return };
        self.queue().push_back(self.current.get());
        self.hop(next, code::GO);
    }

    /// While the ring is drained, whoever is not the initial member gives control to it.
    #[cold]
    fn yield_draining(&self) {
        if self.current.get() != self.initial {
            self.hop(self.initial, code::GO);
        }
    }

    fn yield_to(&self, member: &Member) -> Result<(), RingError> {
        let target = self.own(member)?;
        if target == self.current.get() {
            return Ok(());
        }
        if !self.can_hop() {
            return Err(RingError::Exiting { from: self.current().shown().to_string() });
        }
        if self.draining.get() {
            self.yield_draining();
            return Ok(());
        }
        let waiting = self.queue().remove(target);
        assert!(waiting, "a member that is neither current nor finished waits in the queue");
        self.queue().push_back(self.current.get());
        self.hop(target, code::GO);
        Ok(())
    }

    /// The live block of a member of this ring.
    fn own(&self, member: &Member) -> Result<NonNull<Control>, RingError> {
        let name = || member.to_string();
        if member.thread != thread::current().number() {
            return Err(RingError::OtherThread { member: name() });
        }
        let Some(control) = member.status.control() else {
            return Err(RingError::Finished { member: name() });
        };
        // SAFETY: live, and of this thread, so it stays so.
        let ring = unsafe { control.as_ref() }.ring.get();
        if !core::ptr::eq(ring.cast(), self) {
            return Err(RingError::OtherRing { member: name() });
        }
        Ok(control)
    }

    fn member(&self, control: NonNull<Control>) -> Member {
        // SAFETY: live.
        let block = unsafe { control.as_ref() };
        Member { status: Status::of(block), thread: thread::current().number() }
    }

    /// Ends all members but the initial one, which calls this, in the order they would have run.
    fn drain(&self) -> Drained {
        let mut drained = Drained::default();
        let before = self.draining.replace(true);
        while let Some(member) = self.queue().pop_front() {
            match self.end(member) {
                Ended::Gone(_) => drained.ended += 1,
                Ended::Refused | Ended::CannotUnwind => drained.leaked += 1,
            }
        }
        self.draining.set(before);
        drained
    }

    fn end(&self, member: NonNull<Control>) -> Ended {
        // SAFETY: live: it was in the queue.
        let block = unsafe { member.as_ref() };
        if block.state() == State::New {
            trace::event("drop", block);
            // SAFETY: new, out of the queue, not used afterwards.
            return unsafe { exit::drop_unstarted(member) };
        }
        if cfg!(panic = "abort") {
            if self.borrows {
                unwind::give_up(&format!(
                    "a ring's scope ended while its member {} (created at {}) was suspended: with \
                     panic = \"abort\" it cannot be unwound; let it finish first",
                    block.shown(),
                    block.site(),
                ));
            }
            return Ended::CannotUnwind;
        }
        let status = Status::of(block);
        for _ in 0..EXIT_TRIES {
            self.hop(member, code::EXIT);
            if status.is_finished() {
                return Ended::Gone(None);
            }
        }
        if self.borrows {
            unwind::give_up(&exit::refused(block));
        }
        exit::report_refused(block);
        Ended::Refused
    }

    /// Leaves the finished current member for good.
    ///
    /// # Safety
    /// Called by the current member, with nothing on its stack needed any more.
    unsafe fn finish(&self, failed: Option<Box<dyn Any + Send>>) -> ! {
        let own = self.current.get();
        let block = self.current();
        trace::event(if failed.is_some() { "panic" } else { "return" }, block);
        let mut home = self.draining.get();
        match failed {
            Some(payload) if unwind::is_exit_of(&*payload, block.id()) => {}
            Some(payload) if unwind::is_exit(&*payload) => {
                self.raise.set(Some(payload));
                self.queue().remove(self.initial);
                home = true;
            }
            Some(payload) => self.failures.borrow_mut().push(Failure {
                member: self.member(own),
                name: block.name().clone(),
                payload,
            }),
            None => {}
        }
        let next = if home { self.initial } else { self.next().unwrap_or(self.initial) };
        block.mark(bits::FINISHED);
        self.dead.set(Some(own));
        self.current.set(next);
        // SAFETY: live.
        let next = unsafe { next.as_ref() };
        next.mark(bits::RUNNING);
        // SAFETY: left by a hop, or fresh; continued once. Our stack is released by it.
        unsafe { switch::jump(next.context(), EMPTY, code::GO) }
    }
}

unsafe extern "C-unwind" fn never(_: Word, _: usize, _: *mut Control) -> ! {
    unreachable!("an initial member is never entered: it is already running")
}

/// Where the running context keeps the ring it has entered.
fn entered(host: *mut Control) -> &'static Cell<*mut ()> {
    if host.is_null() {
        return thread::current().slot(Slot::RingBase);
    }
    // SAFETY: the running coroutine's block; its memory is never unmapped.
    unsafe { &(*host).entered }
}

/// The ring of the calling code.
#[inline(always)]
fn here() -> Result<&'static Ring, RingError> {
    let thread = thread::current();
    let used = thread.slot(Slot::RingUsed).get().cast::<Ring>();
    if !used.is_null() {
        // SAFETY: cleared when the ring is freed.
        let ring = unsafe { &*used };
        if ring.current().is_here() {
            return Ok(ring);
        }
    }
    find(thread)
}

#[cold]
#[inline(never)]
fn find(thread: &Thread) -> Result<&'static Ring, RingError> {
    let control = control::current();
    let entered = entered(control).get();
    let ring = if control.is_null() || !entered.is_null() {
        entered
    } else {
        // SAFETY: the running coroutine's block is live.
        let block = unsafe { &*control };
        if block.kind() != Kind::Member {
            return Err(RingError::InsideAsymmetric { coroutine: block.shown().to_string() });
        }
        block.ring.get()
    };
    if ring.is_null() {
        return Err(RingError::NoRing);
    }
    thread.slot(Slot::RingUsed).set(ring);
    // SAFETY: a context's ring is freed only after the context has left it.
    Ok(unsafe { &*ring.cast::<Ring>() })
}

/// The ring of the calling code; a plain thread enters one on first use.
fn here_or_enter() -> Result<&'static Ring, RingError> {
    match here() {
        Err(RingError::NoRing) => {
            let ring = Ring::enter(false);
            free_at_thread_exit();
            // SAFETY: freed at thread exit only.
            Ok(unsafe { ring.as_ref() })
        }
        found => found,
    }
}

/// Frees the ring of the thread's own context when the thread ends, if it has no members left.
fn free_at_thread_exit() {
    struct AtExit;
    impl Drop for AtExit {
        fn drop(&mut self) {
            let base = thread::current().slot(Slot::RingBase).get().cast::<Ring>();
            let Some(ring) = NonNull::new(base) else { return };
            // SAFETY: not freed yet: only this does.
            if unsafe { ring.as_ref() }.queue().len() == 0 {
                // SAFETY: entered by this context, nobody is in it.
                unsafe { Ring::leave(ring) };
            }
        }
    }
    thread_local!(static AT_EXIT: AtExit = const { AtExit });
    let _ = AT_EXIT.try_with(|_| ());
}

/// Makes a member whose body borrows nothing.
pub(crate) fn spawn<F: FnOnce() + 'static>(
    builder: Builder,
    site: &'static Location<'static>,
    body: F,
) -> Result<Member, SpawnError> {
    // SAFETY: `'static`.
    unsafe { spawn_in(here_or_enter()?, builder, site, body) }
}

/// # Safety
/// The ring ends its members before anything that the body borrows does.
unsafe fn spawn_in<F: FnOnce()>(
    ring: &Ring,
    builder: Builder,
    site: &'static Location<'static>,
    body: F,
) -> Result<Member, SpawnError> {
    let spec = builder.spec(site, Kind::Member)?;
    let control =
        control::create(spec, body, main::<F>).map_err(|(why, _)| crate::CreateError { why })?;
    // SAFETY: just made.
    let block = unsafe { control.as_ref() };
    block.ring.set((&raw const *ring).cast_mut().cast());
    // SAFETY: the ring's initial block is live as long as the ring.
    block.set_parent(unsafe { ring.initial.as_ref() }.context());
    trace::event("spawn", block);
    ring.queue().push_front(control);
    Ok(ring.member(control))
}

/// The base of every member's stack.
unsafe extern "C-unwind" fn main<F: FnOnce()>(_: Word, _go: usize, control: *mut Control) -> ! {
    unwind::begun();
    let run = || {
        // SAFETY: a running member's block is live.
        let control = unsafe { NonNull::new_unchecked(control) };
        // SAFETY: as above.
        let block = unsafe { control.as_ref() };
        // SAFETY: a member's ring outlives it.
        unsafe { &*block.ring.get().cast::<Ring>() }.settle();
        let _locals = local::Clear(control);
        // SAFETY: created with an `F`, which nobody has taken.
        let body = unsafe { block.take_body::<F>() };
        body();
    };
    let failed = catch_unwind(AssertUnwindSafe(run)).err();
    // SAFETY: live.
    let ring = unsafe { (*control).ring.get() }.cast::<Ring>();
    // SAFETY: a member's ring outlives it.
    let ring = unsafe { &*ring };
    // SAFETY: nothing on this stack is needed.
    unsafe { ring.finish(failed) }
}

#[inline(always)]
pub(crate) fn yield_now() -> Result<(), RingError> {
    match here() {
        Ok(ring) => {
            ring.yield_now();
            Ok(())
        }
        // A thread that has no ring has nobody to yield to.
        Err(RingError::NoRing) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) fn yield_to(member: &Member) -> Result<(), RingError> {
    here_or_enter()?.yield_to(member)
}

pub(crate) fn current() -> Result<Member, RingError> {
    let ring = here_or_enter()?;
    Ok(ring.member(ring.current.get()))
}

pub(crate) fn members() -> Result<Vec<Member>, RingError> {
    let ring = here_or_enter()?;
    let current = core::iter::once(ring.current.get());
    Ok(current.chain(ring.queue().iter()).map(|control| ring.member(control)).collect())
}

pub(crate) fn failures() -> Result<Vec<Failure>, RingError> {
    Ok(here_or_enter()?.failures.take())
}

pub(crate) fn drain() -> Result<Drained, RingError> {
    let ring = here_or_enter()?;
    if ring.current.get() != ring.initial {
        return Err(RingError::NotInitial { member: ring.current().shown().to_string() });
    }
    Ok(ring.drain())
}

/// The name of a live member of this thread.
pub(crate) fn name_of(member: &Member) -> Name {
    if member.thread != thread::current().number() {
        return Name::NONE;
    }
    // SAFETY: live, and of this thread.
    member.status.control().map_or(Name::NONE, |control| unsafe { control.as_ref() }.name().clone())
}

/// Runs `f` in a ring of its own and drains that before it returns.
pub(crate) fn scope<R>(f: impl FnOnce(NonNull<Ring>) -> R) -> R {
    let ring = Ring::enter(true);
    let result = catch_unwind(AssertUnwindSafe(|| f(ring)));
    // SAFETY: freed below.
    unsafe { ring.as_ref() }.drain();
    // SAFETY: entered above in this context; drained, so nobody is in it.
    unsafe { Ring::leave(ring) };
    match result {
        Ok(result) => result,
        Err(payload) => resume_unwind(payload),
    }
}

/// Makes a member of a scope's ring.
///
/// # Safety
/// `ring` is a ring that [`scope`] has not left yet, and the body borrows only what outlives
/// that.
pub(crate) unsafe fn spawn_scoped<F: FnOnce()>(
    ring: NonNull<Ring>,
    builder: Builder,
    site: &'static Location<'static>,
    body: F,
) -> Result<Member, SpawnError> {
    // SAFETY: not left yet.
    let ring = unsafe { ring.as_ref() };
    // SAFETY: drained before it is left.
    unsafe { spawn_in(ring, builder, site, body) }
}
