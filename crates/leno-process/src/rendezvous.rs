//! Rendezvous in the manner of Ada: whoever calls an entry waits until it was accepted and is done.
//!
//! A [`Task`] accepts; each of its entries has a [`Caller`], which others clone, and an [`Entry`], which
//! stays with the task. A call waits in its entry's queue, in order of arrival. The task waits at one
//! semaphore, *arrivals*, which each call signals: a permit too many makes it look once more, and none
//! is ever missing. The caller waits at a semaphore of its call.
//!
//! A call belongs to its caller until it is accepted: one that is to exit takes its input back, and the
//! task passes over what is left.

use core::fmt;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_kernel::layer::user;
use leno_kernel::{Exiting, Name};

use crate::raw::is_exiting;
use crate::section::lock;
use crate::{Locked, Semaphore};

/// One who accepts calls.
///
/// # Examples
/// ```
/// use leno_process::Task;
///
/// let mut task = Task::new();
/// let (put, put_entry) = task.entry::<u32, ()>("put");
/// let (get, get_entry) = task.entry::<(), u32>("get");
/// std::thread::scope(|scope| {
///     scope.spawn(move || {
///         let mut cell = None;
///         // Until nobody can call any more.
///         while let Ok(which) =
///             task.choose(&[put_entry.when(cell.is_none()), get_entry.when(cell.is_some())])
///         {
///             match which {
///                 0 => drop(put_entry.try_accept(|value| cell = Some(value))),
///                 _ => drop(get_entry.try_accept(|()| cell.take().unwrap())),
///             }
///         }
///     });
///     scope.spawn(move || (1..=3).for_each(|n| put.call(n).unwrap()));
///     let got: Vec<u32> = (0..3).map(|_| get.call(()).unwrap()).collect();
///     assert_eq!(got, [1, 2, 3]);
///     drop(get);
/// });
/// ```
#[derive(Debug)]
pub struct Task {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    arrivals: Semaphore,
    /// How many callers there are, of all entries.
    callers: AtomicUsize,
    /// Numbers calls in order of arrival.
    calls: AtomicUsize,
}

/// Where others call.
pub struct Caller<I, O> {
    queue: Arc<Queue<I, O>>,
}

/// Where the task accepts.
pub struct Entry<I, O> {
    queue: Arc<Queue<I, O>>,
}

struct Queue<I, O> {
    name: Name,
    task: Arc<Shared>,
    calls: Locked<Calls<I, O>>,
}

struct Calls<I, O> {
    waiting: VecDeque<(usize, Arc<Call<I, O>>)>,
    /// The task is there.
    is_open: bool,
}

struct Call<I, O> {
    stage: Mutex<Stage<I, O>>,
    done: Semaphore,
}

enum Stage<I, O> {
    /// Not accepted yet.
    Called(I),
    /// The task has it.
    Accepted,
    /// The answer.
    Done(O),
    /// Taken back, or refused, or the task failed.
    Over,
    /// The task was made to exit.
    Exited,
    /// The caller was made to exit while the task had it: nobody waits for the answer.
    Left,
}

/// An entry was not called.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError<I> {
    /// The task is gone; the input comes back.
    Gone(Name, I),
    /// The task has accepted the call, and failed.
    Failed(Name),
    /// The task has accepted the call, and was made to exit.
    Exited(Name),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(Name),
}

/// No call was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcceptError {
    /// Nobody has called.
    NoCall,
    /// Nobody can call any more: all callers are gone.
    NoCaller,
    /// None of the guards is open, so there is nothing to wait for.
    AllClosed,
    /// The accepting coroutine's own stack unwinds, so it cannot wait.
    Exiting,
}

/// An entry that may be accepted now, or not; see [`Task::choose`].
#[derive(Clone, Copy)]
pub struct Guarded<'a> {
    entry: &'a dyn Oldest,
    is_open: bool,
}

/// The arrival of the oldest call that waits at an entry.
trait Oldest {
    fn oldest(&self) -> Option<usize>;
}

impl Task {
    /// No entries yet.
    pub fn new() -> Task {
        let shared = Shared {
            arrivals: Semaphore::new(0).named("arrivals"),
            callers: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
        };
        Task { shared: Arc::new(shared) }
    }

    /// Declares an entry.
    pub fn entry<I, O>(&mut self, name: impl Into<Name>) -> (Caller<I, O>, Entry<I, O>) {
        let calls = Locked::new(Calls { waiting: VecDeque::new(), is_open: true });
        let queue = Arc::new(Queue { name: name.into(), task: self.shared.clone(), calls });
        self.shared.callers.fetch_add(1, SeqCst);
        (Caller { queue: queue.clone() }, Entry { queue })
    }

