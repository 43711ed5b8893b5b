//! Waits of this crate that are given up, and wakers that panic. Each test is apart: what is not woken would hang.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::support::hostile::apart;
use leno_coroutine::Coroutine;
use leno_explore::{Explorer, thread};
use leno_kernel::{System, cancel, sleep, unpark, yield_now};
use leno_process::System as Processes;
use leno_process::{
    Budget, Condition, LocalSystem, Me, Monitor, Options, Plan, Prepared, Refusal, Semaphore, Sink,
    Status, process,
};

/// Panics when it is woken.
struct Loud;

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        panic!("a waker");
    }
}

/// All coroutines of the sink wait now; when next one is woken, a waker panics.
fn listen_loudly(sink: &Sink) {
    let loud = Waker::from(Arc::new(Loud));
    assert!(sink.poll_next(&mut Context::from_waker(&loud)).is_pending());
}

/// Runs all that are ready, after the core has called the wakers, which it does between turns.
fn run_ready(sink: &Sink) {
    sleep(Duration::from_millis(1));
    while let Some(co) = sink.try_next() {
        co.attach(Budget::Unlimited).unwrap();
    }
}

/// Runs `f` as a coroutine of a system; how many panics of wakers there were.
fn count_failures(f: impl FnOnce() + 'static) -> usize {
    let system = LocalSystem::builder().virtual_time().build();
    let done = system.spawn(f);
    let report = system.run().unwrap();
    done.join().unwrap();
    report.failures.len()
}

/// Waits for what other threads do.
fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

type Numbers = Rc<RefCell<Vec<usize>>>;

#[test]
fn who_leaves_the_line_of_a_semaphore_leaves_the_others_in_order() {
    apart!("who_leaves_the_line_of_a_semaphore_leaves_the_others_in_order", || {
        let system = LocalSystem::new();
        let (gate, seen) = (Rc::new(Semaphore::new(0)), Numbers::default());
        let wait = |n| {
            let (gate, seen) = (gate.clone(), seen.clone());
            let waits = move || {
                gate.wait().unwrap();
                seen.borrow_mut().push(n);
            };
            system.spawn(waits).co().unwrap()
        };
        let cos = [0, 1, 2, 3, 4].map(wait);
        let gives = gate.clone();
        drop(system.spawn(move || {
            // From the middle, from the front, and one that has its permit already.
            cancel(cos[2]);
            cancel(cos[0]);
            // One that is woken for nothing keeps its place.
            unpark(cos[1]);
            yield_now();
            assert_eq!(gives.waiting(), 3);
            gives.signal();
            cancel(cos[1]);
            yield_now();
            yield_now();
            assert_eq!(gives.waiting(), 1);
            gives.signal();
        }));
        system.run().unwrap();
        assert_eq!(*seen.borrow(), [3, 4]);
        assert!(!gate.try_wait());
    });
}

#[test]
fn a_permit_that_its_owner_cannot_take_is_kept_if_nobody_waits() {
    apart!("a_permit_that_its_owner_cannot_take_is_kept_if_nobody_waits", || {
        let system = LocalSystem::new();
        let gate = Rc::new(Semaphore::new(0));
        let own = gate.clone();
        let waits = system.spawn(move || own.wait().unwrap());
        let (own, co) = (gate.clone(), waits.co().unwrap());
        drop(system.spawn(move || {
            own.signal();
            cancel(co);
        }));
        system.run().unwrap();
        assert!(waits.join().is_err());
        assert!(gate.try_wait() && !gate.try_wait());
    });
}

#[test]
fn a_permit_is_had_or_kept_when_its_owner_is_cancelled_under_every_schedule() {
    Explorer::new().exhaustive().most_interruptions(2).check(|| {
        let gate = Arc::new(Semaphore::new(0));
        let own = gate.clone();
        let signals = thread::spawn("signals", move || own.signal());
        let (system, own) = (LocalSystem::new(), gate.clone());
        let waits = system.spawn(move || own.wait());
        let co = waits.co().unwrap();
        drop(system.spawn(move || cancel(co)));
        system.run().unwrap();
        signals.join().unwrap();
        assert_eq!(gate.try_wait(), waits.join().is_err());
    });
}

