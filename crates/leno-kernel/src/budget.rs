//! Budgets: a coroutine is run for so much, and comes back when it has had that.
//!
//! A budget is counted in *units*: one for each [`charge`], wherever code says that it has come so far,
//! and one for each operation of the kernel and of channels. They are counted down in a cell of the
//! thread; whoever takes the last one asks the core whether it may go on. So a budget of units ends at
//! the same place in every run, in debug and release builds alike. A budget of time is the same
//! counter: it is given units for about half of the time that is left, and looks at the clock when
//! these are used up. There are no timers and no signals.
//!
//! Preempted is whoever runs *with* the budget, on its own stack or in coroutines that it has resumed
//! itself. A nested system that it runs is not interrupted; nor is code that is no core's, which
//! counts for nothing. Units that are used by others whom the coroutine attaches are its own as well.
//!
//! Preemption at any instruction is `raw/anywhere.rs`.

use core::marker::PhantomData;
use core::time::Duration;

use leno_context::interrupt::{self, Held};
use leno_context::thread;

use crate::attach::{AttachError, Back};
use crate::raw::anywhere;
use crate::raw::entered::{self, Here};
use crate::{Co, Wake, wait};

/// How far an attached coroutine may run.
///
/// # Examples
/// ```
/// use leno_kernel::{Back, Budget, LocalSystem, Options, Sink, charge};
///
/// let system = LocalSystem::builder().preemptive().build();
/// let slices = system.spawn(|| {
///     let sink = Sink::new();
///     let busy = sink.spawn(&Options::new(), || (0..250).for_each(|_| charge(1))).unwrap();
///     let mut slices = Vec::new();
///     while let Some(co) = sink.next() {
///         let attached = co.attach(Budget::units(100)).unwrap();
///         slices.push((attached.back == Back::Preempted, attached.units));
///     }
///     busy.join().unwrap();
///     slices
/// });
/// system.run()?;
/// assert_eq!(slices.join()?, [(true, 100), (true, 100), (false, 50)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Budget {
    /// Until it parks, yields or ends.
    #[default]
    Unlimited,
    /// So many units at most, and at least one.
    Units(u64),
    /// So long, about; at least one unit.
    Time(Duration),
}

impl Budget {
    /// So many units; 0 is as good as 1.
    pub fn units(units: u64) -> Budget {
        Budget::Units(units)
    }

    /// So long: the coroutine comes back at its first unit after that. In a program that is explored, whose
    /// time stands still while anyone runs, whether time is over is a choice at every 64th unit.
    pub fn time(time: Duration) -> Budget {
        Budget::Time(time)
    }
}

/// What came of attaching a coroutine with a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Why it has come back.
    pub back: Back,
    /// How many units it has used.
    pub units: u64,
}

impl Attached {
    /// Whether it has not ended.
    pub fn is_active(self) -> bool {
        self.back.is_active()
    }

    /// Whether its budget was used up.
    pub fn is_preempted(self) -> bool {
        self.back == Back::Preempted
    }
}

impl Co {
    /// Runs this coroutine now, as [`attach`](crate::attach), until the budget is used up at most; says
    /// why it has come back, and how many units it has used.
    ///
    /// A coroutine that was preempted is ready: it is in its sink, or the core's queue, again. If it is in a sink,
    /// then before this returns the core looks at its timers, at what other threads ask for, and at its descriptors; if there
    /// is anything, it goes first: those who sleep and those who are called from outside are woken although
    /// someone is always ready. After slices that were not preempted the core does so now and then.
    ///
    /// # Blocking
    /// The calling coroutine yields if there is anything, unless it has itself a budget with a limit: then
    /// whoever attaches it does. A future cannot: it goes first in [`Sink::poll_next`](crate::Sink::poll_next).
    ///
    /// # Errors
    /// As [`attach`](crate::attach); with a budget also if the coroutine's system is not
    /// [preemptive](crate::LocalBuilder::preemptive), and with one of time if its time is virtual.
    pub fn attach(self, budget: Budget) -> Result<Attached, AttachError> {
        entered::here(|here| match here {
            Here::Stack(inside) => inside.core.attach_for(Some(&inside), self, budget),
            Here::Future(core, _) => core.attach_for(None, self, budget),
            Here::Thread | Here::Virtual(_) => Err(AttachError::Elsewhere(self)),
        })
    }
}

