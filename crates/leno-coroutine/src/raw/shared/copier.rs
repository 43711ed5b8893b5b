//! The copier: switches between coroutines when the running one is itself on a shared stack.
//!
//! Code cannot copy frames over the stack it runs on. So when a coroutine on a home resumes a
//! shared coroutine, it goes through the *copier*, a context with a small stack of its own, one
//! per thread. The copier notes who called whom, brings the callee in and continues it; when that
//! suspends or ends, it comes back to the copier, which brings the caller in and continues it.
//!
//! ```text
//!   caller --REQUEST--> copier --GO--> callee
//!   caller <--(code)--- copier <--(code)-- callee
//! ```
//! A hop between members of a ring that are on the same home goes through the copier too, one
//! way: `from --HOP--> copier --GO--> to`. Nobody waits for its end.
//!
//! Calls nest: while a callee runs, the copier waits in the callee's `back`; a request made
//! meanwhile is sent there. With no call pending it waits in its own `back` block.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use leno_context::Name;
use leno_context::control::{self, Control, Kind, Spec, bits};
use leno_context::stack::{StackError, StackSize};
use leno_context::switch::{self, Context};
use leno_context::thread::{self, Slot};
use leno_context::unwind::{self, code};
use leno_context::word::{EMPTY, Word};

use super::home::{self, Record};
use super::member::Way;

/// Beside the codes of `leno_context::unwind::code`: asks the copier to continue a callee.
const REQUEST: usize = 64;
/// Asks the copier to bring in the member whose record the word is, and to continue it with the
/// code that is added to this one.
const HOP: usize = 128;

/// One call in progress.
struct Call {
    caller: NonNull<Record>,
    callee: NonNull<Record>,
}

/// The copier of a thread.
pub(super) struct Copier {
    control: NonNull<Control>,
    calls: Vec<Call>,
    /// What unwinders find below its base frame: nothing. Whoever made it has long gone on.
    bottom: Context,
}

/// What a caller asks for; it stays in the caller's frame until the copier has read it.
struct Request {
    call: Call,
    word: Word,
    code: usize,
}

/// This thread's copier, made on first use.
pub(super) fn of_this_thread() -> Result<NonNull<Copier>, StackError> {
    // SAFETY: it holds null or the copier that is put there below.
    let slot = unsafe { thread::current().slot(Slot::Copier) };
    if let Some(copier) = NonNull::new(slot.get().cast::<Copier>()) {
        return Ok(copier);
    }
    let spec = Spec {
        name: Name::from("copier"),
        site: core::panic::Location::caller(),
        size: StackSize::DEFAULT,
        kind: Kind::Home,
        watched: false,
    };
    // SAFETY: there is nothing to move.
    let made = unsafe { control::create(spec, &mut ManuallyDrop::new(()), main) };
    let control = made.map_err(|(why, _)| why)?;
    // It lives as long as the thread, and is no coroutine of the user's.
    // SAFETY: the thread frees it when it ends.
    unsafe { thread::current().count_live(-1) };
    let copier = Copier { control, calls: Vec::new(), bottom: Context::empty() };
    let copier = NonNull::from_mut(Box::leak(Box::new(copier)));
    slot.set(copier.as_ptr().cast());
    free_at_thread_exit();
    // SAFETY: just made.
    let block = unsafe { control.as_ref() };
    // SAFETY: fresh; its main takes the copier's address, and comes back at once to wait.
    unsafe { unwind::resume(block, Word::new(copier.as_ptr().cast()), code::GO) };
    Ok(copier)
}

/// Frees this thread's copier when the thread ends, unless a call through it never came back.
fn free_at_thread_exit() {
    struct AtExit;
    impl Drop for AtExit {
        fn drop(&mut self) {
            // SAFETY: as in `of_this_thread`.
            let slot = unsafe { thread::current().slot(Slot::Copier) };
            let copier = slot.replace(core::ptr::null_mut());
            let Some(copier) = NonNull::new(copier.cast::<Copier>()) else { return };
            // SAFETY: leaked by `of_this_thread`, just taken out of the slot.
            let copier = unsafe { Box::from_raw(copier.as_ptr()) };
            if copier.calls.is_empty() {
                // SAFETY: it is counted out when it is released.
                unsafe { thread::current().count_live(1) };
                // SAFETY: it waits, and its frames hold nothing that would have to be dropped.
                unsafe { control::release(copier.control) };
            }
        }
    }
    thread_local!(static AT_EXIT: AtExit = const { AtExit });
    let _ = AT_EXIT.try_with(|_| ());
}

/// Runs `callee` until it suspends or ends, on behalf of `caller`, which is running on a home.
///
/// # Safety
/// Both are live and of this thread; the callee may be continued with this word and code, which
/// do not point into the caller's frames. The caller can be brought in again without failing.
#[inline(never)]
pub(super) unsafe fn call(
    copier: NonNull<Copier>,
    caller: NonNull<Record>,
    callee: NonNull<Record>,
    word: Word,
    code: usize,
) -> (Word, usize) {
    let mut request = Request { call: Call { caller, callee }, word, code };
    let mut here = Context::empty();
    // SAFETY: live by the contract.
    let own = unsafe { caller.as_ref() };
    own.waits_in.set(&raw mut here);
    // SAFETY: this thread's copier; no other reference to it is alive.
    let target = unsafe { copier.as_ref() }.waits_in();
    let request = Word::new((&raw mut request).cast());
    // SAFETY: the copier waits there for a request, and continues us here.
    let arrived = unsafe { switch::transfer(&raw mut here, target, request, REQUEST) };
    own.waits_in.set(core::ptr::null_mut());
    arrived
}

