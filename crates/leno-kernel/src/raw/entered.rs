//! Which core's coroutine runs the calling code.
//!
//! Cores are entered by the context that runs them, a plain thread or a coroutine, and left again.
//! The thread keeps a list of those that are entered, the last one first. Usually the calling code
//! is on the stack of what the first one runs. But a coroutine further out may have been suspended
//! through a coroutine of an entered core; then that core is still in the list, while other code
//! runs. So a core is believed only if what it runs is really around the calling code, which the
//! chain of resumers tells. A future may hop to another member of a ring in which its core's loop runs: it is
//! not around that one.
//!
//! Claim: a core in the list is alive, because whoever entered it borrows it until it has left.

use core::cell::Cell;
use core::ptr::NonNull;
use std::sync::Arc;

use leno_context::control::{self, Control};
use leno_context::thread::{self, Slot};
use leno_coroutine::floor;

use super::stack;
use crate::Co;
use crate::core::{Core, Task};
use crate::system::Team;
use crate::world;

/// What a core runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Running {
    /// Its own loop.
    Nobody,
    /// A coroutine with a stack.
    Stack(NonNull<Control>, Co, NonNull<Task>),
    /// A future, on the stack of the loop.
    Future(Co),
}

impl Running {
    /// Which coroutine it is.
    pub(crate) fn co(self) -> Option<Co> {
        match self {
            Running::Nobody => None,
            Running::Stack(_, co, _) | Running::Future(co) => Some(co),
        }
    }
}

/// A core's place in the list of those that its thread has entered.
pub(crate) struct Entry {
    pub(crate) running: Cell<Running>,
    is_entered: Cell<bool>,
    /// The thread of a world that has entered it.
    thread: Cell<Option<Co>>,
    /// The coroutine that has entered it; null for a plain thread.
    host: Cell<*mut Control>,
    /// The ring in which that was done; null for none.
    ring: Cell<*const ()>,
    /// The core that was entered before.
    outer: Cell<*const Core>,
}

impl Entry {
    pub(crate) const fn new() -> Entry {
        Entry {
            running: Cell::new(Running::Nobody),
            is_entered: Cell::new(false),
            thread: Cell::new(None),
            host: Cell::new(core::ptr::null_mut()),
            ring: Cell::new(core::ptr::null()),
            outer: Cell::new(core::ptr::null()),
        }
    }

    pub(crate) fn is_entered(&self) -> bool {
        self.is_entered.get()
    }

    /// The core runs this one.
    #[inline(always)]
    pub(crate) fn runs(&self, co: Co, task: &Task) {
        self.running.set(Running::Stack(task.seat.control(), co, NonNull::from_ref(task)));
    }

    /// Calls `f` with the one that has run and come back to the core's loop; now nobody runs.
    #[inline(always)]
    pub(crate) fn with_running(&self, f: impl FnOnce(Co, &Task)) {
        let Running::Stack(_, co, task) = self.running.replace(Running::Nobody) else {
            unreachable!("nobody with a stack runs");
        };
        // SAFETY: a task stays where it is as long as its coroutine has not been removed, which its
        // loop does after this.
        f(co, unsafe { task.as_ref() });
    }

    /// Whether a thread of a world has entered it.
    pub(crate) fn is_in_world(&self) -> bool {
        self.is_entered() && self.thread.get().is_some()
    }

    /// Whether the core polls this one.
    pub(crate) fn is_polling(&self, co: Co) -> bool {
        self.running.get() == Running::Future(co)
    }
}

/// Where the thread keeps the core that was entered last.
#[inline(always)]
fn first_entered() -> &'static Cell<*mut ()> {
    // SAFETY: it holds null or a core, put there and taken out by this module; nobody keeps it.
    unsafe { thread::current().slot(Slot::Core) }
}

/// Enters a core, which must not be entered yet, for as long as `f` runs.
pub(crate) fn enter<R>(core: &Core, f: impl FnOnce() -> R) -> R {
    struct Leave<'a>(&'a Core);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            leave(self.0);
        }
    }
    assert!(!core.entry.is_entered.replace(true), "a core is entered once at a time");
    let first = first_entered();
    core.entry.host.set(control::current());
    core.entry.ring.set(floor::ring_here());
    core.entry.thread.set(world::current_thread());
    core.entry.outer.set(first.get().cast());
    first.set((&raw const *core).cast_mut().cast());
    let _leave = Leave(core);
    f()
}

/// Takes a core out of the list. It is the first one, unless a coroutine that has entered another
/// one is suspended.
fn leave(core: &Core) {
    core.entry.is_entered.set(false);
    let first = first_entered();
    let after = core.entry.outer.get();
    if core::ptr::eq(first.get().cast(), core) {
        return first.set(after.cast_mut().cast());
    }
    for entered in list() {
        if core::ptr::eq(entered.entry.outer.get(), core) {
            return entered.entry.outer.set(after);
        }
    }
}

