//! What can go wrong with a coroutine, by name.

use core::panic::Location;
use std::fmt;

use leno_context::Name;
use leno_context::control::Spec;
use leno_context::stack::StackError;

/// A coroutine could not be made: there is no stack for it. Nothing else is harmed.
#[derive(Clone, PartialEq, Eq)]
pub struct CreateError {
    why: StackError,
    name: Name,
    site: Option<&'static Location<'static>>,
}

impl CreateError {
    #[cold]
    pub(crate) fn new(why: StackError, name: Name, site: &'static Location<'static>) -> Self {
        CreateError { why, name, site: Some(site) }
    }

    /// From what `leno_context::control::create` gives back.
    #[cold]
    pub(crate) fn refused((why, spec): (StackError, Spec)) -> Self {
        CreateError::new(why, spec.name, spec.site)
    }

    /// There are no stacks of that size, whoever may want one.
    pub(crate) fn of_size(why: StackError) -> Self {
        CreateError { why, name: Name::NONE, site: None }
    }

    /// Why there is no stack.
    pub fn stack_error(&self) -> &StackError {
        &self.why
    }

    /// The name the coroutine was to have.
    pub fn name(&self) -> Option<&str> {
        self.name.as_str()
    }

    /// Where in the source it was to be made, if it was for a certain one.
    pub fn site(&self) -> Option<&'static Location<'static>> {
        self.site
    }
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "cannot create coroutine '{name}'")?,
            None => f.write_str("cannot create a coroutine")?,
        }
        if let Some(site) = self.site {
            write!(f, " (at {site})")?;
        }
        write!(f, ": {}", self.why)
    }
}

impl std::error::Error for CreateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// A coroutine could not be resumed. The input is given back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumeError<In> {
    /// It has returned, panicked or exited.
    Finished {
        /// Its name, quoted, or its id.
        name: String,
        /// What it was to be given.
        input: In,
    },
    /// It is running: it was resumed, directly or through others, by itself.
    InUse {
        /// Its name, quoted, or its id.
        name: String,
        /// What it was to be given.
        input: In,
    },
    /// It is being ended: its stack unwinds, or what it gave is being dropped.
    Ending {
        /// Its name, quoted, or its id.
        name: String,
        /// What it was to be given.
        input: In,
    },
    /// It belongs to another thread: steal it first.
    OtherThread {
        /// Its name, quoted, or its id.
        name: String,
        /// What it was to be given.
        input: In,
    },
}

impl<In> ResumeError<In> {
    /// What the coroutine was to be given.
    pub fn into_input(self) -> In {
        match self {
            ResumeError::Finished { input, .. }
            | ResumeError::InUse { input, .. }
            | ResumeError::Ending { input, .. }
            | ResumeError::OtherThread { input, .. } => input,
        }
    }
}

impl<In> fmt::Display for ResumeError<In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeError::Finished { name, .. } => {
                write!(f, "coroutine {name} is finished and cannot be resumed")
            }
            ResumeError::InUse { name, .. } => write!(
                f,
                "coroutine {name} is in use and cannot be resumed: it is running, or waits for \
                 a coroutine it has itself resumed"
            ),
            ResumeError::Ending { name, .. } => {
                write!(f, "coroutine {name} is being ended and cannot be resumed")
            }
            ResumeError::OtherThread { name, .. } => {
                write!(f, "coroutine {name} belongs to another thread: steal it first")
            }
        }
    }
}

impl<In> std::error::Error for ResumeError<In> {}

/// A coroutine could not suspend because its own stack is unwinding. The value is given back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Exiting<Out>(pub Out);

impl<Out> fmt::Display for Exiting<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a coroutine whose own stack unwinds cannot suspend")
    }
}

impl<Out> std::error::Error for Exiting<Out> {}

leno_context::debug_as_told!(CreateError, ResumeError<In>, Exiting<Out>);
