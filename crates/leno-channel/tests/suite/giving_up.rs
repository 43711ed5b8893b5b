//! Giving up a wait at a lock: by time, by exit, by dropping a future; as coroutine, future or thread.
//! Nothing is lost: what was meant for whoever gave up goes to the next, and comes back in the end.
#![cfg(not(loom))]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use leno_channel::{
    Condition, Flavour, LockError, Mutex, Select, Semaphore, Shared, WaitGroup, Who,
};
use leno_kernel::{
    JoinHandle, LocalSystem, System, block_on, cancel, sleep, spawn_local, yield_now,
};

const MS: Duration = Duration::from_millis(1);

/// A lock as these tests see it: had, waited for in every way, given back.
trait Lock: 'static {
    /// Waits; for at most so long.
    fn have(&self, limit: Option<Duration>) -> Result<(), LockError>;
    fn have_async(&self) -> impl Future<Output = ()>;
    /// Waits in a select, which has a time limit of its own; whether it had it.
    fn select(&self, limit: Duration) -> bool;
    /// Lets one that waits have it.
    fn give(&self);
    /// How often it could be had now.
    fn left(&self) -> usize;
    fn waiting(&self) -> Vec<Who>;
}

impl<F: Flavour> Lock for Semaphore<F> {
    fn have(&self, limit: Option<Duration>) -> Result<(), LockError> {
        let permit = match limit {
            None => self.acquire()?,
            Some(limit) => self.acquire_timeout(limit)?,
        };
        permit.forget();
        Ok(())
    }

    async fn have_async(&self) {
        self.acquire_async().await.forget();
    }

    fn select(&self, limit: Duration) -> bool {
        let select = Select::new().recv(self, |permit| permit.map(|p| p.forget()).is_ok());
        select.after(limit, || false).wait().unwrap()
    }

    fn give(&self) {
        self.release(1);
    }

    fn left(&self) -> usize {
        self.available()
    }

    fn waiting(&self) -> Vec<Who> {
        Semaphore::waiting(self)
    }
}

/// Everyone gives up in every way a coroutine or future can; then one that waits has it.
fn all_give_up(lock: impl Lock) {
    let system = LocalSystem::builder().virtual_time().build();
    let lock = Rc::new(lock);
    let times_out = lock.clone();
    let timed = system.spawn(move || {
        assert!(matches!(times_out.have(Some(5 * MS)), Err(LockError::TimedOut(_))));
        assert!(!times_out.select(5 * MS));
    });
    let (parks, polls, selects) = (lock.clone(), lock.clone(), lock.clone());
    let cancelled: Vec<JoinHandle<()>> = vec![
        system.spawn(move || parks.have(None).unwrap()),
        system.spawn_future(async move { polls.have_async().await }),
        system.spawn(move || assert!(!selects.select(1_000 * MS))),
    ];
    let last = lock.clone();
    let last = system.spawn(move || {
        sleep(MS);
        last.have(None).unwrap();
    });
    let gives = lock.clone();
    drop(system.spawn(move || {
        sleep(20 * MS);
        assert_eq!(gives.waiting().len(), 4, "one has timed out");
        // The first in line is handed it, and exits before it runs.
        gives.give();
        for handle in &cancelled {
            handle.cancel();
        }
        yield_now();
        assert_eq!(gives.waiting(), []);
    }));
    let report = system.run().unwrap();
    assert_eq!(report.exited, 3);
    timed.join().unwrap();
    last.join().unwrap();
    assert_eq!(lock.left(), 0);
    lock.give();
    lock.give();
    assert_eq!(lock.left(), 2, "nothing was lost, nothing came from nowhere");
}

#[test]
fn permits_of_those_who_give_up_go_on() {
    all_give_up(Semaphore::local(0));
    all_give_up(Semaphore::shared(0));
}

