//! What leno keeps per OS thread, behind one pointer the compiler cannot cache.
//!
//! It is a `Block`, which the thread slot of [`crate::switch`] points to, made on first use: a program
//! that never uses coroutines never allocates one. The pointer must not be kept across a switch of a
//! coroutine that may migrate, nor beyond the thread's end. So layers above do not get it: [`Thread`] has
//! no data, and looks the block up for each call.
//!
//! At thread exit a guard gives the cached stacks back. Coroutines still alive then are neither
//! unwound nor freed (they may borrow other thread-locals): they leak, and a line on stderr says
//! how many and names some. Nothing here runs user code.

use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use std::sync::OnceLock;

use crate::control::{self, Kind};
use crate::interrupt::Interrupts;
use crate::last_words;
use crate::outermost::Outermost;
use crate::stack::pool::Cache;
use crate::switch;

/// Per-thread pointers of the layers above, one index each.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Slot {
    /// The ring used last on this thread (a cache that its user validates).
    RingUsed = 0,
    /// The ring of the thread's own context.
    RingBase = 1,
    /// Coroutine-locals of the thread's own context.
    Locals = 2,
    /// The copier of shared stacks.
    Copier = 3,
    /// The core entered last on this thread.
    Core = 4,
    /// The world that this thread runs.
    World = 5,
}

/// What is kept of one OS thread.
#[derive(Debug)]
pub(crate) struct Block {
    number: u32,
    next_id: Cell<u64>,
    last_id: Cell<u64>,
    live: Cell<usize>,
    watching: Cell<bool>,
    /// Whether it has had a stack that several coroutines share, or may have had one before this block.
    shares: Cell<bool>,
    units: Cell<i64>,
    slots: [Cell<*mut ()>; 6],
    pub(crate) interrupts: Interrupts,
    outermost: Outermost,
    pub(crate) cache: UnsafeCell<Cache>,
}

static NUMBERS: AtomicU32 = AtomicU32::new(1);
static IDS: AtomicU64 = AtomicU64::new(1);
const IDS_AT_ONCE: u64 = 1024;

/// This OS thread's block. It is not kept across a switch, nor beyond the end of the thread.
#[inline(always)]
pub(crate) fn block() -> &'static Block {
    let slot = switch::thread_slot().cast::<Block>();
    if slot.is_null() {
        return first_use();
    }
    // SAFETY: the slot holds null or the block that `first_use` leaked for this thread; it is
    // freed only by the guard at thread exit, which clears the slot first.
    unsafe { &*slot }
}

#[cold]
#[inline(never)]
fn first_use() -> &'static Block {
    // When thread-locals are already being destroyed the guard cannot be set: the block leaks. It may be the second one of
    // its thread, which has had such stacks with the first.
    let is_late = GUARD.try_with(|_| ()).is_err();
    let thread: *mut Block = Box::into_raw(Box::new(Block {
        number: next_number(),
        next_id: Cell::new(0),
        last_id: Cell::new(0),
        live: Cell::new(0),
        watching: Cell::new(watch_all()),
        shares: Cell::new(is_late),
        units: Cell::new(i64::MAX),
        slots: [const { Cell::new(core::ptr::null_mut()) }; 6],
        interrupts: Interrupts::new(),
        outermost: Outermost::now(),
        cache: UnsafeCell::new(Cache::new()),
    }));
    switch::set_thread_slot(thread.cast_const().cast());
    #[cfg(not(leno_baton))]
    crate::overflow::prepare_thread();
    // SAFETY: just made; freed at thread exit only.
    unsafe { &*thread }
}

/// Returns a number that no thread has, has had or will have: some believe a thread by its number alone. For what
/// stands for a thread.
///
/// # Panics
/// When the process has used them all up.
pub fn next_number() -> u32 {
    NUMBERS
        .fetch_update(Relaxed, Relaxed, |number| number.checked_add(1))
        .expect("a process has at most 4,294,967,294 threads that use leno, one after another")
}

/// Whether the environment asks for tracing everywhere.
fn watch_all() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| {
        std::env::var_os("LENO_TRACE").is_some_and(|value| value != "0" && !value.is_empty())
    })
}

thread_local! {
    static GUARD: Guard = const { Guard };
}

/// Runs at thread exit.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        let slot = switch::thread_slot().cast::<Block>().cast_mut();
        if slot.is_null() {
            return;
        }
        switch::set_thread_slot(core::ptr::null());
        // SAFETY: leaked by `first_use`, reachable only through the slot just cleared.
        let thread = unsafe { &mut *slot };
        thread.interrupts.end();
        thread.cache.get_mut().empty();
        let left = thread.live.get();
        if left == 0 {
            // SAFETY: as above, and no coroutine of this thread is left that could refer to it.
            return drop(unsafe { Box::from_raw(slot) });
        }
        last_words::say(format_args!(
            "thread '{}' ended with {left} coroutine{} alive: leaked, not unwound; drop them before the \
             thread ends, leave them to a scope, or end a ring's members with ring::drain{}",
            std::thread::current().name().unwrap_or("unnamed"),
            if left == 1 { "" } else { "s" },
            Leaked { thread: thread.number, left },
        ));
    }
}

