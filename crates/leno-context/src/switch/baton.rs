//! A switch for tools that cannot follow one: each coroutine is an OS thread, and a baton is
//! passed. Chosen by `--cfg leno_baton`. Slow, and limited as `mod.rs` says.
//!
//! Protocol. Every OS thread that takes part owns one [`Baton`]: a mutex-protected message slot
//! and a condition variable. A context is either *fresh* (no thread yet) or *left* (its thread
//! waits on its own baton). `transfer` puts a message into the target's slot (or spawns its
//! thread) and then waits for a message in its own. The mutex orders everything the sender did
//! before everything the receiver does, so only one thread ever runs and no other lock is needed.
//!
//! A thread that has `jump`ed still holds the frame its last word points into, so it waits until
//! [`retire`] (called when the stack is given back) tells it to unwind and end.

use std::cell::{Cell, OnceCell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use crate::control::Control;
use crate::word::Word;

pub(crate) enum Message {
    Continue { word: Word, code: usize, slot: *const () },
    End,
}

#[derive(Default)]
pub(crate) struct Baton {
    message: Mutex<Option<Message>>,
    arrived: Condvar,
}

// SAFETY: the raw pointers inside a message are handed from the one running thread to the next.
unsafe impl Send for Baton {}
// SAFETY: all access goes through the mutex.
unsafe impl Sync for Baton {}

impl Baton {
    fn give(&self, message: Message) {
        *self.message.lock().unwrap() = Some(message);
        self.arrived.notify_one();
    }

    fn wait(&self) -> Message {
        let mut slot = self.message.lock().unwrap();
        loop {
            if let Some(message) = slot.take() {
                return message;
            }
            slot = self.arrived.wait(slot).unwrap();
        }
    }
}

thread_local! {
    static OWN: RefCell<Option<Arc<Baton>>> = const { RefCell::new(None) };
    /// The baton of a thread that ends, for its other destructors: never dropped, so it is always there.
    static LATE: OnceCell<ManuallyDrop<Arc<Baton>>> = const { OnceCell::new() };
    static SLOT: Cell<*const ()> = const { Cell::new(core::ptr::null()) };
    static CONTROL: Cell<*mut Control> = const { Cell::new(core::ptr::null_mut()) };
}

/// Where a suspended context continues.
pub struct Context {
    fresh: *mut Control,
    left: Option<Arc<Baton>>,
    /// Whose it is, once it was left; null for a plain thread.
    whose: *mut Control,
}

/// The OS thread behind a coroutine, kept in its control block.
pub(crate) type Carrier = Option<(Arc<Baton>, JoinHandle<()>)>;

/// Unwinds a carrier thread to its end.
struct CarrierEnds;

impl Context {
    /// A context nobody has left yet.
    pub const fn empty() -> Self {
        Context { fresh: core::ptr::null_mut(), left: None, whose: core::ptr::null_mut() }
    }

    /// The entry of a fresh coroutine, whose thread is spawned when it is first continued.
    pub(crate) fn fresh(control: NonNull<Control>, _top: *mut u8) -> Context {
        Context { fresh: control.as_ptr(), left: None, whose: control.as_ptr() }
    }

    /// The same context, which is continued through one of the two only.
    pub(crate) fn duplicate(&self) -> Context {
        Context { fresh: self.fresh, left: self.left.clone(), whose: self.whose }
    }

    /// The coroutine that has left it, since there is no stack pointer to tell by; null if a plain
    /// thread has.
    pub(crate) fn whose(&self) -> *mut Control {
        self.whose
    }

    /// There is no stack pointer to tell.
    pub fn stack_pointer(&self) -> usize {
        0
    }
}

#[inline(always)]
pub(crate) fn base_return_address() -> usize {
    1
}

/// # Safety
/// `to` is valid and nobody else uses it.
unsafe fn pass(to: *const Context, word: Word, code: usize) {
    // SAFETY: valid and exclusively ours: the mutex hand-over orders all access.
    let to = unsafe { &mut *to.cast_mut() };
    let slot = thread_slot();
    if to.fresh.is_null() {
        let baton = to.left.take().expect("a context that was left");
        return baton.give(Message::Continue { word, code, slot });
    }
    let control = core::mem::replace(&mut to.fresh, core::ptr::null_mut());
    let baton: Arc<Baton> = Arc::default();
    let carried = Carried { control, own: baton.clone() };
    let spawned = std::thread::Builder::new().name("leno baton".into()).spawn(|| carry(carried));
    let carrier = spawned.expect("an OS thread for a coroutine");
    // Written before the thread gets the baton: it may end, and be retired, at once.
    // SAFETY: the control block is valid; only the running thread touches this field.
    unsafe { &(*control).carrier }.set(Some((baton.clone(), carrier)));
    baton.give(Message::Continue { word, code, slot });
}

/// What a carrier thread is told when it is spawned.
struct Carried {
    control: *mut Control,
    own: Arc<Baton>,
}
// SAFETY: handed from the one running thread to the next.
unsafe impl Send for Carried {}

/// The life of a carrier thread.
fn carry(carried: Carried) {
    let Carried { control, own } = carried;
    OWN.set(Some(own.clone()));
    CONTROL.set(control);
    let Message::Continue { word, code, slot } = own.wait() else { return };
    set_thread_slot(slot);
    // SAFETY: the control block is set up.
    let main = unsafe { &*control }.main.get();
    // SAFETY: it expects these words.
    let ended = catch_unwind(AssertUnwindSafe(|| unsafe { main(word, code, control) }));
    // What belongs to the thread it stood in for is not this thread's to clean up, and destructors of its own
    // thread-locals do not run inside the coroutine, whose block is about to be released.
    set_thread_slot(core::ptr::null());
    CONTROL.set(core::ptr::null_mut());
    if let Err(payload) = ended
        && !payload.is::<CarrierEnds>()
    {
        // Its `Drop` may panic, too.
        core::mem::forget(payload);
        crate::unwind::give_up("a panic left a coroutine's base under the baton backend");
    }
}

fn own_baton() -> Arc<Baton> {
    let late = || LATE.with(|late| Arc::clone(late.get_or_init(ManuallyDrop::default)));
    OWN.try_with(|own| own.borrow_mut().get_or_insert_default().clone()).unwrap_or_else(|_| late())
}

pub(super) unsafe fn transfer(
    from: *mut Context,
    to: *const Context,
    word: Word,
    code: usize,
) -> (Word, usize) {
    let own = own_baton();
    // SAFETY: `from` is valid and nobody continues it before the baton is passed.
    let from = unsafe { &mut *from };
    from.left = Some(own.clone());
    from.whose = own_control();
    // SAFETY: forwarded.
    unsafe { pass(to, word, code) };
    match own.wait() {
        Message::Continue { word, code, slot } => {
            set_thread_slot(slot);
            (word, code)
        }
        Message::End => resume_unwind(Box::new(CarrierEnds)),
    }
}

pub(super) unsafe fn jump(to: *const Context, word: Word, code: usize) -> ! {
    let own = own_baton();
    // SAFETY: forwarded.
    unsafe { pass(to, word, code) };
    match own.wait() {
        Message::End => resume_unwind(Box::new(CarrierEnds)),
        Message::Continue { .. } => unreachable!("a finished coroutine was continued"),
    }
}

/// Ends the OS thread of a coroutine that has finished.
pub(crate) fn retire(control: &Control) {
    if let Some((baton, thread)) = control.carrier.take() {
        baton.give(Message::End);
        thread.join().expect("a carrier thread ends quietly");
    }
}

/// The control block of the coroutine whose OS thread this is; null on a plain thread.
pub(crate) fn own_control() -> *mut Control {
    CONTROL.get()
}

/// About where the caller's frame is, on its OS thread's stack.
pub fn stack_pointer() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}

/// Nothing to prefetch.
pub fn prefetch(_address: *const u8) {}

pub(crate) fn thread_slot() -> *const () {
    SLOT.get()
}

pub(crate) fn set_thread_slot(value: *const ()) {
    SLOT.set(value);
}
