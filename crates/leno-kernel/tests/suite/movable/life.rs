//! How futures of a system begin and end: started, cancelled, panicked, dropped with it.

use super::*;

#[test]
fn a_future_can_be_cancelled_whatever_it_is_doing() {
    let system = System::new(1).unwrap();
    let dropped = Arc::new(AtomicU64::new(0));
    let waits = |counted: Counted| async move {
        let _counted = counted;
        pending::<()>().await;
    };
    let exited = |handle: JoinHandle<()>| {
        assert_eq!(handle.join().unwrap_err().outcome(), Some(Outcome::Exited));
    };
    // Queued: it never runs.
    let (release, holder) = hold(&system);
    let queued = system.spawn_future(waits(Counted(dropped.clone())));
    assert!(queued.co().is_some());
    queued.cancel();
    release.store(true, SeqCst);
    holder.join().unwrap();
    exited(queued);
    // Idle, before it has started.
    let idle = Options::new().start(Start::Idle);
    let idle = system.spawn_future_with(&idle, waits(Counted(dropped.clone())));
    idle.cancel();
    exited(idle);
    // Idle, after.
    let probe = Probe::default();
    let future = probe.future();
    let counted = Counted(dropped.clone());
    let idle = system.spawn_future(async move {
        let _counted = counted;
        future.await;
    });
    probe.wait_for(1);
    cancel(idle.co().unwrap());
    exited(idle);
    // Running, by itself; once is enough.
    let counted = Counted(dropped.clone());
    let running = system.spawn_future(async move {
        let _counted = counted;
        let own = current().unwrap();
        cancel(own);
        cancel(own);
        yield_now().await;
    });
    exited(running);
    // Ended.
    let ended = system.spawn_future(async { 5 });
    while !ended.is_finished() {
        std::thread::yield_now();
    }
    ended.cancel();
    assert_eq!(ended.join().unwrap(), 5);
    let report = system.wait().unwrap();
    assert_eq!((dropped.load(SeqCst), report.exited, report.returned), (4, 4, 2), "{report}");
}

#[test]
fn a_panic_in_a_future_reaches_whoever_waits_or_the_report() {
    let system = two();
    let bad = system.spawn_future(async { panic!("as planned") });
    assert!(bad.join().unwrap_err().into_panic().is_ok());
    let lonely = named("lonely").start(Start::Idle);
    let lonely = system.spawn_future_with(&lonely, async { panic!("as planned") });
    let co = lonely.co().unwrap();
    drop(lonely);
    unpark(co);
    // Also when a destructor does it.
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("as planned, in a destructor");
        }
    }
    let bad = Bad;
    let bad = system.spawn_future_with(&named("bad"), async move {
        let _bad = bad;
        pending::<()>().await;
    });
    bad.cancel();
    drop(bad.join());
    let report = system.wait().unwrap();
    let mut names: Vec<_> = report.failures.iter().map(|it| it.name.as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!((names.as_slice(), report.panicked), (["bad", "lonely"].as_slice(), 3), "{report}");
    assert_eq!(system.spawn_future(async { 3 }).join().unwrap(), 3);
}

#[test]
fn dropping_a_system_ends_futures_whatever_they_are_doing() {
    for _ in 0..if cfg!(miri) { 2 } else { 200 } {
        let dropped = Arc::new(AtomicU64::new(0));
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let system = two();
        let mut handles = Vec::new();
        for n in 0..40 {
            let (counted, wakers) = (Counted(dropped.clone()), wakers.clone());
            let options = Options::new().start(if n % 4 == 0 { Start::Idle } else { Start::Ready });
            handles.push(system.spawn_future_with(&options, async move {
                let _counted = counted;
                poll_fn(|context| {
                    wakers.lock().unwrap().push(context.waker().clone());
                    if n % 3 == 0 {
                        context.waker().wake_by_ref();
                    }
                    Poll::<()>::Pending
                })
                .await;
            }));
        }
        drop(system);
        assert_eq!(dropped.load(SeqCst), 40);
        for handle in handles {
            let co = handle.co().unwrap();
            assert_eq!(handle.join().unwrap_err().outcome(), Some(Outcome::Exited));
            // They name nobody any more.
            unpark(co);
            cancel(co);
        }
        wakers.lock().unwrap().drain(..).for_each(Waker::wake);
    }
}