/// Some of the coroutines that a thread leaves behind, as a list to end a message with.
struct Leaked {
    thread: u32,
    left: usize,
}

impl fmt::Display for Leaked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        // SAFETY: live: this thread, to which they belong, is here.
        let blocks = control::of_thread(self.thread).map(|block| unsafe { block.as_ref() });
        // Who is on a home is not known here.
        let coroutines = blocks.filter(|block| block.kind() != Kind::Home);
        let mut shown = 0;
        for block in coroutines.take(SHOWN) {
            f.write_str(if shown == 0 { ": " } else { ", " })?;
            write!(f, "{} {} (created at {})", block.noun(), block.shown(), block.site())?;
            shown += 1;
        }
        if self.left > SHOWN && shown > 0 { f.write_str(", ..") } else { Ok(()) }
    }
}

/// Whether this OS thread is at its end, running destructors of thread-locals. Then nothing may be
/// unwound: a coroutine may be inside a borrow of a thread-local that is already gone.
///
/// Known for sure once leno's own guard has been destroyed. Before that it is told by the stack:
/// the outermost frames no longer return to where they did when the thread first used leno (see
/// `outermost.rs`). A thread that calls `exit` in its depths is not recognised.
pub fn is_ending() -> bool {
    GUARD.try_with(|_| ()).is_err() || block().outermost.has_changed()
}

impl Block {
    /// This thread's number, unique in the process and never 0.
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// A fresh coroutine id, unique in the process, never 0.
    #[inline]
    pub(crate) fn fresh_id(&self) -> u64 {
        let id = self.next_id.get();
        if id == self.last_id.get() {
            return self.fresh_ids();
        }
        self.next_id.set(id + 1);
        id
    }

    #[cold]
    fn fresh_ids(&self) -> u64 {
        let first = IDS.fetch_add(IDS_AT_ONCE, Relaxed);
        self.next_id.set(first + 1);
        self.last_id.set(first + IDS_AT_ONCE);
        first
    }

    /// Whether it may have had a stack that several coroutines share.
    #[inline(always)]
    pub(crate) fn shares_stacks(&self) -> bool {
        self.shares.get()
    }

    /// Counts a coroutine in (`1`) or out (`-1`).
    #[inline(always)]
    pub(crate) fn count_live(&self, by: isize) {
        self.live.set(self.live.get().wrapping_add_signed(by));
    }
}

/// The calling OS thread, whichever it is at each call.
#[derive(Debug)]
#[non_exhaustive]
pub struct Thread {
    /// Whether coroutines made now on this thread are traced.
    pub watching: Watching,
    /// Units that the running code has left before it is asked whether it may go on; see the kernel's
    /// budgets. As good as endless where nobody counts.
    pub units: Units,
}

/// The calling OS thread.
#[inline(always)]
pub fn current() -> &'static Thread {
    &Thread { watching: Watching(()), units: Units(()) }
}

impl Thread {
    /// Its number, unique in the process and never 0.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        block().number
    }

    /// How many coroutines of this thread are alive.
    pub fn live(&self) -> usize {
        block().live.get()
    }

    /// Counts a coroutine in (`1`) or out (`-1`).
    ///
    /// # Safety
    /// The coroutine comes to belong to this thread, or no longer does: as long as one is counted the
    /// thread's block stays.
    #[inline(always)]
    pub unsafe fn count_live(&self, by: isize) {
        block().count_live(by);
    }

    /// Says that it has a stack that several coroutines share: from now on [`hold_frames`](crate::control::hold_frames)
    /// looks where the running code is.
    pub fn shares_stacks(&self) {
        block().shares.set(true);
    }

    /// A per-thread pointer of a layer above.
    ///
    /// # Safety
    /// The caller is the layer whose slot it is, and puts nothing there that it does not expect to find.
    /// The reference is not kept across a switch, nor beyond the end of the thread.
    #[inline(always)]
    pub unsafe fn slot(&self, slot: Slot) -> &'static Cell<*mut ()> {
        &block().slots[slot as usize]
    }
}

/// See [`Thread::watching`].
#[derive(Debug)]
pub struct Watching(());

impl Watching {
    /// Whether it is so.
    pub fn get(&self) -> bool {
        block().watching.get()
    }

    /// Turns it on or off.
    pub fn set(&self, on: bool) {
        block().watching.set(on);
    }
}

/// See [`Thread::units`].
#[derive(Debug)]
pub struct Units(());

impl Units {
    /// How many there are.
    #[inline(always)]
    pub fn get(&self) -> i64 {
        block().units.get()
    }

    /// From now on there are so many.
    #[inline(always)]
    pub fn set(&self, units: i64) {
        block().units.set(units);
    }

    /// The same; how many there were.
    #[inline(always)]
    pub fn replace(&self, units: i64) -> i64 {
        block().units.replace(units)
    }

    /// Takes so many; how many are left, which may be less than none.
    #[inline(always)]
    pub fn spend(&self, units: u32) -> i64 {
        let cell = &block().units;
        let left = cell.get().wrapping_sub(i64::from(units));
        cell.set(left);
        left
    }
}