    /// Waits for a call of an entry whose guard is open; gives its index. Of several it is the one that
    /// was called first. Then [accept](Entry::try_accept) it.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Errors
    /// When all guards are closed; when nobody waits and all callers of all entries are gone; while the
    /// coroutine's own stack unwinds.
    #[track_caller]
    pub fn choose(&self, entries: &[Guarded<'_>]) -> Result<usize, AcceptError> {
        loop {
            let callers = self.shared.callers.load(SeqCst);
            match self.try_choose(entries) {
                Err(AcceptError::NoCall) if callers == 0 => return Err(AcceptError::NoCaller),
                Err(AcceptError::NoCall) => {
                    self.shared.arrivals.wait().map_err(|_| AcceptError::Exiting)?;
                }
                other => return other,
            }
        }
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// When nobody has called an entry whose guard is open, or all are closed.
    pub fn try_choose(&self, entries: &[Guarded<'_>]) -> Result<usize, AcceptError> {
        if entries.iter().all(|entry| !entry.is_open) {
            return Err(AcceptError::AllClosed);
        }
        let open = entries.iter().enumerate().filter(|(_, guarded)| guarded.is_open);
        let called = open.filter_map(|(n, guarded)| Some((guarded.entry.oldest()?, n)));
        called.min().map(|(_, n)| n).ok_or(AcceptError::NoCall)
    }
}

impl Default for Task {
    fn default() -> Self {
        Task::new()
    }
}

impl<I, O> Oldest for Queue<I, O> {
    /// Those that were taken back are forgotten.
    fn oldest(&self) -> Option<usize> {
        let taken_back = |calls: &mut Calls<I, O>| {
            calls
                .waiting
                .pop_front_if(|(_, call)| !call.is_called())
                .ok_or_else(|| calls.waiting.front().map(|(arrival, _)| *arrival))
        };
        loop {
            // Dropped when the lock is free.
            match self.calls.section(taken_back) {
                Ok(call) => drop(call),
                Err(oldest) => return oldest,
            }
        }
    }
}

impl<I, O> Entry<I, O> {
    /// To be accepted if the guard is open.
    pub fn when(&self, is_open: bool) -> Guarded<'_>
    where
        I: 'static,
        O: 'static,
    {
        Guarded { entry: &*self.queue, is_open }
    }

    /// How many calls wait.
    pub fn count(&self) -> usize {
        self.queue
            .calls
            .section(|calls| calls.waiting.iter().filter(|(_, c)| c.is_called()).count())
    }

    /// Accepts the oldest call: runs `body` with its input while the caller waits, and answers.
    ///
    /// # Errors
    /// When nobody has called.
    pub fn try_accept(&self, body: impl FnOnce(I) -> O) -> Result<(), AcceptError> {
        let (call, input) = self.next().ok_or(AcceptError::NoCall)?;
        call.answer(input, body);
        Ok(())
    }

    /// The oldest call that was not taken back, which is accepted now, and its input.
    fn next(&self) -> Option<(Arc<Call<I, O>>, I)> {
        loop {
            let (_, call) = self.queue.calls.section(|calls| calls.waiting.pop_front())?;
            if let Some(input) = call.accept() {
                return Some((call, input));
            }
        }
    }

    /// The same, waiting for a call.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Errors
    /// When all callers of all entries of the task are gone; while the coroutine's own stack unwinds.
    #[track_caller]
    pub fn accept(&self, body: impl FnOnce(I) -> O) -> Result<(), AcceptError> {
        loop {
            let callers = self.queue.task.callers.load(SeqCst);
            // One that is taken back meanwhile is none: the next is waited for.
            if let Some((call, input)) = self.next() {
                call.answer(input, body);
                return Ok(());
            }
            if callers == 0 {
                return Err(AcceptError::NoCaller);
            }
            self.queue.task.arrivals.wait().map_err(|_| AcceptError::Exiting)?;
        }
    }
}

/// Tells the caller when the task fails or exits in the middle of its call.
struct Answers<'a, I, O>(&'a Call<I, O>);

impl<I, O> Drop for Answers<'_, I, O> {
    fn drop(&mut self) {
        self.0.settle(if is_exiting() { Stage::Exited } else { Stage::Over });
    }
}

impl<I, O> Call<I, O> {
    fn is_called(&self) -> bool {
        matches!(*lock(&self.stage), Stage::Called(_))
    }

    /// Gives back the stage before. What is in it belongs to users: it is dropped when the lock is free.
    fn replace(
        &self,
        next: impl FnOnce(&Stage<I, O>) -> Option<Stage<I, O>>,
    ) -> Option<Stage<I, O>> {
        let mut stage = lock(&self.stage);
        let next = next(&stage)?;
        Some(core::mem::replace(&mut *stage, next))
    }

    /// The input, if it was not taken back.
    fn accept(&self) -> Option<I> {
        let next = |stage: &_| matches!(stage, Stage::Called(_)).then_some(Stage::Accepted);
        match self.replace(next) {
            Some(Stage::Called(input)) => Some(input),
            _ => None,
        }
    }

