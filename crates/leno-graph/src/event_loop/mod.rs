//! The event loop that runs sequential non-deterministic graphs (Porsev 2023, 5.4).
//!
//! Four queues: delayed tasks by their times, tasks, microtasks, and operations that have ended, which
//! is the only one that other threads touch. Phases, again and again while anything is left to do:
//!
//! 1. Delayed tasks that are due become tasks, in the order of their times.
//! 2. The tasks that are there now are run, in order; those they add wait for the next round. After
//!    each, all microtasks are run, also those that microtasks add.
//! 3. Operations that have ended become tasks. If there are no tasks, the loop waits until a delayed
//!    task is due or an operation ends.
//!
//! Each operation that may block has a helper thread to itself. Time is the kernel's: run inside a
//! system with virtual time, the loop has virtual time.

mod ended;

use core::any::Any;
use core::cell::Cell;
use core::cmp::Reverse;
use core::time::Duration;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::thread;

use leno_context::user::{self, Panic, StateCell};
use leno_kernel::Time;

pub(crate) use ended::NodeWaker;
use ended::{Ended, Look};

use crate::fate;

/// An event loop. Clones are the same loop.
///
/// # Examples
/// ```
/// use leno_graph::EventLoop;
/// use std::{cell::RefCell, rc::Rc};
///
/// let (events, seen) = (EventLoop::new(), Rc::new(RefCell::new(String::new())));
/// let say = |word: &'static str| { let seen = seen.clone(); move || seen.borrow_mut().push_str(word) };
/// events.task(say("first "));
/// events.task(say("second "));
/// events.microtask(say("micro "));
/// events.run();
/// assert_eq!(*seen.borrow(), "micro first second ");
/// ```
#[derive(Clone)]
pub struct EventLoop {
    inner: Rc<Inner>,
}

struct Inner {
    delayed: StateCell<BinaryHeap<Reverse<Delayed>>>,
    tasks: StateCell<VecDeque<Task>>,
    microtasks: StateCell<VecDeque<Call>>,
    /// What is to be done with operations when they have ended.
    pending: StateCell<HashMap<u64, Then>>,
    ended: Arc<Ended>,
    /// Of nodes that are futures and have not ended.
    wakers: StateCell<Vec<(usize, Weak<NodeWaker>)>>,
    next: Cell<u64>,
}

type Call = Box<dyn FnOnce()>;
type Result = thread::Result<Box<dyn Any + Send>>;
type Then = Box<dyn FnOnce(Result)>;

/// What is run in its turn.
pub(crate) enum Task {
    Call(Call),
    /// A node of a graph.
    Node(usize),
}

/// By time, and of those at one time the one that was added first.
struct Delayed {
    at: Time,
    number: u64,
    task: Task,
}

impl PartialEq for Delayed {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Delayed {}
impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Delayed {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Why a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What was asked for has come true.
    Done,
    /// Nothing is left to do.
    Idle,
}

/// Drops all that is left to do, also when a closure panics.
impl Drop for Inner {
    fn drop(&mut self) {
        let delayed = self.delayed.take().into_iter();
        let tasks = self.tasks.take().into_iter();
        let microtasks = self.microtasks.take().into_iter();
        let pending = self.pending.take().into_values();
        let all = delayed.map(|delayed| Left::Task(delayed.0.task)).chain(tasks.map(Left::Task));
        let all = all.chain(microtasks.map(|call| Left::Task(Task::Call(call))));
        fate::dispose_all(all.chain(pending.map(Left::Then)));
    }
}

/// What is left of a loop that is dropped.
#[expect(dead_code, reason = "it is there to be dropped")]
enum Left {
    Task(Task),
    Then(Then),
}

impl EventLoop {
    /// A loop with nothing to do.
    pub fn new() -> EventLoop {
        EventLoop {
            inner: Rc::new(Inner {
                delayed: StateCell::default(),
                tasks: StateCell::default(),
                microtasks: StateCell::default(),
                pending: StateCell::default(),
                ended: Arc::new(Ended::new()),
                wakers: StateCell::default(),
                next: Cell::new(0),
            }),
        }
    }

    /// Adds a task.
    pub fn task(&self, task: impl FnOnce() + 'static) {
        self.inner.tasks.borrow_mut().push_back(Task::Call(Box::new(task)));
    }

    /// Adds a microtask: run before the next task.
    pub fn microtask(&self, task: impl FnOnce() + 'static) {
        self.inner.microtasks.borrow_mut().push_back(Box::new(task));
    }

    /// Adds a task that is run after so long.
    pub fn delay(&self, time: Duration, task: impl FnOnce() + 'static) {
        self.add_at(leno_kernel::layer::deadline_in(time), Task::Call(Box::new(task)));
    }

