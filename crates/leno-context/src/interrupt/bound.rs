//! A thread that runs only while it is attached, and is parked wherever it is when its time is over.
//!
//! What runs on it may be any code: nobody else ever runs on that thread. Whoever attaches it blocks
//! its own thread meanwhile, so that one of the two runs at a time.
//!
//! # Protocol
//! One word, `turn`, says whose turn it is; only whoever has it gives it away.
//! ```text
//!   attacher                                    bound thread
//!   A1  turn := BOUND, wake                     B1  waits until turn is BOUND
//!   A2  waits until turn is not BOUND           B2  runs
//!   A3  time over: asked := tries, signal       B3  suspends or ends: turn := ATTACHER or ENDED, wake
//!   A4  waits again, some 100 µs; go to A3      B4  in the handler, if asked: asked := 0, as B3, then B1
//! ```
//! The race it must win: the signal comes when the thread has just suspended by itself, or after that
//! in its next turn. Then `turn` is not BOUND, or `asked` is 0, as A1 clears it, and the handler does
//! nothing.
//!
//! A thread that is in a library or in a guarded section ([`super::GuardedAllocator`]) when the signal
//! comes may hold a lock that its attacher needs, such as the allocator's. So it is parked there only
//! after [`PATIENCE`] tries in vain: it may be blocked in a system call for ever.

use core::sync::atomic::{
    AtomicI32, AtomicU32,
    Ordering::{Relaxed, SeqCst},
};
use core::time::Duration;
use std::time::Instant;

use super::{SOON, sample};
use crate::thread;

const ATTACHER: u32 = 0;
const BOUND: u32 = 1;
const ENDED: u32 = 2;
/// Nobody attaches it any more: it runs on.
const FREE: u32 = 3;

/// How often a thread is asked before it is parked wherever it is.
pub const PATIENCE: u32 = 20;

/// What a bound thread and its attacher share; see the module. One attacher at a time.
#[derive(Debug)]
pub struct Baton {
    turn: AtomicU32,
    /// How often the thread was asked to give its turn back.
    asked: AtomicU32,
    thread: AtomicI32,
    /// How often it was parked by its handler.
    preempted: AtomicU32,
}

/// Why an attached thread has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// It has suspended by itself.
    Suspended,
    /// Its time was over.
    Preempted,
    /// It has ended.
    Ended,
}

impl Default for Baton {
    fn default() -> Baton {
        Baton::new()
    }
}

impl Baton {
    /// For a thread that has not begun.
    pub const fn new() -> Baton {
        Baton {
            turn: AtomicU32::new(ATTACHER),
            asked: AtomicU32::new(0),
            thread: AtomicI32::new(0),
            preempted: AtomicU32::new(0),
        }
    }

    /// Runs the thread until it suspends or ends, or until this time is over. A time beyond what the clock
    /// can tell is none.
    pub fn attach(&self, time: Option<Duration>) -> Turned {
        if self.has_ended() {
            return Turned::Ended;
        }
        let preempted = self.preempted.load(SeqCst);
        let mut until = time.and_then(|time| Instant::now().checked_add(time));
        if crate::is_planted("bound-overflow") {
            until = time.map(|time| Instant::now() + time);
        }
        self.give(BOUND);
        while self.turn.load(SeqCst) == BOUND {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                self.asked.fetch_add(1, SeqCst);
                sample::signal(self.thread.load(SeqCst));
                until = Some(Instant::now() + SOON);
                continue;
            }
            wait(&self.turn, BOUND, left);
        }
        match (self.has_ended(), self.preempted.load(SeqCst) == preempted) {
            (true, _) => Turned::Ended,
            (false, true) => Turned::Suspended,
            (false, false) => Turned::Preempted,
        }
    }

    /// Whether the thread has ended.
    pub fn has_ended(&self) -> bool {
        self.turn.load(SeqCst) == ENDED
    }

    /// Lets the thread run on for good, attached by nobody.
    pub fn let_go(&self) {
        if !self.has_ended() {
            self.give(FREE);
        }
    }

    /// The thread's side: waits for its first turn, runs `f`, and ends, also if it unwinds.
    pub fn run(&'static self, f: impl FnOnce()) {
        struct End(&'static Baton);
        impl Drop for End {
            fn drop(&mut self) {
                thread::block().interrupts.baton.store(core::ptr::null_mut(), SeqCst);
                self.0.give(ENDED);
            }
        }
        self.thread.store(sample::thread_id(), SeqCst);
        let own = &thread::block().interrupts;
        self.await_turn();
        own.baton.store((&raw const *self).cast_mut(), SeqCst);
        let _end = End(self);
        f();
    }

    fn give(&self, turn: u32) {
        self.asked.store(0, SeqCst);
        self.turn.store(turn, SeqCst);
        wake(&self.turn);
    }

    fn await_turn(&self) {
        while self.turn.load(SeqCst) == ATTACHER {
            wait(&self.turn, ATTACHER, None);
        }
    }
}

/// Gives the turn of the calling thread back to its attacher until that attaches it again; whether the
/// thread is bound.
pub fn suspend() -> bool {
    let baton = &thread::block().interrupts.baton;
    // SAFETY: null, or a baton that is there for ever.
    let Some(own) = (unsafe { baton.load(SeqCst).as_ref() }) else { return false };
    if own.turn.load(SeqCst) == BOUND {
        own.give(ATTACHER);
        own.await_turn();
    }
    true
}

/// The handler's part.
#[allow(dead_code, reason = "not every backend has a handler")]
pub(super) fn on_signal(baton: &Baton, is_free: bool) {
    let asked = baton.asked.load(SeqCst);
    if asked == 0 || baton.turn.load(SeqCst) != BOUND || (!is_free && asked < PATIENCE) {
        return;
    }
    baton.preempted.fetch_add(1, Relaxed);
    baton.give(ATTACHER);
    baton.await_turn();
}

/// Waits while the word has this value, so long at most. Async-signal-safe.
fn wait(word: &AtomicU32, value: u32, time: Option<Duration>) {
    let time = time.map(|time| libc::timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a word that is there, and a time or none.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), wait, value, time) };
}

/// Wakes whoever waits at the word. Async-signal-safe.
fn wake(word: &AtomicU32) {
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a word that is there.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), wake, i32::MAX) };
}