#[test]
fn who_is_dropped_while_it_waits_is_in_no_line() {
    apart!("who_is_dropped_while_it_waits_is_in_no_line", || {
        let (gate, list, changed) =
            (Arc::new(Semaphore::new(0)), Arc::new(Monitor::new(())), Arc::new(Condition::new()));
        let system = System::new(1).unwrap();
        for _ in 0..2 {
            let own = gate.clone();
            drop(system.spawn(move || own.wait()));
            let (list, changed) = (list.clone(), changed.clone());
            drop(system.spawn(move || list.enter(|inside| inside.wait(&changed))));
        }
        until(|| gate.waiting() == 2 && format!("{changed:?}").contains("waiting: 2"));
        drop(system);
        assert_eq!(gate.waiting(), 0);
        gate.signal();
        assert!(gate.try_wait());
        changed.signal_all();
        assert_eq!(list.enter(|_| 1), Ok(1));
        assert_eq!(Arc::strong_count(&gate) + Arc::strong_count(&list), 2);
    });
}

#[test]
fn a_waker_that_panics_loses_no_permit() {
    apart!("a_waker_that_panics_loses_no_permit", || {
        let gate = Arc::new(Semaphore::new(0));
        let own = gate.clone();
        let failures = count_failures(move || {
            let sink = Sink::new();
            let waits = [0, 1].map(|_| {
                let gate = own.clone();
                sink.spawn(&Options::new(), move || gate.wait()).unwrap()
            });
            run_ready(&sink);
            for _ in 0..2 {
                listen_loudly(&sink);
                own.signal();
                run_ready(&sink);
            }
            assert!(waits.into_iter().all(|waits| waits.join().unwrap().is_ok()));
        });
        assert_eq!((failures, gate.try_wait()), (2, false));
    });
}

