//! Preemption, and what is built on it (Madsen 2021): a coroutine is attached for a budget and comes
//! back when that is used up.
//!
//! - [`Budget`], [`Co::attach`]: how far a coroutine may run; a scheduler is user code.
//! - [`safepoint!`], [`preemptible`](macro@preemptible), [`Preemptible`]: where it may be preempted;
//!   [`no_preempt`] where it may not.
//! - [`preempt_anywhere`]: code that may be preempted at any instruction, by promise; [`Bound`]: a
//!   coroutine on a thread of its own, which may be any code.
//! - [`Watchdog`]: who misses its slice, and where it is.
//! - [`Slices`]: time slices written down, to run the same again.
//! - [`Core`]: a core as an object, which sleeps until it is given something to execute.
//! - [`Lock`], [`Semaphore`], [`Monitor`], [`Task`]: exclusion, from compare-and-swap to monitors with
//!   conditions and rendezvous with guards.
//! - [`versioned`]: numbers that one writes and many read.
//! - [`process`](macro@process), [`System`]: processes with entries that others call, on one core or
//!   several.
// Not forbidden: what one thread owns needs it, in `raw` alone. SAFETY.md has its row.
#![deny(unsafe_code)]

mod bound;
mod cores;
#[doc(hidden)]
pub mod laps;
mod lock;
mod monitor;
mod process;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
mod rendezvous;
mod safepoint;
mod semaphore;
mod slices;
mod system;
mod versioned;
mod watchdog;

pub use bound::{Bound, BoundBack, BoundError};
pub use cores::Core;
pub use leno_context::interrupt::GuardedAllocator;
pub use leno_kernel::{
    AttachError, Attached, Back, Budget, Co, NoPreempt, Sink, Unsupported, can_preempt_anywhere,
    charge, no_preempt, preempt_anywhere,
};
/// Puts safepoints into a function, or into all functions of an `impl` block: where loops go round, and at
/// the entry of a function that calls itself.
///
/// A lap of a loop is a unit. Loops over slices and ranges are cut into strips, so that the compiler
/// can still vectorise them; `#[preemptible(strip = 64)]` says how long a strip is at most (8,192). A
/// budget of units ends after exactly so many laps all the same, and one of time looks at its clock after
/// as many as it expects to take half of what is left.
///
/// Each entry of a function that calls itself by its name is a unit.
///
/// It does not see loops inside iterator adaptors, macros and other functions: use
/// [`Preemptible::preemptible`] and [`safepoint!`] there. An `async` function is refused: a future is
/// not preempted.
///
/// # Examples
/// ```
/// use leno_process::{Budget, Sink, preemptible};
/// use leno_kernel::{LocalSystem, Options};
///
/// #[preemptible]
/// fn sum(numbers: &[u64]) -> u64 {
///     let mut sum = 0;
///     for n in numbers {
///         sum += n;
///     }
///     sum
/// }
///
/// let system = LocalSystem::builder().preemptive().build();
/// let slices = system.spawn(|| {
///     let sink = Sink::new();
///     let numbers: Vec<u64> = (0..1000).collect();
///     let result = sink.spawn(&Options::new(), move || sum(&numbers)).unwrap();
///     let mut slices = 0;
///     while let Some(co) = sink.next() {
///         co.attach(Budget::units(300)).unwrap();
///         slices += 1;
///     }
///     (slices, result.join().unwrap())
/// });
/// system.run()?;
/// assert_eq!(slices.join()?, (4, 499_500));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use leno_macros::preemptible;
/// Makes a process of a type's `impl` block: methods with `#[entry]` are called by others through a
/// mailbox, one at a time, in order of arrival.
///
/// - `#[entry] fn show(&mut self, text: String)`: a call is queued and returns at once.
/// - `#[entry] fn get(&mut self) -> u32`: a call returns a [`Reply`] to wait for, or to await.
/// - `#[entry(when = self.items.len() < 3)]`: served only while the guard is open, which may also look at
///   the arguments, by reference; until then others are served first.
/// - An entry whose first argument is `me: &Me<Self>` can serve calls itself ([`Me::exe_next`]).
/// - `#[body] fn work(&mut self, me: &Me<Self>)`: the process's own statements, before it serves entries
///   for ever.
/// - `#[last] fn close(&mut self)`: what it does when it was stopped and all is served.
///
/// For a type `Clerk` it makes `ClerkRef`, which has a method for each entry, as visible as the entry, and
/// all of [`Address`]; and `ClerkMessage`, its calls. `#[process(pub)]` makes these as public as `Clerk`
/// is. Arguments are moved: they are `Send`, and no references.
///
/// # Examples
/// ```
/// use leno_process::{Me, System, process};
///
/// struct Buffer(Vec<u32>);
///
/// #[process]
/// impl Buffer {
///     #[entry(when = self.0.len() < 2)]
///     fn put(&mut self, n: u32) {
///         self.0.push(n);
///     }
///
///     #[entry(when = !self.0.is_empty())]
///     fn get(&mut self) -> u32 {
///         self.0.remove(0)
///     }
/// }
///
/// let system = System::new(1)?;
/// let buffer = system.start(Buffer(Vec::new()));
/// (1..=3).for_each(|n| buffer.put(n).unwrap());
/// let got: Vec<_> = (1..=3).map(|_| buffer.get().unwrap().wait()).collect();
/// assert_eq!(got, [Ok(1), Ok(2), Ok(3)]);
/// system.run()?;
/// assert!(buffer.put(4).is_err_and(|refused| refused.arguments == 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use leno_macros::process;
pub use lock::{Held, Lock, Locked};
pub use monitor::{Condition, Inside, Monitor};
pub use process::{
    Address, Answer, Ended, Failure, Me, Plan, Prepared, Process, Refusal, Refused, Reply,
    ReplyError, Status, Supervision,
};
pub use rendezvous::{AcceptError, CallError, Caller, Entry, Guarded, Task};
pub use safepoint::{Counted, Preemptible};
pub use semaphore::Semaphore;
pub use slices::{Slices, SlicesError};
pub use system::{System, SystemBuilder};
pub use versioned::{Reader, Writer, versioned};
pub use watchdog::{Missed, Place, Watchdog};
