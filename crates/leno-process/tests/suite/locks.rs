//! Locks, semaphores, monitors and rendezvous: under load, and under every schedule.
#![forbid(unsafe_code)]

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::support::{Seen, inside, round_robin, say};
use leno_explore::{Explorer, thread};
use leno_kernel::{LocalSystem, Options, cancel, yield_now};
use leno_process::{
    AcceptError, Budget, CallError, Condition, Core, Lock, Locked, Monitor, Semaphore, Sink, Task,
    charge, no_preempt, safepoint,
};

/// All schedules with at most two interruptions.
fn explorer() -> Explorer {
    Explorer::new().exhaustive().most_interruptions(2)
}

#[test]
fn m32_compare_and_swap_gives_the_old_value() {
    let word = AtomicU32::new(0);
    assert_eq!(word.compare_exchange(0, 1, SeqCst, SeqCst), Ok(0));
    assert_eq!(word.compare_exchange(0, 1, SeqCst, SeqCst), Err(1), "it was taken already");
    // Of several who swap 0 by 1, one does.
    explorer().check(|| {
        let lock = Arc::new(Lock::new());
        let swaps = [(); 3].map(|()| {
            let lock = lock.clone();
            thread::spawn("swaps", move || {
                let held = lock.try_get();
                let has_swapped = held.is_some();
                core::mem::forget(held);
                has_swapped
            })
        });
        let swapped = swaps.into_iter().map(|swap| swap.join().unwrap());
        assert_eq!(swapped.filter(|swapped| *swapped).count(), 1);
    });
}

/// A sum that loses updates without a lock.
fn adds(lock: &Lock, sum: &AtomicU32) {
    let _held = lock.get();
    let seen = sum.load(SeqCst);
    safepoint!(7);
    sum.store(seen + 1, SeqCst);
}

#[test]
fn m33_three_processes_add_a_hundred_each() {
    let cores = [Core::fork("c1").unwrap(), Core::fork("c2").unwrap()];
    let (lock, sum) = (Arc::new(Lock::new()), Arc::new(AtomicU32::new(0)));
    let schedulers: Vec<_> = cores
        .iter()
        .map(|core| {
            let (lock, sum) = (lock.clone(), sum.clone());
            core.attach(move || {
                let sink = Sink::new();
                for _ in 0..3 {
                    let (lock, sum) = (lock.clone(), sum.clone());
                    let body = move || (0..100).for_each(|_| adds(&lock, &sum));
                    drop(sink.spawn(&Options::new(), body).unwrap());
                }
                round_robin(&sink, Budget::units(5))
            })
        })
        .collect();
    for scheduler in schedulers {
        assert!(scheduler.join().unwrap() > 250, "each section is longer than a budget");
    }
    assert_eq!(sum.load(SeqCst), 600);
}

#[test]
fn m33_a_lock_excludes_under_every_schedule() {
    explorer().check(|| {
        let shared = Arc::new((Lock::new(), AtomicU32::new(0)));
        let other = shared.clone();
        let adds_too = thread::spawn("adds", move || adds(&other.0, &other.1));
        adds(&shared.0, &shared.1);
        adds_too.join().unwrap();
        assert_eq!(shared.1.load(SeqCst), 2);
    });
}

#[test]
fn m34_a_semaphore_lets_as_many_in_as_it_has_permits() {
    explorer().check(|| {
        let shared = Arc::new((Semaphore::new(1), AtomicU32::new(0)));
        let body = |shared: &(Semaphore, AtomicU32)| {
            shared.0.wait().unwrap();
            assert_eq!(shared.1.fetch_add(1, SeqCst), 0, "alone");
            thread::yield_now();
            shared.1.fetch_sub(1, SeqCst);
            shared.0.signal();
        };
        let others = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn("other", move || body(&shared))
        });
        body(&shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(shared.0.try_wait() && !shared.0.try_wait());
    });
}

#[test]
fn m34_no_signal_is_lost() {
    explorer().check(|| {
        let items = Arc::new(Semaphore::new(0));
        let other = items.clone();
        let signals = thread::spawn("signals", move || (0..2).for_each(|_| other.signal()));
        items.wait().unwrap();
        items.wait().unwrap();
        signals.join().unwrap();
    });
}

