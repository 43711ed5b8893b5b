//! Iteration across suspensions: iterators whose position can be stored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::persist::Persist;

/// What a `for` loop whose body suspends can go over.
#[diagnostic::on_unimplemented(
    message = "cannot iterate over `{Self}` across a suspension",
    label = "the position in this iterator cannot be saved",
    note = "ranges, `Vec`, `VecDeque`, `BTreeMap`, `BTreeSet`, arrays and `Option` can be; \
            `.collect::<Vec<_>>()` anything else, or wrap an iterator that is data itself in \
            `walk::Saved(it)`"
)]
pub trait IntoSaved {
    /// The iterator, which is data.
    type Iter: Iterator;

    /// Starts to go over it.
    fn into_saved(self) -> Self::Iter;
}

impl<T> IntoSaved for Range<T>
where
    Range<T>: Iterator,
{
    type Iter = Self;

    fn into_saved(self) -> Self {
        self
    }
}

/// `a..=b`; that of the standard library forgets, when it is stored, that it has ended.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct Inclusive<T> {
    next: T,
    last: T,
    ended: bool,
}

impl<T: Clone + PartialOrd> Iterator for Inclusive<T>
where
    RangeInclusive<T>: Iterator<Item = T>,
{
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.ended {
            return None;
        }
        let mut rest = self.next.clone()..=self.last.clone();
        let item = rest.next();
        self.ended = rest.is_empty();
        if !self.ended {
            (self.next, self.last) = rest.into_inner();
        }
        item
    }
}

impl<T: Clone + PartialOrd> IntoSaved for RangeInclusive<T>
where
    RangeInclusive<T>: Iterator<Item = T>,
{
    type Iter = Inclusive<T>;

    fn into_saved(self) -> Inclusive<T> {
        let ended = self.is_empty();
        let (next, last) = self.into_inner();
        Inclusive { next, last, ended }
    }
}

/// The items of a collection that are still to come.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct Items<T>(VecDeque<T>);

impl<T> Iterator for Items<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop_front()
    }
}

macro_rules! items {
    ($([$($params:tt)*] $from:ty => $item:ty;)*) => { $(
        impl<$($params)*> IntoSaved for $from {
            type Iter = Items<$item>;

            fn into_saved(self) -> Items<$item> {
                Items(self.into_iter().collect())
            }
        }
    )* };
}

items! {
    [T] VecDeque<T> => T;
    [T, const N: usize] [T; N] => T;
    [T] Option<T> => T;
    [T] BTreeSet<T> => T;
    [K, V] BTreeMap<K, V> => (K, V);
}

impl<T> IntoSaved for Vec<T> {
    type Iter = Items<T>;

    fn into_saved(self) -> Items<T> {
        Items(self.into())
    }
}

/// An iterator that is data itself.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct Saved<I>(pub I);

impl<I: Iterator> Iterator for Saved<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }
}

impl<I: Iterator + Persist> IntoSaved for Saved<I> {
    type Iter = Self;

    fn into_saved(self) -> Self {
        self
    }
}
