//! Asymmetric coroutines.
//!
//! Claims:
//! - A handle's block is live while its tag carries the coroutine's id; handles are neither `Send`
//!   nor `Sync`, so nobody else resumes or ends it.
//! - Resuming borrows the handle, so a running coroutine is never dropped.
//! - The block is resumed only when its tag carries that id and says New or Suspended; it says
//!   Running from then until the coroutine has come back.
//! - A word is packed and unpacked with the types the coroutine was created with.
//!
//! A handle has no interior mutability: the compiler can then keep the block's address in a
//! register across a resume, which halves the cost of a round trip.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::panic::Location;

use leno_context::control::{self, Control, Kind, Spec, bits};
use leno_context::stack::StackSize;
use leno_context::unwind::{self, code};
use leno_context::user::{self, Panic, Section};
use leno_context::word::{self, EMPTY, Word};
use leno_context::{Name, State, Status};

use super::exit::{self, Ended};
use super::local;
use crate::{CreateError, ResumeError, Step, Suspender, trace};

/// A coroutine that runs when it is resumed, and goes back to its resumer when it suspends.
///
/// It takes an `In` each time it is resumed (the first one is the body's argument), gives an
/// `Out` each time it suspends, and a `Ret` when its body returns.
///
/// # Cancellation
/// Dropping a suspended coroutine unwinds it: its destructors run, and if one of them panics the
/// process is aborted, as in any unwinding. A body that catches the unwinding eight times and goes
/// on is given up: its stack is leaked, with a message.
///
/// A panic that a body raises after it has caught the unwinding, or that dropping what it returns
/// or (if it never ran) has captured raises, goes on in whoever drops the coroutine; if that is
/// itself unwinding, a line on stderr says so instead.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::Coroutine;
///
/// let fib = Coroutine::new(|co, ()| {
///     let (mut a, mut b) = (0, 1);
///     loop {
///         co.suspend(a);
///         (a, b) = (b, a + b);
///     }
/// });
/// assert_eq!(fib.iter().take(5).collect::<Vec<_>>(), [0, 1, 1, 2, 3]);
/// ```
pub struct Coroutine<In, Out, Ret = ()> {
    control: NonNull<Control>,
    /// The tag it has when it is suspended and not traced.
    suspended: u64,
    name: Name,
    /// Contravariant in `In`, covariant in `Out` and `Ret`.
    types: PhantomData<fn(In) -> (Out, Ret)>,
}

/// Nothing does, and nobody else can name it: handles stay on their thread, and the compiler says why.
#[diagnostic::on_unimplemented(
    message = "`{Self}` stays on its thread: it can be neither sent to another nor used from there",
    label = "a started coroutine would be used on another thread",
    note = "a body that has not started can go: keep it with `Builder::unstarted`, send that, and start it there",
    note = "of a started one others can have its `status()`; moving it is an `unsafe` promise: see `leno::migrate`"
)]
pub trait LeavesItsThread {}

// SAFETY: never, since nothing meets the bound.
unsafe impl<In, Out, Ret> Send for Coroutine<In, Out, Ret> where Self: LeavesItsThread {}
// SAFETY: as above.
unsafe impl<In, Out, Ret> Sync for Coroutine<In, Out, Ret> where Self: LeavesItsThread {}

