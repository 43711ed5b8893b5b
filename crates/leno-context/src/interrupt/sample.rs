//! Asking where another thread is.
//!
//! One at a time in the process: whoever asks has the lock, and writes the thread's number into a
//! word; the thread's handler leaves its program counter and what is on its stack, and clears the
//! word. What was on the stack is words, some of which are return addresses: for a reader that
//! knows which.

use core::sync::atomic::{
    AtomicI32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Unsupported;

/// Words of the stack that are looked at.
const WORDS: usize = 512;

static ASKED: AtomicI32 = AtomicI32::new(0);
static COUNTER: AtomicUsize = AtomicUsize::new(0);
static STACK: [AtomicUsize; WORDS] = [const { AtomicUsize::new(0) }; WORDS];

/// Where a thread was.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it was about to execute.
    pub counter: usize,
    /// What on its stack may be an address in the program's text, the innermost first.
    pub stack: Vec<usize>,
}

/// The number that the system gives the calling thread, for [`sample`]; 0 where it has none.
pub fn thread_id() -> i32 {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: asks only.
    return unsafe { libc::gettid() };
    #[cfg(not(all(target_os = "linux", not(miri))))]
    0
}

/// Asks where the thread with this number is. `None` if it does not say within a second:
/// it has ended, or does not run.
///
/// # Errors
/// Where code cannot be interrupted.
pub fn sample(thread: i32) -> Result<Option<Sample>, Unsupported> {
    static ONE: Mutex<()> = Mutex::new(());
    super::prepare()?;
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    ASKED.store(thread, Release);
    let sent = signal(thread);
    let until = Instant::now() + Duration::from_secs(1);
    while sent && ASKED.load(Acquire) != 0 {
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    if ASKED.swap(0, Acquire) != 0 {
        return Ok(None);
    }
    let stack = STACK.iter().map(|word| word.load(Relaxed)).take_while(|word| *word != 0).collect();
    Ok(Some(Sample { counter: COUNTER.load(Relaxed), stack }))
}

/// Sends a thread of this process the signal of interruptions; whether there is such a thread.
pub(super) fn signal(thread: i32) -> bool {
    let process = i64::from(std::process::id());
    let (thread, signal) = (i64::from(thread), i64::from(libc::SIGURG));
    // SAFETY: whoever gets it ignores it, or has a handler that expects it; a number that no thread
    // of the process has is an error.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) == 0 }
}

/// The handler's part: answers if its thread was asked. `text` says whether an address is one of code.
///
/// # Safety
/// The words from `sp` to `top` can be read.
#[allow(dead_code, reason = "not every backend has a handler")]
pub(super) unsafe fn answer(counter: usize, sp: usize, top: usize, text: fn(usize) -> bool) {
    let asked = ASKED.load(Acquire);
    if asked == 0 || asked != thread_id() {
        return;
    }
    let mut found = 0;
    let mut at = sp.next_multiple_of(8);
    while at + 8 <= top && found + 1 < WORDS {
        // SAFETY: by the contract.
        let word = unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        if text(word) {
            STACK[found].store(word, Relaxed);
            found += 1;
        }
        at += 8;
    }
    STACK[found].store(0, Relaxed);
    COUNTER.store(counter, Relaxed);
    ASKED.store(0, Release);
}
