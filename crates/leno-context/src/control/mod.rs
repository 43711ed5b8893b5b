//! The control block: what leno knows about one coroutine.
//!
//! It sits at the top of the coroutine's own stack (one page then holds block and first frames),
//! at an address fixed per slot. [`create`] takes a stack, moves the body below the block and
//! points the context at the body's entry; [`release`] gives the stack back.
//!
//! Who may touch what:
//! - `tag` (id and state) is atomic, and is written by the thread the coroutine belongs to; any
//!   thread may read it, even after the coroutine is gone (see [`crate::Status`]).
//! - everything else belongs to the thread the coroutine belongs to. All of it is in cells: a
//!   handle may still look at the tag while the block already serves another coroutine.
//!
//! A reference to a [`Control`] is had by `unsafe` code only: whoever makes one out of the addresses that this
//! module gives keeps the protocol of the block's state with all that its methods and fields allow. Safe
//! code gets addresses, ids and copies.
//!
//! Invariant: a context is continued only while the tag says New or Suspended, and the tag says
//! Running from then on until it is left again.

mod create;
mod find;
mod spare;

pub use create::{create, release, set_up, start_at};
pub(crate) use find::of_thread;
pub use find::{
    HeldFrames, are_held, block_at, current, hold_frames, of_this_thread, owner_of, resumer_of,
    set_wandering,
};
pub use spare::{give_back_block, spare_block};

use core::cell::{Cell, UnsafeCell};
use core::panic::Location;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};
use std::any::Any;

use crate::name::Name;
use crate::sanitizer;
use crate::stack::{Stack, StackSize};
use crate::switch::{self, Context};
use crate::word::Word;

/// The low bits of a tag; the id is above them.
pub mod bits {
    use crate::status::State;

    /// Never run. With [`SUSPENDED`] set it compares equal to the tag of a suspended one, so that
    /// "may be resumed" is one comparison.
    pub const NEW: u64 = 0;
    /// Between two runs.
    pub const SUSPENDED: u64 = 1;
    /// Running.
    pub const RUNNING: u64 = 2;
    /// Ended.
    pub const FINISHED: u64 = 4;
    /// Operations are traced. Beside the state, so that the fast path tests both at once.
    pub const WATCHED: u64 = 8;
    /// Its frames may be elsewhere than on its stack: they must be brought there first.
    pub const SHARED: u64 = 16;
    /// Where the id starts.
    pub const ID_SHIFT: u32 = 5;
    /// All state bits.
    pub const STATE: u64 = SUSPENDED | RUNNING | FINISHED;

    #[inline]
    pub(crate) fn state(tag: u64) -> State {
        if tag & FINISHED != 0 {
            State::Finished
        } else if tag & RUNNING != 0 {
            State::Running
        } else if tag & SUSPENDED != 0 {
            State::Suspended
        } else {
            State::New
        }
    }
}

/// What `Control::pins` counts: locks held in the low byte, pinned sections in the high byte.
pub mod pins {
    /// One lock held.
    pub const LOCK: u16 = 1;
    /// One pinned section entered.
    pub const SECTION: u16 = 1 << 8;
    /// Any lock held.
    pub const LOCKS: u16 = SECTION - 1;
}

/// Who runs a coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whoever resumes it.
    Asymmetric,
    /// The members of its ring.
    Member,
    /// The members of its ring, which bring it onto a shared stack; `extra` is its record.
    Shared,
    /// The members of its ring, which may be another thread's later; `extra` is its claim.
    Migrant,
    /// Nobody: a stack that several coroutines share; `extra` says who is on it.
    Home,
}

/// What [`Control::hide`] has taken away, for [`Control::show`].
#[derive(Debug)]
#[must_use = "a block that is hidden is shown again"]
pub struct Hidden {
    span: u32,
    low: usize,
    high: usize,
}

/// The first function on a coroutine's stack. It never returns; it ends in
/// [`crate::unwind::finish`].
pub type Main = unsafe extern "C-unwind" fn(Word, usize, *mut Control) -> !;

/// What is known about a coroutine; see the module.
///
/// Four cache lines: a hop between members touches the first of each, a resume the first two.
#[repr(C, align(64))]
pub struct Control {
    pub(crate) context: UnsafeCell<Context>,
    pub(crate) tag: AtomicU64,
    /// Whose unwinding `panicking()` may be about: see [`Unwinding`].
    pub(crate) unwinding: Cell<Unwinding>,
    kind: Cell<Kind>,
    /// Reasons not to be moved to another thread: see [`pins`].
    pub pins: Cell<u16>,
    /// How far its own stack reaches below this block; 0 without a stack of its own.
    span: Cell<u32>,
    /// The ring this coroutine is a member of, if any.
    pub ring: Cell<*mut ()>,
    /// Its place in that ring's queue; of a home, how many hold the frames that are on it.
    pub place: Cell<u64>,

