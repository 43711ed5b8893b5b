//! What bodies with a stack can do, on a home core and without one.

use std::sync::Arc;

use leno_flexible::model::Value;
use leno_flexible::{CallError, Me, MigrantMe, Refusal};

use super::stackless::outside;
use super::{Handle, Interpreter, LIMIT, create, create_migratable};

type Answer = Result<Value, CallError>;

pub(super) trait Own {
    fn name(&self) -> Arc<str>;
    fn parameter(&mut self) -> Option<Value>;
    fn create(&mut self, own: &Interpreter, name: String, body: usize) -> Handle;
    fn call(&mut self, other: &Handle, parameter: Value) -> Answer;
    fn call_wait(&mut self, other: &Handle, parameter: Value) -> Answer;
    fn call_limited(&mut self, other: &Handle, parameter: Value) -> Answer;
    fn detach(&mut self, answer: Value);
    fn resume(&mut self, other: &Handle) -> Result<(), Refusal>;
    fn passivate(&mut self);
    fn yield_now(&mut self);
    /// Waits for something that happens outside.
    fn wait_outside(&mut self);
}

macro_rules! alike {
    () => {
        fn name(&self) -> Arc<str> {
            self.name()
        }

        fn parameter(&mut self) -> Option<Value> {
            self.parameter()
        }

        fn detach(&mut self, answer: Value) {
            self.detach(answer);
        }

        fn resume(&mut self, other: &Handle) -> Result<(), Refusal> {
            self.resume(other)
        }

        fn passivate(&mut self) {
            self.passivate();
        }

        fn yield_now(&mut self) {
            self.yield_now();
        }
    };
}

impl Own for Me<Value, Value> {
    alike!();

    fn create(&mut self, own: &Interpreter, name: String, body: usize) -> Handle {
        create(own, self.coroutine(name), body)
    }

    fn call(&mut self, other: &Handle, parameter: Value) -> Answer {
        other.call(parameter)
    }

    fn call_wait(&mut self, other: &Handle, parameter: Value) -> Answer {
        other.call_wait(parameter)
    }

    fn call_limited(&mut self, other: &Handle, parameter: Value) -> Answer {
        other.call_timeout(parameter, LIMIT)
    }

    fn wait_outside(&mut self) {
        leno_kernel::sleep(LIMIT);
    }
}

impl Own for MigrantMe<'_, Value, Value> {
    alike!();

    fn create(&mut self, own: &Interpreter, name: String, body: usize) -> Handle {
        create_migratable(own, self.coroutine(name), body)
    }

    fn call(&mut self, other: &Handle, parameter: Value) -> Answer {
        self.call(other, parameter)
    }

    fn call_wait(&mut self, other: &Handle, parameter: Value) -> Answer {
        self.call_wait(other, parameter)
    }

    fn call_limited(&mut self, _: &Handle, _: Value) -> Answer {
        panic!("a body without a home core has no such call")
    }

    fn wait_outside(&mut self) {
        self.wait(outside());
    }
}
