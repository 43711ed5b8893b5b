//! What coroutines and threads do, written down.

use super::{Configuration, Coroutine, Place, Process, Thread, Value};
use crate::State;

/// Whom an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A coroutine that the program begins with.
    Named(usize),
    /// The coroutine that the performer has created last. If it has created none, nothing happens.
    Made,
}

/// An operation. Threads may perform only create, calls, kick and prod; any other of theirs does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Makes a coroutine with this body.
    Create(usize),
    /// Calls.
    Call(Target),
    /// Calls, and waits for its turn if the other is busy; of threads the same as calling.
    CallWait(Target),
    /// Calls, and gives up at some time if there is no answer.
    CallLimited(Target),
    /// Goes back to the caller, with an answer.
    Detach,
    /// Hands over.
    Resume(Target),
    /// Lets it run some time.
    Kick(Target),
    /// Lets it run some time, or ends its next passivate.
    Prod(Target),
    /// Is idle.
    Passivate,
    /// Waits for something outside the system, which happens at some time.
    Wait,
    /// Lets others be active.
    Yield,
}

/// What a coroutine does, and its shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    /// What it does, in order.
    pub operations: Vec<Operation>,
    /// Spinning: how often it begins again at its end. A real one does so for ever; here it passivates
    /// at its end when that is used up, so that programs have finitely many states. `None`: it is not
    /// spinning, and ends.
    pub rounds: Option<u32>,
    /// Attached-only: it is active only while it has a caller.
    pub attached_only: bool,
}

impl Body {
    /// Neither spinning nor attached-only.
    pub fn new(operations: impl IntoIterator<Item = Operation>) -> Body {
        let operations = operations.into_iter().collect();
        Body { operations, rounds: None, attached_only: false }
    }

    /// The same, beginning again `rounds` times.
    pub fn spinning(mut self, rounds: u32) -> Body {
        self.rounds = Some(rounds);
        self
    }

    /// The same, active only while it has a caller.
    pub fn attached_only(mut self) -> Body {
        self.attached_only = true;
        self
    }
}

/// A program: bodies, which of them are there from the beginning, and what threads do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// The bodies.
    pub bodies: Vec<Body>,
    /// The coroutines that are there from the beginning, by their bodies.
    pub coroutines: Vec<usize>,
    /// What each thread does.
    pub threads: Vec<Vec<Operation>>,
}

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Operation(Operation),
    /// A body's end: 0.
    End,
    /// The end of a spinning body.
    Spin,
    /// A thread has nothing more to do.
    Nothing,
}

impl Program {
    /// The configuration at the beginning: all coroutines idle, all threads active.
    pub fn begin(&self) -> Configuration {
        let coroutines = self.coroutines.iter().map(|body| self.make(*body)).collect();
        let thread = |number| Thread { calls: None, place: self.place(number, 0) };
        let threads = (0..self.threads.len()).map(thread).collect();
        Configuration { coroutines, threads, queue: Vec::new() }
    }

    fn place(&self, body: usize, rounds: u32) -> Place {
        Place { body, next: 0, rounds, made: None, answer: None, has_limit: false }
    }

    /// `m⟨Q⟩⁻₋`: a fresh coroutine, idle, without caller and callee.
    pub(super) fn make(&self, body: usize) -> Coroutine {
        let Body { rounds, attached_only, .. } = self.bodies[body];
        Coroutine {
            state: State::Idle,
            caller: None,
            callee: None,
            requests: Vec::new(),
            parameter: None,
            waits_for: None,
            permit: false,
            attached_only,
            place: self.place(body, rounds.unwrap_or(0)),
        }
    }

    /// What a process does next.
    pub(super) fn next(&self, c: &Configuration, process: Process) -> Next {
        let place = c.place(process);
        match process {
            Process::Thread(number) => {
                let next = self.threads[number].get(place.next);
                next.map_or(Next::Nothing, |operation| Next::Operation(*operation))
            }
            Process::Coroutine(_) => {
                let body = &self.bodies[place.body];
                match (body.operations.get(place.next), body.rounds, place.rounds) {
                    (Some(operation), ..) => Next::Operation(*operation),
                    (None, None, _) => Next::End,
                    (None, Some(_), 0) => Next::Operation(Operation::Passivate),
                    (None, Some(_), _) => Next::Spin,
                }
            }
        }
    }

    /// The parameter of the call that is a process's operation number `at`: another for each.
    pub fn parameter(process: Process, at: usize) -> Value {
        let who = match process {
            Process::Coroutine(number) => number,
            Process::Thread(number) => 50 + number,
        };
        (1 + who * 100 + at) as Value
    }

    /// What coroutine `n` answers at its operation number `at`, if this is its parameter.
    pub fn answer(n: usize, at: usize, parameter: Option<Value>) -> Value {
        parameter.unwrap_or(0) * 100_000 + (n * 100 + at) as Value
    }
}

impl Configuration {
    /// Where a process goes on.
    pub fn place(&self, process: Process) -> &Place {
        match process {
            Process::Coroutine(number) => &self.coroutines[number].place,
            Process::Thread(number) => &self.threads[number].place,
        }
    }

    pub(super) fn place_mut(&mut self, process: Process) -> &mut Place {
        match process {
            Process::Coroutine(number) => &mut self.coroutines[number].place,
            Process::Thread(number) => &mut self.threads[number].place,
        }
    }
}