/// The cores that this thread has entered, the last one first.
#[inline(always)]
fn list<'a>() -> impl Iterator<Item = &'a Core> {
    let mut next = first_entered().get().cast_const().cast::<Core>();
    core::iter::from_fn(move || {
        // SAFETY: whoever is in the list is alive.
        let core = unsafe { next.as_ref() }?;
        next = core.entry.outer.get();
        Some(core)
    })
}

/// Calls `f` with the core that has this number, if this thread has entered it.
#[inline(always)]
pub(crate) fn with_core<R>(number: u32, f: impl FnOnce(&Core) -> R) -> Option<R> {
    if let Some(core) = list().find(|core| core.number() == number)
        && (!world::is_near() || core.entry.thread.get() == world::current_thread())
    {
        return Some(f(core));
    }
    if world::is_near() { super::world::with_core(number, f) } else { None }
}

/// Calls `f` with each core that this thread has entered. `f` calls no code of users, by which a core might end.
pub(crate) fn each_core(f: impl FnMut(&Core)) {
    list().for_each(f);
}

/// The cores that this thread has entered; in a world, those of the calling thread of that.
fn list_here<'a>() -> impl Iterator<Item = &'a Core> {
    let is_here =
        |core: &&Core| !world::is_near() || core.entry.thread.get() == world::current_thread();
    list().filter(is_here)
}

/// Calls `f` with the core whose team has this number, if this thread has entered one.
pub(crate) fn with_team<R>(number: u32, f: impl FnOnce(&Core) -> R) -> Option<R> {
    let is_of_team =
        |core: &&Core| core.membership.team().is_some_and(|team| team.movables.number() == number);
    list_here().find(is_of_team).map(f)
}

/// The teams of the cores that this thread has entered, which do not go on while it blocks.
pub(crate) fn teams() -> Vec<Arc<Team>> {
    list_here().filter_map(|core| core.membership.team()).cloned().collect()
}

/// Who runs the calling code.
pub(crate) enum Here<'a> {
    /// No core: a plain thread, or a coroutine that nobody schedules.
    Thread,
    /// A thread of a world, which is a coroutine.
    Virtual(Inside<'a>),
    /// A coroutine of a core, which has a stack.
    Stack(Inside<'a>),
    /// A future of this core.
    Future(&'a Core, Co),
}

/// Proof that the calling code runs inside this coroutine, directly or in coroutines that it has
/// resumed. It cannot leave the closure that [`here`] gives it to. It holds as long as no code of a
/// user runs in that closure: such code might suspend a coroutine around the calling code.
pub(crate) struct Inside<'a> {
    pub(crate) core: &'a Core,
    pub(crate) co: Co,
    pub(crate) task: &'a Task,
    pub(super) control: NonNull<Control>,
}

impl Inside<'_> {
    /// Goes back to the core's loop; returns when the coroutine is resumed.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        // SAFETY: the calling code runs inside the coroutine, as this proves.
        unsafe { stack::suspend(self.control) };
    }

    /// Lets the coroutine of `next`, which is suspended, go on at once; returns when this one is
    /// resumed. The core's loop goes on when `next` leaves. Not while anything unwinds.
    #[inline(always)]
    pub(crate) fn hand_on(&self, next: &Task) {
        // SAFETY: the calling code runs inside the coroutine, as this proves.
        unsafe { stack::hand_on(self.control, &next.seat) };
    }

    /// Panics unless the calling code still runs inside the coroutine, after code of a user has run, a
    /// policy's: that may have suspended a coroutine in which the calling code runs, and this one may have
    /// ended before that one went on.
    pub(crate) fn check_after_hook(&self) {
        let is_inside = here(|here| matches!(here, Here::Stack(inside) if inside.co == self.co))
            || world::current_thread() == Some(self.co);
        assert!(is_inside, "a policy suspended the code that asked it, and {} ended", self.co);
    }

    /// Which block it has, by the id of that.
    pub(crate) fn id(&self) -> u64 {
        // SAFETY: a running coroutine's block is live.
        unsafe { self.control.as_ref() }.id()
    }

    /// Whether the calling code is on the coroutine's own stack, and not on that of one it has resumed.
    pub(crate) fn is_own_stack(&self) -> bool {
        control::current() == self.control.as_ptr()
    }

    /// Whether it may leave: not while the coroutine's own stack unwinds.
    #[inline(always)]
    pub(crate) fn can_leave(&self) -> bool {
        // SAFETY: a running coroutine's block is live.
        !std::thread::panicking() || unsafe { stack::can_suspend(self.control) }
    }

    /// The way out of the coroutine by unwinding it.
    pub(crate) fn out(&self) -> WayOut {
        WayOut { control: self.control, unwinds: true }
    }

    /// The way out of the coroutine without a way back: its frames stay as they are.
    pub(crate) fn for_ever(&self) -> WayOut {
        WayOut { control: self.control, unwinds: false }
    }
}

