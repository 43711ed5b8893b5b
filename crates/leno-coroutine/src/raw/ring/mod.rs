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

mod drain;
mod enter;
mod hold;
mod hop;
mod queue;
pub(crate) mod scope;
mod wait;

use core::cell::{Cell, RefCell, UnsafeCell};
use core::mem::ManuallyDrop;
use core::panic::Location;
use core::ptr::NonNull;

use leno_context::Status;
use leno_context::control::{self, Control, Kind};
use leno_context::thread;
use leno_context::unwind::{self, code};
use leno_context::user::{self, Panic, Section};
use leno_context::word::Word;

pub(super) use self::enter::ring_here;
use self::enter::{here, here_or_enter};
pub(super) use self::hold::hold;
use self::queue::{Entry, Queue};
pub(crate) use self::wait::{give_turn, join, run as run_all};
use super::local;
use super::shared::member as shared;
use crate::ring::{Drained, Failure, Member, MemberKind, RingError, SpawnError};
use crate::{Builder, CreateError, trace};

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
    /// Entered by a scope in the destructor of a thread-local: then members can be unwound there.
    at_thread_end: bool,
    current: Cell<NonNull<Control>>,
    queue: UnsafeCell<Queue>,
    /// Who ran before, if something is still to be done for it: a finished member's stack is to be
    /// released, a migrant that was left is to be offered to other threads. Both only once its
    /// stack has been left.
    before: Cell<Option<NonNull<Control>>>,
    /// An exit aimed further out, to be raised in the initial member.
    raise: Cell<Option<Panic>>,
    draining: Cell<bool>,
    /// How often its current member is held: it does not hop meanwhile. See [`super::chain::hold`].
    held: Cell<usize>,
    /// A member that could not be ended was given up: its frames refer to this ring for ever.
    gave_up: Cell<bool>,
    failures: RefCell<Vec<Failure>>,
}

