//! Running and ending coroutines on shared stacks.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use leno_context::control::{Control, bits};
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::user::{self, Panic, Section};
use leno_context::word::{self, EMPTY, Word};
use leno_context::{Name, State, Status, thread};

use super::home::{self, Home, Obstacle, Record};
use super::{Stacks, copier};
use crate::raw::{coroutine, exit, floor};
use crate::shared::{Residence, SharedError};
use crate::{Step, Suspender, trace};

/// A coroutine on a shared stack; made by [`Stacks::coroutine`]. Used like a
/// [`crate::Coroutine`].
pub struct Coroutine<In, Out, Ret = ()> {
    /// From a box; leaked with the frames if the coroutine refuses to end.
    record: NonNull<Record>,
    suspended: u64,
    name: Name,
    finished: Cell<bool>,
    types: PhantomData<fn(In) -> (Out, Ret)>,
}

impl<In, Out, Ret> Coroutine<In, Out, Ret> {
    /// The handle of a coroutine that was just made, bound to a home of these stacks.
    pub(super) fn new(control: NonNull<Control>, home: NonNull<Home>, stacks: Stacks) -> Self {
        // SAFETY: just made.
        let block = unsafe { control.as_ref() };
        trace::event("create", block);
        Coroutine {
            record: Record::new(control, home, stacks),
            suspended: block.id() << bits::ID_SHIFT | bits::SUSPENDED,
            name: block.name().clone(),
            finished: Cell::new(false),
            types: PhantomData,
        }
    }

    pub(super) fn home(&self) -> NonNull<Home> {
        self.record().home
    }

    #[inline(always)]
    fn record(&self) -> &Record {
        // SAFETY: freed when the handle is dropped.
        unsafe { self.record.as_ref() }
    }

