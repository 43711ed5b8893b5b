//! Sequential object monitors. (Dovland 2006, 7.1.)
//!
//! A plain object without a thought of threads; *methods*, each a coroutine, through which it is used one at
//! a time; and a *scheduler*, apart from both, that says which of those who wait is next.
//!
//! ```
//! use std::collections::VecDeque;
//! use leno_flexible::{System, synchroniser::monitor::{Monitor, Request}};
//!
//! let system = System::new();
//! // The object, and when which method may run.
//! let buffer = Monitor::with_scheduler(
//!     &system,
//!     "buffer",
//!     VecDeque::new(),
//!     |buffer: &VecDeque<u32>, waiting: &[Request]| {
//!         waiting.iter().position(|own| match own.method() {
//!             "put" => buffer.len() < 2,
//!             _ => !buffer.is_empty(),
//!         })
//!     },
//! );
//! let put = buffer.method("put", |buffer, n: u32| buffer.push_back(n));
//! let get = buffer.method("get", |buffer, ()| buffer.pop_front().expect("it was scheduled"));
//!
//! let producer = std::thread::spawn(move || (1..=4).try_for_each(|n| put.call(n)));
//! for n in 1..=4 {
//!     assert_eq!(get.call(())?, n);
//! }
//! producer.join().unwrap()?;
//! # Ok::<(), leno_flexible::CallError>(())
//! ```
//!
//! Invariants: the object is in one place: at rest, or with the method that runs. A method runs from its
//! beginning to its end before another does, even if it waits for something in between. The scheduler is
//! asked when a request comes or goes and when a method has ended; whom it has chosen runs next.

mod method;
mod object;

use core::fmt;
use std::sync::Arc;

pub use self::method::Method;
use self::object::{Core, Lifeline};
pub use self::object::{Request, Scheduler};
use super::ground::{Ground, Site};

/// An object whose methods run one at a time, in the order a scheduler decides; see the [module](self).
///
/// It is a handle: cloning it gives another one for the same object.
pub struct Monitor<T> {
    site: Site,
    name: Arc<str>,
    core: Arc<Core<T>>,
    lifeline: Arc<Lifeline<T>>,
}

impl<T: Send + 'static> Monitor<T> {
    /// An object whose requests are served in order of arrival.
    pub fn new(system: &impl Ground, name: &str, object: T) -> Monitor<T> {
        Monitor::with_scheduler(system, name, object, |_: &T, _: &[Request]| Some(0))
    }

    /// The same with a scheduler.
    pub fn with_scheduler(
        system: &impl Ground,
        name: &str,
        object: T,
        scheduler: impl Scheduler<T> + 'static,
    ) -> Monitor<T> {
        let core = Arc::new(Core::new(name.into(), object, Box::new(scheduler)));
        let lifeline = Arc::new(Lifeline::new(core.clone()));
        Monitor { site: system.site(), name: name.into(), core, lifeline }
    }

    /// Another method: a coroutine, `NAME.METHOD`, that does this with the object. The method may wait for
    /// something; nobody else has the object meanwhile.
    ///
    /// If it panics, its caller gets that, and the object stays as it is.
    pub fn method<A: Send + 'static, R: Send + 'static>(
        &self,
        name: impl Into<Arc<str>>,
        body: impl FnMut(&mut T, A) -> R + Send + 'static,
    ) -> Method<A, R> {
        let name = name.into();
        Method::new(&self.site, &self.name, name, &self.core, self.lifeline.clone(), body)
    }

    /// Changes the scheduler, for those who wait already too.
    pub fn set_scheduler(&self, scheduler: impl Scheduler<T> + 'static) {
        self.core.set_scheduler(Box::new(scheduler));
    }
}

impl<T> Clone for Monitor<T> {
    fn clone(&self) -> Self {
        Monitor {
            site: self.site.clone(),
            name: self.name.clone(),
            core: self.core.clone(),
            lifeline: self.lifeline.clone(),
        }
    }
}

impl<T> fmt::Debug for Monitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Monitor({})", self.name)
    }
}
