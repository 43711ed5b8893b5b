//! The object of a monitor, and who is next.
//!
//! Protocol, between the methods' desks and those who come and go: everything but the scheduler's code is
//! under one lock. Whoever changes what the scheduler looks at (a request comes, goes, or has been served;
//! another scheduler) asks it, if nobody is chosen and the object is at rest, and prods the desk of whom it
//! chose after the lock. Only the one chosen takes the object; when it gives it back, or is found to be gone,
//! nobody is chosen and the scheduler is asked again.
//!
//! While the scheduler is asked, it and the object are out of the lock, with whoever asks: others who change
//! something leave it to that one to ask again (`is_stale`), with what is there then.

use std::sync::{Arc, Mutex};

use leno_kernel::layer::user::{self, Locked, lock};

/// A request that waits, as a [`Scheduler`] sees it: the oldest of its method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    method: Arc<str>,
    number: u64,
    desk: usize,
}

impl Request {
    /// Which method is asked for.
    pub fn method(&self) -> &str {
        &self.method
    }
}

/// Decides which request is served next. Any closure of the right type is one.
///
/// It is asked by whoever comes or goes, and must not wait: the others would. If it panics, the monitor is
/// broken: whoever calls gets an error that says so, until there is another scheduler.
pub trait Scheduler<T>: Send {
    /// Which of them, from 0, or none yet. They are in order of arrival, the oldest of each method, and at
    /// least one.
    fn pick(&mut self, object: &T, waiting: &[Request]) -> Option<usize>;
}

impl<T, F: FnMut(&T, &[Request]) -> Option<usize> + Send> Scheduler<T> for F {
    fn pick(&mut self, object: &T, waiting: &[Request]) -> Option<usize> {
        self(object, waiting)
    }
}

/// Has a desk look again; or, at the end, end.
type Rouse = Arc<dyn Fn(bool) + Send + Sync>;

/// See the module.
pub(crate) struct Core<T> {
    name: Arc<str>,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    /// Not there while a method has it, or the scheduler looks at it.
    object: Option<T>,
    /// Not there while it is asked.
    scheduler: Option<Box<dyn Scheduler<T>>>,
    /// What it looks at has changed since it was asked.
    is_stale: bool,
    methods: Vec<(Arc<str>, Rouse)>,
    /// The oldest of each method that waits, in order of arrival.
    waiting: Vec<Request>,
    /// The desk of whom the scheduler chose.
    chosen: Option<usize>,
    next: u64,
    /// What the scheduler has panicked with.
    broken: Option<String>,
    is_over: bool,
}

/// What a desk gets that claims the object.
pub(super) enum Claimed<'a, T> {
    Now(Turn<'a, T>),
    Later,
    Broken(String),
}

/// The object, until it is given back.
pub(super) struct Turn<'a, T> {
    core: &'a Core<T>,
    object: Option<T>,
}

impl<T> Turn<'_, T> {
    pub(super) fn object(&mut self) -> &mut T {
        self.object.as_mut().expect("it is given back at the end")
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let object = self.object.take();
        self.core.change(|inner| {
            inner.object = object;
            inner.chosen = None;
        });
    }
}

impl<T> Core<T> {
    pub(super) fn new(name: Arc<str>, object: T, scheduler: Box<dyn Scheduler<T>>) -> Core<T> {
        let (methods, waiting) = (Vec::new(), Vec::new());
        let object = Some(object);
        let (chosen, broken, is_over) = (None, None, false);
        let (scheduler, is_stale) = (Some(scheduler), false);
        let inner = Inner {
            object,
            scheduler,
            is_stale,
            methods,
            waiting,
            chosen,
            next: 0,
            broken,
            is_over,
        };
        Core { name, inner: Mutex::new(inner) }
    }

