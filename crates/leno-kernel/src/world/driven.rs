//! A policy that asks the driver of its world.

use core::cell::RefCell;
use std::rc::Rc;

use super::Trouble;
use crate::log::Operation;
use crate::policy::{Choice, Policy, Ready, Why};
use crate::{Co, Object};

/// Makes all choices of a world.
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

/// See the module.
pub(crate) struct Driven {
    driver: Rc<RefCell<dyn Driver>>,
    ready: Vec<Step>,
    is_of_world: bool,
}

impl Driven {
    pub(crate) fn new(driver: Rc<RefCell<dyn Driver>>, is_of_world: bool) -> Driven {
        Driven { driver, ready: Vec::new(), is_of_world }
    }
}

impl Policy for Driven {
    fn ready(&mut self, ready: &Ready<'_>) {
        let would_go_on = ready.why == Why::Yielded && self.is_of_world;
        let step = Step { co: ready.co, is_thread: self.is_of_world, would_go_on };
        if would_go_on {
            self.ready.insert(0, step);
        } else {
            self.ready.push(step);
        }
    }

    fn pick(&mut self) -> Option<Co> {
        if self.ready.is_empty() {
            return None;
        }
        let took = self.driver.borrow_mut().pick(&self.ready);
        Some(self.ready.remove(took).co)
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.driver.borrow_mut().choose(choice)
    }

    fn forget(&mut self, co: Co) {
        self.ready.retain(|step| step.co != co);
    }

    fn name(&self) -> &str {
        "the driver of a world"
    }
}