/// The same for a mutex, whose value must not get lost.
fn doors<F: Flavour>(mutex: Mutex<u32, F>) {
    let system = LocalSystem::builder().virtual_time().build();
    let mutex = Rc::new(mutex);
    let held = mutex.clone();
    let (parks, polls, late, last) = (mutex.clone(), mutex.clone(), mutex.clone(), mutex.clone());
    drop(system.spawn(move || {
        let guard = held.lock().unwrap();
        let cancelled = [
            spawn_local(move || *parks.lock().unwrap() += 10),
            leno_kernel::spawn_local_future(async move { *polls.lock_async().await += 10 }),
        ];
        let late = spawn_local(move || late.lock_timeout(5 * MS).is_err());
        sleep(10 * MS);
        assert!(late.join().unwrap());
        let last = spawn_local(move || *last.lock().unwrap() += 1);
        yield_now();
        assert_eq!(held.waiting().len(), 3);
        drop(guard);
        cancelled.iter().for_each(JoinHandle::cancel);
        last.join().unwrap();
    }));
    assert_eq!(system.run().unwrap().exited, 2);
    let left = *mutex.try_lock().unwrap();
    assert_eq!(left, 1);
}

#[test]
fn a_mutex_goes_on_to_whoever_stays() {
    doors(Mutex::local(0));
    doors(Mutex::shared(0));
}

#[test]
fn threads_give_up_in_time() {
    let (permits, mutex) = (Semaphore::shared(0), Mutex::shared(0));
    let (group, both) = (WaitGroup::shared(), (Mutex::shared(()), Condition::shared()));
    let worker = group.worker();
    let held = mutex.lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(permits.acquire_timeout(MS).is_err()));
        scope.spawn(|| assert!(mutex.lock_timeout(MS).is_err()));
        scope.spawn(|| assert!(group.wait_timeout(MS).is_err()));
        scope.spawn(|| {
            let guard = both.0.lock().unwrap();
            assert!(both.1.wait_timeout(guard, MS).unwrap().1);
        });
        scope.spawn(|| {
            let select = Select::new().recv(&permits, |_| 0).recv(&mutex, |_| 1);
            assert_eq!(select.recv(&group, |_| 2).after(MS, || 3).wait(), Ok(3));
        });
    });
    drop(held);
    assert_eq!((permits.waiting(), mutex.waiting()), (vec![], vec![]));
    assert_eq!((group.waiting(), both.1.waiting()), (vec![], vec![]));
    permits.release(1);
    assert!(permits.try_acquire().is_ok() && mutex.try_lock().is_ok() && both.0.try_lock().is_ok());
    drop(worker);
    group.wait().unwrap();
}

#[test]
fn a_wait_group_ends_for_whoever_stays() {
    fn with<F: Flavour>(group: WaitGroup<F>) {
        let system = LocalSystem::builder().virtual_time().build();
        let (group, worker) = (Rc::new(group), Cell::new(None));
        worker.set(Some(group.worker()));
        let all: [Rc<WaitGroup<F>>; 5] = std::array::from_fn(|_| group.clone());
        let [parks, polls, late, stays, watch] = all;
        let cancelled = [
            system.spawn(move || parks.wait().unwrap()),
            system.spawn_future(async move { polls.wait_async().await }),
        ];
        let late = system.spawn(move || late.wait_timeout(5 * MS).is_err());
        let stays = system.spawn(move || stays.wait().is_ok());
        drop(system.spawn(move || {
            sleep(10 * MS);
            cancelled[0].cancel();
            yield_now();
            yield_now();
            assert_eq!(watch.waiting().len(), 2);
            // Told of the end, and gone before it can look.
            drop(worker.take());
            cancelled[1].cancel();
        }));
        let report = system.run().unwrap();
        assert_eq!(report.exited, 2);
        assert!(late.join().unwrap() && stays.join().unwrap());
        assert_eq!((group.waiting(), group.workers()), (vec![], 0));
    }
    with(WaitGroup::local());
    with(WaitGroup::shared());
}

/// Whoever is notified, and exits before it has the mutex again, has looked at nothing: the next is
/// woken in its place.
#[test]
fn a_notification_goes_on_if_its_owner_cannot_lock() {
    let system = LocalSystem::new();
    let both = Rc::new((Mutex::local(()), Condition::local()));
    let [parks, polls, stays] = std::array::from_fn(|_| both.clone());
    let parks = system.spawn(move || drop(parks.1.wait(parks.0.lock().unwrap())));
    let polls = system.spawn_future(async move {
        drop(polls.1.wait_async(polls.0.lock_async().await).await);
    });
    let stays = system.spawn(move || stays.1.wait(stays.0.lock().unwrap()).is_ok());
    let notifies = both.clone();
    drop(system.spawn(move || {
        let guard = notifies.0.lock().unwrap();
        notifies.1.notify_one();
        yield_now();
        assert_eq!(notifies.0.waiting().len(), 1, "the first waits for the mutex");
        parks.cancel();
        yield_now();
        yield_now();
        assert_eq!(notifies.0.waiting().len(), 1, "now the second");
        polls.cancel();
        yield_now();
        yield_now();
        assert_eq!((notifies.1.waiting(), notifies.0.waiting().len()), (vec![], 1));
        drop(guard);
    }));
    assert_eq!(system.run().unwrap().exited, 2);
    assert!(stays.join().unwrap());
    assert!(both.0.try_lock().is_ok());
}

