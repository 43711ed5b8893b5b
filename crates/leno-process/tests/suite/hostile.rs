//! User code that misbehaves in and around processes: all others are served, and systems end.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use crate::support::hostile::{Bomb, Payload, apart};
use leno_kernel::{unpark, yield_now};
use leno_process::{LocalSystem, Me, Plan, ReplyError, Supervision, System, process};

/// Panics when it is woken.
struct Loud;

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        panic_any(Payload);
    }
}

/// Panics when it is dropped.
struct Falls;

impl Wake for Falls {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Falls {
    fn drop(&mut self) {
        panic_any(Payload);
    }
}

#[derive(Default)]
struct Clerk(u32);

#[process]
impl Clerk {
    #[entry]
    fn fail(&mut self) -> u32 {
        panic_any(Payload)
    }

    #[entry]
    fn add(&mut self, number: u32) -> u32 {
        self.0 += number;
        self.0
    }

    #[entry]
    fn keep(&mut self, bomb: Bomb) {
        std::mem::forget(bomb);
    }

    #[entry]
    fn append(&mut self, digit: u32) {
        self.0 = 10 * self.0 + digit;
    }
}

/// Failures hold payloads whose `Drop` panics in this test.
fn forget_failures(ended: leno_process::Ended) -> usize {
    let count = ended.failures.len();
    ended.failures.into_iter().for_each(std::mem::forget);
    count
}

#[test]
fn a_process_that_fails_with_payloads_that_panic_begins_again_each_time() {
    let system = System::new(1).unwrap();
    let plan = Plan::new().supervised(Supervision::Restart(3));
    let clerk = system.start_again(plan, Clerk::default);
    for _ in 0..3 {
        assert!(matches!(clerk.fail().unwrap().wait(), Err(ReplyError::Failed(_))));
        assert_eq!(clerk.add(1).unwrap().wait(), Ok(1));
    }
    let ended = system.run().unwrap();
    assert_eq!((ended.restarts, ended.failures.len()), (3, 0));
}

#[test]
fn calls_that_panic_when_they_are_dropped_do_not_keep_a_system_from_ending() {
    apart!("calls_that_panic_when_they_are_dropped_do_not_keep_a_system_from_ending", || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let system = System::new(1).unwrap();
        let other = system.start(Clerk::default());
        let (clerk, body) = Plan::new().prepare(Clerk::default());
        for _ in 0..3 {
            clerk.keep(Bomb(dropped.clone())).unwrap();
        }
        let waits = clerk.add(1).unwrap();
        // It never runs: its calls are dropped, each of them.
        drop(body);
        assert_eq!(dropped.load(SeqCst), 3);
        assert!(matches!(waits.wait(), Err(ReplyError::Stopped(_))));
        // One that fails while such calls wait for it.
        let fails = system.start(Clerk::default());
        let gate = system.start(Gate);
        gate.wait_for(fails.clone(), dropped.clone()).unwrap();
        assert_eq!(other.add(2).unwrap().wait(), Ok(2));
        drop((gate, fails, other));
        assert_eq!(forget_failures(system.run().unwrap()), 1);
        assert_eq!(dropped.load(SeqCst), 6);
    });
}

/// Has another process fail with calls that wait for it: on one core nobody runs in between.
struct Gate;

#[process]
impl Gate {
    #[entry]
    fn wait_for(&mut self, clerk: ClerkRef, dropped: Arc<AtomicUsize>) {
        drop(clerk.fail().unwrap());
        (0..3).for_each(|_| clerk.keep(Bomb(dropped.clone())).unwrap());
    }

    /// Makes a call whose making calls the same process, and lets it run.
    #[entry]
    fn nest(&mut self, clerk: ClerkRef) {
        clerk.append(1).unwrap();
        let made = clerk.post_with(|| {
            clerk.append(2).unwrap();
            yield_now();
            clerk.append(3).unwrap();
            ClerkMessage::Append { digit: 4 }
        });
        made.unwrap();
    }

    /// A call that panics while it is made.
    #[entry]
    fn fail_to_make(&mut self, clerk: ClerkRef) {
        clerk.append(5).unwrap();
        let made = catch_unwind(AssertUnwindSafe(|| clerk.post_with(|| panic!("no call"))));
        assert!(made.is_err());
        clerk.append(6).unwrap();
    }
}

