//! Coroutines as iterators.

use std::fmt;

use crate::resumable::{Resumable, State};
use crate::routine::{Entry, Routine};

type Start<Y, T> = Box<dyn FnOnce() -> (Resumable<Y, (), T>, State<Y, T>) + Send>;

/// A coroutine as an iterator over what it suspends with. It starts when the first item is asked for.
///
/// ```
/// use leno_frame::{Co, iterate, resumable};
///
/// #[resumable]
/// async fn fibonacci(co: &mut Co<u64>) {
///     let (mut a, mut b) = (0, 1);
///     loop {
///         co.suspend(a).await;
///         (a, b) = (b, a + b);
///     }
/// }
///
/// assert_eq!(iterate(fibonacci, ()).take(8).collect::<Vec<_>>(), [0, 1, 1, 2, 3, 5, 8, 13]);
/// ```
pub fn iterate<Y, T, R, A, F>(entry: F, args: A) -> Iterate<Y, T>
where
    Y: Send + 'static,
    T: Send + 'static,
    R: Routine<Yield = Y, Input = (), Context = (), Output = T>,
    F: Entry<R, A> + Send + 'static,
    A: Send + 'static,
{
    Iterate(Inner::New(Box::new(move || Resumable::start(&mut (), entry, args))))
}

/// What [`iterate`] returns.
pub struct Iterate<Y, T>(Inner<Y, T>);

enum Inner<Y, T> {
    New(Start<Y, T>),
    Started(Box<Resumable<Y, (), T>>),
    Ended,
}

impl<Y, T> Iterate<Y, T> {
    /// The coroutine, to store it between two items; nothing before the first item and after the last.
    pub fn resumable(&mut self) -> Option<&mut Resumable<Y, (), T>> {
        match &mut self.0 {
            Inner::Started(resumable) => Some(resumable),
            Inner::New(_) | Inner::Ended => None,
        }
    }
}

/// Goes on with a coroutine that was restored.
impl<Y, T> From<Resumable<Y, (), T>> for Iterate<Y, T> {
    fn from(resumable: Resumable<Y, (), T>) -> Self {
        Iterate(Inner::Started(Box::new(resumable)))
    }
}

impl<Y: Send + 'static, T: Send + 'static> Iterator for Iterate<Y, T> {
    type Item = Y;

    fn next(&mut self) -> Option<Y> {
        let state = match std::mem::replace(&mut self.0, Inner::Ended) {
            Inner::New(start) => {
                let (resumable, state) = start();
                self.0 = Inner::Started(Box::new(resumable));
                Some(state)
            }
            Inner::Started(mut resumable) => {
                let state = resumable.try_resume(&mut (), ()).ok();
                self.0 = Inner::Started(resumable);
                state
            }
            Inner::Ended => None,
        };
        let item = state.and_then(State::suspended);
        if item.is_none() {
            self.0 = Inner::Ended;
        }
        item
    }
}

impl<Y, T> fmt::Debug for Iterate<Y, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Inner::New(_) => "Iterate(new)",
            Inner::Started(_) => "Iterate(started)",
            Inner::Ended => "Iterate(ended)",
        })
    }
}
