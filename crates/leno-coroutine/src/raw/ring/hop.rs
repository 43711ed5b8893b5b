//! Passing control from member to member.

use core::ptr::NonNull;

use leno_context::control::{self, Control, Kind, bits};
use leno_context::unwind::{self, code};
use leno_context::user::{Panic, Section};
use leno_context::word::{EMPTY, Word};
use leno_context::{State, switch};

use super::Ring;
use super::queue::{Entry, Waiting};
use crate::raw::floor::is_exit_here;
use crate::raw::migrate::Claim;
use crate::raw::shared::member::{self as shared, Way};
use crate::ring::{Failure, RingError};
use crate::trace;

impl Ring {
    /// Gives control to `to`, which is out of the queue; returns when control comes back.
    ///
    /// # Errors
    /// When `to` cannot be brought onto its shared stack. Then nothing has changed.
    pub(super) fn hop(&self, to: NonNull<Control>, code: usize) -> Result<(), Box<RingError>> {
        let from = self.current.get();
        // SAFETY: the current member is live while it runs here.
        if unsafe { from.as_ref() }.kind() == Kind::Migrant {
            self.before.set(Some(from));
        }
        // A hop that is refused has left nobody.
        self.hop_from(from, to, code).inspect_err(|_| self.before.set(None))
    }

    /// The same, where nothing is to be done for `from`, the current member, once it has been left.
    #[inline(always)]
    pub(super) fn hop_from(
        &self,
        from: NonNull<Control>,
        to: NonNull<Control>,
        code: usize,
    ) -> Result<(), Box<RingError>> {
        // SAFETY: members of the queue are live.
        let target = unsafe { to.as_ref() };
        let tag = target.load_tag() & !bits::STATE | bits::RUNNING;
        let mut way = Way { context: target.context(), word: EMPTY, code };
        if tag & (bits::WATCHED | bits::SHARED) != 0 {
            way = self.way_to(target, code)?;
        }
        let section = Section::open();
        self.current.set(to);
        // SAFETY: the current member is live while it runs here.
        let from = unsafe { from.as_ref() };
        from.mark(bits::SUSPENDED);
        target.store_tag(tag);
        drop(section);
        // SAFETY: the target was left by a hop, or is fresh, and is continued by this ring only.
        let (word, code) =
            unsafe { switch::transfer(from.context(), way.context, way.word, way.code) };
        // A migrant may be in another ring by now.
        // SAFETY: a member's ring outlives it.
        let ring = unsafe { &*from.ring.get().cast::<Ring>() };
        if code != code::GO {
            // SAFETY: the word is what the code says.
            unsafe { ring.summoned(from, word, code) };
        }
        ring.settle();
        Ok(())
    }

    /// The way to a member that is traced or on a shared stack.
    #[cold]
    #[inline(never)]
    fn way_to(&self, target: &Control, code: usize) -> Result<Way, Box<RingError>> {
        let way = if target.kind() == Kind::Shared {
            shared::prepare(target, self.current()).map_err(Box::new)?;
            // SAFETY: prepared; the hop follows.
            unsafe { shared::way_to(target, code) }
        } else {
            Way { context: target.context(), word: EMPTY, code }
        };
        trace::event(if code == code::GO { "hop to" } else { "exit" }, target);
        Ok(way)
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
            (word, code) = unsafe { switch::leave(own, EMPTY, code::SUSPENDED) };
        }
        if code == code::EXIT {
            self.settle();
            unwind::exit(own);
        }
    }

    /// What whoever runs next does for whoever ran before.
    #[inline(always)]
    pub(super) fn settle(&self) {
        if self.before.get().is_some() {
            self.settle_for();
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_for(&self) {
        let Some(before) = self.before.take() else { return };
        // SAFETY: not released yet, and not offered yet: still ours.
        let block = unsafe { before.as_ref() };
        if block.state() != State::Finished {
            // Only migrants are noted when they are merely left.
            return Claim::of(block).offer(block);
        }
        let section = Section::open();
        let claim = (block.kind() == Kind::Migrant).then(|| Claim::leave(block));
        // SAFETY: it has finished, and this code runs on another stack.
        unsafe { release(before) };
        if let Some(claim) = claim {
            claim.finish();
        }
        drop(section);
        if let Some(panic) = self.raise.take() {
            panic.resume();
        }
    }

    /// The next member to run, out of the queue.
    pub(super) fn next(&self) -> Option<NonNull<Control>> {
        loop {
            let (entry, place) = self.queue().pop_front()?;
            if let Some(member) = self.ready(entry, place) {
                return Some(member);
            }
        }
    }

    /// The member of an entry that was taken from `place`, unless another thread has it by now.
    #[inline(always)]
    pub(super) fn ready(&self, entry: Entry, place: u64) -> Option<NonNull<Control>> {
        match entry.open() {
            Waiting::Member(control) => Some(control),
            Waiting::Migrant(claim) => claim.take_from_queue(place),
        }
    }

    /// Leaves the finished current member for good.
    ///
    /// # Safety
    /// Called by the current member, with nothing on its stack needed any more.
    pub(super) unsafe fn finish(&self, failed: Option<Panic>) -> ! {
        let own = self.current.get();
        let block = self.current();
        let exited = |panic: &Panic| unwind::is_exit_of(panic.payload(), block.id());
        trace::event(
            match &failed {
                None => "return",
                Some(panic) if exited(panic) => "exited",
                Some(_) => "panic",
            },
            block,
        );
        let mut home = self.draining.get();
        match failed {
            Some(panic) if exited(&panic) => {}
            Some(panic) if is_exit_here(panic.payload()) => {
                self.raise.set(Some(panic));
                self.queue().remove(self.initial);
                home = true;
            }
            Some(panic) => {
                let failure = Failure { member: self.member(own), payload: panic };
                self.failures.borrow_mut().push(failure);
            }
            None => {}
        }
        block.mark(bits::FINISHED);
        let (next, way) = if home { self.way_home() } else { self.way_on() };
        let section = Section::open();
        self.before.set(Some(own));
        self.current.set(next);
        // SAFETY: live.
        unsafe { next.as_ref() }.mark(bits::RUNNING);
        drop(section);
        // SAFETY: left by a hop, or fresh; continued once. Our stack is released by it.
        unsafe { switch::jump(way.context, way.word, way.code) }
    }

    fn way_home(&self) -> (NonNull<Control>, Way) {
        // SAFETY: the initial block is live as long as the ring.
        let context = unsafe { self.initial.as_ref() }.context();
        (self.initial, Way { context, word: EMPTY, code: code::GO })
    }

    /// The next member that can have its turn, which the initial one always can, and the way to it.
    fn way_on(&self) -> (NonNull<Control>, Way) {
        while let Some(next) = self.next() {
            // SAFETY: members of the queue are live.
            match self.way_to(unsafe { next.as_ref() }, code::GO) {
                Ok(way) => return (next, way),
                Err(_) => self.queue().push_back(next),
            }
        }
        self.way_home()
    }
}

/// Releases a member that has finished or never started.
///
/// # Safety
/// As for [`control::release`].
pub(super) unsafe fn release(member: NonNull<Control>) {
    // SAFETY: live by the contract.
    let block = unsafe { member.as_ref() };
    if block.kind() == Kind::Shared {
        // SAFETY: forwarded.
        return unsafe { shared::release(block) };
    }
    // SAFETY: forwarded.
    unsafe { control::release(member) };
}
