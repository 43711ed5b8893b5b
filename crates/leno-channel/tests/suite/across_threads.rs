//! What may go to another thread, and back: futures over shared ends, in the middle of waiting.
#![cfg(not(loom))]

use std::time::Duration;

use leno_channel::{Mutex, Select, Semaphore, WaitGroup, after, every, join, select, shared};
use leno_kernel::System;

const MS: Duration = Duration::from_millis(1);

fn is_send<T: Send>(value: T) -> T {
    value
}

#[test]
fn everything_over_shared_ends_is_send() {
    let ((tx, rx), (other, from)) = (shared::channel::<u8>(), shared::bounded::<u8>(1));
    let (mutex, permits, group) = (Mutex::shared(0), Semaphore::shared(0), WaitGroup::shared());
    let (timer, ticks) = (after(MS), every(MS));
    let select = is_send(Select::new().recv(&rx, |_| 0).send(&other, 1, |_| 1));
    let select = is_send(select.recv(&mutex, |_| 2).recv(&permits, |_| 3).recv(&group, |_| 4));
    let select = is_send(select.recv(&timer, |_| 5).recv(&ticks, |_| 6).after(MS, || 7));
    let select = is_send(select.join((&rx, &from), |_| 8).default(|| 9));
    drop(is_send(select.wait_async()));
    drop(is_send(tx.send_async(1)));
    drop(is_send(rx.recv_async()));
    drop(is_send(join((&rx, &from)).recv_async()));
    drop(is_send(mutex.lock_async()));
    drop(is_send(permits.acquire_async()));
    drop(is_send(group.wait_async()));
    drop(is_send(timer.recv_async()));
    // What the handlers give need not be: it is not there while the future waits.
    drop(is_send(Select::new().recv(&rx, |_| std::rc::Rc::new(1)).wait_async()));
}

#[test]
fn a_task_of_tokio_selects_on_any_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let ((a, from_a), (b, from_b)) = (shared::channel::<u32>(), shared::bounded::<u32>(2));
    let sum = runtime.spawn(async move {
        let ticks = every(MS);
        let (mut sum, mut left) = (0, 400);
        while left > 0 {
            let more = select! {
                async;
                recv(from_a) -> value => Some(value.unwrap()),
                recv(from_b) -> value => Some(value.unwrap()),
                recv(ticks) -> _ => None,
            };
            if let Some(value) = more.unwrap() {
                sum += value;
                left -= 1;
            }
            tokio::task::yield_now().await;
        }
        sum
    });
    let keep = [a.clone(), b.clone()];
    let senders: Vec<_> = [a, b]
        .into_iter()
        .map(|tx| {
            runtime.spawn(async move {
                for i in 0..200 {
                    tx.send_async(i).await.unwrap();
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for sender in senders {
            sender.await.unwrap();
        }
        assert_eq!(sum.await.unwrap(), 2 * (0..200).sum::<u32>());
    });
    drop(keep);
}

#[test]
fn futures_of_a_system_select_wherever_they_start() {
    let system = System::builder().cores(2).build().unwrap();
    let (tx, rx) = shared::channel::<u64>();
    let (stop, stopped) = shared::channel::<()>();
    let takers: Vec<_> = (0..4)
        .map(|_| {
            let (rx, stopped) = (rx.clone(), stopped.clone());
            system.spawn_future(async move {
                let mut sum = 0;
                loop {
                    let next = Select::new()
                        .recv(&rx, Result::ok)
                        .recv(&stopped, |_| None)
                        .after(60_000 * MS, || panic!("nobody came"))
                        .wait_async();
                    match next.await.unwrap() {
                        Some(value) => sum += value,
                        None => return sum,
                    }
                }
            })
        })
        .collect();
    let sends = system.spawn(move || (1..=500).for_each(|i| tx.send(i).unwrap()));
    sends.join().unwrap();
    drop(stop);
    let total: u64 = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
    assert_eq!(total, 500 * 501 / 2);
}

#[test]
fn a_select_that_waits_is_carried_to_another_thread() {
    let ((tx, rx), (_other, from)) = (shared::channel::<u32>(), shared::channel::<u32>());
    std::thread::scope(|scope| {
        let mut future = Box::pin(Select::new().recv(&rx, |v| v).recv(&from, |v| v).wait_async());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        let waits = scope.spawn(move || leno_kernel::block_on(future));
        tx.send(3).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(Ok(3)));
    });
}
