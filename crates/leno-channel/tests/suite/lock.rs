//! Locks: fairness, all kinds of callers, time, cancellation, selects.
#![cfg(not(loom))]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use leno_channel::{
    Condition, Flavour, LockError, Mutex, Named, Select, Semaphore, WaitGroup, Who, channel,
};
use leno_kernel::{LocalSystem, Reason, State, block_on, sleep, spawn_local, yield_now};

const MS: Duration = Duration::from_millis(1);

/// Coroutines and futures take turns, first come, first served.
fn turns<F: Flavour>(mutex: Mutex<Vec<usize>, F>) {
    let (system, mutex) = (LocalSystem::new(), Rc::new(mutex));
    for i in 0..6 {
        let mutex = mutex.clone();
        if i % 2 == 0 {
            drop(system.spawn(move || {
                let mut all = mutex.lock().unwrap();
                yield_now();
                all.push(i);
            }));
        } else {
            drop(system.spawn_future(async move {
                let mut all = mutex.lock_async().await;
                all.push(i);
            }));
        }
    }
    system.run().unwrap();
    assert_eq!(*mutex.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_mutex_is_fair() {
    turns(Mutex::local(Vec::new()));
    turns(Mutex::shared(Vec::new()));
}

#[test]
fn threads_share_a_mutex() {
    let total = Mutex::shared(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_000).for_each(|_| *total.lock().unwrap() += 1));
        }
        scope.spawn(|| {
            block_on(async {
                for _ in 0..1_000 {
                    *total.lock_async().await += 1;
                }
            })
        });
    });
    assert_eq!(total.into_inner(), 5_000);
}

#[test]
fn time_names_and_reports() {
    let system = LocalSystem::builder().virtual_time().build();
    let mutex = Rc::new(Mutex::local(()).named("door"));
    let held = mutex.lock().unwrap();
    assert_eq!(mutex.try_lock().unwrap_err().to_string(), "lock 'door' is taken");
    let (late, waits) = (mutex.clone(), mutex.clone());
    let late = system.spawn(move || late.lock_timeout(10 * MS).map(drop));
    let waits = system.spawn(move || waits.lock().map(drop));
    let deadlock = system.run().unwrap_err();
    assert!(matches!(late.join().unwrap(), Err(LockError::TimedOut(_))));
    assert!(matches!(deadlock.report.alive[0].state, State::Parked(Reason::Lock(_))));
    assert_eq!(mutex.waiting(), [Who::Co(waits.co().unwrap())]);
    drop(held);
    system.run().unwrap();
    waits.join().unwrap().unwrap();
}

#[test]
fn a_cancelled_waiter_passes_the_lock_on_and_a_holder_unlocks() {
    let system = LocalSystem::new();
    let mutex = Rc::new(Mutex::local(0));
    let spawn = |mutex: Rc<Mutex<i32>>| {
        system.spawn(move || {
            let mut value = mutex.lock().unwrap();
            yield_now();
            *value += 1;
        })
    };
    let all: Vec<_> = (0..4).map(|_| spawn(mutex.clone())).collect();
    drop(system.spawn(move || {
        all[1].cancel();
        yield_now();
        // The third has it now, or is handed it.
        all[0].cancel();
        all[2].cancel();
    }));
    let report = system.run().unwrap();
    assert!(report.exited >= 2);
    assert!(mutex.try_lock().is_ok(), "nobody holds it");
}

#[test]
fn permits_go_to_whoever_waits_longest() {
    let (system, log) = (LocalSystem::new(), Rc::new(RefCell::new(Vec::new())));
    let semaphore = Rc::new(Semaphore::local(2));
    for i in 0..5 {
        let (semaphore, log) = (semaphore.clone(), log.clone());
        drop(system.spawn(move || {
            let _permit = semaphore.acquire().unwrap();
            assert!(semaphore.available() <= 1);
            log.borrow_mut().push(i);
            yield_now();
        }));
    }
    system.run().unwrap();
    assert_eq!((log.take(), semaphore.available()), (vec![0, 1, 2, 3, 4], 2));
    assert!(semaphore.acquire_timeout(MS).is_ok());
    semaphore.acquire().unwrap().forget();
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn shared_semaphores_and_futures_of_tokio() {
    let semaphore = Arc::new(Semaphore::shared(0));
    let released = semaphore.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(10 * MS);
        released.release(3);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let other = tokio::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire_async().await.forget() }
        });
        semaphore.acquire_async().await.forget();
        other.await.unwrap();
    });
    semaphore.acquire().unwrap().forget();
    thread.join().unwrap();
    assert!(matches!(semaphore.acquire_timeout(MS), Err(LockError::TimedOut(_))));
}

