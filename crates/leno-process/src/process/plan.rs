//! Starting processes, and what happens when they fail.

use core::fmt;
use std::sync::{Arc, Weak};

use leno_kernel::layer::user::{self, Panic};
use leno_kernel::{JoinHandle, Name, Options, Sink, SpawnError, try_spawn_local};

use super::address::Held;
use super::group::{Failure, Group};
use super::mailbox::Mailbox;
use super::{Address, Me, Process, Refusal};
use crate::system::Schedule;

/// What a process to be started is like.
///
/// # Examples
/// ```
/// use leno_kernel::LocalSystem;
/// use leno_process::{Plan, process};
///
/// struct Counter(u32);
///
/// #[process]
/// impl Counter {
///     #[entry]
///     fn add(&mut self, n: u32) {
///         self.0 += n;
///     }
///
///     #[entry]
///     fn get(&mut self) -> u32 {
///         self.0
///     }
/// }
///
/// let system = LocalSystem::new();
/// let (counter, body) = Plan::new().name("counter").prepare(Counter(0));
/// drop(system.spawn(move || body.run()));
/// let sum = system.spawn(move || {
///     (1..=10).for_each(|n| counter.add(n).unwrap());
///     counter.get().unwrap().wait()
/// });
/// system.run()?;
/// assert_eq!(sum.join()?, Ok(55));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    name: Name,
    stack_size: Option<usize>,
    capacity: usize,
    refuses: bool,
    supervision: Supervision,
}

/// What happens when a process panics.
///
/// Whoever waits for the reply of the call that it served then gets [`ReplyError::Failed`](super::ReplyError).
/// Calls that are queued are served if it begins again.
///
/// # Examples
/// ```
/// use leno_process::{Plan, Refusal, Supervision, System, process};
///
/// #[derive(Default)]
/// struct Printer(u32);
///
/// #[process]
/// impl Printer {
///     #[entry]
///     fn print(&mut self, glyph: char) -> u32 {
///         assert!(glyph.is_ascii(), "there is none");
///         self.0 += 1;
///         self.0
///     }
/// }
///
/// let system = System::new(1)?;
/// // One that begins again: its state is new, its mailbox the same.
/// let plan = Plan::new().supervised(Supervision::Restart(1));
/// let again = system.start_again(plan, Printer::default);
/// assert_eq!(again.print('a')?.wait()?, 1);
/// assert!(again.print('ß')?.wait().is_err());
/// assert_eq!(again.print('b')?.wait()?, 1);
/// // One that ends.
/// let once = system.start(Printer::default());
/// assert!(once.print('ß')?.wait().is_err());
/// assert_eq!(once.print('a').unwrap_err().why, Refusal::Failed);
/// // One that ends with all others.
/// let plan = Plan::new().supervised(Supervision::Escalate);
/// let vital = system.start_with(plan, Printer::default());
/// assert!(vital.print('ß')?.wait().is_err());
/// let ended = system.run()?;
/// assert_eq!((ended.started, ended.restarts, ended.failures.len()), (3, 1, 2));
/// assert_eq!(again.print('a').unwrap_err().why, Refusal::Stopped);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Supervision {
    /// It ends; its calls are refused from then on: whoever has learnt that it panicked cannot call it any
    /// more, unless a thread without a system runs it. Those that are queued get no reply.
    #[default]
    Stop,
    /// It begins again with a new state, and goes on with the next call; when it has failed more often
    /// than this, or no new state can be made of it ([`System::start_again`](crate::System::start_again) and
    /// [`Plan::prepare_with`] can, [`System::start_with`](crate::System::start_with) cannot), as
    /// [`Supervision::Escalate`].
    Restart(u32),
    /// It ends, and with it the processes of its system: each serves what is queued.
    Escalate,
}

impl Default for Plan {
    fn default() -> Self {
        Plan::new()
    }
}

impl Plan {
    /// Named by its type, a mailbox without a limit, no restart.
    pub fn new() -> Plan {
        Plan {
            name: Name::NONE,
            stack_size: None,
            capacity: usize::MAX,
            refuses: false,
            supervision: Supervision::Stop,
        }
    }