#[test]
fn a_call_may_do_anything_while_it_is_made() {
    apart!("a_call_may_do_anything_while_it_is_made", || {
        let system = System::new(1).unwrap();
        let (clerk, gate) = (system.start(Clerk::default()), system.start(Gate));
        gate.nest(clerk.clone()).unwrap();
        gate.fail_to_make(clerk.clone()).unwrap();
        system.wait_idle().unwrap();
        assert_eq!(clerk.add(0).unwrap().wait(), Ok(123_456));
        assert_eq!(forget_failures(system.run().unwrap()), 0);
    });
}

#[test]
fn a_waker_that_panics_is_no_failure_of_the_process_that_answers() {
    apart!("a_waker_that_panics_is_no_failure_of_the_process_that_answers", || {
        let system = System::new(1).unwrap();
        let clerk = system.start(Clerk::default());
        let loud = Waker::from(Arc::new(Loud));
        for round in 1..=10 {
            let mut reply = pin!(clerk.add(1).unwrap());
            let first = reply.as_mut().poll(&mut Context::from_waker(&loud));
            assert_eq!(clerk.add(0).unwrap().wait(), Ok(round));
            if first.is_pending() {
                let second = reply.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert_eq!(second, Poll::Ready(Ok(round)));
            }
        }
        // Nor in the middle of a panic of its own.
        let mut reply = pin!(clerk.fail().unwrap());
        let first = reply.as_mut().poll(&mut Context::from_waker(&loud));
        let ended = system.run().unwrap();
        if first.is_pending() {
            let second = reply.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(second, Poll::Ready(Err(ReplyError::Failed(_)))));
        }
        assert_eq!(forget_failures(ended), 1);
    });
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_does_not_unwind_who_waits() {
    apart!("a_waker_that_panics_when_it_is_dropped_does_not_unwind_who_waits", || {
        let (clerk, body) = Plan::new().prepare(Clerk::default());
        let poll_once = |reply: &mut leno_process::Reply<u32>| {
            let falls = Waker::from(Arc::new(Falls));
            pin!(reply).poll(&mut Context::from_waker(&falls))
        };
        let (mut first, mut second, mut third) =
            (clerk.add(1).unwrap(), clerk.add(1).unwrap(), clerk.add(1).unwrap());
        // It is replaced by another one, by a wait, or goes with its reply.
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut first).is_pending());
        assert!(poll_once(&mut second).is_pending() && poll_once(&mut third).is_pending());
        drop(third);
        let waits = std::thread::spawn(move || second.wait());
        drop(clerk);
        body.run();
        assert_eq!(waits.join().unwrap(), Ok(2));
        let last = pin!(first).poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(last, Poll::Ready(Ok(1)));
    });
}

/// Looks at itself while its guards are asked, or serves.
struct Looks {
    serves: bool,
    seen: Vec<usize>,
}

#[process]
impl Looks {
    #[entry]
    fn one(&mut self) {}

    #[entry]
    fn seen(&mut self) -> Vec<usize> {
        self.seen.clone()
    }

    #[body]
    fn look(&mut self, me: &Me<Self>) {
        let (serves, mut seen) = (self.serves, Vec::new());
        for _ in 0..3 {
            me.exe_next_where(self, |_, _| {
                seen.push(me.pending());
                !serves || me.exe_next(&mut Looks { serves, seen: Vec::new() })
            });
        }
        self.seen = seen;
    }
}

#[test]
fn a_guard_may_look_at_its_process_and_not_serve() {
    let (looks, body) = Plan::new().prepare(Looks { serves: false, seen: Vec::new() });
    (0..3).for_each(|_| looks.one().unwrap());
    let seen = looks.seen().unwrap();
    drop(looks);
    body.run();
    assert_eq!(seen.wait(), Ok(vec![4, 3, 2]));

    let (looks, body) = Plan::new().prepare(Looks { serves: true, seen: Vec::new() });
    looks.one().unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| body.run())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(
        text.starts_with("process 'Looks' serves one call at a time: neither a guard"),
        "{text}"
    );
}

/// Serves by another coroutine than its own.
struct Delegates(u32);

#[process]
impl Delegates {
    #[entry]
    fn add(&mut self, number: u32) -> u32 {
        self.0 += number;
        self.0
    }

