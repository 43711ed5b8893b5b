//! The same bodies without stacks.

use std::sync::{Arc, Mutex};

use leno_flexible::model::{Body, Operation, Process, Program, Value};
use leno_flexible::{AsyncBuilder, AsyncMe, spinning_async};

use super::{Handle, Interpreter};

/// The coroutine that a body has created last.
type Made = Arc<Mutex<Option<Handle>>>;

/// Makes a coroutine of this body.
pub(super) fn create(own: &Interpreter, builder: AsyncBuilder, body: usize) -> Handle {
    let Body { operations, rounds, attached_only } = own.program.bodies[body].clone();
    let builder = if attached_only { builder.attached_only() } else { builder };
    let own = own.clone();
    let mut left = rounds.unwrap_or(0);
    let made = Made::default();
    let round = move |me: AsyncMe<Value, Value>| {
        let has_ended = rounds.is_some() && left == 0;
        left = left.saturating_sub(1);
        one_round(own.clone(), me, operations.clone(), made.clone(), has_ended)
    };
    match rounds {
        Some(_) => builder.create(spinning_async(round)),
        None => builder.create(round),
    }
}

async fn one_round(
    own: Interpreter,
    mut me: AsyncMe<Value, Value>,
    operations: Vec<Operation>,
    made: Made,
    has_ended: bool,
) {
    let n = own.mirror.lock().unwrap().names[&me.name()];
    for (at, operation) in operations.iter().enumerate() {
        perform(&own, &mut me, n, at, *operation, &made).await;
    }
    // A spinning one that may not begin again stays at its end.
    if has_ended {
        loop {
            me.passivate().await;
        }
    }
}

async fn perform(
    own: &Interpreter,
    me: &mut AsyncMe<Value, Value>,
    n: usize,
    at: usize,
    operation: Operation,
    made: &Made,
) {
    let process = Process::Coroutine(n);
    let target = |target| own.target(target, &made.lock().unwrap());
    match operation {
        Operation::Create(body) => {
            let name = format!("{}.{}", me.name(), own.fresh());
            let handle = create(own, me.coroutine(name), body);
            *made.lock().unwrap() = Some(handle);
        }
        Operation::Call(callee) => {
            let call = target(callee).call_async(Program::parameter(process, at));
            let answer = call.await;
            own.compare_answers(process, &answer);
        }
        Operation::CallWait(callee) => {
            let call = target(callee).call_wait_async(Program::parameter(process, at));
            let answer = call.await;
            own.compare_answers(process, &answer);
        }
        Operation::CallLimited(_) => panic!("a body without a home core has no such call"),
        Operation::Detach => {
            let parameter = me.parameter();
            me.detach(Program::answer(n, at, parameter)).await;
        }
        Operation::Resume(other) => {
            let other = target(other);
            drop(me.resume(&other).await);
        }
        Operation::Kick(other) => drop(target(other).kick()),
        Operation::Prod(other) => drop(target(other).prod()),
        Operation::Wait => outside().await,
        Operation::Passivate => me.passivate().await,
        Operation::Yield => me.yield_now().await,
    }
}

/// Something that happens outside, by a thread of its own.
pub(super) async fn outside() {
    let mut has_begun = false;
    std::future::poll_fn(move |context| {
        if core::mem::replace(&mut has_begun, true) {
            return std::task::Poll::Ready(());
        }
        let waker = context.waker().clone();
        drop(leno_explore::thread::spawn("outside", move || waker.wake()));
        std::task::Poll::Pending
    })
    .await;
}
