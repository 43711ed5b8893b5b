//! A source as an iterator: its run goes on while a value is wanted, and stands still in between.

use core::any::Any;
use core::cell::{Cell, RefCell};
use core::fmt;
use std::panic::resume_unwind;
use std::rc::Rc;

use leno_kernel::{JoinHandle, LocalSystem, Options, Quiescence, Reason, park, unpark};

use super::Source;
use crate::bind::Bind;
use crate::scheduler::{Doing, Scheduler};
use crate::{Cx, channel};

/// What a source writes, one value at a time; made by `for value in source`.
///
/// The source runs in a run of its own, nested where `next` is called, until it has written a value or
/// nothing can run any more: then the iteration is over. In between nothing of it runs. Dropping the
/// iterator ends its fibres.
///
/// # Blocking
/// As [`run`](crate::run()): the calling thread; inside a fibre, all fibres of its run.
///
/// # Panics
/// `next`, with what a fibre of the source panics with.
///
/// # Examples
/// ```
/// use leno_fibre::chip::{function, generator};
///
/// let mut last = 0;
/// let squares = generator(move || { last += 1; last }) | function(|n: u32| n * n);
/// let few: Vec<_> = squares.into_iter().take(4).collect(); // of an endless source
/// assert_eq!(few, [1, 4, 9, 16]);
/// ```
pub struct Values<T: 'static> {
    system: Rc<LocalSystem>,
    doing: Rc<Cell<Doing>>,
    /// What the source has written last.
    slot: Rc<RefCell<Option<T>>>,
    source: Option<Source<T>>,
    taker: Option<JoinHandle<()>>,
    /// What a fibre has panicked with, after the last value was written.
    failure: Option<Box<dyn Any + Send>>,
}

impl<T: 'static> IntoIterator for Source<T> {
    type Item = T;
    type IntoIter = Values<T>;

    fn into_iter(self) -> Values<T> {
        let builder = LocalSystem::builder().name("values").at_quiescence(Quiescence::Report);
        Values {
            system: Rc::new(builder.build()),
            doing: Rc::default(),
            slot: Rc::default(),
            source: Some(self),
            taker: None,
            failure: None,
        }
    }
}

impl<T: 'static> Iterator for Values<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let system = self.system.clone();
        Scheduler::enter(&system, self.doing.clone(), |scheduler| {
            if let Some(source) = self.source.take() {
                self.taker = Some(self.start(scheduler, source));
            } else if let Some(taker) = self.taker.as_ref().and_then(JoinHandle::co) {
                unpark(taker);
            }
            let value = self.until_written();
            if value.is_none() {
                self.taker = None;
                drop(system.drain());
                if let Some(payload) = self.failure.take() {
                    resume_unwind(payload);
                }
            }
            value
        })
    }
}

impl<T: 'static> Values<T> {
    /// Spawns the fibre that takes the values, and stands still after each.
    fn start(&self, scheduler: &Rc<Scheduler>, source: Source<T>) -> JoinHandle<()> {
        let (scheduler, slot) = (scheduler.clone(), self.slot.clone());
        let takes = move || {
            let cx = Cx::enter(scheduler, None);
            let (out, inp) = channel();
            drop(source.start(&cx, out));
            let inp = inp.bind(&cx);
            loop {
                let value = inp.read(&cx);
                slot.replace(Some(value));
                let _ = park(Reason::Passive);
            }
        };
        let taker = self.system.spawn_with(&Options::new().name("values"), takes);
        taker.unwrap_or_else(|error| panic!("a source was not started: {error}"))
    }

    fn until_written(&mut self) -> Option<T> {
        loop {
            let mut report = match self.system.run() {
                Ok(report) => report,
                Err(deadlock) => *deadlock.report,
            };
            if self.failure.is_none() && !report.failures.is_empty() {
                self.failure = Some(report.failures.swap_remove(0).payload.into_payload());
            }
            let value = self.slot.borrow_mut().take();
            if value.is_some() || report.alive.is_empty() || self.system.sweep() == 0 {
                return value;
            }
        }
    }
}

impl<T: 'static> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}