impl Ring {
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
        !std::thread::panicking() || self.unwinding && !unwind::is_exiting(self.current())
    }

    #[inline(always)]
    fn yield_now(&self) -> Result<(), Box<RingError>> {
        if !self.can_hop() {
            return Ok(());
        }
        if self.draining.get() {
            return self.yield_draining();
        }
        let current = self.current.get();
        match self.queue().rotate(current) {
            Some(next) => match self.hop_from(current, next, code::GO) {
                Ok(()) => Ok(()),
                Err(error) => Err(self.stay(next, error)),
            },
            None => self.yield_past_holes(),
        }
    }

    /// The same where the next place holds no plain member.
    #[cold]
    #[inline(never)]
    fn yield_past_holes(&self) -> Result<(), Box<RingError>> {
        let Some(next) = self.next() else { return Ok(()) };
        self.queue().push_back(self.current.get());
        self.hop(next, code::GO).map_err(|error| self.stay(next, error))
    }

    /// Undoes what was done to the queue for a hop that was refused.
    #[cold]
    #[inline(never)]
    fn stay(&self, next: NonNull<Control>, error: Box<RingError>) -> Box<RingError> {
        self.queue().pop_back();
        self.queue().push_front(next);
        error
    }

    /// While the ring is drained, whoever is not the initial member gives control to it.
    #[cold]
    fn yield_draining(&self) -> Result<(), Box<RingError>> {
        if self.current.get() == self.initial { Ok(()) } else { self.hop(self.initial, code::GO) }
    }

    fn yield_to(&self, member: &Member) -> Result<(), RingError> {
        if member.status == Status::of(self.current()) {
            return Ok(());
        }
        if !self.can_hop() {
            return Err(RingError::Exiting { from: self.current().shown().to_string() });
        }
        self.check_held()?;
        if self.draining.get() {
            return self.yield_draining().map_err(|error| *error);
        }
        let target = self.take(member)?;
        self.queue().push_back(self.current.get());
        self.hop(target, code::GO).map_err(|error| *error)
    }

    /// Takes a certain member out of the queue.
    fn take(&self, member: &Member) -> Result<NonNull<Control>, RingError> {
        let name = || member.to_string();
        if member.kind == MemberKind::Migrant {
            return self.take_migrant(member);
        }
        if member.thread != thread::current().number() {
            return Err(RingError::OtherThread { member: name() });
        }
        let Some(control) = member.status.control() else {
            return Err(RingError::Finished { member: name() });
        };
        // SAFETY: live, and of this thread, so it stays so.
        let block = unsafe { control.as_ref() };
        if !core::ptr::eq(block.ring.get().cast(), self) {
            return Err(RingError::OtherRing { member: name() });
        }
        if block.kind() == Kind::Shared {
            // So that the hop will not be refused once the queue has changed.
            shared::prepare(block, self.current())?;
        }
        // A live member that is neither current nor in the queue has refused to end.
        let waiting = self.queue().remove(control);
        if waiting { Ok(control) } else { Err(RingError::GivenUp { member: name() }) }
    }

    /// The same for a migrant, which may be anywhere by now.
    fn take_migrant(&self, member: &Member) -> Result<NonNull<Control>, RingError> {
        let name = || member.to_string();
        if member.is_finished() {
            return Err(RingError::Finished { member: name() });
        }
        let Some((entry, place)) = self.queue().remove_migrant(member.status.id()) else {
            return Err(RingError::OtherThread { member: name() });
        };
        self.ready(entry, place).ok_or_else(|| RingError::OtherThread { member: name() })
    }

    fn member(&self, control: NonNull<Control>) -> Member {
        // SAFETY: live, and of this thread.
        let block = unsafe { control.as_ref() };
        let kind = match block.kind() {
            Kind::Migrant => MemberKind::Migrant,
            _ if control == self.initial => MemberKind::Initial,
            _ => MemberKind::Plain,
        };
        let (status, name) = (Status::of(block), block.name().clone());
        Member { status, thread: thread::current().number(), kind, name }
    }

    /// Makes `control`, which is in no ring and belongs to this thread, the next member.
    fn adopt(&self, control: NonNull<Control>) {
        // SAFETY: live.
        let block = unsafe { control.as_ref() };
        let _section = Section::open();
        block.ring.set((&raw const *self).cast_mut().cast());
        // SAFETY: the initial block is live as long as the ring.
        block.set_parent(unsafe { self.initial.as_ref() }.context());
        self.queue().push_front(control);
    }

    /// The member behind an entry of the queue.
    fn member_of(&self, entry: &Entry) -> Member {
        match (entry.as_member(), entry.as_migrant()) {
            (Some(control), _) => self.member(control),
            (None, Some(claim)) => claim.member(),
            (None, None) => unreachable!("an entry is one or the other"),
        }
    }
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
    let control = create(builder, site, Kind::Member, body)?;
    // SAFETY: just made.
    trace::event("spawn", unsafe { control.as_ref() });
    ring.adopt(control);
    Ok(ring.member(control))
}

/// Makes a member that is in no ring yet.
pub(super) fn create<F: FnOnce()>(
    builder: Builder,
    site: &'static Location<'static>,
    kind: Kind,
    body: F,
) -> Result<NonNull<Control>, CreateError> {
    let spec = builder.spec(site, kind)?;
    let mut body = ManuallyDrop::new(body);
    // SAFETY: dropped here only if it was not moved out.
    let made = unsafe { control::create(spec, &mut body, main::<F>) };
    made.map_err(|refused| {
        drop(ManuallyDrop::into_inner(body));
        CreateError::refused(refused)
    })
}

/// Whether the calling code can have members in a ring.
pub(super) fn check_here() -> Result<(), RingError> {
    here_or_enter().map(|_| ())
}

/// Makes `control` the next member of the current ring.
pub(super) fn adopt_here(control: NonNull<Control>) -> Result<Member, RingError> {
    let ring = here_or_enter()?;
    ring.adopt(control);
    Ok(ring.member(control))
}

/// The base of every member's stack.
unsafe extern "C-unwind" fn main<F: FnOnce()>(_: Word, _go: usize, control: *mut Control) -> ! {
    // SAFETY: created with an `F`, which nobody has taken.
    let take = |block: &Control| unsafe { block.take_body::<F>() };
    // SAFETY: entered as the member of `control`.
    unsafe { run(control, take) }
}