#[test]
fn a_future_spawned_while_its_system_stops_ends_too() {
    struct Spawns(Arc<AtomicU64>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let counted = Counted(self.0.clone());
            for start in [Start::Ready, Start::Idle, Start::Lazy, Start::Eager] {
                let counted = Counted(counted.0.clone());
                let late = try_spawn_future(&Options::new().start(start), async move {
                    let _counted = counted;
                    pending::<()>().await;
                });
                drop(late.unwrap());
            }
        }
    }
    let dropped = Arc::new(AtomicU64::new(0));
    let system = two();
    for n in 0..20 {
        let spawns = Spawns(dropped.clone());
        if n % 2 == 0 {
            drop(system.spawn_future(async move {
                let _spawns = spawns;
                pending::<()>().await;
            }));
        } else {
            drop(system.spawn(move || {
                let _spawns = spawns;
                park(Reason::Passive);
            }));
        }
    }
    system.wait().unwrap_err();
    drop(system);
    assert_eq!(dropped.load(SeqCst), 20 * 5);
}

#[test]
fn shutting_down_leaves_only_a_future_that_does_not_come_back() {
    let (release, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (seen, started) = (release.clone(), begun.clone());
    let system = two();
    let stuck = system.spawn_future_with(&named("stuck"), async move {
        started.store(true, SeqCst);
        while !seen.load(SeqCst) {
            std::thread::yield_now();
        }
        yield_now().await;
    });
    while !begun.load(SeqCst) {
        std::thread::yield_now();
    }
    let others: Vec<_> = (0..10).map(|_| system.spawn_future(pending::<()>())).collect();
    let stopped = system.shutdown(Duration::from_millis(200)).unwrap_err();
    assert_eq!(stopped.report.busy.len(), 1, "{stopped}");
    assert_eq!(stopped.report.busy[0].name.as_str(), Some("stuck"), "{stopped}");
    let left: Vec<_> = stopped.report.alive.iter().map(|alive| alive.name.as_str()).collect();
    assert_eq!(left, [Some("stuck")], "{stopped}");
    for other in others {
        assert_eq!(other.join().unwrap_err().outcome(), Some(Outcome::Exited));
    }
    release.store(true, SeqCst);
    assert_eq!(stuck.join().unwrap_err().outcome(), Some(Outcome::Exited));
}

#[test]
fn futures_are_woken_by_name_and_names_are_never_reused() {
    let mut seen: HashSet<Co> = HashSet::new();
    for _ in 0..5 {
        let system = two();
        for _ in 0..20 {
            let flag = Arc::new(AtomicBool::new(false));
            let own = flag.clone();
            // It leaves no waker anywhere.
            let future = system.spawn_future(poll_fn(move |_| match own.load(SeqCst) {
                true => Poll::Ready(current().unwrap()),
                false => Poll::Pending,
            }));
            let co = future.co().unwrap();
            assert!(seen.insert(co), "{co} was another one's");
            flag.store(true, SeqCst);
            // From a thread, and from a coroutine of the system.
            if seen.len().is_multiple_of(2) {
                unpark(co);
            } else {
                system.spawn(move || unpark(co)).join().unwrap();
            }
            assert_eq!(future.join().unwrap(), co);
            unpark(co);
        }
    }
}

#[test]
fn futures_start_as_they_are_told() {
    let system = two();
    let idle = system.spawn_future_with(&Options::new().start(Start::Idle), async { 1 });
    let lazy = system.spawn_future_with(&Options::new().start(Start::Lazy), async { 2 });
    let deadlock = system.wait().unwrap_err();
    let states: Vec<_> = deadlock.report.alive.iter().map(|alive| alive.state).collect();
    assert_eq!(states, [State::New, State::New]);
    idle.unpark();
    assert_eq!((idle.join().unwrap(), lazy.join().unwrap()), (1, 2));
    let outside = system.spawn_future_with(&Options::new().start(Start::Eager), async { 3 });
    assert_eq!(outside.join().unwrap(), 3);
    let start_eagerly = || {
        let own = std::thread::current().id();
        let seen = Arc::new(AtomicU64::new(0));
        let inside = seen.clone();
        let eager = try_spawn_future(&Options::new().start(Start::Eager), async move {
            assert_eq!(std::thread::current().id(), own);
            inside.fetch_add(1, SeqCst);
            let before = current();
            yield_now().await;
            assert_eq!(current(), before);
            inside.fetch_add(1, SeqCst);
        });
        assert_ne!(seen.load(SeqCst), 0, "it has run at once");
        (eager.unwrap(), seen)
    };
    let by_closure = system.spawn(move || {
        let own = current();
        let (eager, seen) = start_eagerly();
        assert_eq!(current(), own);
        eager.join().unwrap();
        seen.load(SeqCst)
    });
    assert_eq!(by_closure.join().unwrap(), 2);
    let by_future = system.spawn_future(async move {
        let own = current();
        let (eager, seen) = start_eagerly();
        assert_eq!(current(), own);
        eager.await.unwrap();
        seen.load(SeqCst)
    });
    assert_eq!(by_future.join().unwrap(), 2);
}
