//! Futures of a system of several cores: any core may poll them, at any time, and in everything else
//! they are coroutines like others.

use std::collections::HashSet;
use std::future::{Future, pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Waker};
use std::thread::ThreadId;
use std::time::Duration;

use leno_kernel::dump::Depth;
use leno_kernel::layer::{Alarm, deadline_in};
use leno_kernel::log::What;
use leno_kernel::policy::Priority;
use leno_kernel::{
    Co, JoinHandle, Options, Outcome, Reason, Start, State, System, cancel, current, now, park,
    spawn, spawn_future, try_spawn_future, unpark,
};

mod life;

fn two() -> System {
    System::new(2).unwrap()
}

fn named(name: &'static str) -> Options {
    Options::new().name(name)
}

struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

async fn yield_now() {
    let mut yielded = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn sleep(time: Duration) {
    let deadline = deadline_in(time);
    let mut alarm = None;
    poll_fn(|context| {
        if now() >= deadline {
            return Poll::Ready(());
        }
        alarm = Some(Alarm::set(deadline, context));
        Poll::Pending
    })
    .await;
}

/// A future that waits to be woken, and counts and shows its polls.
#[derive(Clone, Default)]
struct Probe {
    waker: Arc<Mutex<Option<Waker>>>,
    polls: Arc<AtomicU64>,
    threads: Arc<Mutex<HashSet<ThreadId>>>,
    done: Arc<AtomicBool>,
}

impl Probe {
    fn future(&self) -> impl Future<Output = ()> + Send + use<> {
        let own = self.clone();
        poll_fn(move |context| {
            *own.waker.lock().unwrap() = Some(context.waker().clone());
            own.threads.lock().unwrap().insert(std::thread::current().id());
            own.polls.fetch_add(1, SeqCst);
            if own.done.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        })
    }

    fn wake(&self) {
        let waker = self.waker.lock().unwrap().clone();
        waker.unwrap().wake();
    }

    /// Waits, without letting others have the core, until it has been polled so often.
    fn wait_for(&self, polls: u64) {
        while self.polls.load(SeqCst) < polls {
            std::thread::yield_now();
        }
    }

    /// Wakes it again and again, and keeps the calling core busy until it has been polled elsewhere.
    fn drive(&self, rounds: u64) {
        for _ in 0..rounds {
            let polls = self.polls.load(SeqCst);
            self.wake();
            self.wait_for(polls + 1);
        }
    }

    fn end(&self) {
        self.done.store(true, SeqCst);
        self.wake();
    }
}

/// Two coroutines, one on each core. While one keeps its core busy and drives the future, the other
/// one is parked; then they change their parts. Each must find that the future ran on the other core.
#[test]
fn p48_a_future_goes_to_whichever_core_has_time() {
    let system = two();
    let probe = Probe::default();
    let future = system.spawn_future(probe.future());
    probe.wait_for(1);
    let (meet, turn) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU64::new(0)));
    let players: Arc<Mutex<Vec<Co>>> = Arc::default();
    let play = |own: u64| {
        let (probe, meet) = (probe.clone(), meet.clone());
        let (turn, players) = (turn.clone(), players.clone());
        move || {
            players.lock().unwrap().push(current().unwrap());
            // Only on two cores can they be here together.
            meet.wait();
            for round in 0..3 {
                while turn.load(SeqCst) != 2 * round + own {
                    park(Reason::Passive);
                }
                probe.threads.lock().unwrap().clear();
                probe.drive(if cfg!(miri) { 2 } else { 50 });
                let seen = probe.threads.lock().unwrap().clone();
                assert!(!seen.is_empty() && !seen.contains(&std::thread::current().id()));
                turn.fetch_add(1, SeqCst);
                players.lock().unwrap().iter().for_each(|player| unpark(*player));
            }
        }
    };
    let played = [system.spawn(play(0)), system.spawn(play(1))];
    played.into_iter().for_each(|player| player.join().unwrap());
    probe.end();
    future.join().unwrap();
}

#[test]
fn futures_of_one_core_have_their_turns_in_order() {
    let system = System::new(1).unwrap();
    let log: Arc<Mutex<String>> = Arc::default();
    let own = log.clone();
    let all = system.spawn_future(async move {
        let started = Arc::new(AtomicU64::new(0));
        let turns = |name: char| {
            let (log, started) = (own.clone(), started.clone());
            async move {
                started.fetch_add(1, SeqCst);
                while started.load(SeqCst) < 3 {
                    yield_now().await;
                }
                for _ in 0..3 {
                    log.lock().unwrap().push(name);
                    yield_now().await;
                }
            }
        };
        let parts = ['a', 'b', 'c'].map(|name| spawn_future(turns(name)));
        for part in parts {
            part.await.unwrap();
        }
    });
    all.join().unwrap();
    // Whoever comes first, then they have turns.
    let log = log.lock().unwrap();
    assert_eq!(*log, log[..3].repeat(3));
}