    /// The name in messages and dumps; without one, that of the type.
    pub fn name(mut self, name: impl Into<Name>) -> Plan {
        self.name = name.into();
        self
    }

    /// Bytes of stack; see [`Options::stack_size`].
    pub fn stack_size(mut self, bytes: usize) -> Plan {
        self.stack_size = Some(bytes);
        self
    }

    /// So many calls wait at most, at least one; who calls then waits for room.
    pub fn mailbox(mut self, calls: usize) -> Plan {
        self.capacity = calls;
        self
    }

    /// A full mailbox refuses calls, instead of making callers wait.
    pub fn refusing(mut self) -> Plan {
        self.refuses = true;
        self
    }

    /// What happens when it panics.
    pub fn supervised(mut self, supervision: Supervision) -> Plan {
        self.supervision = supervision;
        self
    }

    /// Where the process is called, and its body, for whoever runs it: a system, a core, a sink. A body
    /// that is dropped ends the process.
    pub fn prepare<P: Process>(self, process: P) -> (P::Ref, Prepared) {
        self.for_one_life().prepare_in(Origin::default(), once(process))
    }

    /// The same for one that can begin again: `make` makes its state each time.
    pub fn prepare_with<P: Process>(
        self,
        make: impl FnMut() -> P + Send + 'static,
    ) -> (P::Ref, Prepared) {
        let mut make = make;
        self.prepare_in(Origin::default(), move || Some(make()))
    }

    /// The same plan for a process that cannot begin again.
    pub(crate) fn for_one_life(mut self) -> Plan {
        if let Supervision::Restart(_) = self.supervision {
            self.supervision = Supervision::Escalate;
        }
        self
    }

    pub(crate) fn prepare_in<P: Process>(
        self,
        origin: Origin,
        make: impl FnMut() -> Option<P> + Send + 'static,
    ) -> (P::Ref, Prepared) {
        let name =
            self.name.as_str().map_or_else(|| type_name::<P>().into(), |_| self.name.clone());
        let group = origin.group.clone();
        let mailbox: Mailbox<P::Message> =
            Mailbox::new(name.clone(), self.capacity, self.refuses, group.clone());
        let mailbox = mailbox.settled();
        let held = Arc::new(Held { mailbox: mailbox.clone() });
        if let Some(group) = group {
            let member: Weak<Mailbox<P::Message>> = Arc::downgrade(&mailbox);
            if group.join(member) {
                mailbox.stop();
            }
        }
        let ends = Ends(mailbox.clone());
        let me = Me::new(mailbox, Arc::downgrade(&held), origin);
        let supervision = self.supervision;
        let body = move || drive(ends, &me, supervision, make);
        let body: Box<dyn FnOnce() + Send> = Box::new(body);
        let mut options = Options::new().name(name);
        if let Some(bytes) = self.stack_size {
            options = options.stack_size(bytes);
        }
        (Address::new(held).into(), Prepared { body, options })
    }
}

/// The type's own name, without the modules it is in.
fn type_name<P>() -> &'static str {
    let path = core::any::type_name::<P>();
    path.rsplit(':').next().unwrap_or(path)
}

pub(crate) fn once<P>(process: P) -> impl FnMut() -> Option<P> {
    let mut process = Some(process);
    move || process.take()
}

/// The body of a process that has not started.
#[must_use = "a process whose body is dropped ends at once"]
pub struct Prepared {
    body: Box<dyn FnOnce() + Send>,
    options: Options,
}

impl Prepared {
    /// Runs the process, on the calling coroutine or thread, until it ends.
    ///
    /// # Panics
    /// When the process does, if it is in no system that takes note of it.
    pub fn run(self) {
        (self.body)();
    }

    /// Spawns it into the system that runs the calling code, on this core.
    ///
    /// # Errors
    /// When no system runs the calling code, or the core holds no more coroutines.
    #[track_caller]
    pub fn spawn(self) -> Result<JoinHandle<()>, SpawnError> {
        let options = self.options.clone();
        try_spawn_local(&options, move || self.run())
    }

