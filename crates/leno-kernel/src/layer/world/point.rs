//! Points: where the driver may run another thread first.

use super::{Step, Trouble, World, has_points, is_near};
use crate::budget;
use crate::log::Operation;
use crate::raw::entered::{self, Here, Inside};
use crate::raw::world as raw;
use crate::wait::way_out_of_world;
use crate::{Co, Object};

impl World {
    /// Stops the run if it takes too long, or if the driver says so.
    fn look(&self, thread: Co, next: Next) {
        let pending = match next {
            Next::Same => return,
            Next::Anything => None,
            Next::Operation(operation, object) => Some((operation, object)),
        };
        let trouble = self.driver.borrow_mut().about_to(thread, pending);
        let trouble = trouble.or_else(|| {
            let is_endless = self.points.get() > self.most_points;
            is_endless.then_some(Trouble::Endless { points: self.most_points })
        });
        if let Some(trouble) = trouble {
            self.fail(trouble);
            self.end();
        }
    }

    /// Lets the driver run another thread before the running one goes on.
    fn point(&self, inside: &Inside<'_>, next: Next) {
        if !inside.can_leave() {
            return;
        }
        self.points.set(self.points.get() + 1);
        if !self.is_ending.get() {
            self.look(inside.co, next);
        }
        if self.core.is_alone() && !self.is_ending.get() {
            let step = Step { co: inside.co, is_thread: true, would_go_on: true };
            self.driver.borrow_mut().pick(&[step]);
            return;
        }
        self.core.yield_now(inside);
    }
}

/// What a thread does after a point.
#[derive(Clone, Copy)]
enum Next {
    /// It goes on with what it was doing.
    Same,
    /// Something of which nothing is known.
    Anything,
    /// This.
    Operation(Operation, Object),
}

/// A point: the driver may run another thread first.
#[inline(always)]
pub fn point(operation: Operation, object: Option<Object>) {
    if has_points() {
        far_point(object.map_or(Next::Anything, |object| Next::Operation(operation, object)));
    }
}

/// The same before an operation on nothing in particular.
#[inline(always)]
pub(crate) fn plain_point() {
    if has_points() {
        far_point(Next::Anything);
    }
}

/// The same in the middle of an operation, where it waits.
#[inline(always)]
pub(crate) fn wait_point() {
    if is_near() {
        far_point(Next::Same);
    }
}

/// A point in place of some time in which the calling code does nothing but look. Whether it was one: outside a world
/// that time has to pass.
#[inline(always)]
pub(crate) fn listens() -> bool {
    if !is_near() || !super::is_here() {
        return false;
    }
    far_point(Next::Same);
    true
}

/// A point between taking one that listens out of a line and ringing its bell. It may be inside of what must not be
/// left halfway, so who is to exit goes on.
#[inline(always)]
pub(crate) fn ring_point() {
    if is_near() {
        raw::with(|world| raw::with_running(|inside| world.point(inside, Next::Same)));
    }
}

#[cold]
#[inline(never)]
fn far_point(next: Next) {
    if !matches!(next, Next::Same) {
        budget::count_operation();
    }
    if !is_near() {
        return;
    }
    let is_ending = raw::with(|world| {
        raw::with_running(|inside| world.point(inside, next));
        world.is_ending.get()
    });
    if is_ending != Some(true) {
        return;
    }
    // Whoever runs the calling code unwinds, a coroutine of a system or the thread itself; or is given up, if
    // it has caught that again and again.
    let way_out = entered::here(|here| match here {
        Here::Stack(inside) if inside.can_leave() => Some(way_out_of_world(&inside, false)),
        Here::Virtual(inside) if inside.can_leave() && inside.task.masked.get() == 0 => {
            Some(way_out_of_world(&inside, true))
        }
        _ => None,
    });
    if let Some(way_out) = way_out {
        way_out.take();
    }
}
