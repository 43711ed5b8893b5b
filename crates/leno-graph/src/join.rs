//! Joins: one message of each of several sources, or nothing.
//!
//! Four implementations, by mode (Porsev 2023, 5.6):
//!
//! | | sequential | parallel |
//! | --- | --- | --- |
//! | deterministic | receives from one after the other | starts all senders, then receives from one after the other |
//! | non-deterministic | starts all senders, looks at all, receives when all have something | takes from each, and puts everything back if one has nothing |
//!
//! The order is that of channel numbers in all of them. A join is closed as soon as one of its sources
//! is, and then cancels the others.
//!
//! Not here: joins of three and more. They are joins of joins; see [`flat`](crate::flat).

use crate::channel::{Link, Linked};
use crate::mode::Sealed as _;
use crate::source::{Attempt, Pause, Sealed, Source, all, both};
use crate::state::Take;

/// Two sources, joined: pairs.
#[derive(Clone)]
pub struct Join<A, B> {
    pub(crate) left: A,
    pub(crate) right: B,
}

/// Any number of sources of one kind, joined: vectors.
#[derive(Clone)]
pub struct JoinAll<X> {
    parts: Vec<X>,
    /// Its parts in the order of channel numbers.
    order: Box<[usize]>,
}

type Pair<A, B> = (<A as Sealed>::Item, <B as Sealed>::Item);

/// Takes from `one` and then from `other`, or from none.
fn take_both<A: Source, B: Source<S = A::S>>(
    one: &A,
    other: &B,
    attempt: &mut Attempt,
) -> Take<(A::Item, B::Item)> {
    let first = match one.take(attempt) {
        Take::Got(first) => first,
        Take::Empty => return Take::Empty,
        Take::Closed => return Take::Closed,
    };
    match other.take(attempt) {
        Take::Got(second) => Take::Got((first, second)),
        Take::Empty => {
            one.give_back(first, attempt);
            Take::Empty
        }
        Take::Closed => {
            one.give_back(first, attempt);
            Take::Closed
        }
    }
}

/// Receives from `one` and then from `other`; what was received is given back if that is stopped, or if there
/// is nothing to go with it: then it is dropped with its channel.
fn receive_both<A: Source, B: Source<S = A::S>, W: Pause<A::S>>(
    one: &A,
    other: &B,
    pause: &mut W,
) -> Result<Option<Pair<A, B>>, W::Error> {
    let Some(first) = one.in_order(pause)? else { return Ok(None) };
    match other.in_order(pause) {
        Ok(Some(second)) => Ok(Some((first, second))),
        Ok(None) => {
            one.give_back(first, &mut Attempt::new(true, 0));
            Ok(None)
        }
        Err(why) => {
            one.give_back(first, &mut Attempt::new(true, 0));
            Err(why)
        }
    }
}

fn swap<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

impl<A: Source, B: Source<S = A::S>> Source for Join<A, B> {}

impl<A: Source, B: Source<S = A::S>> Sealed for Join<A, B> {
    type Item = (A::Item, B::Item);
    type S = A::S;
    const ROLLS_BACK: bool = true;

    fn first(&self) -> u64 {
        self.left.first().min(self.right.first())
    }

    fn each(&self, f: &mut dyn FnMut(&dyn Link<A::S>)) {
        self.left.each(f);
        self.right.each(f);
    }

    fn peek(&self, attempt: u64) -> Take<()> {
        match (self.left.peek(attempt), self.right.peek(attempt)) {
            (Take::Closed, _) | (_, Take::Closed) => Take::Closed,
            (Take::Got(()), Take::Got(())) => Take::Got(()),
            _ => Take::Empty,
        }
    }

    fn take(&self, attempt: &mut Attempt) -> Take<Self::Item> {
        if A::S::LOOKS_FIRST && self.peek(attempt.number) == Take::Empty {
            return Take::Empty;
        }
        let taken = if self.left.first() <= self.right.first() {
            take_both(&self.left, &self.right, attempt)
        } else {
            match take_both(&self.right, &self.left, attempt) {
                Take::Got(pair) => Take::Got(swap(pair)),
                Take::Empty => Take::Empty,
                Take::Closed => Take::Closed,
            }
        };
        match taken {
            Take::Got(pair) => Take::Got(pair),
            Take::Empty if attempt.in_order || self.peek(attempt.number) != Take::Closed => {
                Take::Empty
            }
            _ => {
                self.mark(self.is_cut());
                attempt.leaves = true;
                Take::Closed
            }
        }
    }

    fn give_back(&self, (left, right): Self::Item, attempt: &mut Attempt) {
        // The one that was taken last first, for they may be of one channel.
        if self.left.first() <= self.right.first() {
            self.right.give_back(right, attempt);
            self.left.give_back(left, attempt);
        } else {
            self.left.give_back(left, attempt);
            self.right.give_back(right, attempt);
        }
    }