#[test]
fn m35_who_waits_is_not_run_and_not_lost() {
    let text = inside(|| {
        let seen: Seen = Rc::default();
        let sink = Sink::new();
        let gate = Rc::new(Semaphore::new(0));
        for name in ["first", "second"] {
            let (seen, gate) = (seen.clone(), gate.clone());
            drop(sink.spawn(&Options::new(), move || {
                gate.wait().unwrap();
                say(&seen, name);
            }));
        }
        let (inner, opens) = (seen.clone(), gate.clone());
        drop(sink.spawn(&Options::new(), move || {
            (0..50).for_each(|_| charge(1));
            say(&inner, "open");
            opens.signal();
            opens.signal();
        }));
        let mut slices = 0;
        while let Some(co) = sink.next() {
            co.attach(Budget::units(10)).unwrap();
            slices += 1;
        }
        assert!(slices <= 12, "waiters have no slices: {slices}");
        seen.take().join(" ")
    });
    assert_eq!(text, "open first second");
}

#[test]
fn m35_who_waits_for_another_thread_is_not_lost_under_any_schedule() {
    explorer().check(|| {
        let gate = Arc::new(Semaphore::new(0));
        let opens = gate.clone();
        let other = thread::spawn("opens", move || (0..2).for_each(|_| opens.signal()));
        let slices = inside(move || {
            let sink = Sink::new();
            for _ in 0..2 {
                let gate = gate.clone();
                drop(sink.spawn(&Options::new(), move || gate.wait().unwrap()));
            }
            round_robin(&sink, Budget::units(10))
        });
        assert!(slices <= 6, "waiters have no slices: {slices}");
        other.join().unwrap();
    });
}

#[test]
fn a_waiter_that_is_to_exit_passes_its_permit_on() {
    let system = LocalSystem::new();
    let gate = Rc::new(Semaphore::new(0));
    let waits = [0, 1].map(|_| {
        let gate = gate.clone();
        system.spawn(move || gate.wait().is_ok())
    });
    let first = waits[0].co().unwrap();
    drop(system.spawn(move || {
        yield_now();
        // Granted, and to exit before it has run again.
        gate.signal();
        cancel(first);
    }));
    system.run().unwrap();
    let [first, second] = waits;
    assert!(first.join().is_err());
    assert!(second.join().unwrap(), "it has the other's permit");
}

/// A buffer with room for two.
struct Buffer {
    list: Monitor<Vec<u32>>,
    not_full: Condition,
    not_empty: Condition,
}

impl Buffer {
    fn new() -> Buffer {
        Buffer {
            list: Monitor::new(Vec::new()),
            not_full: Condition::new(),
            not_empty: Condition::new(),
        }
    }

    fn put(&self, n: u32) {
        let put = self.list.enter(|inside| {
            inside.wait_while(&self.not_full, |list| list.len() == 2).unwrap();
            inside.push(n);
            self.not_empty.signal();
        });
        put.unwrap();
    }

    fn get(&self) -> u32 {
        let got = self.list.enter(|inside| {
            inside.wait_while(&self.not_empty, |list| list.is_empty()).unwrap();
            self.not_full.signal();
            inside.remove(0)
        });
        got.unwrap()
    }
}

#[test]
fn m6_entries_of_a_monitor_run_one_at_a_time() {
    explorer().check(|| {
        let monitor = Arc::new(Monitor::new(0));
        let others = [0, 1].map(|_| {
            let monitor = monitor.clone();
            thread::spawn("enters", move || {
                monitor
                    .enter(|inside| {
                        let seen = **inside;
                        thread::yield_now();
                        **inside = seen + 1;
                    })
                    .unwrap();
            })
        });
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(Arc::into_inner(monitor).unwrap().into_inner(), 2);
    });
}