    /// Runs the coroutine until it suspends or ends.
    ///
    /// # Panics
    /// With the panic that left the body, and when it cannot be resumed (see
    /// [`Self::try_resume`]).
    #[track_caller]
    pub fn resume(&self, input: In) -> Step<Out, Ret> {
        match self.try_resume(input) {
            Ok(step) => step,
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs the coroutine until it suspends or ends, or says why it cannot be resumed. Then
    /// nothing has changed, and the input is given back.
    ///
    /// # Errors
    /// When it is finished or in use, when there is no memory to move the frames of the coroutine
    /// that occupies its stack, or when that one is itself in the middle of a call.
    ///
    /// # Panics
    /// With the panic that left the body.
    #[inline]
    pub fn try_resume(&self, input: In) -> Result<Step<Out, Ret>, SharedError<In>> {
        let name = || self.name.or_id(self.id()).to_string();
        match self.state() {
            State::Finished => return Err(SharedError::Finished { name: name(), input }),
            State::Running => return Err(SharedError::InUse { name: name(), input }),
            State::New | State::Suspended => {}
        }
        if let Err(obstacle) = self.prepare() {
            return Err(match obstacle {
                Obstacle::NoMemory => SharedError::NoMemory { name: name(), input },
                Obstacle::Occupied(by) => {
                    // SAFETY: an occupant is live.
                    let by = unsafe { by.as_ref() }.block().shown().to_string();
                    SharedError::Occupied { name: name(), by, input }
                }
            });
        }
        trace::event("resume", self.record().block());
        let input = ManuallyDrop::new(input);
        let (word, code) = if word::fits::<In>() || Home::running().is_none() {
            // SAFETY: prepared; the word is an `In`, in a register or in a frame that stays.
            unsafe { self.run(word::pack(&input), code::GO) }
        } else {
            // The frame it is in may have to make room for the coroutine: on the heap instead.
            let input = Box::new(input);
            // SAFETY: prepared; the word is an `In`, which stays until it has been read.
            unsafe { self.run(word::pack(&input), code::GO) }
        };
        if code != code::SUSPENDED {
            // SAFETY: it has just ended.
            return Ok(Step::Finished(unsafe { self.ended(word, code) }));
        }
        trace::event("suspend", self.record().block());
        // SAFETY: a suspending coroutine gives an `Out`.
        Ok(Step::Suspended(unsafe { self.read_out(word) }))
    }

    /// The first half of a switch: everything that may fail.
    fn prepare(&self) -> Result<(), Obstacle> {
        if Home::running().is_some() {
            copier::of_this_thread().map_err(|_| Obstacle::NoMemory)?;
        }
        home::prepare(self.record())
    }

    /// The second half, which cannot fail.
    ///
    /// # Safety
    /// Prepared just before; New or Suspended; word and code are what it expects.
    #[inline]
    unsafe fn run(&self, word: Word, code: usize) -> (Word, usize) {
        let block = self.record().block();
        block.mark(bits::RUNNING);
        let arrived = match Home::running() {
            None => {
                // SAFETY: prepared; the calling code is on no home.
                unsafe { home::bring_in(self.record) };
                // SAFETY: brought in, of this thread, marked.
                unsafe { unwind::resume(block, word, code) }
            }
            Some(caller) => {
                let copier = copier::of_this_thread().expect("prepared");
                // SAFETY: both live and of this thread; the word is not in the caller's frames.
                unsafe { copier::call(copier, caller, self.record, word, code) }
            }
        };
        let left = arrived.1 == code::SUSPENDED;
        block.mark(if left { bits::SUSPENDED } else { bits::FINISHED });
        arrived
    }

    /// # Safety
    /// The coroutine has just suspended with this word.
    unsafe fn read_out(&self, word: Word) -> Out {
        if self.record().is_resident() {
            // SAFETY: by the contract.
            return unsafe { word::unpack(word) };
        }
        // SAFETY: by the contract; its frames are in its buffer.
        unsafe { word::unpack_moved(word, |address| self.record().stored_address(address)) }
    }

    /// # Safety
    /// The coroutine has just ended with this word and code.
    unsafe fn ended(&self, word: Word, code: usize) -> Ret {
        let block = self.record().block();
        trace::event(if code == code::RETURNED { "return" } else { "panic" }, block);
        // SAFETY: forwarded.
        match unsafe { self.take_end(word, code) } {
            (Some(result), _) => result,
            (None, Some(panic)) => panic.resume(),
            (None, None) => unreachable!("a coroutine exited while it was resumed to go on"),
        }
    }

    /// Takes what a coroutine that has just ended has left, and releases it.
    ///
    /// # Safety
    /// It has just ended with this word and code.
    unsafe fn take_end(&self, word: Word, code: usize) -> (Option<Ret>, Option<Panic>) {
        let _section = Section::open();
        let payload = self.record().block().take_payload().map(Panic::new);
        // SAFETY: a returning coroutine gives a `Ret`, boxed if it is large.
        let result = (code == code::RETURNED).then(|| unsafe { unpack_result::<Ret>(word) });
        self.release();
        (result, payload)
    }

    /// Frees what a coroutine that has ended (or never started) had.
    fn release(&self) {
        self.finished.set(true);
        // SAFETY: it has ended; nobody runs on its frames.
        unsafe { self.record().release() };
    }

    /// Ends it, for the handle is going away; the panic that came of it. As for [`exit::end`], its state
    /// says what is true whenever a value of its is dropped, and nothing unwinds out of here.
    fn end(&mut self) -> Option<Panic> {
        let block = self.record().block();
        if block.state() == State::New {
            block.mark(bits::FINISHED);
            let drop_body = || {
                // SAFETY: it was new, so the body is in place.
                unsafe { block.drop_body() };
            };
            let failed = user::call(drop_body).err();
            self.release();
            return failed;
        }
        if cfg!(panic = "abort") || thread::is_ending() {
            return None;
        }
        let mut failed = None;
        for _ in 0..EXIT_TRIES {
            if self.prepare().is_err() {
                break;
            }
            trace::event("exit", block);
            // SAFETY: prepared, suspended, so it understands EXIT.
            let (word, code) = unsafe { self.run(EMPTY, code::EXIT) };
            if code == code::SUSPENDED {
                // SAFETY: it has just suspended with this word.
                let out = unsafe { self.read_out(word) };
                failed = floor::first(failed, user::try_dispose(out).err());
                continue;
            }
            // SAFETY: it has just ended with this word and code.
            let (result, payload) = unsafe { self.take_end(word, code) };
            let failed = floor::first(failed, user::try_dispose(result).err());
            return floor::first(payload, failed);
        }
        exit::report_refused(block);
        None
    }

    /// What it is doing.
    pub fn state(&self) -> State {
        if self.finished.get() { State::Finished } else { self.record().block().state() }
    }

    /// Whether its frames are on its stack, or stored because another coroutine is there.
    pub fn residence(&self) -> Residence {
        if self.record().is_resident() { Residence::OnStack } else { Residence::Stored }
    }

    /// Whether it has returned, panicked or exited.
    pub fn is_finished(&self) -> bool {
        self.finished.get()
    }

    /// Its id, unique in the process.
    pub fn id(&self) -> u64 {
        self.suspended >> bits::ID_SHIFT
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_str()
    }

    /// A view of its state that any thread may hold and read.
    pub fn status(&self) -> Status {
        // SAFETY: the block it was made with.
        unsafe { Status::with_id(self.record().control, self.id()) }
    }
}

impl<In, Out, Ret> Drop for Coroutine<In, Out, Ret> {
    fn drop(&mut self) {
        let failed = if self.finished.get() { None } else { self.end() };
        if self.finished.get() {
            // SAFETY: the coroutine has been released, and nobody else uses its record.
            unsafe { Record::free(self.record) };
        } else {
            self.record().give_up();
        }
        if let Some(panic) = failed {
            exit::raise(self.name.or_id(self.id()), panic);
        }
    }
}

impl<In, Out, Ret> core::fmt::Debug for Coroutine<In, Out, Ret> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "shared::Coroutine({}[{}])", self.name.or_id(self.id()), self.state())
    }
}

/// A result as [`main`] packs it: in the word, or boxed.
///
/// # Safety
/// As for [`word::unpack`], with such a word.
unsafe fn unpack_result<Ret>(word: Word) -> Ret {
    if word::fits::<Ret>() {
        // SAFETY: forwarded.
        return unsafe { word::unpack(word) };
    }
    // SAFETY: a large result is sent as the address of a box.
    let address = unsafe { word.assume_init() };
    // SAFETY: as above.
    *unsafe { Box::from_raw(address.cast::<Ret>()) }
}

/// The base of every shared coroutine's frames. Unlike [`coroutine::main`] it leaves nothing on
/// its stack when it ends: the stack may be someone else's before the result is read.
pub(super) unsafe extern "C-unwind" fn main<F, In, Out, Ret>(
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
        // SAFETY: created with a boxed `F`, which nobody has taken.
        unsafe { block.take_boxed_body::<F>() }
    };
    // SAFETY: entered with the word of the first resume, for a coroutine of these types.
    match unsafe { coroutine::run_body::<F, In, Out, Ret>(word, control, take) } {
        Ok(result) => {
            let word = if word::fits::<Ret>() {
                word::pack(&ManuallyDrop::new(result))
            } else {
                Word::new(Box::into_raw(Box::new(result)).cast())
            };
            // SAFETY: nothing on this stack is needed.
            unsafe { unwind::finish(control, word, code::RETURNED) }
        }
        // SAFETY: nothing on this stack is needed.
        Err(code) => unsafe { unwind::finish(control, EMPTY, code) },
    }
}