    /// Runs `body` for an accepted call, and settles it.
    fn answer(&self, input: I, body: impl FnOnce(I) -> O) {
        let answers = Answers(self);
        let output = body(input);
        self.settle(Stage::Done(output));
        core::mem::forget(answers);
    }

    /// Settles an accepted call. An answer that nobody waits for is dropped; what that raises goes to the
    /// failure hook.
    fn settle(&self, stage: Stage<I, O>) {
        let mut unused = Some(stage);
        self.replace(|stage| match stage {
            Stage::Left => None,
            _ => unused.take(),
        });
        user::discard(unused);
        self.done.signal();
    }
}

impl<I, O> Caller<I, O> {
    /// Calls: waits until the task has accepted and is done, and gives its answer.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds. A call that was not accepted is taken
    /// back; the answer to one that was is lost.
    ///
    /// # Errors
    /// When the task is gone, or fails, or exits; while the coroutine's own stack unwinds.
    #[track_caller]
    pub fn call(&self, input: I) -> Result<O, CallError<I>> {
        let (queue, name) = (&self.queue, &self.queue.name);
        let call = Call { stage: Mutex::new(Stage::Called(input)), done: Semaphore::new(0) };
        let call = Arc::new(call);
        let arrival = queue.task.calls.fetch_add(1, SeqCst);
        let is_open = queue.calls.section(|calls| {
            if calls.is_open {
                calls.waiting.push_back((arrival, call.clone()));
            }
            calls.is_open
        });
        let _taken_back = TakesBack(&call);
        if is_open {
            queue.task.arrivals.signal();
            if let Err(Exiting) = call.done.wait() {
                return Err(CallError::Exiting(name.clone()));
            }
        }
        match call.replace(|_| Some(Stage::Over)) {
            Some(Stage::Done(output)) => Ok(output),
            Some(Stage::Called(input)) => Err(CallError::Gone(name.clone(), input)),
            Some(Stage::Exited) => Err(CallError::Exited(name.clone())),
            _ => Err(CallError::Failed(name.clone())),
        }
    }
}

/// Takes a call back that was not accepted, when its caller unwinds. An answer that is there already is dropped: what
/// that raises goes to the failure hook, since a second panic would end the process.
struct TakesBack<'a, I, O>(&'a Call<I, O>);

impl<I, O> Drop for TakesBack<'_, I, O> {
    fn drop(&mut self) {
        let before = self.0.replace(|stage| {
            Some(if let Stage::Accepted = stage { Stage::Left } else { Stage::Over })
        });
        user::discard(before);
    }
}

impl<I, O> Clone for Caller<I, O> {
    fn clone(&self) -> Self {
        self.queue.task.callers.fetch_add(1, SeqCst);
        Caller { queue: self.queue.clone() }
    }
}

impl<I, O> Drop for Caller<I, O> {
    fn drop(&mut self) {
        if self.queue.task.callers.fetch_sub(1, SeqCst) == 1 {
            self.queue.task.arrivals.signal();
        }
    }
}

impl<I, O> Drop for Entry<I, O> {
    /// Nobody accepts any more: whoever waits gets its input back.
    fn drop(&mut self) {
        let waiting = self.queue.calls.section(|calls| {
            calls.is_open = false;
            core::mem::take(&mut calls.waiting)
        });
        waiting.iter().for_each(|(_, call)| call.done.signal());
    }
}

impl<I, O> fmt::Debug for Caller<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller of {}", self.queue.name.or_id(0))
    }
}

impl<I, O> fmt::Debug for Entry<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry {}", self.queue.name.or_id(0))
    }
}

impl fmt::Debug for Guarded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guarded({})", if self.is_open { "open" } else { "closed" })
    }
}

impl<I> fmt::Display for CallError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Gone(entry, _) => {
                write!(f, "entry {} cannot be called: its task is gone", entry.or_id(0))
            }
            CallError::Failed(entry) => {
                write!(f, "the task of entry {} failed before it answered", entry.or_id(0))
            }
            CallError::Exited(entry) => {
                write!(
                    f,
                    "the task of entry {} was made to exit before it answered",
                    entry.or_id(0)
                )
            }
            CallError::Exiting(entry) => write!(
                f,
                "entry {} cannot be waited for: the coroutine's own stack unwinds",
                entry.or_id(0)
            ),
        }
    }
}

impl<I: fmt::Debug> std::error::Error for CallError<I> {}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AcceptError::NoCall => "no call can be accepted: nobody has called",
            AcceptError::NoCaller => "no call can be accepted: all callers are gone",
            AcceptError::AllClosed => "no call can be accepted: all guards are closed",
            AcceptError::Exiting => "no call can be waited for: the task's own stack unwinds",
        })
    }
}

impl std::error::Error for AcceptError {}