#[test]
fn a_condition_wakes_in_order_and_notifications_pass_on() {
    let (system, log) =
        (LocalSystem::builder().virtual_time().build(), Rc::new(RefCell::new(vec![])));
    let both = Rc::new((Mutex::local(()), Condition::local()));
    let spawn = |i: u32| {
        let (both, log) = (both.clone(), log.clone());
        let body = move || {
            let guard = both.0.lock().unwrap();
            drop(both.1.wait(guard).unwrap());
            log.borrow_mut().push(i);
        };
        system.spawn(body)
    };
    let all: Vec<_> = (0..3).map(spawn).collect();
    let (notifies, log_too) = (both.clone(), log.clone());
    drop(system.spawn(move || {
        notifies.1.notify_one();
        all[0].cancel();
        yield_now();
        yield_now();
        assert_eq!(*log_too.borrow(), [1], "the first one's notification went to the second");
        notifies.1.notify_all();
        notifies.1.notify_one();
    }));
    let waits = both.clone();
    let times_out = system.spawn(move || {
        sleep(10 * MS);
        let guard = waits.0.lock().unwrap();
        waits.1.wait_timeout(guard, 10 * MS).unwrap().1
    });
    system.run().unwrap();
    assert_eq!(log.take(), [1, 2]);
    assert!(times_out.join().unwrap());
    assert!(both.0.try_lock().is_ok());
}

#[test]
fn futures_and_threads_wait_for_a_condition() {
    let both = Arc::new((Mutex::shared(0), Condition::shared()));
    let waits = both.clone();
    let thread = std::thread::spawn(move || {
        let value = waits.0.lock().unwrap();
        *waits.1.wait_while(value, |value| *value < 2).unwrap()
    });
    let raises = both.clone();
    let system = LocalSystem::new();
    let future = system.spawn_future(async move {
        let mut value = raises.0.lock_async().await;
        while *value < 1 {
            value = raises.1.wait_async(value).await;
        }
        *value = 2;
        raises.1.notify_all();
    });
    let first = both.clone();
    drop(system.spawn(move || {
        *first.0.lock().unwrap() = 1;
        first.1.notify_all();
    }));
    system.run().unwrap();
    future.join().unwrap();
    assert_eq!(thread.join().unwrap(), 2);
}

#[test]
fn a_wait_group_waits_for_all() {
    let system = LocalSystem::builder().virtual_time().build();
    let waits = system.spawn(|| {
        let group = WaitGroup::local();
        group.wait().unwrap();
        for i in 1..4 {
            let worker = group.worker();
            drop(spawn_local(move || {
                sleep(i * MS);
                drop(worker);
            }));
        }
        let early = group.wait_timeout(2 * MS + MS / 2).is_err();
        (early, group.workers(), group.wait().is_ok(), leno_kernel::now().as_nanos())
    });
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), (true, 1, true, 3_000_000));
    let group = WaitGroup::shared();
    let worker = group.worker();
    let thread = std::thread::spawn(move || drop(worker.clone()));
    block_on(group.wait_async());
    thread.join().unwrap();
}

#[test]
fn locks_are_alternatives() {
    let system = LocalSystem::new();
    let (mutex, semaphore) = (Rc::new(Mutex::local(7)), Rc::new(Semaphore::local(0)));
    let held = mutex.clone();
    let (_tx, rx) = channel::<i32>();
    let permits = semaphore.clone();
    let waits = system.spawn(move || {
        let group = WaitGroup::local();
        let _worker = group.worker();
        Select::new()
            .recv(&*mutex, |guard| *guard.unwrap())
            .recv(&*permits, |_| 1)
            .recv(&group, |_| 2)
            .recv(&rx, |v| v.unwrap())
            .wait()
    });
    drop(system.spawn(move || {
        let guard = held.lock();
        drop(guard);
    }));
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), Ok(7));
    assert_eq!(semaphore.waiting(), []);
}
