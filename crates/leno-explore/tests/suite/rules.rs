//! What must hold under every schedule.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use leno_coroutine::{Coroutine, State};
use leno_explore::{Explorer, thread};
use leno_kernel::{LocalSystem, Reason, System, park, unpark};

#[test]
fn p44_a_permit_is_never_lost_under_any_schedule() {
    let summary = Explorer::new()
        .exhaustive()
        .most_interruptions(4)
        .run(|| {
            let (flag, takes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
            let system = LocalSystem::new();
            let (seen, count) = (flag.clone(), takes.clone());
            let waits = system.spawn(move || {
                while !seen.load(SeqCst) {
                    park(Reason::Io);
                    count.fetch_add(1, SeqCst);
                }
            });
            let co = waits.co().unwrap();
            let others = ["one", "two"].map(|name| {
                let flag = flag.clone();
                thread::spawn(name, move || {
                    // The first may come for nothing.
                    unpark(co);
                    flag.store(true, SeqCst);
                    unpark(co);
                })
            });
            system.run().unwrap();
            others.into_iter().for_each(|other| other.join().unwrap());
            assert!(takes.load(SeqCst) <= 4, "more wake-ups than were given");
        })
        .unwrap();
    assert!(summary.runs() > 100, "{summary}");
}

/// A pipeline of three, with stacks or without, must give the same under every schedule.
fn pipeline(with_stacks: bool) {
    let system = System::new(2).unwrap();
    let (first, from_first) = leno_channel::shared::bounded(1);
    let (second, from_second) = leno_channel::shared::channel();
    if with_stacks {
        drop(system.spawn(move || (1..=3).for_each(|n| first.send(n).unwrap())));
        drop(system.spawn(move || {
            from_first.iter().for_each(|n: u32| second.send(n * n).unwrap());
        }));
    } else {
        drop(system.spawn_future(async move {
            for n in 1..=3 {
                first.send_async(n).await.unwrap();
            }
        }));
        drop(system.spawn_future(async move {
            while let Ok(n) = from_first.recv_async().await {
                second.send_async(n * n).await.unwrap();
            }
        }));
    }
    assert_eq!(from_second.iter().collect::<Vec<u32>>(), [1, 4, 9]);
    system.wait().unwrap();
}

#[test]
fn p48_with_a_stack_or_without_it_is_the_same_under_many_schedules() {
    Explorer::new().runs(500).check(|| pipeline(true));
    Explorer::new().runs(500).check(|| pipeline(false));
}

#[test]
fn s27_a_status_is_read_by_other_threads_under_any_schedule() {
    let summary = Explorer::new()
        .exhaustive()
        .run(|| {
            let counts = Coroutine::new(|co, ()| (0..2).for_each(|n| co.suspend(n)));
            let status = counts.status();
            let other = thread::spawn("other", move || {
                let seen = [(); 3].map(|()| {
                    thread::yield_now();
                    status.state()
                });
                // It goes on, and never back; it is never seen running, as threads change between.
                let order = |state| match state {
                    State::New => 0,
                    State::Suspended => 1,
                    State::Finished => 2,
                    State::Running => panic!("seen in the middle of a resume"),
                };
                assert!(seen.map(order).is_sorted(), "{seen:?}");
                status
            });
            while counts.iter().next().is_some() {
                thread::yield_now();
            }
            assert_eq!(other.join().unwrap().state(), State::Finished);
        })
        .unwrap();
    assert!(summary.is_complete() && summary.runs() > 10, "{summary}");
}
