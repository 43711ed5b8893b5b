//! What can go wrong with journals. `Debug` writes what `Display` does, as for images.

use std::error::Error;
use std::fmt;

use crate::error::{ImageError, RestoreError};

/// Why a journal was not replayed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalError {
    /// The bytes are no journal, or a damaged one.
    Bytes(ImageError),
    /// It is the journal of another body.
    OtherBody {
        /// The body that was to be replayed.
        expected: String,
        /// The one whose journal it is.
        found: String,
    },
    /// Arguments or inputs are of other types in this build.
    OtherTypes {
        /// What they are now.
        now: String,
    },
    /// It begins with an image: see `Journaled::replay_from`.
    HasImage,
    /// It begins with arguments, and not with an image: see `Journaled::replay`.
    NoImage,
    /// The arguments could not be written or read.
    Arguments(String),
    /// An input could not be read.
    Input {
        /// Which one, the first being 1.
        step: usize,
        /// What its `Deserialize` or the format says.
        cause: String,
    },
    /// The body has answered an input otherwise than it did before.
    Drift {
        /// Which input, the first being 1; 0 is the start.
        step: usize,
    },
    /// The body has panicked where it did not before.
    Panicked {
        /// At which input, the first being 1; 0 is the start.
        step: usize,
        /// What the panic says.
        cause: String,
    },
    /// The image that it begins with was not restored.
    Restore(RestoreError),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Bytes(error) => write!(f, "this is no journal of a coroutine: {error}"),
            JournalError::OtherBody { expected, found } => {
                write!(f, "this is a journal of `{found}`, and not of `{expected}`")
            }
            JournalError::OtherTypes { now } => write!(
                f,
                "the types of what goes in have changed since the journal was written; now: {now}"
            ),
            JournalError::HasImage => f.write_str(
                "the journal begins with an image: restore that with `Journaled::replay_from`",
            ),
            JournalError::NoImage => f.write_str(
                "the journal does not begin with an image: replay it with `Journaled::replay`",
            ),
            JournalError::Arguments(cause) => write!(f, "the arguments of the body: {cause}"),
            JournalError::Input { step, cause } => write!(f, "input {step}: {cause}"),
            JournalError::Drift { step } => write!(
                f,
                "the body is not what the journal was written of: at {} it does something else",
                Step(*step)
            ),
            JournalError::Panicked { step, cause } => write!(
                f,
                "the body is not what the journal was written of: at {} it panics: {cause}",
                Step(*step)
            ),
            JournalError::Restore(error) => error.fmt(f),
        }
    }
}

struct Step(usize);

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("its start"),
            step => write!(f, "input {step}"),
        }
    }
}

impl fmt::Debug for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for JournalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            JournalError::Bytes(error) => Some(error),
            JournalError::Restore(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ImageError> for JournalError {
    fn from(error: ImageError) -> Self {
        JournalError::Bytes(error)
    }
}

impl From<RestoreError> for JournalError {
    fn from(error: RestoreError) -> Self {
        JournalError::Restore(error)
    }
}

/// Why a body did not go on; the input is given back.
#[non_exhaustive]
pub enum RecordError<I> {
    /// It has returned already.
    Completed(I),
    /// It panicked earlier.
    Poisoned(I),
    /// The input cannot be written down.
    Encode {
        /// The input.
        input: I,
        /// What its `Serialize` or the format says.
        cause: String,
    },
}

impl<I> RecordError<I> {
    /// The input that was not used.
    pub fn into_input(self) -> I {
        match self {
            RecordError::Completed(input)
            | RecordError::Poisoned(input)
            | RecordError::Encode { input, .. } => input,
        }
    }
}

impl<I> fmt::Display for RecordError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Completed(_) => {
                f.write_str("the body has completed: there is nothing to go on with")
            }
            RecordError::Poisoned(_) => {
                f.write_str("the body panicked earlier: replay its journal")
            }
            RecordError::Encode { cause, .. } => {
                write!(f, "the input cannot be written down: {cause}")
            }
        }
    }
}

impl<I> fmt::Debug for RecordError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<I> Error for RecordError<I> {}
