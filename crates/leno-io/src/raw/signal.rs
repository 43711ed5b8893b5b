//! A signal handler that notes and rings.
//!
//! Each [`Ear`] has a word with the signals it wants, one with those it has heard, and an eventfd. The
//! handler looks through all of them.
//!
//! Claims:
//! - The handler is async-signal-safe: atomic words that are always there, `write` to descriptors that
//!   do not block, and `errno` as it was. No lock, no heap, no thread-local but `errno`. It runs on the
//!   thread's alternate stack, if it has one, because stacks of coroutines are small.
//! - The eventfds are never closed, so the handler writes to no other file. An ear that is dropped leaves
//!   its eventfd to the next one; a ring that comes late makes that one look, and find nothing.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;

use leno_kernel::layer::user::{Locked, lock};
use rustix::event::{EventfdFlags, eventfd};

/// How many ears there are at most.
const MOST: usize = 64;

struct Place {
    /// A bit for each signal that it wants.
    wanted: AtomicU64,
    heard: AtomicU64,
    /// Below 0 before there is one.
    eventfd: AtomicI32,
}

static PLACES: [Place; MOST] = [const {
    Place { wanted: AtomicU64::new(0), heard: AtomicU64::new(0), eventfd: AtomicI32::new(-1) }
}; MOST];

/// Which places are used, and their eventfds.
static USED: Mutex<Vec<(bool, &'static OwnedFd)>> = Mutex::new(Vec::new());

fn used() -> Locked<'static, Vec<(bool, &'static OwnedFd)>> {
    lock(&USED)
}

/// Hears signals.
pub(crate) struct Ear {
    place: usize,
    eventfd: &'static OwnedFd,
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

impl Ear {
    /// Hears these signals from now on; each is of 1 to 64, and can be handled.
    pub(crate) fn new(signals: &[i32]) -> io::Result<Ear> {
        let mut used = used();
        // All of them, or none: a signal that nobody hears does what it does by default.
        for &signal in signals {
            is_installed(signal)?;
        }
        let place = match used.iter().position(|(is_used, _)| !is_used) {
            Some(place) => place,
            None if used.len() == MOST => {
                let text = format!("at most {MOST} `Signals` are there at once");
                return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
            }
            None => {
                let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
                PLACES[used.len()].eventfd.store(fd.as_raw_fd(), SeqCst);
                used.push((false, Box::leak(Box::new(fd))));
                used.len() - 1
            }
        };
        for &signal in signals {
            install(signal)?;
        }
        used[place].0 = true;
        PLACES[place].heard.store(0, SeqCst);
        let wanted = signals.iter().fold(0, |wanted, &signal| wanted | bit(signal));
        PLACES[place].wanted.store(wanted, SeqCst);
        Ok(Ear { place, eventfd: used[place].1 })
    }

    /// Readable when something was heard; perhaps also when not.
    pub(crate) fn eventfd(&self) -> BorrowedFd<'static> {
        self.eventfd.as_fd()
    }

    /// One of the signals that were heard, and whether there are more.
    pub(crate) fn take(&self) -> Option<(i32, bool)> {
        let place = &PLACES[self.place];
        let wanted = place.wanted.load(SeqCst);
        let mut taken = 0;
        let before = place.heard.fetch_update(SeqCst, SeqCst, |heard| {
            let heard = heard & wanted;
            taken = heard & heard.wrapping_neg();
            Some(heard & !taken)
        });
        let more = before.unwrap_or(0) & wanted & !taken != 0;
        (taken != 0).then(|| (taken.trailing_zeros() as i32 + 1, more))
    }

    /// Whether something was heard.
    pub(crate) fn has_heard(&self) -> bool {
        let place = &PLACES[self.place];
        place.heard.load(SeqCst) & place.wanted.load(SeqCst) != 0
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let mut used = used();
        PLACES[self.place].wanted.store(0, SeqCst);
        used[self.place].0 = false;
    }
}

/// Whether the handler is called for this signal.
///
/// # Errors
/// If it cannot be handled, or somebody else does.
fn is_installed(signal: i32) -> io::Result<bool> {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is given, so nothing changes; the old one is written to `now`.
    if unsafe { libc::sigaction(signal, core::ptr::null(), now.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: written above, and all zeroes were valid before.
    let now = unsafe { now.assume_init() }.sa_sigaction;
    if now == on_signal as *const () as usize {
        return Ok(true);
    }
    if now != libc::SIG_DFL && now != libc::SIG_IGN {
        let text = format!("signal {signal} has a handler already, of someone else's");
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
    }
    Ok(false)
}

/// Has the handler called for this signal, from now on for ever.
fn install(signal: i32) -> io::Result<()> {
    if is_installed(signal)? {
        return Ok(());
    }
    // SAFETY: all zeroes is a valid sigaction.
    let mut new = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    new.sa_sigaction = on_signal as *const () as usize;
    new.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the handler is async-signal-safe; see the module.
    match unsafe { libc::sigaction(signal, &new, core::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_signal(signal: i32) {
    // SAFETY: gives the address of this thread's `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: that address is valid.
    let before = unsafe { *errno };
    for place in &PLACES {
        if place.wanted.load(SeqCst) & bit(signal) != 0 {
            place.heard.fetch_or(bit(signal), SeqCst);
            let one = 1_u64;
            // SAFETY: eight bytes that are there; the descriptor is never closed.
            unsafe { libc::write(place.eventfd.load(SeqCst), (&raw const one).cast(), 8) };
        }
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}
