//! Who the members are: OS threads, coroutines of may, tasks. Each function runs all of them to
//! their end.

use std::thread;

use async_executor::LocalExecutor;
use futures_lite::future::block_on;

use super::{Asynchronous, Blocking, Member};
use crate::contender::Failure;
use crate::peers;

type Done = Result<(), Failure>;

/// Small, so that 5,000 threads are possible.
const THREAD_STACK: usize = 64 * 1024;

pub fn threads<E>(members: Vec<Member<E>>) -> Done
where
    E: Blocking<Tx: Send, Rx: Send>,
{
    let mut all = Vec::with_capacity(members.len());
    for member in members {
        let builder = thread::Builder::new().stack_size(THREAD_STACK);
        let started = builder.spawn(move || member.run());
        all.push(started.map_err(|e| Failure::stopped_at(all.len(), e))?);
    }
    all.into_iter().try_for_each(|one| one.join()).map_err(panicked)
}

/// Made from inside: the one worker runs the maker first.
pub fn may<E>(members: Vec<Member<E>>) -> Done
where
    E: Blocking<Tx: Send, Rx: Send>,
{
    peers::may_on_one_worker();
    may_workers(members)
}

/// may's coroutines go where a worker has time: nothing keeps them on two.
pub fn may_on_two<E>(members: Vec<Member<E>>) -> Done
where
    E: Blocking<Tx: Send, Rx: Send>,
{
    peers::may_on_two_workers();
    may_workers(members)
}

fn may_workers<E>(members: Vec<Member<E>>) -> Done
where
    E: Blocking<Tx: Send, Rx: Send>,
{
    let maker = may::go!(move || {
        let all: Vec<_> = members.into_iter().map(|one| may::go!(move || one.run())).collect();
        all.into_iter().try_for_each(|one| one.join())
    });
    maker.join().flatten().map_err(panicked)
}

pub fn tokio<E: Asynchronous>(members: Vec<Member<E>>) -> Done
where
    Member<E>: Send,
{
    tokio_runtime(&peers::tokio_on_this_thread()?, members)
}

/// tokio's tasks go where a worker has time: nothing keeps them on two.
pub fn tokio_on_two<E: Asynchronous>(members: Vec<Member<E>>) -> Done
where
    Member<E>: Send,
{
    tokio_runtime(&peers::tokio_on_two_workers()?, members)
}

fn tokio_runtime<E: Asynchronous>(
    runtime: &tokio::runtime::Runtime,
    members: Vec<Member<E>>,
) -> Done {
    runtime.block_on(async {
        let all: Vec<_> = members.into_iter().map(|one| tokio::spawn(E::run(one))).collect();
        for one in all {
            one.await.map_err(Failure::failed)?;
        }
        Ok(())
    })
}

pub fn async_executor<E: Asynchronous>(members: Vec<Member<E>>) -> Done {
    let executor = LocalExecutor::new();
    block_on(executor.run(async {
        let all: Vec<_> = members.into_iter().map(|one| executor.spawn(E::run(one))).collect();
        for one in all {
            one.await;
        }
    }));
    Ok(())
}

fn panicked(payload: Box<dyn std::any::Any + Send>) -> Failure {
    std::panic::resume_unwind(payload)
}