#[test]
fn who_leaves_a_condition_leaves_its_signal_to_the_next() {
    apart!("who_leaves_a_condition_leaves_its_signal_to_the_next", || {
        let system = LocalSystem::new();
        let both = Rc::new((Monitor::new(()), Condition::new()));
        let seen = Numbers::default();
        let wait = |n| {
            let (both, seen) = (both.clone(), seen.clone());
            let waits = move || {
                let waited =
                    both.0.enter(|inside| inside.wait(&both.1).map(|()| seen.borrow_mut().push(n)));
                waited.unwrap().unwrap();
            };
            system.spawn(waits).co().unwrap()
        };
        let cos = [0, 1, 2, 3].map(wait);
        drop(system.spawn(move || {
            cancel(cos[1]);
            yield_now();
            both.1.signal();
            cancel(cos[0]);
            yield_now();
            yield_now();
            // Nobody keeps a signal.
            both.1.signal_all();
            both.1.signal();
        }));
        system.run().unwrap();
        assert_eq!(*seen.borrow(), [2, 3]);
    });
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_a_condition() {
    apart!("a_waker_that_panics_keeps_nobody_from_a_condition", || {
        let both = Arc::new((Monitor::new(()), Condition::new()));
        let failures = count_failures(move || {
            let sink = Sink::new();
            let waits = [0, 1, 2].map(|_| {
                let both = both.clone();
                let waits = move || both.0.enter(|inside| inside.wait(&both.1));
                sink.spawn(&Options::new(), waits).unwrap()
            });
            run_ready(&sink);
            listen_loudly(&sink);
            both.1.signal_all();
            run_ready(&sink);
            assert!(waits.into_iter().all(|waits| waits.join().unwrap() == Ok(Ok(()))));
        });
        assert_eq!(failures, 1);
    });
}

/// A process that is busy until it may go on.
struct Busy(Arc<Semaphore>);

#[process]
impl Busy {
    #[entry]
    fn work(&mut self) {
        self.0.wait().unwrap();
    }
}

/// A system with a process that is busy, which one signal lets go on.
fn busy() -> (Arc<Processes>, Arc<Semaphore>) {
    let (system, gate) = (Arc::new(Processes::new(1).unwrap()), Arc::new(Semaphore::new(0)));
    system.start(Busy(gate.clone())).work().unwrap();
    until(|| gate.waiting() == 1);
    (system, gate)
}

#[test]
fn who_waits_for_idle_processes_may_leave_and_all_others_are_woken() {
    apart!("who_waits_for_idle_processes_may_leave_and_all_others_are_woken", || {
        let (processes, gate) = busy();
        let system = LocalSystem::new();
        let waits = [(); 4].map(|()| {
            let processes = processes.clone();
            system.spawn(move || processes.wait_idle())
        });
        let cos = [0, 1].map(|n: usize| waits[n].co().unwrap());
        drop(system.spawn(move || {
            cancel(cos[1]);
            // One that is woken for nothing waits on.
            unpark(cos[0]);
            yield_now();
            yield_now();
            gate.signal();
        }));
        system.run().unwrap();
        let idle = Some(Ok(()));
        assert_eq!(waits.map(|waits| waits.join().ok()), [idle, None, idle, idle]);
        let idle = Arc::into_inner(processes).unwrap().run().unwrap();
        assert_eq!(idle.started, 1);
    });
}

#[test]
fn who_is_dropped_while_it_waits_for_idle_processes_keeps_nobody_from_it() {
    apart!("who_is_dropped_while_it_waits_for_idle_processes_keeps_nobody_from_it", || {
        let (processes, gate) = busy();
        let (system, waiting) = (System::new(1).unwrap(), Arc::new(Semaphore::new(0)));
        let waits = [0, 1].map(|_| {
            let (processes, waiting) = (processes.clone(), waiting.clone());
            system.spawn(move || {
                waiting.signal();
                processes.wait_idle()
            })
        });
        // The first waits by the time that the second has begun: they are of one core.
        (0..2).for_each(|_| waiting.wait().unwrap());
        drop(system);
        assert!(waits.into_iter().all(|waits| waits.join().is_err()));
        gate.signal();
        processes.wait_idle().unwrap();
        assert_eq!(Arc::strong_count(&processes), 1);
    });
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_hearing_of_idle_processes() {
    apart!("a_waker_that_panics_keeps_nobody_from_hearing_of_idle_processes", || {
        let failures = count_failures(|| {
            let (processes, gate) = busy();
            let sink = Sink::new();
            let waits = [0, 1].map(|_| {
                let processes = processes.clone();
                sink.spawn(&Options::new(), move || processes.wait_idle()).unwrap()
            });
            run_ready(&sink);
            listen_loudly(&sink);
            gate.signal();
            // It is another thread that wakes them.
            while sink.members() > 0 {
                run_ready(&sink);
            }
            assert!(waits.into_iter().all(|waits| waits.join().unwrap().is_ok()));
        });
        assert_eq!(failures, 1);
    });
}

/// A process that notes digits.
struct Notes(Arc<Mutex<Vec<u32>>>);

#[process]
impl Notes {
    #[entry]
    fn note(&mut self, digit: u32) {
        self.0.lock().unwrap().push(digit);
    }
}

/// A process with room for one call, in which there is one, of 1; and what it has noted.
fn full() -> (NotesRef, Prepared, Arc<Mutex<Vec<u32>>>) {
    let noted = Arc::default();
    let (notes, body) = Plan::new().mailbox(1).prepare(Notes(Arc::clone(&noted)));
    notes.note(1).unwrap();
    (notes, body, noted)
}

#[test]
fn who_leaves_the_line_for_room_in_a_mailbox_leaves_the_others_in_order() {
    apart!("who_leaves_the_line_for_room_in_a_mailbox_leaves_the_others_in_order", || {
        let failures = count_failures(|| {
            let (sink, (notes, body, noted)) = (Sink::new(), full());
            let callers = [2, 3, 4, 5].map(|digit| {
                let notes = notes.clone();
                sink.spawn(&Options::new(), move || notes.note(digit).unwrap()).unwrap()
            });
            run_ready(&sink);
            let cos = [0, 1, 2, 3].map(|n: usize| callers[n].co().unwrap());
            // From the middle; and one that is woken for nothing keeps its place.
            cancel(cos[1]);
            unpark(cos[0]);
            run_ready(&sink);
            let runs = sink.spawn(&Options::new(), move || body.run()).unwrap();
            let process = sink.try_next().unwrap();
            assert_eq!(Some(process), runs.co());
            process.attach(Budget::Unlimited).unwrap();
            assert_eq!(*noted.lock().unwrap(), [1]);
            // Woken for room, and to exit before it has run again.
            cancel(cos[0]);
            run_ready(&sink);
            drop(notes);
            run_ready(&sink);
            assert_eq!(callers.map(|caller| caller.join().is_ok()), [false, false, true, true]);
            assert_eq!(*noted.lock().unwrap(), [1, 4, 5]);
            runs.join().unwrap();
        });
        assert_eq!(failures, 0);
    });
}

#[test]
fn a_caller_that_is_woken_for_nothing_keeps_its_place() {
    apart!("a_caller_that_is_woken_for_nothing_keeps_its_place", || {
        let failures = count_failures(|| {
            let (sink, (notes, body, noted)) = (Sink::new(), full());
            let callers = [2, 3].map(|digit| {
                let notes = notes.clone();
                sink.spawn(&Options::new(), move || notes.note(digit).unwrap()).unwrap()
            });
            run_ready(&sink);
            unpark(callers[0].co().unwrap());
            run_ready(&sink);
            let runs = sink.spawn(&Options::new(), move || body.run()).unwrap();
            run_ready(&sink);
            drop(notes);
            run_ready(&sink);
            runs.join().unwrap();
            assert_eq!(*noted.lock().unwrap(), [1, 2, 3]);
        });
        assert_eq!(failures, 0);
    });
}

#[test]
fn who_is_dropped_while_it_waits_for_room_takes_none() {
    apart!("who_is_dropped_while_it_waits_for_room_takes_none", || {
        let (notes, body, noted) = full();
        let (system, waiting) = (System::new(1).unwrap(), Arc::new(Semaphore::new(0)));
        let callers = [2, 3].map(|digit| {
            let (notes, waiting) = (notes.clone(), waiting.clone());
            system.spawn(move || {
                waiting.signal();
                notes.note(digit).unwrap();
            })
        });
        (0..2).for_each(|_| waiting.wait().unwrap());
        drop(system);
        assert!(callers.into_iter().all(|caller| caller.join().is_err()));
        let runs = std::thread::spawn(move || body.run());
        (4..=6).for_each(|digit| notes.note(digit).unwrap());
        drop(notes);
        runs.join().unwrap();
        assert_eq!(*noted.lock().unwrap(), [1, 4, 5, 6]);
    });
}

#[test]
fn a_waker_that_panics_loses_no_room() {
    apart!("a_waker_that_panics_loses_no_room", || {
        let failures = count_failures(|| {
            let (sink, (notes, body, noted)) = (Sink::new(), full());
            let callers = [2, 3].map(|digit| {
                let notes = notes.clone();
                sink.spawn(&Options::new(), move || notes.note(digit).unwrap()).unwrap()
            });
            run_ready(&sink);
            listen_loudly(&sink);
            let runs = std::thread::spawn(move || body.run());
            while sink.members() > 0 {
                run_ready(&sink);
            }
            drop(notes);
            runs.join().unwrap();
            assert!(callers.into_iter().all(|caller| caller.join().is_ok()));
            assert_eq!(*noted.lock().unwrap(), [1, 2, 3]);
        });
        assert_eq!(failures, 1);
    });
}

/// Runs a process so that it waits behind the lock of its mailbox: on a stack that is not that of its coroutine.
fn run_elsewhere(body: Prepared) {
    let elsewhere = Coroutine::<(), ()>::new(move |_, ()| body.run());
    elsewhere.resume(());
}

#[test]
fn a_process_that_is_to_exit_while_it_waits_for_a_call_says_so() {
    apart!("a_process_that_is_to_exit_while_it_waits_for_a_call_says_so", || {
        let (system, noted) = (LocalSystem::new(), Arc::default());
        let (notes, body) = Plan::new().prepare(Notes(Arc::clone(&noted)));
        let runs = system.spawn(move || run_elsewhere(body));
        let co = runs.co().unwrap();
        let own = notes.clone();
        let ends = system.spawn(move || {
            let status = || own.status();
            assert_eq!(status(), Status::Waiting);
            own.note(1).unwrap();
            assert_eq!(status(), Status::Active);
            yield_now();
            // One that is woken for nothing waits on.
            unpark(co);
            yield_now();
            assert_eq!(status(), Status::Waiting);
            // A call that has come by the time that it exits is not served.
            own.note(2).unwrap();
            cancel(co);
            yield_now();
            (status(), own.note(3).unwrap_err().why)
        });
        system.run().unwrap();
        assert!(runs.join().is_err());
        assert_eq!(ends.join().unwrap(), (Status::Terminated, Refusal::Ended));
        assert_eq!(*noted.lock().unwrap(), [1]);
    });
}

/// A process that serves by another coroutine, which it cancels when that waits, and then by its own.
struct Deputy {
    noted: Arc<Mutex<Vec<u32>>>,
    /// Until it is to cancel, and until it has.
    gates: Arc<[Semaphore; 2]>,
}

#[process]
impl Deputy {
    #[entry]
    fn note(&mut self, digit: u32) {
        self.noted.lock().unwrap().push(digit);
    }

    #[body]
    fn delegate(&mut self, me: &Me<Self>) {
        let gates = self.gates.clone();
        leno_kernel::scope(|scope| {
            let serves = scope.spawn(|| me.exe_next(self));
            yield_now();
            gates[0].wait().unwrap();
            serves.cancel();
            assert!(serves.join().is_err());
            gates[1].signal();
        });
    }
}

#[test]
fn a_process_whose_wait_is_cancelled_is_counted_as_busy_and_is_called_on_its_own_thread() {
    apart!(
        "a_process_whose_wait_is_cancelled_is_counted_as_busy_and_is_called_on_its_own_thread",
        || {
            let processes = Processes::new(1).unwrap();
            let gates = Arc::new([Semaphore::new(0), Semaphore::new(0)]);
            let noted = Arc::default();
            let deputy = Deputy { noted: Arc::clone(&noted), gates: gates.clone() };
            let deputy = processes.start(deputy);
            // Its other coroutine waits: nobody has anything to do.
            processes.wait_idle().unwrap();
            assert_eq!(deputy.status(), Status::Waiting);
            gates[0].signal();
            gates[1].wait().unwrap();
            processes.wait_idle().unwrap();
            for digit in 1..=3 {
                deputy.note(digit).unwrap();
                processes.wait_idle().unwrap();
                assert_eq!(noted.lock().unwrap().len() as u32, digit);
            }
            assert_eq!(processes.run().unwrap().failures.len(), 0);
        }
    );
}

#[test]
fn a_process_that_is_dropped_while_it_waits_for_a_call_refuses_calls() {
    apart!("a_process_that_is_dropped_while_it_waits_for_a_call_refuses_calls", || {
        let system = System::new(1).unwrap();
        let noted = Arc::default();
        let (notes, body) = Plan::new().prepare(Notes(Arc::clone(&noted)));
        drop(system.spawn(move || run_elsewhere(body)));
        until(|| notes.status() == Status::Waiting);
        drop(system);
        assert_eq!(notes.status(), Status::Terminated);
        assert_eq!(notes.note(1).unwrap_err().why, Refusal::Ended);
        assert_eq!(Arc::strong_count(&noted), 1);
    });
}

#[test]
fn a_waker_that_panics_loses_no_call() {
    apart!("a_waker_that_panics_loses_no_call", || {
        let failures = count_failures(|| {
            let (sink, noted) = (Sink::new(), Arc::default());
            let (notes, body) = Plan::new().prepare(Notes(Arc::clone(&noted)));
            let runs = sink.spawn(&Options::new(), move || run_elsewhere(body)).unwrap();
            run_ready(&sink);
            for digit in [1, 2] {
                listen_loudly(&sink);
                notes.note(digit).unwrap();
                run_ready(&sink);
            }
            assert_eq!(*noted.lock().unwrap(), [1, 2]);
            listen_loudly(&sink);
            drop(notes);
            run_ready(&sink);
            runs.join().unwrap();
        });
        assert_eq!(failures, 3);
    });
}
