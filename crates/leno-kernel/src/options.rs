//! What a coroutine to be spawned is like, and when it first runs.

use core::panic::Location;

use leno_context::stack;

use crate::core::About;
use crate::policy::Hint;
use crate::{Name, Time, heritage};

/// When a coroutine that is spawned first runs.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Options, Start, spawn_local, try_spawn_local};
/// use std::{cell::RefCell, rc::Rc};
///
/// let system = LocalSystem::new();
/// let seen: Rc<RefCell<Vec<&str>>> = Rc::default();
/// let log = seen.clone();
/// drop(system.spawn(move || {
///     let say = |word| { let log = log.clone(); move || log.borrow_mut().push(word) };
///     let eager = try_spawn_local(&Options::new().start(Start::Eager), say("eager")).unwrap();
///     say("spawned")();
///     drop(eager);
/// }));
/// system.run()?;
/// assert_eq!(*seen.borrow(), ["eager", "spawned"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// When its turn comes.
    #[default]
    Ready,
    /// At once, on top of whoever spawns it, until it first parks, yields or ends. Spawned from
    /// another thread than its core's: before all others that are ready.
    Eager,
    /// When it is first unparked.
    Idle,
    /// When someone first waits for its end, or it is unparked.
    Lazy,
}

/// How a core begins with a coroutine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) start: Start,
    pub(crate) hint: Hint,
    /// Whether it is spawned on the thread of its core, which can run it at once.
    pub(crate) is_here: bool,
    /// Whether it may borrow from a scope.
    pub(crate) borrows: bool,
}

impl Launch {
    pub(crate) fn borrowing(mut self) -> Launch {
        self.borrows = true;
        self
    }
}

/// What a coroutine to be spawned is like.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) name: Name,
    stack_size: usize,
    priority: i32,
    deadline: Option<Time>,
    hint: Hint,
    pub(crate) start: Start,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: Name::NONE,
            stack_size: stack::DEFAULT_SIZE,
            priority: 0,
            deadline: None,
            hint: Hint::Back,
            start: Start::Ready,
        }
    }
}

impl Options {
    /// No name, a stack of 64 KiB, priority 0, no deadline, ready, after all others.
    pub fn new() -> Options {
        Options::default()
    }

    /// The name that messages, dumps and traces show.
    pub fn name(mut self, name: impl Into<Name>) -> Options {
        self.name = name.into();
        self
    }

    /// Bytes of stack: a hint, as in [`leno_coroutine::Builder::stack_size`].
    pub fn stack_size(mut self, bytes: usize) -> Options {
        self.stack_size = bytes;
        self
    }

    /// More is more urgent, to policies that care.
    pub fn priority(mut self, priority: i32) -> Options {
        self.priority = priority;
        self
    }

    /// When its work should be done, to policies that care.
    pub fn deadline(mut self, deadline: Time) -> Options {
        self.deadline = Some(deadline);
        self
    }

    /// Where it should be in the queue, to policies that care.
    pub fn hint(mut self, hint: Hint) -> Options {
        self.hint = hint;
        self
    }

    /// When it first runs.
    pub fn start(mut self, start: Start) -> Options {
        self.start = start;
        self
    }

    /// `is_here`: on the thread of its core.
    pub(crate) fn launch(&self, is_here: bool) -> Launch {
        Launch { start: self.start, hint: self.hint, is_here, borrows: false }
    }

    pub(crate) fn about(&self, born: Time, site: &'static Location<'static>) -> About {
        About {
            name: self.name.clone(),
            site,
            stack_size: self.stack_size,
            priority: self.priority,
            heritage: heritage::current(),
            deadline: self.deadline,
            born,
        }
    }
}
