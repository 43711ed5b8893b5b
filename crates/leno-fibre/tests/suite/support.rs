//! What several tests use.
#![allow(dead_code, reason = "some builds leave out the tests that use it")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use leno_explore::{Explorer, Summary};

/// A list that several fibres append to.
#[derive(Clone, Default)]
pub(crate) struct Notes(Rc<RefCell<Vec<String>>>);

impl Notes {
    pub(crate) fn say(&self, word: impl ToString) {
        self.0.borrow_mut().push(word.to_string());
    }

    pub(crate) fn all(&self) -> String {
        self.0.borrow().join(" ")
    }
}

/// Counts how often it is dropped.
pub(crate) struct Count(pub(crate) Rc<Cell<u32>>);

impl Drop for Count {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// Everything that `program` can come to, over all schedules.
#[track_caller]
pub(crate) fn outcomes<T: Ord + Debug + Send + 'static>(
    program: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let (seen, summary) = explored(Explorer::new().exhaustive(), program);
    assert!(summary.is_complete(), "{summary}");
    seen
}

/// What `program` comes to in the runs of an exploration.
#[track_caller]
pub(crate) fn explored<T: Ord + Debug + Send + 'static>(
    explorer: Explorer,
    program: impl Fn() -> T + Send + Sync + 'static,
) -> (BTreeSet<T>, Summary) {
    let seen: Arc<Mutex<BTreeSet<T>>> = Arc::default();
    let all = seen.clone();
    let summary = explorer.run(move || {
        let outcome = program();
        all.lock().unwrap().insert(outcome);
    });
    let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
    (std::mem::take(&mut *seen.lock().unwrap()), summary)
}

/// Numbers that look drawn by lot.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}