    #[body]
    fn delegate(&mut self, me: &Me<Self>) {
        // The coroutine that waits is the one that is woken.
        leno_kernel::scope(|scope| {
            let served = scope.spawn(|| me.exe_next(self));
            assert!(served.join().unwrap());
        });
        // While one waits, another may look, and not serve.
        leno_kernel::scope(|scope| {
            let other = scope.spawn(|| {
                assert_eq!(me.pending(), 0);
                let mut other = Delegates(0);
                let panic = catch_unwind(AssertUnwindSafe(|| me.exe_next(&mut other)));
                panic.unwrap_err().downcast_ref::<String>().unwrap().contains("another coroutine")
            });
            assert!(me.exe_next(self));
            self.0 += 100 * u32::from(other.join().unwrap());
        });
    }
}

#[test]
fn one_coroutine_at_a_time_serves_and_is_woken() {
    apart!("one_coroutine_at_a_time_serves_and_is_woken", || {
        let system = LocalSystem::new();
        let (delegates, body) = Plan::new().prepare(Delegates(0));
        drop(system.spawn(move || body.run()));
        let sums = system.spawn(move || {
            let sum = |_| {
                // The process waits by now.
                (0..5).for_each(|_| yield_now());
                delegates.add(1).unwrap().wait()
            };
            (0..4).map(sum).collect::<Result<Vec<_>, _>>()
        });
        system.run().unwrap();
        assert_eq!(sums.join().unwrap(), Ok(vec![1, 2, 103, 104]));
    });
}

/// Waits for a second call, while another coroutine asks whether the first one can be served, and suspends meanwhile.
struct Asked(u32);

#[process]
impl Asked {
    #[entry]
    fn add(&mut self, number: u32) -> u32 {
        self.0 += number;
        self.0
    }

    #[body]
    fn wait(&mut self, me: &Me<Self>) {
        leno_kernel::scope(|scope| {
            let other = scope.spawn(|| {
                assert_eq!(me.pending(), 1);
                let suspends = |_: &Asked, _: &_| {
                    (0..9).for_each(|_| yield_now());
                    true
                };
                let asks = || me.exe_next_where(&mut Asked(0), suspends);
                catch_unwind(AssertUnwindSafe(asks)).is_err()
            });
            let mut asked = 0;
            assert!(me.exe_next_where(self, |_, _| {
                asked += 1;
                asked > 1
            }));
            self.0 += 100 * u32::from(other.join().unwrap());
        });
    }
}

#[test]
fn a_process_that_waits_is_not_disturbed_by_a_guard_of_another_coroutine() {
    apart!("a_process_that_waits_is_not_disturbed_by_a_guard_of_another_coroutine", || {
        let system = LocalSystem::new();
        let (asked, body) = Plan::new().prepare(Asked(0));
        let first = asked.add(1).unwrap();
        drop(system.spawn(move || body.run()));
        let sums = system.spawn(move || {
            // The process waits by now, and the other coroutine asks.
            (0..5).for_each(|_| yield_now());
            let second = asked.add(1).unwrap();
            [first.wait(), second.wait()]
        });
        system.run().unwrap();
        assert_eq!(sums.join().unwrap(), [Ok(1), Ok(102)]);
    });
}

#[test]
fn one_that_is_woken_for_nothing_takes_nobodys_room() {
    apart!("one_that_is_woken_for_nothing_takes_nobodys_room", || {
        let system = LocalSystem::new();
        let (clerk, body) = Plan::new().mailbox(1).prepare(Clerk::default());
        let own = clerk.clone();
        clerk.append(1).unwrap();
        let first = system.spawn(move || own.append(2).unwrap());
        let wakes = system.spawn(move || {
            for _ in 0..3 {
                unpark(first.co().unwrap());
                yield_now();
            }
            let own = clerk.clone();
            let second = leno_kernel::spawn_local(move || own.append(3).unwrap());
            yield_now();
            let served = body.spawn().unwrap();
            second.join().unwrap();
            let sum = clerk.add(0).unwrap().wait();
            drop(clerk);
            served.join().unwrap();
            sum
        });
        system.run().unwrap();
        assert_eq!(wakes.join().unwrap(), Ok(123));
    });
}

/// Takes three calls.
#[derive(Default)]
struct Full(Vec<Arc<()>>);