/// The same for a body that is on the heap.
pub(super) unsafe extern "C-unwind" fn main_boxed<F: FnOnce()>(
    _: Word,
    _go: usize,
    control: *mut Control,
) -> ! {
    // SAFETY: created with a boxed `F`, which nobody has taken.
    let take = |block: &Control| unsafe { block.take_boxed_body::<F>() };
    // SAFETY: entered as the member of `control`.
    unsafe { run(control, take) }
}

/// # Safety
/// Called as the first thing on the stack of the member of `control`, whose body `take` takes.
#[inline(always)]
unsafe fn run<F: FnOnce()>(control: *mut Control, take: impl FnOnce(&Control) -> F) -> ! {
    // SAFETY: the first thing on this stack.
    unsafe { unwind::begun() };
    let run = || {
        // SAFETY: a running member's block is live.
        let control = unsafe { NonNull::new_unchecked(control) };
        // SAFETY: as above.
        let block = unsafe { control.as_ref() };
        // SAFETY: a member's ring outlives it.
        unsafe { &*block.ring.get().cast::<Ring>() }.settle();
        let _locals = local::Clear(control);
        take(block)();
    };
    let failed = user::call(run).err();
    // SAFETY: live.
    let ring = unsafe { (*control).ring.get() }.cast::<Ring>();
    // SAFETY: a member's ring outlives it.
    let ring = unsafe { &*ring };
    // SAFETY: nothing on this stack is needed.
    unsafe { ring.finish(failed) }
}

#[inline(always)]
pub(crate) fn yield_now() -> Result<(), Box<RingError>> {
    if let Some(ring) = enter::used_here() {
        return ring.yield_now();
    }
    yield_slowly()
}

/// The same, from a context that was not the last one to use its ring.
#[cold]
#[inline(never)]
fn yield_slowly() -> Result<(), Box<RingError>> {
    match here() {
        Ok(ring) => {
            ring.check_held().map_err(Box::new)?;
            ring.yield_now()
        }
        // A thread that has no ring has nobody to yield to.
        Err(RingError::NoRing) => Ok(()),
        Err(error) => Err(Box::new(error)),
    }
}

pub(crate) fn yield_to(member: &Member) -> Result<(), RingError> {
    here_or_enter()?.yield_to(member)
}

pub(crate) fn current() -> Result<Member, RingError> {
    let ring = enter::around()?;
    Ok(ring.member(ring.current.get()))
}

pub(crate) fn members() -> Result<Vec<Member>, RingError> {
    let ring = here_or_enter()?;
    let current = core::iter::once(ring.current.get());
    let current = current.map(|control| ring.member(control));
    Ok(current.chain(ring.queue().iter().map(|entry| ring.member_of(entry))).collect())
}

pub(crate) fn failures() -> Result<Vec<Failure>, RingError> {
    Ok(here_or_enter()?.failures.take())
}

pub(crate) fn drain() -> Result<Drained, RingError> {
    let ring = here_or_enter()?;
    if ring.current.get() != ring.initial {
        return Err(RingError::NotInitial { member: ring.current().shown().to_string() });
    }
    ring.check_held()?;
    match ring.drain() {
        (drained, None) => Ok(drained),
        (_, Some(panic)) => panic.resume(),
    }
}

/// The coroutine that has entered the ring of a member; null for a plain thread.
///
/// # Safety
/// `block` is that of a live member of a ring of this thread.
pub(super) unsafe fn host_of(block: &Control) -> *mut Control {
    // SAFETY: a member's ring outlives it.
    unsafe { &*block.ring.get().cast::<Ring>() }.host
}

/// Whether the ring of a member was entered by a scope, after its host was in `ring`.
///
/// # Safety
/// `block` is that of a live member of a ring of this thread. `ring` is null, or one in which its host has
/// been, and has not left.
pub(super) unsafe fn is_entered_within(block: &Control, ring: *const ()) -> bool {
    // SAFETY: a member's ring outlives it.
    let own = unsafe { &*block.ring.get().cast::<Ring>() };
    let mut before = ring.cast::<Ring>();
    // SAFETY: it has not been left, and neither have those around it.
    while let Some(ring) = unsafe { before.as_ref() } {
        if core::ptr::eq(ring, own) {
            return false;
        }
        before = ring.outer.cast_const().cast();
    }
    own.borrows
}