impl<In, Out, Ret> Coroutine<In, Out, Ret> {
    /// Makes a coroutine with the default stack of 64 KiB. It runs when it is first resumed.
    ///
    /// # Panics
    /// When there is no memory for a stack; [`crate::Builder::coroutine`] returns an error instead.
    #[track_caller]
    #[inline]
    pub fn new<F>(body: F) -> Self
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        let spec = Spec {
            name: Name::NONE,
            site: Location::caller(),
            size: StackSize::DEFAULT,
            kind: Kind::Asymmetric,
            watched: trace::is_on(),
        };
        match create_static(spec, &mut ManuallyDrop::new(body)) {
            Ok(coroutine) => coroutine,
            Err(error) => panic!("{error}"),
        }
    }

    #[inline(always)]
    fn block(&self) -> &Control {
        // SAFETY: the memory of control blocks is never unmapped; what is used beside the tag is
        // used only while the tag carries our id.
        unsafe { self.control.as_ref() }
    }

    /// Runs the coroutine until it suspends or ends.
    ///
    /// # Panics
    /// With the panic that left the body; and when the coroutine is finished or in use (see
    /// [`Self::try_resume`]).
    #[inline(always)]
    #[track_caller]
    pub fn resume(&self, input: In) -> Step<Out, Ret> {
        let block = self.block();
        if block.load_tag() | bits::SUSPENDED != self.suspended {
            return self.resume_slowly(input);
        }
        self.run(block, self.suspended, input)
    }

    /// Runs the coroutine until it suspends or ends, or says why it cannot be resumed.
    ///
    /// # Errors
    /// [`ResumeError::Finished`] after its end, [`ResumeError::Ending`] while it is being ended,
    /// [`ResumeError::InUse`] when it is resumed from inside itself, directly or through others. The
    /// input is given back.
    ///
    /// # Panics
    /// With the panic that left the body.
    pub fn try_resume(&self, input: In) -> Result<Step<Out, Ret>, ResumeError<In>> {
        let block = self.block();
        match self.state() {
            State::Finished => Err(ResumeError::Finished { name: self.shown(), input }),
            State::Running if unwind::is_exiting(block) => {
                Err(ResumeError::Ending { name: self.shown(), input })
            }
            State::Running => Err(ResumeError::InUse { name: self.shown(), input }),
            State::New | State::Suspended => {
                trace::event("resume", block);
                let watched = if block.watched() { bits::WATCHED } else { 0 };
                Ok(self.run(block, self.suspended | watched, input))
            }
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn resume_slowly(&self, input: In) -> Step<Out, Ret> {
        match self.try_resume(input) {
            Ok(step) => step,
            Err(error) => panic!("{error}"),
        }
    }

    /// Resumes it; `suspended` is its tag for when it has suspended again.
    #[inline(always)]
    fn run(&self, block: &Control, suspended: u64, input: In) -> Step<Out, Ret> {
        block.store_tag(suspended | bits::RUNNING);
        let input = ManuallyDrop::new(input);
        // SAFETY: live, of this thread, New or Suspended a moment ago, now marked; it takes an
        // `In`, which stays here until it has been read.
        let (word, code) = unsafe { unwind::resume(block, word::pack(&input), code::GO) };
        if code == code::SUSPENDED {
            block.store_tag(suspended);
            if suspended & bits::WATCHED != 0 {
                trace::event("suspend", block);
            }
            // SAFETY: a suspending coroutine gives an `Out`.
            return Step::Suspended(unsafe { word::unpack(word) });
        }
        // SAFETY: any other code means that it has ended.
        unsafe { self.ended(word, code) }
    }

    /// # Safety
    /// The coroutine has just ended with this word and code.
    unsafe fn ended(&self, word: Word, code: usize) -> Step<Out, Ret> {
        let block = self.block();
        let what = match code {
            code::RETURNED => "return",
            code::EXITED => "exited",
            _ => "panic",
        };
        trace::event(what, block);
        let section = Section::open();
        let payload = block.take_payload().map(Panic::new);
        let result =
            // SAFETY: a returning coroutine gives a `Ret`, still on its stack.
            (code == code::RETURNED).then(|| unsafe { word::unpack::<Ret>(word) });
        // SAFETY: ended, and its result is read; the tag says Finished from here on.
        unsafe { control::release(self.control) };
        drop(section);
        match (result, payload) {
            (Some(result), _) => Step::Finished(result),
            (None, Some(panic)) => panic.resume(),
            (None, None) => unreachable!("a coroutine exited while it was resumed to go on"),
        }
    }

    /// What it is doing.
    pub fn state(&self) -> State {
        self.status().state()
    }

    /// Whether it has returned, panicked or exited.
    #[inline]
    pub fn is_finished(&self) -> bool {
        let tag = self.block().load_tag();
        tag & bits::FINISHED != 0 || tag >> bits::ID_SHIFT != self.id()
    }

    /// A view of its state that any thread may hold and read.
    pub fn status(&self) -> Status {
        // SAFETY: the block it was made with.
        unsafe { Status::with_id(self.control, self.id()) }
    }

    /// Its id, unique in the process.
    pub fn id(&self) -> u64 {
        self.suspended >> bits::ID_SHIFT
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_str()
    }

    fn shown(&self) -> String {
        self.name.or_id(self.id()).to_string()
    }

    /// Where it was suspended, as it sees it. `None` unless it is suspended, with some stack left.
    pub fn backtrace(&self) -> Option<std::backtrace::Backtrace> {
        super::list::backtrace(self.status())
    }
}

impl<In, Out, Ret> Drop for Coroutine<In, Out, Ret> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_finished() {
            self.end(false);
        }
    }
}

impl<In, Out, Ret> Coroutine<In, Out, Ret> {
    /// Ends it, for the handle is going away. One that `borrows` must not stay behind.
    pub(super) fn end(&mut self, borrows: bool) {
        let block = self.block();
        if block.state() == State::Running {
            if unwind::is_exiting(block) {
                // Its scope is ending it, and the handle was in what that drops.
                return;
            }
            // Resuming borrows the handle, so only unsafe code gets here.
            unwind::give_up(format_args!("coroutine {} was dropped while running", block.shown()));
        }
        // SAFETY: live, of this thread, not running, given up by the handle; types as created.
        match unsafe { exit::end::<Out, Ret>(self.control, false) } {
            Ended::Gone(None) | Ended::CannotUnwind => {}
            Ended::Gone(Some(panic)) => exit::raise(self.shown(), panic),
            Ended::Refused if borrows => exit::abort_scope(exit::refused(block)),
            Ended::Refused => exit::report_refused(block),
        }
    }
}