    /// Where whoever resumed this coroutine waits for it.
    pub(crate) back: UnsafeCell<Context>,
    /// The context below this one, for unwinders; with the next field the frame record of the base
    /// frame. Points to `back`, or into a ring's initial member.
    pub(crate) parent: Cell<*mut Context>,
    base_return: Cell<usize>,
    /// The body's entry.
    pub(crate) main: Cell<Main>,
    body: Cell<*mut u8>,

    drop_body: Cell<unsafe fn(*mut u8)>,
    /// The range of addresses it runs on, for a block without a stack of its own.
    low: Cell<usize>,
    high: Cell<usize>,
    stack: UnsafeCell<Option<Stack>>,
    /// Its coroutine-locals.
    pub locals: Cell<*mut ()>,

    name: UnsafeCell<Name>,
    site: Cell<&'static Location<'static>>,
    pub(crate) payload: Cell<Option<Box<dyn Any + Send>>>,
    /// The ring this coroutine has entered (as its initial member), if any.
    pub entered: Cell<*mut ()>,
    /// What only some kinds have: for a home the block of the coroutine whose frames are on it,
    /// for a shared member its record, for a migrant its claim.
    pub extra: Cell<*mut ()>,
    own_tool: Cell<sanitizer::Tool>,
    #[cfg(leno_baton)]
    pub(crate) carrier: Cell<crate::switch::Carrier>,
}

/// What is known about unwindings that are not just this coroutine's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unwinding(u8);

impl Unwinding {
    pub(crate) const NONE: Unwinding = Unwinding(0);
    const RESUMER: u8 = 1;
    const EXITING: u8 = 2;

    /// Whether it was resumed by code that was itself unwinding.
    pub(crate) fn of_resumer(self) -> bool {
        self.0 & Self::RESUMER != 0
    }

    /// Whether exit has been raised in it.
    pub(crate) fn exiting(self) -> bool {
        self.0 & Self::EXITING != 0
    }

    pub(crate) fn with_resumer(self, unwinding: bool) -> Unwinding {
        Unwinding(if unwinding { self.0 | Self::RESUMER } else { self.0 & !Self::RESUMER })
    }

    pub(crate) fn with_exit(self) -> Unwinding {
        Unwinding(self.0 | Self::EXITING)
    }
}

/// What a new coroutine is like.
#[derive(Debug)]
pub struct Spec {
    /// Its name in messages.
    pub name: Name,
    /// Where it was made.
    pub site: &'static Location<'static>,
    /// The size of its stack.
    pub size: StackSize,
    /// Who runs it.
    pub kind: Kind,
    /// Whether its operations are traced.
    pub watched: bool,
}

/// Where the control block of a stack is.
#[inline(always)]
pub fn block_of(stack: &Stack) -> *mut Control {
    // SAFETY: the top of a slot has room for the block; tops are 64-aligned.
    unsafe { stack.top().cast::<Control>().sub(1) }
}

impl Control {
    /// Id and state bits as they are.
    #[inline(always)]
    pub fn load_tag(&self) -> u64 {
        self.tag.load(Relaxed)
    }

    /// Writes the whole tag. The id in it must be this coroutine's.
    #[inline(always)]
    pub fn store_tag(&self, tag: u64) {
        self.tag.store(tag, Release);
    }

    /// Changes the state, keeping id and watch bit.
    #[inline(always)]
    pub fn mark(&self, state: u64) {
        self.store_tag(self.load_tag() & !bits::STATE | state);
    }

    /// Turns tracing of this coroutine on or off.
    pub fn watch(&self, on: bool) {
        let tag = self.load_tag() & !bits::WATCHED;
        self.store_tag(if on { tag | bits::WATCHED } else { tag });
    }

    /// Says that its frames may be elsewhere than on its stack.
    pub fn set_shared(&self) {
        self.store_tag(self.load_tag() | bits::SHARED);
    }

    /// Whether operations on this coroutine are traced.
    #[inline(always)]
    pub fn watched(&self) -> bool {
        self.load_tag() & bits::WATCHED != 0
    }