#[test]
fn a_coroutine_that_yields_for_ever_and_woken_futures_have_turns_both() {
    let system = System::new(1).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let seen = done.clone();
    let yielding = system.spawn(move || {
        while !seen.load(SeqCst) {
            leno_kernel::yield_now();
        }
    });
    let future = system.spawn_future(async {
        for _ in 0..100 {
            yield_now().await;
        }
    });
    future.join().unwrap();
    done.store(true, SeqCst);
    yielding.join().unwrap();
}

/// The only core of a system is kept busy until the result is told to go on.
fn hold(system: &System) -> (Arc<AtomicBool>, JoinHandle<()>) {
    let (held, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_held, is_released) = (held.clone(), release.clone());
    let holder = system.spawn(move || {
        is_held.store(true, SeqCst);
        while !is_released.load(SeqCst) {
            std::thread::yield_now();
        }
    });
    while !held.load(SeqCst) {
        std::thread::yield_now();
    }
    (release, holder)
}

#[test]
fn two_futures_that_wait_for_each_other_are_a_deadlock() {
    let system = two();
    let handles: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
    let meet = Arc::new(Barrier::new(3));
    for name in ["first", "second"] {
        let (own, meet) = (handles.clone(), meet.clone());
        let future = system.spawn_future_with(&named(name), async move {
            meet.wait();
            meet.wait();
            let other = if name == "first" { 1 } else { 0 };
            let other = {
                let mut handles = own.lock().unwrap();
                let other = other.min(handles.len() - 1);
                handles.remove(other)
            };
            drop(other.await);
        });
        handles.lock().unwrap().push(future);
    }
    meet.wait();
    // By now each runs on a core of its own.
    meet.wait();
    let deadlock = system.wait().unwrap_err();
    let text = deadlock.to_string();
    for name in ["first", "second"] {
        assert!(text.contains(&format!("'{name}' is waiting for a future")), "{text}");
    }
    assert!(text.contains(file!()), "{text}");
    cancel(deadlock.report.alive[0].co);
    let report = system.wait().unwrap();
    assert_eq!((report.returned, report.exited), (1, 1), "{report}");
}

#[test]
fn a_system_waits_for_futures_whose_wakers_others_have() {
    let system = two();
    let probe = Probe::default();
    drop(system.spawn_future(probe.future()));
    probe.wait_for(1);
    let own = probe.clone();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        own.end();
    });
    assert_eq!(system.wait().unwrap().returned, 1);
    other.join().unwrap();
}

#[test]
fn alarms_find_a_future_wherever_it_went() {
    let system = two();
    let sleepers: Vec<_> = (0..50u64)
        .map(|n| {
            system.spawn_future(async move {
                for round in 0..5 {
                    // An alarm of one core may be dropped on another one.
                    let unused = poll_fn(|context| {
                        Poll::Ready(Alarm::set(deadline_in(Duration::from_secs(3600)), context))
                    });
                    let unused = unused.await;
                    sleep(Duration::from_micros(100 + 37 * (n + round) % 500)).await;
                    drop(unused);
                }
            })
        })
        .collect();
    sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    assert_eq!(system.wait().unwrap().returned, 50);
}

#[test]
fn reports_dumps_and_logs_speak_of_futures() {
    let system = System::builder().cores(2).log(1_000).build().unwrap();
    let probe = Probe::default();
    let future = system.spawn_future_with(&named("probe"), probe.future());
    let child = system.spawn(|| spawn_future(async { 1 }).join().unwrap());
    child.join().unwrap();
    probe.wait_for(1);
    // Until its first turn is over.
    let alive = loop {
        let alive = system.report().alive;
        if alive.len() == 1 && alive[0].state == State::Parked(Reason::Future) {
            break alive;
        }
    };
    assert_eq!(alive[0].name.as_str(), Some("probe"));
    assert_eq!(alive[0].co, future.co().unwrap());
    assert!(alive[0].site.file().ends_with("movable/mod.rs"));
    assert!(alive[0].is_future && alive[0].wakers == 1);
    let dump = system.dump(Depth::Frames).to_string();
    assert!(dump.contains("any core at"), "{dump}");
    assert!(dump.contains("a future, is waiting for a future for"), "{dump}");
    assert!(dump.contains("to be woken by 1 waker"), "{dump}");
    probe.end();
    future.join().unwrap();
    let report = system.wait().unwrap();
    assert_eq!((report.spawned, report.returned), (3, 3));
    let log = system.log();
    let probe = alive[0].co;
    let is_by = |what: fn(&What) -> bool| {
        log.events().iter().filter(|event| event.by == Some(probe) && what(&event.what)).count()
    };
    assert_eq!(is_by(|what| *what == What::Runs), 2, "{log}");
    assert_eq!(is_by(|what| *what == What::Parked(Reason::Future)), 1, "{log}");
    assert_eq!(is_by(|what| *what == What::Ended(Outcome::Returned)), 1, "{log}");
    let spawned = |what: &What| matches!(what, What::Spawned { .. });
    assert_eq!(log.events().iter().filter(|event| spawned(&event.what)).count(), 3, "{log}");
    assert!(log.to_string().contains("outside spawns 'probe'"), "{log}");
}