impl<In, Out, Ret> core::fmt::Debug for Coroutine<In, Out, Ret> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Coroutine({}[{}])", self.shown(), self.state())
    }
}

/// Makes a coroutine whose handle may be forgotten. After success the body has been moved out.
#[inline]
pub(crate) fn create_static<F, In, Out, Ret>(
    spec: Spec,
    body: &mut ManuallyDrop<F>,
) -> Result<Coroutine<In, Out, Ret>, CreateError>
where
    F: FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
    In: 'static,
    Out: 'static,
    Ret: 'static,
{
    // SAFETY: everything is `'static`.
    unsafe { create(spec, body) }
}

/// # Safety
/// The coroutine ends before anything that `F`, `In`, `Out` or `Ret` borrow does, also when the
/// handle is forgotten. After success the body has been moved out.
#[inline]
pub(super) unsafe fn create<F, In, Out, Ret>(
    spec: Spec,
    body: &mut ManuallyDrop<F>,
) -> Result<Coroutine<In, Out, Ret>, CreateError>
where
    F: FnOnce(&Suspender<In, Out>, In) -> Ret,
{
    // SAFETY: forwarded.
    let control = unsafe { create_block::<F, In, Out, Ret>(spec, body) }?;
    // SAFETY: just made.
    let block = unsafe { control.as_ref() };
    Ok(Coroutine {
        control,
        suspended: block.id() << bits::ID_SHIFT | bits::SUSPENDED,
        name: block.name().clone(),
        types: PhantomData,
    })
}

/// # Safety
/// As for [`create`].
#[inline]
pub(super) unsafe fn create_block<F, In, Out, Ret>(
    spec: Spec,
    body: &mut ManuallyDrop<F>,
) -> Result<NonNull<Control>, CreateError>
where
    F: FnOnce(&Suspender<In, Out>, In) -> Ret,
{
    // SAFETY: forwarded.
    let made = unsafe { control::create(spec, body, main::<F, In, Out, Ret>) };
    let control = made.map_err(CreateError::refused)?;
    // SAFETY: just made.
    trace::event("create", unsafe { control.as_ref() });
    Ok(control)
}

/// The base of every asymmetric coroutine's stack.
unsafe extern "C-unwind" fn main<F, In, Out, Ret>(
    word: Word,
    _go: usize,
    control: *mut Control,
) -> !
where
    F: FnOnce(&Suspender<In, Out>, In) -> Ret,
{
    // SAFETY: the first thing on this stack.
    unsafe { unwind::begun() };
    let take = |block: &Control| {
        // SAFETY: created with an `F`, which nobody has taken.
        unsafe { block.take_body::<F>() }
    };
    // SAFETY: entered with the word of the first resume, for a coroutine of these types.
    match unsafe { run_body::<F, In, Out, Ret>(word, control, take) } {
        Ok(result) => {
            let result = ManuallyDrop::new(result);
            // SAFETY: the resumer unpacks the result before it releases the stack.
            unsafe { unwind::finish(control, word::pack(&result), code::RETURNED) }
        }
        // SAFETY: nothing on this stack is needed.
        Err(code) => unsafe { unwind::finish(control, EMPTY, code) },
    }
}

/// Runs a coroutine's body to its end: its result, or the code to end with.
///
/// # Safety
/// Called on the stack of the coroutine of `control`, with the word of its first resume; it has
/// these types, and `take` takes its body.
#[inline(always)]
pub(super) unsafe fn run_body<F, In, Out, Ret>(
    word: Word,
    control: *mut Control,
    take: impl FnOnce(&Control) -> F,
) -> Result<Ret, usize>
where
    F: FnOnce(&Suspender<In, Out>, In) -> Ret,
{
    // SAFETY: a running coroutine has a block.
    let control = unsafe { NonNull::new_unchecked(control) };
    // SAFETY: and it is live.
    let block = unsafe { control.as_ref() };
    let run = || {
        let _locals = local::Clear(control);
        let body = take(block);
        // SAFETY: the first resumer packs an `In`.
        let input = unsafe { word::unpack::<In>(word) };
        // SAFETY: types as created; lent for the time the body runs.
        let suspender = unsafe { Suspender::<In, Out>::new(control) };
        body(&suspender, input)
    };
    user::call(run).map_err(|panic| unwind::unwound(block, panic.into_payload()))
}
