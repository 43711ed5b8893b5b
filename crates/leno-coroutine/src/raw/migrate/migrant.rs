//! Asymmetric coroutines that may change threads.
//!
//! Claim: as for [`crate::raw::coroutine`], with "the handle's thread" replaced by "whoever has
//! taken the claim".

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::panic::Location;
use std::sync::Arc;

use leno_context::control::{self, Kind, bits};
use leno_context::unwind::{self, code};
use leno_context::user::{Panic, Section};
use leno_context::word::{self, Word};
use leno_context::{State, Status, last_words, thread};

use super::{Claim, Refused};
use crate::migrate::StealError;
use crate::raw::coroutine;
use crate::raw::exit::{self, Ended};
use crate::{Builder, CreateError, ResumeError, Step, Suspender, trace};

/// An asymmetric coroutine that threads can take from one another; made by
/// [`Builder::migratable`]. Clones are handles of the same coroutine; when the last one is
/// dropped, it ends.
pub struct Migrant<In, Out, Ret = ()> {
    inner: Arc<Inner<In, Out, Ret>>,
}

struct Inner<In, Out, Ret> {
    claim: Claim,
    types: PhantomData<fn(In) -> (Out, Ret)>,
}

impl Builder {
    /// Makes an asymmetric coroutine that may change threads.
    ///
    /// # Safety
    /// At every suspension, whatever is alive on the coroutine's stack and whatever its
    /// coroutine-locals ([`crate::Local`]) hold may be used, and dropped, on another thread from
    /// then on: nothing that is not `Send`, no reference to a thread-local, no guard that must be
    /// released by the thread that acquired it. (The compiler cannot check a stack, and a local may
    /// hold any type. The compiler may also keep the address of a thread-local across a suspension:
    /// do not use any in a function that suspends.) Sections that cannot keep this are to be
    /// [`pinned`](crate::migrate::pinned), or to hold a [`Guard`](crate::migrate::Guard) that the
    /// coroutine itself has locked.
    ///
    /// # Errors
    /// When there is no stack of that size.
    #[track_caller]
    pub unsafe fn migratable<F, In, Out, Ret>(
        self,
        body: F,
    ) -> Result<Migrant<In, Out, Ret>, CreateError>
    where
        F: FnOnce(&Suspender<In, Out>, In) -> Ret + Send + 'static,
        In: 'static,
        Out: 'static,
        Ret: 'static,
    {
        let spec = self.spec(Location::caller(), Kind::Asymmetric)?;
        let mut body = ManuallyDrop::new(body);
        // SAFETY: everything is `'static`.
        let made = unsafe { coroutine::create_block::<F, In, Out, Ret>(spec, &mut body) };
        let control = made.inspect_err(|_| drop(ManuallyDrop::into_inner(body)))?;
        let claim = Claim::new(control);
        // SAFETY: just made.
        claim.offer(unsafe { control.as_ref() });
        Ok(Migrant { inner: Arc::new(Inner { claim, types: PhantomData }) })
    }
}

impl<In, Out, Ret> Migrant<In, Out, Ret> {
    /// Takes the coroutine from the thread it belongs to: from then on it runs on this one.
    ///
    /// `Ok(false)` means that its owner was faster; try again if you like. There is no waiting.
    ///
    /// # Errors
    /// When it can never be stolen as it is: it belongs to this thread already, is finished, has
    /// not returned to its resumer, holds a lock, or is inside a pinned section.
    pub fn steal(&self) -> Result<bool, StealError> {
        let claim = &self.inner.claim;
        match claim.steal()? {
            true => {
                // SAFETY: ours now.
                claim.offer(unsafe { claim.control.as_ref() });
                Ok(true)
            }
            // Running, for an asymmetric coroutine, means: not back at its resumer.
            false if claim.status().state() == State::Running => {
                Err(StealError::NotReturned { name: claim.shown() })
            }
            false => Ok(false),
        }
    }