    /// Spawns it as [`Self::spawn`] does. If that fails, the body is dropped, by which the process ends; what its
    /// state raises then goes to the failure hook.
    pub(crate) fn spawn_quietly(self) {
        outlive(|| drop(self.spawn()));
    }

    /// The same into a sink.
    pub(crate) fn spawn_into(self, sink: &Sink) {
        let options = self.options.clone();
        outlive(|| drop(sink.spawn(&options, move || self.run())));
    }

    /// Its name and stack, for whoever spawns it.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// Outlives a state that panics when it is dropped, because its process could not be started.
fn outlive(spawn: impl FnOnce()) {
    if let Err(panic) = user::call(spawn) {
        user::failed("a destructor", panic);
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared({:?})", self.options)
    }
}

/// To whom a process belongs.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    pub(crate) group: Option<Arc<Group>>,
    pub(crate) schedule: Weak<Schedule>,
}

impl Origin {
    /// Starts a process in the same system, or, if there is none, on the calling core.
    pub(crate) fn start<P: Process>(&self, plan: Plan, process: P) -> P::Ref {
        let (address, body) = plan.for_one_life().prepare_in(self.clone(), once(process));
        match self.schedule.upgrade() {
            Some(schedule) => schedule.add(None, body),
            // Outside of any system the body is dropped: calls are refused.
            None => body.spawn_quietly(),
        }
        address
    }
}

/// Terminates a mailbox, however its process ends.
struct Ends<M>(Arc<Mailbox<M>>);

impl<M> Ends<M> {
    /// Returns an exit that was raised meanwhile.
    fn end(self) -> Option<Panic> {
        self.0.terminate()
    }
}

impl<M> Drop for Ends<M> {
    /// Its process was never run, or has ended already. An exit is raised again when the coroutine next waits.
    fn drop(&mut self) {
        drop(self.0.terminate());
    }
}

/// What a process does from its start to its end.
fn drive<P: Process>(
    ends: Ends<P::Message>,
    me: &Me<P>,
    supervision: Supervision,
    mut make: impl FnMut() -> Option<P>,
) {
    let mailbox = &ends.0;
    mailbox.begin();
    let mut failures = 0;
    // With what it has failed, if it is to begin again.
    let mut before = None;
    let result = loop {
        let has_failed = before.is_some();
        let begins_again = matches!(supervision, Supervision::Restart(most) if failures < most);
        mailbox.begins(begins_again);
        let life = user::call(|| {
            let Some(mut process) = make() else { return false };
            if has_failed {
                mailbox.group().into_iter().for_each(|group| group.restarted());
            }
            process.run(me);
            while me.exe_next(&mut process) {}
            process.stopped();
            true
        });
        let panic: Panic = match life {
            Ok(true) => break Ok(()),
            // There is no other state to begin again with.
            Ok(false) => match before.take() {
                Some(panic) => panic,
                None => break Ok(()),
            },
            Err(panic) if user::is_exit(&panic) => {
                mailbox.is_over(Refusal::Ended);
                break Err(panic);
            }
            Err(panic) => {
                failures += 1;
                if begins_again {
                    // What it failed with before is dropped, whatever its `Drop` does.
                    before = Some(panic);
                    continue;
                }
                panic
            }
        };
        mailbox.is_over(Refusal::Failed);
        let Some(group) = mailbox.group() else { break Err(panic) };
        let payload = panic.into_payload();
        group.failed(Failure { process: mailbox.about.name.clone(), payload });
        if supervision != Supervision::Stop {
            group.stop();
        }
        break Ok(());
    };
    // What it makes its states of goes before it counts as ended.
    let made = user::try_dispose(make).err().and_then(|panic| user::report("a destructor", panic));
    let left = me.clear();
    let ends = ends.end();
    // What the process has raised goes on before an exit of a destructor.
    if let Some(panic) = result.err().or(user::first(made, user::first(left, ends))) {
        panic.resume();
    }
}