#[test]
fn a_policy_decides_about_futures_too() {
    let system = System::builder().cores(1).policy(|_| Priority::default()).build().unwrap();
    let (release, holder) = hold(&system);
    let log: Arc<Mutex<Vec<i32>>> = Arc::default();
    let futures: Vec<_> = [1, 3, 2]
        .into_iter()
        .map(|priority| {
            let log = log.clone();
            system.spawn_future_with(&Options::new().priority(priority), async move {
                assert!(leno_kernel::layer::has_policy());
                log.lock().unwrap().push(priority);
                yield_now().await;
            })
        })
        .collect();
    release.store(true, SeqCst);
    holder.join().unwrap();
    futures.into_iter().for_each(|future| future.join().unwrap());
    assert_eq!(*log.lock().unwrap(), [3, 2, 1]);
    // Guests are ended with their system, too.
    let dropped = Arc::new(AtomicU64::new(0));
    for _ in 0..10 {
        let counted = Counted(dropped.clone());
        drop(system.spawn_future(async move {
            let _counted = counted;
            loop {
                yield_now().await;
            }
        }));
    }
    drop(system);
    assert_eq!(dropped.load(SeqCst), 10);
}

/// Futures that pass a token on by wakers, names and handles, while threads wake and cancel them.
#[test]
fn futures_under_fire_are_never_lost() {
    let rounds = if cfg!(miri) { 1 } else { 30 };
    for round in 0..rounds {
        let system = two();
        let dropped = Arc::new(AtomicU64::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let mut handles = Vec::new();
        for n in 0..100u64 {
            let (counted, wakers) = (Counted(dropped.clone()), wakers.clone());
            handles.push(system.spawn_future(async move {
                let _counted = counted;
                let mut polls = 0;
                poll_fn(|context| {
                    polls += 1;
                    if polls > 20 {
                        return Poll::Ready(());
                    }
                    if polls % 3 == 0 {
                        context.waker().wake_by_ref();
                    } else {
                        wakers.lock().unwrap().push(context.waker().clone());
                    }
                    Poll::Pending
                })
                .await;
                let child = spawn_future(async move {
                    yield_now().await;
                    n
                });
                assert_eq!(child.await.unwrap(), n);
                assert_eq!(spawn(move || n).await.unwrap(), n);
            }));
        }
        let cos: Vec<_> = handles.iter().map(|handle| handle.co().unwrap()).collect();
        let threads: Vec<_> = (0..2)
            .map(|own| {
                let (wakers, is_over, cos) = (wakers.clone(), is_over.clone(), cos.clone());
                std::thread::spawn(move || {
                    while !is_over.load(SeqCst) {
                        let woken = std::mem::take(&mut *wakers.lock().unwrap());
                        woken.into_iter().for_each(Waker::wake);
                        for co in cos.iter().skip(own).step_by(2) {
                            unpark(*co);
                        }
                        std::thread::yield_now();
                    }
                })
            })
            .collect();
        for co in cos.iter().skip(round).step_by(10) {
            cancel(*co);
        }
        let ended = handles.into_iter().map(|handle| match handle.join() {
            Ok(()) => 1,
            Err(error) => {
                assert_eq!(error.outcome(), Some(Outcome::Exited), "{error}");
                0
            }
        });
        let returned: u64 = ended.sum();
        is_over.store(true, SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        wakers.lock().unwrap().clear();
        let report = system.wait().unwrap();
        assert_eq!(dropped.load(SeqCst), 100);
        assert!(returned >= 90, "{report}");
        assert_eq!(report.spawned, report.returned + report.exited, "{report}");
        assert_eq!((report.alive.len(), report.panicked), (0, 0), "{report}");
    }
}