#[test]
fn m7_entries_wrap_their_bodies_over_several_levels() {
    // Prologue, inner, epilogue; each level is a function that takes the next as its inner part.
    fn entry(monitor: &Monitor<Vec<u32>>, inner: impl FnOnce(&mut Vec<u32>)) {
        let entered = monitor.enter(|inside| {
            inside.push(1);
            inner(inside);
            inside.push(6);
        });
        entered.unwrap();
    }
    fn checked(monitor: &Monitor<Vec<u32>>, inner: impl FnOnce(&mut Vec<u32>)) {
        entry(monitor, |list| {
            list.push(2);
            inner(list);
            list.push(5);
        });
    }
    let monitor = Monitor::new(Vec::new());
    checked(&monitor, |list| {
        list.push(3);
        list.push(4);
    });
    assert_eq!(monitor.into_inner(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn m8_a_bounded_buffer_by_a_monitor_with_conditions() {
    explorer().check(|| {
        let buffer = Arc::new(Buffer::new());
        let other = buffer.clone();
        let puts = thread::spawn("puts", move || (0..4).for_each(|n| other.put(n)));
        let got: Vec<_> = (0..4).map(|_| buffer.get()).collect();
        puts.join().unwrap();
        assert_eq!(got, [0, 1, 2, 3]);
    });
}

#[test]
fn m8_a_bounded_buffer_between_preempted_processes_of_two_cores() {
    let buffer = Arc::new(Buffer::new());
    let cores = [Core::fork("puts").unwrap(), Core::fork("gets").unwrap()];
    let sums: Vec<_> = cores
        .iter()
        .enumerate()
        .map(|(which, core)| {
            let buffer = buffer.clone();
            core.attach(move || {
                let sink = Sink::new();
                let sum = Rc::new(std::cell::Cell::new(0));
                for who in 0..3 {
                    let (buffer, sum) = (buffer.clone(), sum.clone());
                    drop(sink.spawn(&Options::new(), move || {
                        for n in 0..200 {
                            charge(3);
                            match which {
                                0 => buffer.put(who * 200 + n),
                                _ => {
                                    let got = buffer.get();
                                    sum.set(sum.get() + got);
                                }
                            }
                        }
                    }));
                }
                round_robin(&sink, Budget::units(20));
                sum.get()
            })
        })
        .collect();
    let sums: Vec<u32> = sums.into_iter().map(|sum| sum.join().unwrap()).collect();
    assert_eq!(sums, [0, (0..600).sum()]);
}

#[test]
fn a_panic_inside_a_monitor_lets_the_next_in() {
    let monitor = Arc::new(Monitor::new(1));
    let other = monitor.clone();
    let panics = std::thread::spawn(move || other.enter(|_| panic!("planned")));
    assert!(panics.join().is_err());
    assert_eq!(monitor.enter(|inside| **inside), Ok(1));
}

#[test]
fn m36_a_rendezvous_with_guards() {
    Explorer::new().exhaustive().most_interruptions(1).check(guarded);
    Explorer::new().random(36).runs(200).check(guarded);
}

/// A buffer for one, by rendezvous.
fn guarded() {
    let mut task = Task::new();
    let (put, puts) = task.entry::<u32, ()>("put");
    let (get, gets) = task.entry::<(), u32>("get");
    let serves = thread::spawn("serves", move || {
        let mut list = Vec::new();
        let guards = |list: &[u32]| [puts.when(list.is_empty()), gets.when(!list.is_empty())];
        while let Ok(which) = task.choose(&guards(&list)) {
            let _taken_back = match which {
                0 => puts.try_accept(|n| list.push(n)),
                _ => gets.try_accept(|()| list.remove(0)),
            };
        }
        list
    });
    let puts = thread::spawn("puts", move || (0..2).for_each(|n| put.call(n).unwrap()));
    assert_eq!([get.call(()), get.call(())], [Ok(0), Ok(1)]);
    drop(get);
    puts.join().unwrap();
    assert_eq!(serves.join().unwrap(), []);
}

#[test]
fn m36_the_caller_waits_until_the_body_is_done() {
    let mut task = Task::new();
    let (caller, entry) = task.entry::<u32, u32>("double");
    let system = LocalSystem::new();
    let seen: Seen = Rc::default();
    let (calls, serves) = (seen.clone(), seen.clone());
    let answer = system.spawn(move || {
        let answer = caller.call(21);
        say(&calls, "called");
        answer
    });
    drop(system.spawn(move || {
        let accepted = entry.accept(|n| {
            say(&serves, "begins");
            yield_now();
            say(&serves, "ends");
            n * 2
        });
        assert_eq!(accepted, Ok(()));
        assert_eq!(entry.accept(|n| n), Err(AcceptError::NoCaller));
        assert_eq!(entry.try_accept(|n| n), Err(AcceptError::NoCall));
        assert_eq!(task.choose(&[entry.when(false)]), Err(AcceptError::AllClosed));
    }));
    system.run().unwrap();
    assert_eq!(answer.join().unwrap(), Ok(42));
    assert_eq!(seen.take().join(" "), "begins ends called");
}

#[test]
fn m36_of_several_entries_the_one_called_first_is_chosen() {
    let mut task = Task::new();
    let (late, lates) = task.entry::<(), ()>("late");
    let (early, earlies) = task.entry::<(), ()>("early");
    let system = LocalSystem::new();
    drop(system.spawn(move || early.call(())));
    drop(system.spawn(move || late.call(())));
    let chosen = system.spawn(move || {
        let both = [lates.when(true), earlies.when(true)];
        let chosen = task.choose(&both);
        assert_eq!((lates.count(), earlies.count()), (1, 1));
        chosen
    });
    system.run().unwrap();
    assert_eq!(chosen.join().unwrap(), Ok(1));
}

#[test]
fn a_call_of_a_task_that_is_gone_gives_its_input_back() {
    let mut task = Task::new();
    let (caller, entry) = task.entry::<String, ()>("greet");
    drop(entry);
    let refused = caller.call("hello".to_owned()).unwrap_err();
    assert!(
        refused.to_string().contains("'greet' cannot be called: its task is gone"),
        "{refused}"
    );
    assert!(matches!(refused, CallError::Gone(_, text) if text == "hello"));

    let (caller, entry) = task.entry::<(), ()>("fail");
    let system = LocalSystem::new();
    let failed = system.spawn(move || caller.call(()));
    drop(system.spawn(move || drop(entry.accept(|()| panic!("planned")))));
    let _failures = system.run();
    assert!(matches!(failed.join().unwrap(), Err(CallError::Failed(_))));
}

#[test]
fn a_task_that_is_cancelled_in_the_middle_of_a_call_says_so() {
    let mut task = Task::new();
    let (caller, entry) = task.entry::<(), ()>("sleep");
    let system = LocalSystem::new();
    let called = system.spawn(move || caller.call(()));
    let accepts = system.spawn(move || {
        drop(entry.accept(|()| leno_kernel::sleep(std::time::Duration::from_secs(1_000_000))));
    });
    drop(system.spawn(move || {
        leno_kernel::yield_now();
        leno_kernel::yield_now();
        accepts.cancel();
    }));
    system.run().unwrap();
    let error = called.join().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the task of entry 'sleep' was made to exit before it answered");
}

#[test]
fn a_call_that_was_not_accepted_is_taken_back() {
    let mut task = Task::new();
    let (caller, entry) = task.entry::<u32, u32>("late");
    let system = LocalSystem::new();
    let other = caller.clone();
    let given_up = system.spawn(move || other.call(1));
    let answer = system.spawn(move || caller.call(2));
    let co = given_up.co().unwrap();
    let accepted = system.spawn(move || {
        cancel(co);
        yield_now();
        entry.accept(|n| n * 10)
    });
    system.run().unwrap();
    assert!(given_up.join().is_err());
    assert_eq!(accepted.join().unwrap(), Ok(()));
    assert_eq!(answer.join().unwrap(), Ok(20));
}

#[test]
fn m30_a_shared_queue_is_a_critical_region() {
    explorer().check(|| {
        let queue = Arc::new(Locked::new(Vec::new()));
        let others = [1, 2].map(|n| {
            let queue = queue.clone();
            thread::spawn("inserts", move || {
                queue.with(|queue| {
                    let length = queue.len();
                    no_preempt(|| queue.push(n));
                    assert_eq!(queue.len(), length + 1);
                });
            })
        });
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(Arc::into_inner(queue).unwrap().into_inner().len(), 2);
    });
}

/// A caller that is cancelled while the task looks for calls is no reason to end.
#[test]
fn a_task_that_waits_for_a_call_is_not_told_that_there_is_none() {
    Explorer::new().exhaustive().most_interruptions(2).check(|| {
        let mut task = Task::new();
        let (caller, entry) = task.entry::<u32, u32>("same");
        let other = caller.clone();
        let accepts = thread::spawn("accepts", move || {
            let _task = task;
            loop {
                if let Err(ended) = entry.accept(|n| n) {
                    return ended;
                }
            }
        });
        let calls = thread::spawn("calls", move || {
            let system = LocalSystem::new();
            let calls = system.spawn(move || caller.call(1));
            let co = calls.co().unwrap();
            let cancels = system.spawn(move || cancel(co));
            system.run().unwrap();
            drop((calls, cancels));
        });
        calls.join().unwrap();
        assert_eq!(other.call(2), Ok(2));
        drop(other);
        assert_eq!(accepts.join().unwrap(), AcceptError::NoCaller);
    });
}