    fn in_order<W: Pause<A::S>>(&self, pause: &mut W) -> Result<Option<Self::Item>, W::Error> {
        let pair = if self.left.first() <= self.right.first() {
            receive_both(&self.left, &self.right, pause)?
        } else {
            receive_both(&self.right, &self.left, pause)?.map(swap)
        };
        if pair.is_none() {
            self.leave(self.is_cut());
        }
        Ok(pair)
    }

    fn leave(&self, is_cut: bool) -> bool {
        both(|| self.left.leave(is_cut), || self.right.leave(is_cut))
    }

    fn mark(&self, is_cut: bool) {
        self.left.mark(is_cut);
        self.right.mark(is_cut);
    }

    fn leave_marked(&self) -> bool {
        both(|| self.left.leave_marked(), || self.right.leave_marked())
    }

    fn abandon(&self) -> bool {
        both(|| self.left.abandon(), || self.right.abandon())
    }

    fn is_cut(&self) -> bool {
        self.left.is_cut() || self.right.is_cut()
    }

    fn linked(&self) -> &Linked<A::S> {
        self.left.linked()
    }
}

impl<X: Source> JoinAll<X> {
    pub(crate) fn new(parts: Vec<X>) -> JoinAll<X> {
        let mut order: Box<[usize]> = (0..parts.len()).collect();
        order.sort_by_key(|part| parts[*part].first());
        JoinAll { parts, order }
    }

    /// Rolls back, the last one first.
    fn roll_back(&self, items: &mut [Option<X::Item>], attempt: &mut Attempt) {
        for part in self.order.iter().rev() {
            if let Some(item) = items[*part].take() {
                self.parts[*part].give_back(item, attempt);
            }
        }
    }
}

impl<X: Source> Source for JoinAll<X> {}

impl<X: Source> Sealed for JoinAll<X> {
    type Item = Vec<X::Item>;
    type S = X::S;
    const ROLLS_BACK: bool = true;

    fn first(&self) -> u64 {
        self.parts.iter().map(|part| part.first()).min().unwrap_or(u64::MAX)
    }

    fn each(&self, f: &mut dyn FnMut(&dyn Link<X::S>)) {
        self.parts.iter().for_each(|part| part.each(f));
    }

    fn peek(&self, attempt: u64) -> Take<()> {
        let mut all = Take::Got(());
        for part in &self.parts {
            match part.peek(attempt) {
                Take::Closed => return Take::Closed,
                Take::Empty => all = Take::Empty,
                Take::Got(()) => {}
            }
        }
        all
    }

    fn take(&self, attempt: &mut Attempt) -> Take<Self::Item> {
        if X::S::LOOKS_FIRST && self.peek(attempt.number) == Take::Empty {
            return Take::Empty;
        }
        let mut items = Vec::new();
        items.resize_with(self.parts.len(), || None);
        for part in &self.order {
            match self.parts[*part].take(attempt) {
                Take::Got(item) => items[*part] = Some(item),
                other => {
                    let is_closed = matches!(other, Take::Closed);
                    self.roll_back(&mut items, attempt);
                    if is_closed || !attempt.in_order && self.peek(attempt.number) == Take::Closed {
                        self.mark(self.is_cut());
                        attempt.leaves = true;
                        return Take::Closed;
                    }
                    return Take::Empty;
                }
            }
        }
        Take::Got(items.into_iter().flatten().collect())
    }

    fn give_back(&self, item: Self::Item, attempt: &mut Attempt) {
        let mut items: Vec<Option<X::Item>> = item.into_iter().map(Some).collect();
        self.roll_back(&mut items, attempt);
    }

    fn in_order<W: Pause<X::S>>(&self, pause: &mut W) -> Result<Option<Self::Item>, W::Error> {
        let mut items = Vec::new();
        items.resize_with(self.parts.len(), || None);
        for part in &self.order {
            match self.parts[*part].in_order(pause) {
                Ok(Some(item)) => items[*part] = Some(item),
                Ok(None) => {
                    self.roll_back(&mut items, &mut Attempt::new(true, 0));
                    self.leave(self.is_cut());
                    return Ok(None);
                }
                Err(why) => {
                    self.roll_back(&mut items, &mut Attempt::new(true, 0));
                    return Err(why);
                }
            }
        }
        Ok(Some(items.into_iter().flatten().collect()))
    }

    fn leave(&self, is_cut: bool) -> bool {
        all(&self.parts, |part| part.leave(is_cut))
    }

    fn mark(&self, is_cut: bool) {
        self.parts.iter().for_each(|part| part.mark(is_cut));
    }

    fn leave_marked(&self) -> bool {
        all(&self.parts, X::leave_marked)
    }

    fn abandon(&self) -> bool {
        all(&self.parts, X::abandon)
    }

    fn is_cut(&self) -> bool {
        self.parts.iter().any(|part| part.is_cut())
    }

    fn linked(&self) -> &Linked<X::S> {
        self.parts[0].linked()
    }
}
