//! The alternatives of a select, in the order in which they were added.
//!
//! Usually their number is known where the select is written: then they are a list by type
//! ([`Nothing`], and [`And`] one more), which lies in the caller's frame and is `Send` exactly if all of
//! them are. Where it is not known, they are [`Many`], in boxes.

use leno_kernel::layer::user::{self, Panic};

use super::alternative::{Alternative, Step};

/// See the module.
pub trait Alternatives<'a, R> {
    /// One more.
    type With<A: Alternative<R> + 'a>: Alternatives<'a, R>;

    /// Adds one.
    fn with<A: Alternative<R> + 'a>(self, one: A) -> Self::With<A>;

    /// How many.
    fn count(&self) -> usize;

    /// The one at this place, which is less than their number.
    fn at(&mut self, place: usize) -> &mut dyn Step;

    /// Drops all but the one at this place, which was taken, and calls its handler.
    fn finish(self, place: usize) -> R;

    /// Drops all of them, each by itself. Returns what a destructor raised.
    fn dispose(self) -> Option<Panic>;
}

/// No alternative yet.
#[derive(Debug)]
pub struct Nothing;

/// One more than `L`.
#[derive(Debug)]
pub struct And<L, A> {
    others: L,
    last: A,
}

/// Any number of alternatives; see [`Select::many`](super::Select::many).
pub struct Many<'a, R> {
    all: Vec<Box<dyn Alternative<R> + 'a>>,
}

impl<A> And<Nothing, A> {
    /// The only one.
    pub(crate) fn one(last: A) -> Self {
        And { others: Nothing, last }
    }
}

/// Calls the handler of the alternative that was taken. What the destructors of the others have raised goes on after
/// that: what was taken would be lost otherwise.
#[inline(always)]
fn finish_after<R>(raised: Option<Panic>, finish: impl FnOnce() -> R) -> R {
    if leno_kernel::layer::is_planted("select-drop-loses")
        && let Some(raised) = raised
    {
        raised.resume();
    }
    let result = finish();
    if let Some(raised) = raised {
        user::dispose(result);
        raised.resume();
    }
    result
}

#[cold]
fn no_such(place: usize) -> ! {
    unreachable!("a select has no alternative {place}")
}

impl<'a, R> Alternatives<'a, R> for Nothing {
    type With<A: Alternative<R> + 'a> = And<Nothing, A>;

    fn with<A: Alternative<R> + 'a>(self, last: A) -> And<Nothing, A> {
        And { others: self, last }
    }

    #[inline(always)]
    fn count(&self) -> usize {
        0
    }

    #[inline(always)]
    fn at(&mut self, place: usize) -> &mut dyn Step {
        no_such(place)
    }

    #[inline(always)]
    fn finish(self, place: usize) -> R {
        no_such(place)
    }

    #[inline(always)]
    fn dispose(self) -> Option<Panic> {
        None
    }
}

impl<'a, R, L: Alternatives<'a, R>, B: Alternative<R>> Alternatives<'a, R> for And<L, B> {
    type With<A: Alternative<R> + 'a> = And<Self, A>;

    fn with<A: Alternative<R> + 'a>(self, last: A) -> And<Self, A> {
        And { others: self, last }
    }

    #[inline(always)]
    fn count(&self) -> usize {
        self.others.count() + 1
    }

    #[inline(always)]
    fn at(&mut self, place: usize) -> &mut dyn Step {
        if place == self.others.count() { &mut self.last } else { self.others.at(place) }
    }

    #[inline(always)]
    fn finish(self, place: usize) -> R {
        let And { others, last } = self;
        if place == others.count() {
            finish_after(others.dispose(), || last.finish())
        } else {
            finish_after(user::try_dispose(last).err(), || others.finish(place))
        }
    }

    #[inline(always)]
    fn dispose(self) -> Option<Panic> {
        let And { others, last } = self;
        let raised = others.dispose();
        user::first(raised, user::try_dispose(last).err())
    }
}

impl<R> Many<'_, R> {
    pub(crate) fn new() -> Self {
        Many { all: Vec::new() }
    }
}

impl<'a, R> Alternatives<'a, R> for Many<'a, R> {
    type With<A: Alternative<R> + 'a> = Many<'a, R>;

    fn with<A: Alternative<R> + 'a>(mut self, one: A) -> Self {
        self.all.push(Box::new(one));
        self
    }

    fn count(&self) -> usize {
        self.all.len()
    }

    fn at(&mut self, place: usize) -> &mut dyn Step {
        &mut *self.all[place]
    }

    fn finish(mut self, place: usize) -> R {
        let taken = self.all.swap_remove(place);
        finish_after(self.dispose(), || taken.finish_boxed())
    }

    fn dispose(self) -> Option<Panic> {
        let each = self.all.into_iter().map(|one| user::try_dispose(one).err());
        each.fold(None, user::first)
    }
}

impl<R> core::fmt::Debug for Many<'_, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Many({})", self.all.len())
    }
}