    /// Runs `operation`, which may block, on a helper thread, and then `then` as a task with what it gave.
    ///
    /// # Panics
    /// The task panics as the operation did.
    pub fn io<R: Send + 'static>(
        &self,
        operation: impl FnOnce() -> R + Send + 'static,
        then: impl FnOnce(R) + 'static,
    ) {
        self.start_io(operation, |ended| {
            then(ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload)));
        });
    }

    /// Runs until nothing is left to do: no task, no delayed one, no operation on its way.
    ///
    /// # Blocking
    /// The calling thread, or coroutine.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit while the loop waits, its stack unwinds.
    ///
    /// # Panics
    /// With the panic of a task. What is left is run by the next call.
    pub fn run(&self) {
        self.run_until(&mut || false, &mut |_| {});
    }

    pub(crate) fn start_io<R: Send + 'static>(
        &self,
        operation: impl FnOnce() -> R + Send + 'static,
        then: impl FnOnce(thread::Result<R>) + 'static,
    ) {
        let number = self.number();
        let then: Then = Box::new(move |ended| {
            then(ended.map(|any| *any.downcast::<R>().expect("what the operation gave")));
        });
        self.inner.pending.borrow_mut().insert(number, then);
        let ended = self.inner.ended.clone();
        leno_kernel::help(move || {
            let result = user::call(operation).map_err(Panic::into_payload);
            let result = result.map(|value| Box::new(value) as Box<dyn Any + Send>);
            ended.add(|queue| queue.operations.push_back((number, result)));
        });
    }

    pub(crate) fn add_node(&self, node: usize) {
        self.inner.tasks.borrow_mut().push_back(Task::Node(node));
    }

    pub(crate) fn add_node_at(&self, at: Time, node: usize) {
        self.add_at(at, Task::Node(node));
    }

    /// What wakes a node that is a future.
    pub(crate) fn waker(&self, node: usize) -> Arc<NodeWaker> {
        let waker = Arc::new(NodeWaker::new(self.inner.ended.clone(), node));
        self.inner.wakers.borrow_mut().push((node, Arc::downgrade(&waker)));
        waker
    }

    /// A node has ended: nobody waits for its wakers, whoever has kept some.
    pub(crate) fn forget_node(&self, node: usize) {
        self.inner.wakers.borrow_mut().retain(|(other, _)| *other != node);
    }

    fn number(&self) -> u64 {
        self.inner.next.replace(self.inner.next.get() + 1)
    }

    fn add_at(&self, at: Time, task: Task) {
        let number = self.number();
        self.inner.delayed.borrow_mut().push(Reverse(Delayed { at, number, task }));
    }

    /// Runs until `is_done`, which is asked after each task, or nothing is left.
    pub(crate) fn run_until(
        &self,
        is_done: &mut dyn FnMut() -> bool,
        run_node: &mut dyn FnMut(usize),
    ) -> Stop {
        self.run_microtasks();
        while !is_done() {
            self.move_due();
            let present = self.inner.tasks.borrow().len();
            for _ in 0..present {
                // A task may run the loop itself.
                let Some(task) = self.inner.tasks.borrow_mut().pop_front() else { break };
                match task {
                    Task::Call(call) => call(),
                    Task::Node(node) => run_node(node),
                }
                self.run_microtasks();
                if is_done() {
                    return Stop::Done;
                }
            }
            self.move_ended();
            if self.inner.tasks.borrow().is_empty() && !self.wait() {
                return Stop::Idle;
            }
        }
        Stop::Done
    }

    fn run_microtasks(&self) {
        loop {
            let Some(task) = self.inner.microtasks.borrow_mut().pop_front() else { return };
            task();
        }
    }

    fn move_due(&self) {
        if self.inner.delayed.borrow().is_empty() {
            return;
        }
        // A clock is user code: nothing is borrowed while it is asked.
        let now = leno_kernel::now();
        let mut delayed = self.inner.delayed.borrow_mut();
        while let Some(first) = delayed.peek_mut().filter(|first| first.0.at <= now) {
            self.inner.tasks.borrow_mut().push_back(PeekMut::pop(first).0.task);
        }
    }

    fn move_ended(&self) {
        let (operations, nodes) = {
            let mut queue = self.inner.ended.lock();
            (core::mem::take(&mut queue.operations), core::mem::take(&mut queue.nodes))
        };
        for (number, result) in operations {
            let then = self.inner.pending.borrow_mut().remove(&number);
            if let Some(then) = then {
                let task = Task::Call(Box::new(move || then(result)));
                self.inner.tasks.borrow_mut().push_back(task);
            }
        }
        self.inner.tasks.borrow_mut().extend(nodes.into_iter().map(Task::Node));
    }

    /// Waits until a delayed task is due, or another thread has added something; not if neither can be.
    fn wait(&self) -> bool {
        let due = self.inner.delayed.borrow().peek().map(|first| first.0.at);
        let has_more = due.is_some() || !self.inner.pending.borrow().is_empty();
        self.inner.ended.wait(due, |queue| {
            if !queue.operations.is_empty() || !queue.nodes.is_empty() {
                return Look::Found;
            }
            let mut nodes = self.inner.wakers.borrow_mut();
            nodes.retain(|(_, node)| node.strong_count() > 0);
            // Whoever else holds a waker of a node that waits may wake it.
            match has_more || nodes.iter().any(|(_, node)| node.strong_count() > 1) {
                true => Look::Wait,
                false => Look::InVain,
            }
        })
    }
}

impl Default for EventLoop {
    fn default() -> Self {
        EventLoop::new()
    }
}