/// Coroutines, futures and threads come, wait a moment, give up or not; in the end all is there.
#[test]
fn under_fire_nothing_is_lost() {
    const PERMITS: usize = 3;
    let rounds = if cfg!(miri) { 5 } else { 200 };
    let system = System::builder().cores(2).build().unwrap();
    let permits = Arc::new(Semaphore::shared(PERMITS));
    let (inside, had) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let work = {
        let (permits, inside, had) = (permits.clone(), inside.clone(), had.clone());
        move |round: usize, is_future: bool| {
            let enter = || {
                assert!(inside.fetch_add(1, Relaxed) < PERMITS, "too many have a permit");
                had.fetch_add(1, Relaxed);
            };
            let limit = Duration::from_micros(round as u64 % 7 * 20);
            if is_future {
                let select = Select::new().recv(&*permits, Result::ok).after(limit, || None);
                let Some(_permit) = block_on(select.wait_async()).unwrap() else { return };
                enter();
                inside.fetch_sub(1, Relaxed);
            } else if let Ok(_permit) = permits.acquire_timeout(limit) {
                enter();
                yield_now();
                inside.fetch_sub(1, Relaxed);
            }
        }
    };
    let mut handles = Vec::new();
    for number in 0..4 {
        let work = work.clone();
        handles.push(system.spawn(move || {
            (0..rounds).for_each(|round| work(round + number, number % 2 == 0));
        }));
    }
    let victims = {
        let permits = permits.clone();
        system.spawn(move || {
            for _ in 0..rounds {
                let waits = permits.clone();
                let victim = leno_kernel::spawn_local(move || drop(waits.acquire()));
                yield_now();
                victim.co().into_iter().for_each(cancel);
                drop(victim.join());
            }
        })
    };
    std::thread::scope(|scope| {
        for number in 0..2 {
            let work = &work;
            scope.spawn(move || (0..rounds).for_each(|round| work(round, number == 0)));
        }
    });
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    victims.join().unwrap();
    assert!(had.load(Relaxed) > 0);
    assert_eq!((permits.available(), permits.waiting()), (PERMITS, vec![]));
}

/// The same for a mutex with a condition: every change is seen by someone, whoever gives up.
#[test]
fn under_fire_no_notification_is_lost() {
    let rounds = if cfg!(miri) { 5 } else { 300 };
    let system = System::builder().cores(2).build().unwrap();
    type Both = (Mutex<usize, Shared>, Condition<Shared>);
    let both: Arc<Both> = Arc::new((Mutex::shared(0), Condition::shared()));
    let takes = |both: Arc<Both>| {
        move || {
            let mut value = both.0.lock().unwrap();
            while *value == 0 {
                value = both.1.wait(value).unwrap();
            }
            *value -= 1;
        }
    };
    for _ in 0..rounds {
        let stays = system.spawn(takes(both.clone()));
        let victim = system.spawn(takes(both.clone()));
        let polls = both.clone();
        let dropped = system.spawn_future(async move {
            let guard = polls.0.lock_async().await;
            drop(polls.1.wait_async(guard).await);
        });
        *both.0.lock().unwrap() += 1;
        both.1.notify_one();
        // Either takes the value, or its notification goes on.
        victim.cancel();
        dropped.cancel();
        let _ = dropped.join();
        if victim.join().is_ok() {
            *both.0.lock().unwrap() += 1;
            both.1.notify_one();
        }
        // The future may have been notified and returned before it was cancelled.
        both.1.notify_one();
        stays.join().unwrap();
    }
    assert_eq!(*both.0.lock().unwrap(), 0);
    assert_eq!(both.1.waiting(), []);
}