/// The way to a member on the home that the calling code runs on.
pub(super) fn way_to(record: NonNull<Record>, code: usize) -> Way {
    let copier = of_this_thread().expect("prepared");
    // SAFETY: this thread's copier; no other reference to it is alive.
    let context = unsafe { copier.as_ref() }.waits_in();
    Way { context, word: Word::new(record.as_ptr().cast()), code: HOP + code }
}

impl Copier {
    /// Where the copier waits while others run.
    fn waits_in(&self) -> *mut Context {
        match self.calls.last() {
            // SAFETY: the callee of a call in progress is live.
            Some(call) => unsafe { call.callee.as_ref() }.block().back(),
            // SAFETY: the copier's block is live.
            None => unsafe { self.control.as_ref() }.context(),
        }
    }

    /// Begins the call that a caller has asked for, and returns what comes next.
    ///
    /// # Safety
    /// `word` is that of a REQUEST whose sender waits.
    unsafe fn begin(&mut self, word: Word) -> (Word, usize) {
        // SAFETY: the word of a REQUEST is the address of one, and its sender waits.
        let request = unsafe { word.assume_init() }.cast::<Request>();
        // SAFETY: as above.
        let request = unsafe { request.read() };
        let callee = request.call.callee;
        self.calls.push(request.call);
        // SAFETY: the caller has prepared it; this code runs on the copier's stack.
        unsafe { home::bring_in(callee) };
        // SAFETY: live, and brought in.
        let block = unsafe { callee.as_ref() }.block();
        // SAFETY: it was left, or is fresh; it comes back here.
        unsafe { switch::enter(block, request.word, request.code) }
    }

    /// Continues the member that another one, which has left, hops to.
    ///
    /// # Safety
    /// Word and code are those of a HOP.
    unsafe fn hop(&mut self, word: Word, code: usize) -> (Word, usize) {
        // SAFETY: the word of a HOP is an address.
        let record = unsafe { word.assume_init() }.cast::<Record>();
        // SAFETY: that of a live record.
        let record = unsafe { NonNull::new_unchecked(record) };
        // SAFETY: prepared by whoever hops; this code runs on the copier's stack.
        unsafe { home::bring_in(record) };
        // SAFETY: live, and brought in.
        let block = unsafe { record.as_ref() }.block();
        // SAFETY: it was left, or is fresh; the next request comes where the copier waits.
        unsafe { switch::transfer(self.waits_in(), block.context(), EMPTY, code - HOP) }
    }

    /// Ends the latest call: the callee has come back with this word and code.
    ///
    /// # Safety
    /// There is a call in progress, and word and code are for its caller.
    unsafe fn end(&mut self, word: Word, code: usize) -> (Word, usize) {
        let call = self.calls.pop().expect("a call in progress");
        // SAFETY: the callee of a call in progress is live.
        let callee = unsafe { call.callee.as_ref() };
        let left = code == code::SUSPENDED;
        callee.block().mark(if left { bits::SUSPENDED } else { bits::FINISHED });
        // SAFETY: a caller waits, so it is live.
        let caller = unsafe { call.caller.as_ref() };
        if let Err(obstacle) = home::prepare(caller) {
            unwind::give_up(format_args!("a shared stack cannot be returned to: {obstacle:?}"));
        }
        // SAFETY: prepared; this code runs on the copier's stack.
        unsafe { home::bring_in(call.caller) };
        // SAFETY: the caller waits there; its next request comes where the copier waits.
        unsafe { switch::transfer(self.waits_in(), caller.waits_in.get(), word, code) }
    }
}

/// The copier's loop.
unsafe extern "C-unwind" fn main(word: Word, _go: usize, control: *mut Control) -> ! {
    // SAFETY: the first thing on this stack.
    unsafe { unwind::begun() };
    // SAFETY: the first word is the copier's address; only this loop and requests use it, in turn.
    let copier = unsafe { word.assume_init() }.cast::<Copier>();
    // SAFETY: the copier's own block.
    let block = unsafe { &*control };
    // SAFETY: whoever made the copier waits for this.
    let (mut word, mut code) = unsafe { switch::leave(block, EMPTY, code::SUSPENDED) };
    // SAFETY: the copier lives as long as this loop.
    block.set_parent(unsafe { &raw mut (*copier).bottom });
    loop {
        // SAFETY: as above.
        let copier = unsafe { &mut *copier };
        (word, code) = match code {
            // SAFETY: the code says what the word is.
            REQUEST => unsafe { copier.begin(word) },
            // SAFETY: as above.
            HOP.. => unsafe { copier.hop(word, code) },
            // SAFETY: anything else comes from the callee of the latest call.
            _ => unsafe { copier.end(word, code) },
        };
    }
}