#[process]
impl Full {
    #[entry(when = self.0.len() < 3)]
    fn put(&mut self, item: Arc<()>) {
        self.0.push(item);
    }
}

#[test]
fn a_process_that_is_stopped_ends_with_calls_whose_guards_are_closed() {
    apart!("a_process_that_is_stopped_ends_with_calls_whose_guards_are_closed", || {
        let item = Arc::new(());
        for is_idle in [true, false] {
            let system = System::new(1).unwrap();
            let full = system.start(Full::default());
            (0..5).for_each(|_| full.put(item.clone()).unwrap());
            if is_idle {
                system.wait_idle().unwrap();
            }
            full.stop();
            assert_eq!(forget_failures(system.stop().unwrap()), 0);
        }
        assert_eq!(Arc::strong_count(&item), 1);
    });
}

#[test]
fn failures_that_nobody_asks_for_may_panic_when_they_are_dropped() {
    apart!("failures_that_nobody_asks_for_may_panic_when_they_are_dropped", || {
        let system = System::new(1).unwrap();
        for _ in 0..3 {
            let clerk = system.start(Clerk::default());
            assert!(matches!(clerk.fail().unwrap().wait(), Err(ReplyError::Failed(_))));
        }
        drop(system);
    });
}

/// A state that panics when it is dropped.
struct Fragile(#[allow(dead_code, reason = "dropped")] Bomb);

#[process]
impl Fragile {
    #[entry]
    fn hold(&mut self) {}
}

/// Starts others.
struct Starts;

#[process]
impl Starts {
    #[entry]
    fn fragile(&mut self, me: &Me<Self>, bomb: Bomb) {
        let fragile = me.start(Plan::new(), Fragile(bomb));
        assert!(fragile.hold().is_err());
    }
}

type Place = Arc<std::sync::Mutex<Option<System>>>;

/// Ends the system that it is in.
struct Ends(Place);

#[process]
impl Ends {
    #[entry]
    fn end(&mut self, waits: bool) {
        let system = self.0.lock().unwrap().take().unwrap();
        if waits {
            let _panics = system.wait_idle();
        } else {
            let _panics = system.stop();
        }
    }
}

#[test]
fn a_process_cannot_wait_for_its_own_system() {
    apart!("a_process_cannot_wait_for_its_own_system", || {
        for waits in [true, false] {
            let place = Place::default();
            let system = System::new(1).unwrap();
            let ends = system.start(Ends(place.clone()));
            *place.lock().unwrap() = Some(system);
            ends.end(waits).unwrap();
            // The panic drops the system, with its own process in the middle of it.
            while ends.status() != leno_process::Status::Terminated {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn states_of_processes_that_cannot_be_started_may_panic_when_they_are_dropped() {
    apart!("states_of_processes_that_cannot_be_started_may_panic_when_they_are_dropped", || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (starts, body) = Plan::new().prepare(Starts);
        (0..3).for_each(|_| starts.fragile(Bomb(dropped.clone())).unwrap());
        drop(starts);
        // On a thread without a system nothing can be started.
        body.run();
        assert_eq!(dropped.load(SeqCst), 3);
        // Those that no scheduler has taken.
        let dropped = Arc::new(AtomicUsize::new(0));
        let system = System::new(1).unwrap();
        let (open, is_open) = std::sync::mpsc::channel::<()>();
        drop(system.cores()[0].attach(move || is_open.recv()));
        for _ in 0..3 {
            system.start(Fragile(Bomb(dropped.clone())));
        }
        let ends = std::thread::spawn(|| drop(system));
        drop(open);
        ends.join().unwrap();
        assert_eq!(dropped.load(SeqCst), 3);
    });
}

#[test]
fn what_states_are_made_of_may_panic_when_its_process_has_failed() {
    apart!("what_states_are_made_of_may_panic_when_its_process_has_failed", || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let bomb = Bomb(dropped.clone());
        let (clerk, body) = Plan::new().prepare_with(move || {
            let _ = &bomb;
            Clerk::default()
        });
        let reply = clerk.fail().unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| body.run())).unwrap_err();
        assert!(panic.is::<Payload>());
        std::mem::forget(panic);
        assert!(matches!(reply.wait(), Err(ReplyError::Failed(_))));
        assert_eq!(dropped.load(SeqCst), 1);
    });
}
