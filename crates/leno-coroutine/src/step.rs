//! What one resume came to.

/// What a resumed coroutine did: it suspended with a value, or finished with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step<Out, Ret> {
    /// It called `suspend` with this value, and can be resumed again.
    Suspended(Out),
    /// Its body returned this, and it is finished.
    Finished(Ret),
}

impl<Out, Ret> Step<Out, Ret> {
    /// The value it suspended with, if it did.
    pub fn suspended(self) -> Option<Out> {
        match self {
            Step::Suspended(out) => Some(out),
            Step::Finished(_) => None,
        }
    }

    /// The body's result, if it finished.
    pub fn finished(self) -> Option<Ret> {
        match self {
            Step::Suspended(_) => None,
            Step::Finished(ret) => Some(ret),
        }
    }

    /// Whether it finished.
    pub fn is_finished(&self) -> bool {
        matches!(self, Step::Finished(_))
    }
}

impl<T> Step<T, T> {
    /// The value either way, where suspending and returning mean the same to the caller.
    pub fn into_value(self) -> T {
        match self {
            Step::Suspended(value) | Step::Finished(value) => value,
        }
    }
}