/// Counts units: the calling code has come so far. If its budget is used up, others run first.
///
/// Costs a load, a subtraction and a branch; where nobody counts, it does nothing else.
///
/// # Cancellation
/// When the coroutine is to exit, and its budget is used up, this unwinds its stack.
#[inline(always)]
pub fn charge(units: u32) {
    if thread::current().units.spend(units) < 0 {
        run_out();
    }
}

/// How many units there are before the calling code's budget is looked at: a hint for those who count
/// several at once. At least 1.
#[inline(always)]
pub fn units_left() -> u64 {
    thread::current().units.get().saturating_add(1).max(1).unsigned_abs()
}

/// Counts units without looking whether there are any left: the next [`charge`] does.
#[inline(always)]
pub fn charge_later(units: u32) {
    thread::current().units.spend(units);
}

#[cold]
#[inline(never)]
fn run_out() {
    if preempt() == Wake::Exit {
        wait::exit();
    }
}

/// An operation of the calling code counts as a unit: for those who build on the kernel, at the
/// beginning of one, where nothing is half done or locked. Others may run before this returns. It is no
/// place to exit.
pub fn count_operation() {
    debug_assert!(
        !interrupt::is_within(),
        "an operation of leno inside `preempt_anywhere`: put it into a section of `no_preempt`"
    );
    if thread::current().units.spend(1) < 0 && preempt() == Wake::Exit {
        // Its next safepoint is one. Without a budget, as it may be by now, it would find none.
        thread::current().units.set(0);
    }
}

fn preempt() -> Wake {
    let preempt = |here: Here<'_>| match here {
        Here::Stack(inside) => inside.core.preempt(&inside),
        _ => Wake::Unparked,
    };
    anywhere::held(|| entered::here(preempt))
}

/// Calls `f`; meanwhile the calling coroutine is not preempted, wherever its budget ends. It may park.
/// Coroutines of other cores, and others of this one, are not concerned.
///
/// # Cancellation
/// A budget that has run out meanwhile ends with the section; see [`charge`].
///
/// # Examples
/// ```
/// use leno_kernel::{Budget, LocalSystem, Options, Sink, charge, no_preempt};
/// use std::{cell::RefCell, rc::Rc};
///
/// let system = LocalSystem::builder().preemptive().build();
/// let said: Rc<RefCell<String>> = Rc::default();
/// let shared = said.clone();
/// drop(system.spawn(move || {
///     let sink = Sink::new();
///     for letters in ["abcdefghij", "0123456789"] {
///         let said = shared.clone();
///         let say = move || {
///             no_preempt(|| {
///                 for letter in letters.chars() {
///                     charge(1);
///                     said.borrow_mut().push(letter);
///                 }
///             });
///         };
///         drop(sink.spawn(&Options::new(), say));
///     }
///     while let Some(co) = sink.next() {
///         co.attach(Budget::units(3)).unwrap();
///     }
/// }));
/// system.run()?;
/// assert_eq!(*said.borrow(), "abcdefghij0123456789");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn no_preempt<R>(f: impl FnOnce() -> R) -> R {
    let section = NoPreempt::begin();
    let result = f();
    section.end();
    result
}

/// A section in which the coroutine that began it is not preempted; see [`no_preempt`]. It ends when
/// this is dropped, and then the coroutine is preempted at its next unit at the earliest.
#[must_use = "the section ends when this is dropped"]
#[derive(Debug)]
pub struct NoPreempt {
    co: Option<Co>,
    held: Option<Held>,
    /// It stays on its thread.
    local: PhantomData<*const ()>,
}

impl NoPreempt {
    /// Begins a section. Code that no core runs is not preempted anyway.
    #[inline]
    pub fn begin() -> NoPreempt {
        let held = Some(interrupt::hold());
        let co = entered::here(|here| match here {
            Here::Stack(inside) => {
                inside.task.unpreempted.set(inside.task.unpreempted.get() + 1);
                Some(inside.co)
            }
            _ => None,
        });
        NoPreempt { co, held, local: PhantomData }
    }

    /// Ends it, and lets others run if the budget has run out meanwhile.
    ///
    /// # Cancellation
    /// As [`charge`].
    #[inline]
    pub fn end(self) {
        drop(self);
        charge(0);
    }
}

impl Drop for NoPreempt {
    #[inline]
    fn drop(&mut self) {
        if let Some(co) = self.co {
            entered::with_core(co.core(), |core| {
                if let Some(task) = core.tasks.get(co) {
                    task.unpreempted.set(task.unpreempted.get().saturating_sub(1));
                }
            });
        }
        if let Some(held) = self.held.take() {
            anywhere::let_go(held);
        }
    }
}
