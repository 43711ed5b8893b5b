//! The coroutine that runs the coroutines of a system, on its home core.
//!
//! Protocol, between threads and the scheduler: a thread that makes a coroutine waiting while nobody is
//! active unparks the scheduler after it has unlocked the table. The scheduler looks, and parks if there
//! is nobody; a wake-up between the two is a permit, and not lost (F67). While a coroutine is active
//! nobody wakes the scheduler: it looks by itself when that one has left. Nor while it listens, which it
//! does for a moment before it parks: it looks once more under the lock in which it stops listening.
//!
//! Its coroutines are those of its sink. One becomes ready for three reasons: the scheduler unparks it,
//! to run it at once; what it waits for outside has happened, and it stands in the queue again; or it has
//! let others run by the kernel's own yield, and stands there already. The last is not run before its turn.

use core::cell::Cell;
use core::task::{Context, Poll};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Wake as StdWake, Waker};

use leno_context::last_words;
use leno_context::stack::StackSize;
use leno_kernel::layer::user;
use leno_kernel::layer::{current_stack, listen};
use leno_kernel::{Back, Co, Options, Reason, Sink, Waiter, Wake, attach, cancel, exit, park};

use crate::call::AnyCall;
use crate::shared::{Shared, raise};
use crate::table::{Body, Ending, Id, Next, Table};

/// Wakes the scheduler for its sink.
struct Rouser(Co);

impl StdWake for Rouser {
    fn wake(self: Arc<Self>) {
        Waiter::Co(self.0).wake();
    }
}

/// If the scheduler ends by a panic, such as a policy's, nobody will be active any more: whoever waits is
/// told.
struct Guard<'a>(&'a Shared);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.operate_as_scheduler(Table::stop);
    }
}

/// A body that the kernel is to run. If the kernel drops it before, its coroutine has ended.
struct Start {
    shared: Arc<Shared>,
    id: Id,
    body: Option<Body>,
    stage: Rc<Cell<Stage>>,
}

/// Who has a body that is to start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The scheduler, which says itself if it cannot start.
    New,
    /// The kernel.
    Spawned,
    /// It runs, or has run.
    Begun,
}

impl Start {
    fn run(mut self) {
        self.stage.set(Stage::Begun);
        let body = self.body.take();
        drop(self);
        body.into_iter().for_each(|body| body());
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            if self.stage.get() == Stage::Spawned {
                cannot_start(&self.shared, self.id, NO_STACK);
            }
            user::discard(body);
        }
    }
}

/// Why a coroutine cannot start, if the kernel does not say.
const NO_STACK: &str = "there is no memory for its stack";

/// A coroutine has ended before it began. Whoever has called it is told why.
fn cannot_start(shared: &Shared, id: Id, why: &str) {
    let mut nothing = None::<fn(&dyn AnyCall)>;
    let ended = shared.operate_as_scheduler(|table| {
        let ending = match table.is_stopped() {
            true => Ending::Exited,
            false => {
                let text = format!("a flexible coroutine cannot start: {why}");
                Ending::Panicked(Box::new(text))
            }
        };
        table.end(id, ending, &mut nothing)
    });
    if let Some(exit) = shared.go_on() {
        user::failed("a destructor", exit);
    }
    let Some(failure) = ended else { return };
    if shared.hook.is_some() {
        return raise(shared.report(failure));
    }
    let (name, panic) = failure.into_parts();
    let text = panic.message().unwrap_or("not with text");
    last_words::say(format_args!("coroutine '{name}' has panicked: {text}"));
    user::failed("a flexible coroutine", panic);
}