/// Proof, like [`Inside`], that the calling code runs inside a coroutine, for its last act. It
/// refers to nothing, so no frame that is left for ever does; whoever gets one takes it at once.
pub(crate) struct WayOut {
    control: NonNull<Control>,
    unwinds: bool,
}

impl WayOut {
    /// Takes it.
    pub(crate) fn take(self) -> ! {
        if self.unwinds {
            // SAFETY: the calling code runs inside the coroutine, as this proves.
            unsafe { stack::exit(self.control) }
        }
        // SAFETY: as above.
        unsafe { stack::suspend(self.control) };
        unreachable!("who is given up is not resumed")
    }
}

/// Calls `f` with whoever runs the calling code.
#[inline(always)]
pub(crate) fn here<R>(f: impl FnOnce(Here<'_>) -> R) -> R {
    let first = first_entered().get().cast_const().cast::<Core>();
    // SAFETY: whoever is in the list is alive.
    let Some(core) = (unsafe { first.as_ref() }) else { return f(outside()) };
    if let Running::Stack(control, co, task) = core.entry.running.get() {
        // SAFETY: what an entered core runs has not ended.
        if unsafe { control.as_ref() }.is_here() {
            // SAFETY: a core's slots neither move nor go.
            let task = unsafe { task.as_ref() };
            return f(Here::Stack(Inside { core, co, task, control }));
        }
    }
    f(find())
}

/// What [`here`] does as a closure, for what must be compiled into its caller: a function between
/// a coroutine's code and its switch makes the processor guess wrong where it returns to.
pub(crate) trait Visit {
    type Output;
    fn visit(self, here: Here<'_>) -> Self::Output;
}

/// Calls `visitor` with whoever runs the calling code.
#[inline(always)]
pub(crate) fn visit<V: Visit>(visitor: V) -> V::Output {
    let first = first_entered().get().cast_const().cast::<Core>();
    // SAFETY: whoever is in the list is alive.
    if let Some(core) = unsafe { first.as_ref() }
        && let Running::Stack(control, co, task) = core.entry.running.get()
        // SAFETY: what an entered core runs has not ended.
        && unsafe { control.as_ref() }.is_here()
    {
        // SAFETY: a core's slots neither move nor go.
        let task = unsafe { task.as_ref() };
        return visitor.visit(Here::Stack(Inside { core, co, task, control }));
    }
    visit_far(visitor)
}

#[cold]
#[inline(never)]
fn visit_far<V: Visit>(visitor: V) -> V::Output {
    visitor.visit(find())
}

/// Who runs the calling code, where no core does.
#[inline(always)]
fn outside<'a>() -> Here<'a> {
    if world::is_near() { find() } else { Here::Thread }
}

#[cold]
#[inline(never)]
fn find<'a>() -> Here<'a> {
    let mut around = control::current();
    let mut inner: Option<&Control> = None;
    loop {
        for core in list() {
            match core.entry.running.get() {
                Running::Stack(control, co, task) if control.as_ptr() == around => {
                    // SAFETY: a core's slots neither move nor go.
                    let task = unsafe { task.as_ref() };
                    return Here::Stack(Inside { core, co, task, control });
                }
                Running::Future(co)
                    if core.entry.host.get() == around && is_within(inner, &core.entry) =>
                {
                    return Here::Future(core, co);
                }
                _ => {}
            }
        }
        if let Some(inside) = super::world::running(around) {
            return Here::Virtual(inside);
        }
        // SAFETY: on the chain of the running code, so it is live.
        let Some(block) = (unsafe { around.as_ref() }) else { return Here::Thread };
        inner = Some(block);
        // SAFETY: as above.
        around = unsafe { floor::around(block) };
    }
}

/// Whether what an entered core polls is around `inner`, the coroutine before its host on the chain of the
/// calling code (none: the code is on the host's own stack): not around members of a ring in which the host
/// was before it entered the core, to which the poll has hopped.
fn is_within(inner: Option<&Control>, entry: &Entry) -> bool {
    // SAFETY: on the chain, so it is live; the ring has not been left, because the core has not.
    inner.is_none_or(|inner| unsafe { floor::is_entered_within(inner, entry.ring.get()) })
}
