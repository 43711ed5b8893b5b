//! leno beside another executor: its futures inside coroutines, coroutines inside its tasks.
#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use leno::kernel::io::{Descriptor, Interest};
use leno::kernel::{self, LocalSystem, System, block_on};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

fn tokio() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

#[test]
fn a_coroutine_waits_for_another_executors_future() {
    let tokio = tokio();
    let (send, receive) = oneshot::channel();
    tokio.spawn(async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        send.send(42).unwrap();
    });
    let system = LocalSystem::new();
    let answer = system.spawn(move || block_on(receive).unwrap());
    let other = system.spawn(|| kernel::current().is_some());
    system.run().unwrap();
    assert_eq!((answer.join().unwrap(), other.join().unwrap()), (42, true));
}

#[test]
fn its_timers_work_where_its_context_is_entered() {
    let tokio = tokio();
    let handle = tokio.handle().clone();
    let system = System::new(2).unwrap();
    let slept = system.spawn(move || {
        let _entered = handle.enter();
        block_on(tokio::time::sleep(Duration::from_millis(5)));
        true
    });
    assert!(slept.join().unwrap());
}

#[test]
fn a_task_awaits_coroutines() {
    let tokio = tokio();
    let system = System::new(2).unwrap();
    let parts: Vec<_> = (0..100u64)
        .map(|n| {
            system.spawn(move || {
                kernel::yield_now();
                n
            })
        })
        .collect();
    let sum = tokio.block_on(async move {
        let mut sum = 0;
        for part in parts {
            sum += tokio::spawn(part).await.unwrap().unwrap();
        }
        sum
    });
    assert_eq!(sum, 4950);
}

#[test]
fn a_task_wakes_coroutines_and_threads_join_them() {
    let tokio = tokio();
    let system = System::new(1).unwrap();
    let (send, mut receive) = mpsc::unbounded_channel();
    let consumer = system.spawn(move || {
        let mut sum = 0;
        while let Some(n) = block_on(receive.recv()) {
            sum += n;
        }
        sum
    });
    for n in 0..10u64 {
        let send = send.clone();
        tokio.spawn(async move { send.send(n).unwrap() });
    }
    drop(send);
    assert_eq!(consumer.join().unwrap(), 45);
}

#[test]
fn a_system_runs_inside_a_blocking_task() {
    let tokio = tokio();
    let total = tokio.block_on(async {
        let run = || {
            let system = LocalSystem::new();
            let total = system.spawn(|| (1..=4).inspect(|_| kernel::yield_now()).sum::<u32>());
            system.run().unwrap();
            total.join().unwrap()
        };
        tokio::task::spawn_blocking(run).await.unwrap()
    });
    assert_eq!(total, 10);
}

#[test]
fn a_task_and_a_coroutine_talk_over_a_socket() {
    let (near, far) = UnixStream::pair().unwrap();
    let (near, far) = (Descriptor::new(near).unwrap(), Descriptor::new(far).unwrap());
    let system = LocalSystem::new();
    let echoed = system.spawn(move || {
        let mut count = 0;
        loop {
            let mut byte = [0];
            if near.io(Interest::READ, |mut stream| stream.read(&mut byte)).unwrap() == 0 {
                return count;
            }
            near.io(Interest::WRITE, |mut stream| stream.write(&byte)).unwrap();
            count += 1;
        }
    });
    let tokio = tokio();
    // Its own reactor is not enabled: leno's helper watches.
    let asks = tokio.spawn(async move {
        let mut byte = [0];
        for n in 0..100 {
            far.io_async(Interest::WRITE, |mut stream| stream.write(&[n])).await.unwrap();
            far.io_async(Interest::READ, |mut stream| stream.read(&mut byte)).await.unwrap();
            assert_eq!(byte[0], n);
        }
    });
    system.run().unwrap();
    tokio.block_on(asks).unwrap();
    assert_eq!(echoed.join().unwrap(), 100);
}