    /// Runs the coroutine on this thread, to which it must belong, until it suspends or ends.
    ///
    /// # Panics
    /// With the panic that left the body; and when it cannot be resumed (see
    /// [`Self::try_resume`]).
    #[track_caller]
    pub fn resume(&self, input: In) -> Step<Out, Ret> {
        match self.try_resume(input) {
            Ok(step) => step,
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs the coroutine on this thread until it suspends or ends, or says why it cannot be
    /// resumed.
    ///
    /// # Errors
    /// [`ResumeError::OtherThread`] when it belongs to another thread, and as
    /// [`crate::Coroutine::try_resume`]. The input is given back.
    ///
    /// # Panics
    /// With the panic that left the body.
    pub fn try_resume(&self, input: In) -> Result<Step<Out, Ret>, ResumeError<In>> {
        let claim = &self.inner.claim;
        let name = || claim.shown();
        match claim.take() {
            Ok(_) => {}
            Err(Refused::Finished) => return Err(ResumeError::Finished { name: name(), input }),
            Err(Refused::Running) => return Err(ResumeError::InUse { name: name(), input }),
            Err(Refused::OtherThread) => {
                return Err(ResumeError::OtherThread { name: name(), input });
            }
        }
        // SAFETY: taken, so live and ours.
        let block = unsafe { claim.control.as_ref() };
        trace::event("resume", block);
        block.mark(bits::RUNNING);
        let input = ManuallyDrop::new(input);
        // SAFETY: ours, New or Suspended a moment ago; it takes an `In`, which stays here.
        let (word, code) = unsafe { unwind::resume(block, word::pack(&input), code::GO) };
        if code != code::SUSPENDED {
            // SAFETY: it has just ended.
            return Ok(Step::Finished(unsafe { self.inner.ended(word, code) }));
        }
        // SAFETY: a suspending coroutine gives an `Out`; read before anyone can take it.
        let out = unsafe { word::unpack(word) };
        block.mark(bits::SUSPENDED);
        trace::event("suspend", block);
        claim.offer(block);
        Ok(Step::Suspended(out))
    }

    /// Its id, unique in the process.
    pub fn id(&self) -> u64 {
        self.inner.claim.id()
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.inner.claim.name.as_str()
    }

    /// What it is doing; a moment later it may be doing something else, on another thread.
    pub fn state(&self) -> State {
        self.status().state()
    }

    /// A view of its state that any thread may hold and read.
    pub fn status(&self) -> Status {
        self.inner.claim.status()
    }

    /// Whether it has returned, panicked or exited.
    pub fn is_finished(&self) -> bool {
        self.status().is_finished()
    }
}

impl<In, Out, Ret> Inner<In, Out, Ret> {
    /// # Safety
    /// The coroutine, which is ours, has just ended with this word and code.
    unsafe fn ended(&self, word: Word, code: usize) -> Ret {
        // SAFETY: not released yet.
        let block = unsafe { self.claim.control.as_ref() };
        trace::event(if code == code::RETURNED { "return" } else { "panic" }, block);
        let section = Section::open();
        let payload = block.take_payload().map(Panic::new);
        // SAFETY: a returning coroutine gives a `Ret`.
        let result = (code == code::RETURNED).then(|| unsafe { word::unpack::<Ret>(word) });
        // SAFETY: it is ours now, and counted out when it is released.
        unsafe { thread::current().count_live(1) };
        // SAFETY: ended, and its result is read.
        unsafe { control::release(self.claim.control) };
        self.claim.finish();
        drop(section);
        match (result, payload) {
            (Some(result), _) => result,
            (None, Some(panic)) => panic.resume(),
            (None, None) => unreachable!("a coroutine exited while it was resumed to go on"),
        }
    }
}

impl<In, Out, Ret> Drop for Inner<In, Out, Ret> {
    fn drop(&mut self) {
        let claim = &self.claim;
        let ours = match claim.take() {
            Err(Refused::Finished) => return,
            Ok(_) => true,
            // The last handle is here: unless a lock or section ties it to its thread, it ends
            // here too.
            Err(_) => matches!(claim.steal(), Ok(true)),
        };
        if !ours {
            return last_words::say(format_args!(
                "migratable coroutine {} was dropped on a thread that cannot end it; its stack is \
                 leaked",
                claim.shown(),
            ));
        }
        // SAFETY: it is ours now, and counted out when it is released.
        unsafe { thread::current().count_live(1) };
        // SAFETY: ours, not running (that borrows a handle); types as created.
        let failed = match unsafe { exit::end::<Out, Ret>(claim.control, false) } {
            Ended::Gone(failed) => failed,
            Ended::CannotUnwind => None,
            Ended::Refused => {
                // SAFETY: still live.
                exit::report_refused(unsafe { claim.control.as_ref() });
                None
            }
        };
        claim.finish();
        if let Some(panic) = failed {
            exit::raise(claim.shown(), panic);
        }
    }
}

impl<In, Out, Ret> Clone for Migrant<In, Out, Ret> {
    fn clone(&self) -> Self {
        Migrant { inner: self.inner.clone() }
    }
}

impl<In, Out, Ret> core::fmt::Debug for Migrant<In, Out, Ret> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Migrant({}[{}])", self.inner.claim.shown(), self.state())
    }
}