    /// The coroutine's id.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        self.load_tag() >> bits::ID_SHIFT
    }

    /// What it is doing.
    #[inline]
    pub fn state(&self) -> crate::State {
        bits::state(self.load_tag())
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        // SAFETY: changed only by `release`, after which nobody uses the block.
        unsafe { &*self.name.get() }
    }

    /// Where it was made.
    pub fn site(&self) -> &'static Location<'static> {
        self.site.get()
    }

    /// Who runs it.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        self.kind.get()
    }

    /// The stack it has to itself.
    #[inline(always)]
    pub fn stack(&self) -> Option<&Stack> {
        // SAFETY: changed only by `release`, after which nobody uses the block.
        unsafe { &*self.stack.get() }.as_ref()
    }

    /// What it is, for messages.
    pub fn noun(&self) -> &'static str {
        match self.kind() {
            Kind::Member | Kind::Shared | Kind::Migrant => "member",
            Kind::Asymmetric | Kind::Home => "coroutine",
        }
    }

    /// Its name or id, quoted for messages.
    pub fn shown(&self) -> impl core::fmt::Display + '_ {
        self.name().or_id(self.id())
    }

    /// Where it continues.
    #[inline(always)]
    pub fn context(&self) -> *mut Context {
        self.context.get()
    }

    /// Where whoever resumed it waits for it.
    #[inline(always)]
    pub fn back(&self) -> *mut Context {
        self.back.get()
    }

    /// The context that unwinders find below its base frame.
    pub fn parent(&self) -> *mut Context {
        self.parent.get()
    }

    /// Sets the context that unwinders find below its base frame.
    pub fn set_parent(&self, parent: *mut Context) {
        self.parent.set(parent);
    }

    /// Says which addresses it runs on, for a block without a stack of its own.
    pub fn set_range(&self, low: usize, high: usize) {
        self.low.set(low);
        self.high.set(high);
    }

    /// Makes [`Self::is_here`] and [`Self::is_on_own_stack`] `false` until [`Self::show`] is called: code that
    /// leaves this coroutine then finds out by other means where it is, and that it [is hidden](Self::is_hidden).
    pub fn hide(&self) -> Hidden {
        Hidden { span: self.span.replace(0), low: self.low.replace(0), high: self.high.replace(0) }
    }

    /// Undoes [`Self::hide`].
    pub fn show(&self, hidden: Hidden) {
        self.span.set(hidden.span);
        self.set_range(hidden.low, hidden.high);
    }

    /// Whether [`Self::hide`] has been called, and [`Self::show`] not yet.
    pub fn is_hidden(&self) -> bool {
        self.span.get() == 0 && self.high.get() == 0
    }

    /// Whether `address` is on the stack this coroutine runs on, as far as that is known.
    pub fn holds(&self, address: usize) -> bool {
        (self.low.get()..self.high.get()).contains(&address)
    }

    /// Whether the calling code runs on this coroutine's stack, as far as that is known. Of a
    /// stack that is shared it is not known whose code runs there.
    #[inline(always)]
    pub fn is_here(&self) -> bool {
        #[cfg(leno_baton)]
        return core::ptr::eq(self, switch::own_control()) && !self.is_hidden();
        #[cfg(not(leno_baton))]
        {
            let sp = switch::stack_pointer();
            let below = (&raw const *self).addr().wrapping_sub(sp);
            below < self.span.get() as usize || self.holds(sp) && self.kind() != Kind::Shared
        }
    }

    /// Whether the calling code runs on the stack that this coroutine has to itself: then it is this
    /// coroutine that runs. `false` says nothing about one that shares its stack.
    #[inline(always)]
    pub fn is_on_own_stack(&self) -> bool {
        #[cfg(leno_baton)]
        return core::ptr::eq(self, switch::own_control()) && !self.is_hidden();
        #[cfg(not(leno_baton))]
        {
            let below = switch::depth_below((&raw const *self).addr());
            below < self.span.get() as usize
        }
    }

    /// Says where the body is. It is taken by [`Self::take_body`] or dropped by
    /// [`Self::drop_body`], once.
    pub fn give_body<F>(&self, place: *mut F) {
        unsafe fn drop_it<F>(place: *mut u8) {
            // SAFETY: called once, with the place of a live `F`.
            unsafe { place.cast::<F>().drop_in_place() }
        }
        self.body.set(place.cast());
        self.drop_body.set(drop_it::<F>);
    }

    /// Says that the body is on the heap. It is taken by [`Self::take_boxed_body`] or dropped by
    /// [`Self::drop_body`], once.
    pub fn give_boxed_body<F>(&self, body: Box<F>) {
        unsafe fn drop_it<F>(place: *mut u8) {
            // SAFETY: called once, with what `Box::into_raw` gave below.
            drop(unsafe { Box::from_raw(place.cast::<F>()) });
        }
        self.body.set(Box::into_raw(body).cast());
        self.drop_body.set(drop_it::<F>);
    }

    /// Takes the body from the heap to run it.
    ///
    /// # Safety
    /// The body was given by [`Self::give_boxed_body`] with this type, and neither taken nor
    /// dropped.
    pub unsafe fn take_boxed_body<F>(&self) -> F {
        // SAFETY: by the contract.
        *unsafe { Box::from_raw(self.body.get().cast::<F>()) }
    }

    /// Takes the body to run it.
    ///
    /// # Safety
    /// The coroutine was created with a body of this type that was neither taken nor dropped.
    #[inline(always)]
    pub unsafe fn take_body<F>(&self) -> F {
        // SAFETY: holds an `F` by the contract.
        unsafe { self.body.get().cast::<F>().read() }
    }

    /// Drops the body of a coroutine that never ran.
    ///
    /// # Safety
    /// The body was neither taken nor dropped. It may run user code, which may panic.
    pub unsafe fn drop_body(&self) {
        // SAFETY: by the contract.
        unsafe { self.drop_body.get()(self.body.get()) };
    }

    /// The panic that ended the coroutine, if it is still there.
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        self.payload.take()
    }
}
