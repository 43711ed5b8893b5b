//! A policy that asks the driver of its world.

use core::cell::RefCell;
use std::rc::Rc;

use super::Trouble;
use crate::log::Operation;
use crate::policy::{Choice, Policy, Ready, Why};
use crate::{Co, Object};

/// Makes all choices of a world. It is borrowed while it is called, so it must not come to a point itself.
pub trait Driver {
    /// Which of these runs next; there may be only one. The first is whoever would go on, if it can,
    /// and then whoever has been ready longest.
    fn pick(&mut self, among: &[Step]) -> usize;

    /// Any other choice.
    fn choose(&mut self, choice: &Choice<'_>) -> usize;

    /// The running thread is about to do this, or something of which nothing is known. Why the run
    /// must stop, if it must.
    fn about_to(&mut self, thread: Co, pending: Option<(Operation, Object)>) -> Option<Trouble>;
}

/// One that could run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Which one.
    pub co: Co,
    /// Whether it is a thread of the world, or a coroutine of a system.
    pub is_thread: bool,
    /// Whether it would go on if nobody asked: it has only come to a point.
    pub would_go_on: bool,
}

/// Those among whom a driver picks. A core changes the list itself: that is not user code.
#[derive(Clone)]
pub(crate) struct Steps {
    ready: Rc<RefCell<Vec<Step>>>,
    is_of_world: bool,
}

impl Steps {
    /// Adds a coroutine that can run.
    pub(crate) fn add(&self, co: Co, why: Why) {
        let would_go_on = why == Why::Yielded && self.is_of_world;
        let step = Step { co, is_thread: self.is_of_world, would_go_on };
        let mut ready = self.ready.borrow_mut();
        if would_go_on {
            ready.insert(0, step);
        } else {
            ready.push(step);
        }
    }

    /// Takes a coroutine out, if it is in.
    pub(crate) fn remove(&self, co: Co) {
        self.ready.borrow_mut().retain(|step| step.co != co);
    }
}

/// See the module.
pub(crate) struct Driven {
    driver: Rc<RefCell<dyn Driver>>,
    steps: Steps,
    /// A copy of the list for the driver, which may make coroutines ready; its memory is kept.
    among: Vec<Step>,
}

impl Driven {
    pub(crate) fn new(driver: Rc<RefCell<dyn Driver>>, is_of_world: bool) -> Driven {
        let steps = Steps { ready: Rc::default(), is_of_world };
        Driven { driver, steps, among: Vec::new() }
    }

    /// Returns the list of those that can run.
    pub(crate) fn steps(&self) -> Steps {
        self.steps.clone()
    }
}

impl Policy for Driven {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.steps.add(ready.co, ready.why);
    }

    fn pick(&mut self) -> Option<Co> {
        self.among.clone_from(&self.steps.ready.borrow());
        if self.among.is_empty() {
            return None;
        }
        let took = self.driver.borrow_mut().pick(&self.among);
        let co = self.among[took].co;
        self.steps.remove(co);
        Some(co)
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.driver.borrow_mut().choose(choice)
    }

    fn forget(&mut self, co: Co) {
        self.steps.remove(co);
    }

    fn name(&self) -> &str {
        "the driver of a world"
    }
}