/// Starts a coroutine and lets it run until it leaves; `None` if it cannot start.
fn first_turn(
    shared: &Arc<Shared>,
    sink: &Sink,
    id: Id,
    body: Body,
    stack_size: Option<usize>,
) -> Option<(Co, Left)> {
    let mut options = Options::new().name(shared.lock().cell(id).name.clone());
    let stage = Rc::new(Cell::new(Stage::New));
    let start = Start { shared: shared.clone(), id, body: Some(body), stage: stage.clone() };
    if let Some(bytes) = stack_size {
        if let Err(error) = StackSize::holding(bytes) {
            cannot_start(shared, id, &error.to_string());
            return None;
        }
        options = options.stack_size(bytes);
    }
    let spawned = match sink.spawn(&options, move || start.run()) {
        Ok(spawned) => spawned,
        Err(error) => {
            cannot_start(shared, id, &error.to_string());
            return None;
        }
    };
    stage.set(Stage::Spawned);
    let co = spawned.co().expect("this core has it");
    // Nobody waits for it, so what it raises is reported.
    drop(spawned);
    shared.lock().started(id, co);
    let left = turn(shared, id, co);
    if stage.get() != Stage::Begun {
        // The kernel would try again until another one of this core has ended: here they seldom do.
        cannot_start(shared, id, NO_STACK);
        cancel(co);
        return None;
    }
    Some((co, left))
}

/// Schedules until it is made to exit.
pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = Guard(shared);
    let own = current_stack().expect("a coroutine with a stack schedules");
    let sink = Sink::new();
    let waker = Waker::from(Arc::new(Rouser(own)));
    let mut context = Context::from_waker(&waker);
    shared.lock().scheduler = Some(own);
    let mut yielded = HashSet::new();
    loop {
        while let Poll::Ready(Some(co)) = sink.poll_next(&mut context) {
            if !yielded.contains(&co) {
                woken(shared, co);
            }
        }
        if shared.lock().is_ready() {
            shared.point();
        }
        match shared.schedule() {
            Next::InVain => {}
            Next::Poll { .. } | Next::Ask(_) => unreachable!("whoever has a home core has a stack"),
            Next::Run { id, co, body, stack_size } => {
                let done = match (body, co) {
                    (Some(body), _) => first_turn(shared, &sink, id, body, stack_size),
                    (None, Some(co)) => {
                        yielded.remove(&co);
                        Some((co, turn(shared, id, co)))
                    }
                    (None, None) => unreachable!("it has started, or starts now"),
                };
                if let Some((co, Left::Yielded)) = done {
                    yielded.insert(co);
                }
            }
            Next::Nobody if listens(shared) => {}
            Next::Nobody => {
                if park(Reason::Scheduling) == Wake::Exit {
                    exit();
                    return;
                }
            }
        }
    }
}

/// Looks for a moment whether somebody becomes ready, before it parks: a thread that calls again at once
/// need not wake anyone then. Whether somebody is ready.
fn listens(shared: &Shared) -> bool {
    shared.lock().is_listening = true;
    let _ = listen(|| shared.lock().is_ready());
    let mut table = shared.lock();
    table.is_listening = false;
    table.is_ready()
}

/// How a turn has ended.
#[derive(PartialEq, Eq)]
enum Left {
    /// By the kernel's own yield.
    Yielded,
    /// Otherwise.
    Else,
}

/// Lets the active coroutine run until it leaves.
fn turn(shared: &Shared, id: Id, co: Co) -> Left {
    let back = attach(co).or_else(|_| {
        Waiter::Co(co).wake();
        attach(co)
    });
    match back {
        // It has told the table itself, unless it waits for something outside.
        Ok(Back::Parked(_) | Back::Called(_)) => {
            shared.operate_as_scheduler(|table| table.left(id, false));
        }
        Ok(Back::Yielded) => {
            // Else the sink has it, and it goes on at once: its turn has ended, but what it does has not.
            if shared.operate_as_scheduler(|table| table.left(id, true)) {
                return Left::Yielded;
            }
        }
        // What has ended has said so; and one that is to exit is the core's, and will.
        Ok(_) | Err(_) => {}
    }
    Left::Else
}

/// A coroutine of the sink can run, though the scheduler has not said so.
fn woken(shared: &Shared, co: Co) {
    let came_back = shared.operate_as_scheduler(|table| {
        let id = table.of_co(co)?;
        Some(table.came_back(id))
    });
    if came_back != Some(true) {
        // Nothing has happened that it waits for: it looks, and parks again. Or code of users goes on that it has called
        // after its turn, or its body, had ended.
        let _ = attach(co);
    }
}
