//! What can go wrong with images, by family.
//!
//! `Debug` writes what `Display` does: it is what a `main` that returns an error prints.

use std::error::Error;
use std::fmt;

use leno_context::user::Panic;

/// Why a coroutine was not resumed; the input is given back.
#[non_exhaustive]
pub enum ResumeError<I> {
    /// It has returned already.
    Completed(I),
    /// It panicked earlier.
    Poisoned(I),
}

impl<I> ResumeError<I> {
    /// The input that was not used.
    pub fn into_input(self) -> I {
        match self {
            ResumeError::Completed(input) | ResumeError::Poisoned(input) => input,
        }
    }
}

impl<I> fmt::Display for ResumeError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResumeError::Completed(_) => "the coroutine has completed: there is nothing to resume",
            ResumeError::Poisoned(_) => {
                "the coroutine panicked earlier: restore it from its last image"
            }
        })
    }
}

impl<I> fmt::Debug for ResumeError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<I> Error for ResumeError<I> {}

/// Why a coroutine was not stored. It is as it was before.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// It has returned: there is no frame left.
    Completed,
    /// It panicked, so its frames are gone.
    Poisoned,
    /// A local could not be written.
    Encode {
        /// The function whose frame it is.
        function: &'static str,
        /// Where the function was suspended.
        point: &'static str,
        /// The variable.
        local: &'static str,
        /// What its `Serialize` or the format says.
        cause: String,
    },
    /// The value it is suspended with could not be written, and why.
    Yielded(String),
    /// The types of its inputs, which its journal names, could not be looked at, and why.
    Types(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Completed => {
                f.write_str("the coroutine has completed: there is nothing to store")
            }
            StoreError::Poisoned => {
                f.write_str("the coroutine panicked: its last image is what is left of it")
            }
            StoreError::Encode { function, point, local, cause } => {
                write!(f, "`{function}` at `{point}`: cannot store `{local}`: {cause}")
            }
            StoreError::Yielded(cause) => {
                write!(f, "cannot store the value it is suspended with: {cause}")
            }
            StoreError::Types(cause) => write!(f, "cannot look at the types of inputs: {cause}"),
        }
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for StoreError {}

/// Why bytes are no image.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageError {
    /// They begin like nothing this crate writes.
    NotAnImage,
    /// They end too early.
    Truncated,
    /// Their checksum is wrong: they were damaged, or written over.
    Corrupt,
    /// They were written by a later version of the format.
    Version(u8),
    /// JSON that is not an image, and why.
    Json(String),
    /// Frames were asked for by name, which only JSON has.
    NoNames,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::NotAnImage => f.write_str("these bytes are not an image of a coroutine"),
            ImageError::Truncated => f.write_str("the image ends too early"),
            ImageError::Corrupt => f.write_str("the image was damaged: its checksum is wrong"),
            ImageError::Version(version) => {
                write!(f, "the image is of version {version} of the format; this build knows 1")
            }
            ImageError::Json(cause) => {
                write!(f, "this JSON is not an image of a coroutine: {cause}")
            }
            ImageError::NoNames => f.write_str(
                "a postcard image has no names: convert it with `Resumable::transcode` first",
            ),
        }
    }
}

impl fmt::Debug for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ImageError {}

/// Why an image was not restored: it is damaged, or this build's code is not what it was taken from.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The image itself is wrong.
    Image(ImageError),
    /// The image has fewer frames than this build's path of calls.
    NoFrame,
    /// The image has more frames than this build's path of calls, by so many.
    FramesLeft(usize),
    /// A frame is of another function than the one that is called here in this build.
    OtherFunction {
        /// Which frame, the outermost being 0.
        depth: usize,
        /// The function that this build calls.
        expected: &'static str,
        /// What the image has; a number in a postcard image.
        found: String,
    },
    /// A function was suspended where this build's does not suspend.
    NoSuchPoint {
        /// Which frame, the outermost being 0.
        depth: usize,
        /// The function.
        function: &'static str,
        /// The label in the image; a number in a postcard image.
        found: String,
        /// Where the function suspends in this build.
        known: String,
    },
    /// The locals of a frame have other types, or there is another number of them.
    OtherShape {
        /// Which frame, the outermost being 0.
        depth: usize,
        /// The function.
        function: &'static str,
        /// Where it is suspended.
        point: &'static str,
        /// What this build has there.
        now: String,
    },
    /// A frame of a JSON image has no such local.
    MissingLocal {
        /// The function.
        function: &'static str,
        /// Where it is suspended.
        point: &'static str,
        /// The variable.
        local: &'static str,
    },
    /// A local could not be read.
    Decode {
        /// The function.
        function: &'static str,
        /// Where it is suspended.
        point: &'static str,
        /// The variable.
        local: &'static str,
        /// What its `Deserialize` or the format says.
        cause: String,
    },
    /// The value it was suspended with could not be read, and why.
    Yielded(String),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::Image(error) => fmt::Display::fmt(error, f),
            RestoreError::NoFrame => {
                f.write_str("the image has fewer frames than this build's path of calls")
            }
            RestoreError::FramesLeft(count) => {
                write!(
                    f,
                    "the path of calls is shorter in this build: {count} frames are left over"
                )
            }
            RestoreError::OtherFunction { depth, expected, found } => write!(
                f,
                "frame {depth}: this build calls `{expected}` here, the image has a frame of `{found}`; \
                 if the function was renamed, say so with `Options::rename`"
            ),
            RestoreError::NoSuchPoint { depth, function, found, known } => write!(
                f,
                "frame {depth}: `{function}` was suspended at `{found}`, where it does not suspend in \
                 this build; it does at {known}"
            ),
            RestoreError::OtherShape { depth, function, point, now } => write!(
                f,
                "frame {depth}: the locals of `{function}` at `{point}` have another shape in this \
                 build: {now}"
            ),
            RestoreError::MissingLocal { function, point, local } => write!(
                f,
                "`{function}` at `{point}`: the image has no `{local}`; if it was added later, supply it \
                 with `Options::migrate`"
            ),
            RestoreError::Decode { function, point, local, cause } => {
                write!(f, "`{function}` at `{point}`: cannot restore `{local}`: {cause}")
            }
            RestoreError::Yielded(cause) => {
                write!(f, "cannot restore the value it was suspended with: {cause}")
            }
        }
    }
}

impl fmt::Debug for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for RestoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RestoreError::Image(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ImageError> for RestoreError {
    fn from(error: ImageError) -> Self {
        RestoreError::Image(error)
    }
}

/// Whether user code was left by the exit of a coroutine around the calling code. That of another one, which was caught
/// and raised again here, is a panic like any other.
pub(crate) fn is_exit(panic: &Panic) -> bool {
    leno_coroutine::floor::is_exit_here(panic.payload())
}

/// What is said of user code that has panicked.
///
/// # Panics
/// With an exit, which is not the caller's to keep.
#[cold]
pub(crate) fn panicked(what: &str, panic: Panic) -> String {
    format!("its `{what}` panicked: {}", panic_text(panic))
}

/// What a panic says, if it says something.
///
/// # Panics
/// With an exit, which is not the caller's to keep.
#[cold]
pub(crate) fn panic_text(panic: Panic) -> String {
    if is_exit(&panic) {
        panic.resume();
    }
    panic.message().unwrap_or_default().to_owned()
}