    #[track_caller]
    fn lock(&self) -> Locked<'_, Inner<T>> {
        lock(&self.inner)
    }

    /// Adds a method; its desk.
    pub(super) fn add(&self, name: Arc<str>) -> usize {
        let mut inner = self.lock();
        inner.methods.push((name, Arc::new(|_| {})));
        inner.methods.len() - 1
    }

    pub(super) fn set_rouse(&self, desk: usize, rouse: Rouse) {
        let before = core::mem::replace(&mut self.lock().methods[desk].1, rouse);
        drop(before);
    }

    pub(super) fn number(&self) -> u64 {
        let mut inner = self.lock();
        inner.next += 1;
        inner.next
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    pub(super) fn set_scheduler(&self, scheduler: Box<dyn Scheduler<T>>) {
        let mut inner = self.lock();
        // If the other one is asked just now, it is dropped when it comes back.
        let before = inner.scheduler.replace(scheduler);
        inner.broken = None;
        inner.is_stale = true;
        drop(inner);
        user::discard(before);
        self.elect();
    }

    /// Changes something, and asks the scheduler.
    fn change(&self, change: impl FnOnce(&mut Inner<T>)) {
        let mut inner = self.lock();
        change(&mut inner);
        inner.is_stale = true;
        drop(inner);
        self.elect();
    }

    /// Asks the scheduler, if that is due and nobody else does, and tells whom it chose.
    fn elect(&self) {
        loop {
            let mut inner = self.lock();
            let Some(mut question) = inner.question() else { return };
            drop(inner);
            let len = question.waiting.len();
            let picked =
                user::call(|| question.scheduler.pick(&question.object, &question.waiting));
            let mut inner = self.lock();
            let Question { object, scheduler, waiting } = question;
            // A method has it only if it was chosen, and nobody was.
            inner.object = Some(object);
            let replaced = match inner.scheduler {
                None => {
                    inner.scheduler = Some(scheduler);
                    None
                }
                Some(_) => Some(scheduler),
            };
            let is_stale = inner.is_stale || replaced.is_some();
            let name = &self.name;
            let rouse = match &picked {
                // It has looked at what is no longer so.
                _ if is_stale => Vec::new(),
                Ok(None) => Vec::new(),
                Ok(Some(place)) if *place < len => {
                    let desk = waiting[*place].desk;
                    inner.chosen = Some(desk);
                    // Not there at the end.
                    inner.methods.get(desk).map(|own| own.1.clone()).into_iter().collect()
                }
                Ok(Some(place)) => inner.breaks(format!(
                    "the scheduler of monitor '{name}' picked number {place} of {len}"
                )),
                Err(_) => inner.breaks(format!("the scheduler of monitor '{name}' has panicked")),
            };
            drop(inner);
            user::discard(replaced);
            let exit = picked.err().filter(user::is_exit);
            rouse.iter().for_each(|rouse| rouse(false));
            if let Some(exit) = exit
                && !std::thread::panicking()
            {
                exit.resume();
            }
            if !is_stale {
                return;
            }
        }
    }

    /// A request is at the head of its desk, and wants the object.
    pub(super) fn claim(&self, desk: usize, number: u64) -> Claimed<'_, T> {
        let mut inner = self.lock();
        let is_there = inner.waiting.iter().any(|own| own.desk == desk && own.number == number);
        let method = inner.methods.get(desk).map(|own| own.0.clone());
        // Nobody can call any more at the end, so its client is gone.
        if let Some(method) = method.filter(|_| !is_there) {
            inner.waiting.retain(|own| own.desk != desk);
            let place = inner.waiting.partition_point(|own| own.number < number);
            inner.waiting.insert(place, Request { method, number, desk });
            inner.is_stale = true;
        }
        drop(inner);
        self.elect();
        let mut inner = self.lock();
        let broken = inner.broken.clone();
        // While the scheduler is asked the object is elsewhere; nobody is chosen then.
        let is_chosen = inner.chosen == Some(desk) && broken.is_none();
        if is_chosen || broken.is_some() {
            inner.waiting.retain(|own| own.desk != desk);
        }
        let object = if is_chosen { inner.object.take() } else { None };
        drop(inner);
        match (broken, object) {
            (Some(text), _) => Claimed::Broken(text),
            (None, Some(object)) => Claimed::Now(Turn { core: self, object: Some(object) }),
            (None, None) => Claimed::Later,
        }
    }

    /// A request has been withdrawn.
    pub(super) fn withdraw(&self, desk: usize, number: u64) {
        self.change(|inner| {
            let before = inner.waiting.len();
            inner.waiting.retain(|own| own.desk != desk || own.number != number);
            let has_left = inner.waiting.len() < before;
            // If its method has the object already, that is given back as always.
            if has_left && inner.chosen == Some(desk) && inner.object.is_some() {
                inner.chosen = None;
            }
        });
    }

    /// Nobody can call any more.
    fn end(&self) {
        let mut inner = self.lock();
        inner.is_over = true;
        let methods = core::mem::take(&mut inner.methods);
        drop(inner);
        methods.iter().for_each(|(_, rouse)| rouse(true));
    }
}

/// What a scheduler is asked.
struct Question<T> {
    object: T,
    scheduler: Box<dyn Scheduler<T>>,
    waiting: Vec<Request>,
}

impl<T> Inner<T> {
    /// What the scheduler is to be asked, if that is due. Whoever gets it brings it back.
    fn question(&mut self) -> Option<Question<T>> {
        let is_due = self.broken.is_none() && self.chosen.is_none() && !self.waiting.is_empty();
        if !is_due || self.object.is_none() || self.scheduler.is_none() {
            return None;
        }
        self.is_stale = false;
        let (object, scheduler) = (self.object.take()?, self.scheduler.take()?);
        Some(Question { object, scheduler, waiting: self.waiting.clone() })
    }

    /// Nobody is served any more; all who wait are to be told.
    fn breaks(&mut self, text: String) -> Vec<Rouse> {
        self.broken = Some(text);
        let rouse = |own: &Request| self.methods.get(own.desk).map(|method| method.1.clone());
        self.waiting.iter().filter_map(rouse).collect()
    }
}

/// Held by whoever can call.
pub(crate) struct Lifeline<T> {
    core: Arc<Core<T>>,
}

impl<T> Lifeline<T> {
    pub(super) fn new(core: Arc<Core<T>>) -> Lifeline<T> {
        Lifeline { core }
    }
}

impl<T> Drop for Lifeline<T> {
    fn drop(&mut self) {
        self.core.end();
    }
}
