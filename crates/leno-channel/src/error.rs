//! What can go wrong, by name. A value that could not be sent comes back in the error.

use core::fmt;

use crate::label::Label;

/// Nothing was received.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecvError {
    /// Nothing will ever come: the channel is closed, or all senders are gone.
    Closed(Label),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(Label),
}

/// Nothing was received at once.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryRecvError {
    /// There is nothing now.
    Empty(Label),
    /// Nothing will ever come.
    Closed(Label),
}

/// Nothing was received in time.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecvTimeoutError {
    /// The time is over.
    TimedOut(Label),
    /// Nothing will ever come.
    Closed(Label),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(Label),
}

/// A value was not sent.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<T> {
    /// Nobody will ever take it: the channel is closed, or all receivers are gone.
    Closed(T, Label),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(T, Label),
}

/// A value was not sent at once.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrySendError<T> {
    /// There is no room, and nobody waits for it.
    Full(T, Label),
    /// Nobody will ever take it.
    Closed(T, Label),
}

/// A value was not sent in time.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendTimeoutError<T> {
    /// The time is over.
    TimedOut(T, Label),
    /// Nobody will ever take it.
    Closed(T, Label),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(T, Label),
}

/// The rule that was broken, as text.
mod rule {
    use super::{Label, fmt};

    pub(super) fn closed(f: &mut fmt::Formatter<'_>, channel: &Label) -> fmt::Result {
        write!(f, "channel {channel} is closed")
    }

    pub(super) fn exiting(f: &mut fmt::Formatter<'_>, channel: &Label) -> fmt::Result {
        write!(f, "cannot wait at channel {channel}: the coroutine's own stack unwinds")
    }

    pub(super) fn timed_out(f: &mut fmt::Formatter<'_>, channel: &Label) -> fmt::Result {
        write!(f, "the time to wait at channel {channel} is over")
    }

    pub(super) fn empty(f: &mut fmt::Formatter<'_>, channel: &Label) -> fmt::Result {
        write!(f, "channel {channel} has nothing to receive now")
    }

    pub(super) fn full(f: &mut fmt::Formatter<'_>, channel: &Label) -> fmt::Result {
        write!(f, "channel {channel} has no room, and nobody waits to receive")
    }
}

macro_rules! failures {
    ($($error:ident { $($variant:ident = $rule:ident),+ })+) => {$(
        impl fmt::Display for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $($error::$variant(channel) => rule::$rule(f, channel),)+ }
            }
        }

        leno_context::debug_as_told!($error);

        impl $error {
            /// Which channel.
            pub fn channel(&self) -> &Label {
                match self { $($error::$variant(channel) => channel,)+ }
            }
        }

        impl std::error::Error for $error {}
    )+};
}

macro_rules! failures_with_value {
    ($($error:ident { $($variant:ident = $rule:ident),+ })+) => {$(
        impl<T> fmt::Display for $error<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $($error::$variant(_, channel) => rule::$rule(f, channel),)+ }
            }
        }

        leno_context::debug_as_told!($error<T>);

        impl<T> $error<T> {
            /// The value that was not sent.
            pub fn into_inner(self) -> T {
                match self { $($error::$variant(value, _) => value,)+ }
            }

            /// Which channel.
            pub fn channel(&self) -> &Label {
                match self { $($error::$variant(_, channel) => channel,)+ }
            }
        }

        impl<T> std::error::Error for $error<T> {}
    )+};
}

failures! {
    RecvError { Closed = closed, Exiting = exiting }
    TryRecvError { Empty = empty, Closed = closed }
    RecvTimeoutError { TimedOut = timed_out, Closed = closed, Exiting = exiting }
}

failures_with_value! {
    SendError { Closed = closed, Exiting = exiting }
    TrySendError { Full = full, Closed = closed }
    SendTimeoutError { TimedOut = timed_out, Closed = closed, Exiting = exiting }
}
