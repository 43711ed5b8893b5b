//! What ends a coroutine, a call or a system, and what is dropped then: others go on.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use leno_flexible::{AsyncMe, CallError, Flexible, Me, Refusal, State, System, Threadless};

use super::support::{in_time, until};

/// Its only handle is a parameter: dropping that locks the system.
#[test]
fn the_parameter_of_a_caller_that_is_unwound_is_dropped_outside_of_the_lock() {
    in_time(|| {
        let system = System::new();
        let waits = system.create("waits", |_: &mut Me<Flexible<(), ()>, ()>| {
            leno_kernel::sleep(Duration::from_secs(3600));
        });
        let callee = waits.clone();
        let calls = system.create("calls", move |me: &mut Me<(), ()>| {
            let own = me.create("third", |_: &mut Me<(), ()>| {});
            let _ = callee.call(own);
        });
        calls.kick().unwrap();
        until(&waits, State::Parked);
        assert_eq!(calls.state(), State::Calling);
        drop(system);
        assert_eq!(calls.state(), State::Terminated);
    });
}

/// A coroutine that adds one, for calls from anywhere.
fn adder(system: &System) -> Flexible<u32, u32> {
    system.create("adds", |me: &mut Me<u32, u32>| {
        loop {
            let n = me.parameter().unwrap_or(0);
            me.detach(n + 1);
        }
    })
}

#[test]
fn a_coroutine_that_gets_no_stack_is_its_callers_error_and_its_system_goes_on() {
    in_time(|| {
        let (tell, told) = mpsc::channel();
        let tell = Mutex::new(tell);
        let system = System::builder()
            .on_failure(move |failure| tell.lock().unwrap().send(failure.to_string()).unwrap())
            .build();
        let huge = || system.coroutine("huge").stack_size(1 << 50);
        let error = huge().create(|_: &mut Me<(), ()>| {}).call(()).unwrap_err().to_string();
        assert!(error.contains("huge") && error.contains("cannot start"), "{error}");
        assert!(error.contains(&(1_u64 << 50).to_string()), "{error}");
        let kicked = huge().create(|_: &mut Me<(), ()>| {});
        kicked.kick().unwrap();
        let failure = told.recv().unwrap();
        assert!(failure.contains("huge") && failure.contains("cannot start"), "{failure}");
        assert_eq!(kicked.state(), State::Terminated);
        let calls = huge().create(|_: &mut Me<(), ()>| {});
        let caller = system.create("caller", move |me: &mut Me<(), String>| {
            me.answer(calls.call(()).unwrap_err().to_string());
        });
        let error = caller.call(()).unwrap();
        assert!(error.contains("huge") && error.contains("cannot start"), "{error}");
        assert_eq!(adder(&system).call(1).unwrap(), 2);
    });
}

/// In a process of its own, whose address space is limited.
#[cfg(not(any(leno_baton, leno_asan)))]
#[test]
fn a_coroutine_for_which_there_is_no_memory_is_its_callers_error_and_its_system_goes_on() {
    const NAME: &str = concat!(
        module_path!(),
        "::a_coroutine_for_which_there_is_no_memory_is_its_callers_error_and_its_system_goes_on"
    );
    const CHILD: &str = "LENO_FLEXIBLE_NO_MEMORY";
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "ulimit -v 800000; exec \"$0\" \"$1\" --exact --nocapture"]);
        let (_crate, name) = NAME.split_once("::").unwrap();
        child.arg(std::env::current_exe().unwrap()).arg(name).env(CHILD, "1");
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "no test has run");
        return;
    }
    in_time(|| {
        let system = System::new();
        let huge = system.coroutine("huge").stack_size(1 << 30).create(|_: &mut Me<(), ()>| {});
        let error = huge.call(()).unwrap_err().to_string();
        assert!(error.contains("huge") && error.contains("cannot start"), "{error}");
        assert_eq!(adder(&system).call(1).unwrap(), 2);
    });
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("a destructor panics");
        }
    }
}

/// A coroutine that adds one, in a system without a thread.
fn stackless_adder(system: &Threadless) -> Flexible<u32, u32> {
    system.create("adds", |mut me: AsyncMe<u32, u32>| async move {
        loop {
            let n = me.parameter().unwrap_or(0);
            me.detach(n + 1).await;
        }
    })
}

/// A coroutine that says when it runs, and goes on when it may; meanwhile its thread has the helm.
fn busy(
    system: &Threadless,
    name: &'static str,
) -> (Flexible<(), u32>, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (enter, entered) = mpsc::channel();
    let (leave, left) = mpsc::channel::<()>();
    let left = Mutex::new(left);
    let made = system.create(name, move |mut me: AsyncMe<(), u32>| async move {
        enter.send(()).unwrap();
        left.lock().unwrap().recv().unwrap();
        me.yield_now().await;
        me.detach(1).await;
    });
    (made, entered, leave)
}

/// An answer whose caller has given up meanwhile is dropped by the thread that steers, between two turns; that thread
/// has called another coroutine.
fn drop_an_answer<R: Send + 'static>(
    system: &Threadless,
    answer: impl FnOnce() -> R + Send + 'static,
) -> Result<u32, CallError> {
    let (slow, is_slow, goes_on) = busy(system, "slow");
    let (enter, entered) = mpsc::channel();
    let (leave, left) = mpsc::channel::<()>();
    let left = Mutex::new(left);
    let answers = system.create("answers", move |mut me: AsyncMe<(), R>| async move {
        enter.send(()).unwrap();
        left.lock().unwrap().recv().unwrap();
        me.detach(answer()).await;
    });
    thread::scope(|s| {
        let steers = s.spawn(|| slow.call(()));
        is_slow.recv().unwrap();
        let mut call = Box::pin(answers.call_async(()));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        goes_on.send(()).unwrap();
        entered.recv().unwrap();
        drop(call);
        leave.send(()).unwrap();
        steers.join().expect("it has called another coroutine")
    })
}

#[test]
fn an_answer_that_nobody_gets_and_that_panics_ends_neither_its_system_nor_a_caller() {
    in_time(|| {
        let system = Threadless::new();
        assert_eq!(drop_an_answer(&system, || Bomb).unwrap(), 1);
        assert_eq!(stackless_adder(&system).call(1).unwrap(), 2);
    });
}

/// Calls a coroutine when it is dropped.
struct Calls(Flexible<u32, u32>, mpsc::Sender<Result<u32, CallError>>);

impl Drop for Calls {
    fn drop(&mut self) {
        self.1.send(self.0.call(1)).unwrap();
    }
}

#[test]
fn a_destructor_between_two_turns_that_calls_its_system_is_refused() {
    in_time(|| {
        let system = Threadless::new();
        let adds = stackless_adder(&system);
        let (tell, told) = mpsc::channel();
        let calls = Calls(adds.clone(), tell);
        assert_eq!(drop_an_answer(&system, move || calls).unwrap(), 1);
        let refused = told.recv().unwrap().unwrap_err();
        assert!(matches!(refused, CallError::Refused(Refusal::Steers { .. })), "{refused}");
        assert_eq!(adds.call(1).unwrap(), 2);
    });
}

/// The same for one who waits for a future there.
#[test]
fn a_destructor_between_two_turns_that_blocks_on_a_call_of_its_system_is_refused() {
    struct Blocks(Flexible<u32, u32>, mpsc::Sender<Result<u32, CallError>>);
    impl Drop for Blocks {
        fn drop(&mut self) {
            self.1.send(leno_kernel::block_on(self.0.call_async(1))).unwrap();
        }
    }
    in_time(|| {
        let system = Threadless::new();
        let adds = stackless_adder(&system);
        let (tell, told) = mpsc::channel();
        let blocks = Blocks(adds.clone(), tell);
        assert_eq!(drop_an_answer(&system, move || blocks).unwrap(), 1);
        let refused = told.recv().unwrap().unwrap_err();
        assert!(matches!(refused, CallError::Refused(Refusal::Steers { .. })), "{refused}");
        assert_eq!(adds.call(1).unwrap(), 2);
    });
}

/// Whoever gives up drops the parameter, and does not steer. Somebody is ready then, and nobody else is there who would:
/// a helper is sent first.
#[test]
fn a_parameter_whose_caller_gives_up_may_call_its_system() {
    in_time(|| {
        let system = Threadless::new();
        let adds = stackless_adder(&system);
        let (tell, told) = mpsc::channel();
        let waits = system.create("waits", |mut me: AsyncMe<Option<Calls>, ()>| async move {
            loop {
                me.passivate().await;
            }
        });
        let call = |parameter| {
            let mut call = Box::pin(waits.call_async(parameter));
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            call
        };
        let first = call(Some(Calls(adds, tell)));
        // When the first has given up, the second is attached, and its coroutine is ready.
        let _second = call(None);
        drop(first);
        assert_eq!(told.recv().unwrap().unwrap(), 2);
    });
}

/// The coroutine of a home core drops a system that another thread runs; there a body drops the home core.
#[test]
fn two_systems_whose_coroutines_drop_each_other_end() {
    in_time(|| {
        let (home, steered) = (System::new(), Threadless::new());
        let (enter, entered) = mpsc::channel();
        let (leave, left) = mpsc::channel::<System>();
        let left = Mutex::new(left);
        let busy = steered.create("busy", move |_: AsyncMe<(), ()>| async move {
            enter.send(()).unwrap();
            let home = left.lock().unwrap().recv().unwrap();
            drop(home);
        });
        let call = thread::spawn(move || busy.call(()));
        entered.recv().unwrap();
        let drops = home.create("drops", move |_: &mut Me<(), ()>| drop(steered));
        drops.kick().unwrap();
        until(&drops, State::Terminated);
        leave.send(home).unwrap();
        assert!(call.join().unwrap().is_err(), "its system has ended");
        assert_eq!(drops.state(), State::Terminated);
    });
}

/// Each of two threads runs a system, a body of which drops the other system.
#[test]
fn two_threadless_systems_whose_bodies_drop_each_other_end() {
    in_time(|| {
        let (enter, entered) = mpsc::channel();
        let run = |system: Threadless| {
            let (leave, left) = mpsc::channel::<Threadless>();
            let (left, enter) = (Mutex::new(left), enter.clone());
            let drops = system.create("drops", move |_: AsyncMe<(), ()>| async move {
                enter.send(()).unwrap();
                let other = left.lock().unwrap().recv().unwrap();
                drop(other);
            });
            (system, leave, thread::spawn(move || drops.call(())))
        };
        let (one, leave_one, call_one) = run(Threadless::new());
        let (two, leave_two, call_two) = run(Threadless::new());
        (0..2).for_each(|_| entered.recv().unwrap());
        leave_one.send(two).unwrap();
        leave_two.send(one).unwrap();
        for call in [call_one, call_two] {
            let _ = call.join().unwrap();
        }
    });
}

/// A waker that lets the other coroutines of its core run.
struct Yields;

impl Wake for Yields {
    fn wake(self: Arc<Self>) {
        leno_kernel::yield_now();
    }
}

#[test]
fn a_coroutine_that_drops_its_system_and_is_suspended_by_a_waker_still_ends() {
    in_time(|| {
        let (tell, told) = mpsc::channel();
        let system = Arc::new(Mutex::new(None));
        let own = system.clone();
        let drops = System::new();
        let waits = drops.create("waits", |me: &mut Me<(), ()>| me.passivate());
        let last = drops.create("drops", move |_: &mut Me<(), ()>| {
            // Dropped when the coroutine has ended, by whatever ends it.
            let _tell: mpsc::Sender<()> = tell;
            drop(own.lock().unwrap().take());
        });
        let waker = Waker::from(Arc::new(Yields));
        let mut call = Box::pin(waits.call_wait_async(()));
        assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        until(&waits, State::Idle);
        *system.lock().unwrap() = Some(drops);
        last.kick().unwrap();
        assert_eq!(told.recv(), Err(mpsc::RecvError));
    });
}

/// Drops a system when its thread ends.
struct AtEnd(RefCell<Option<Arc<Mutex<Option<Threadless>>>>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(system) = self.0.take() {
            let system = system.lock().unwrap().take();
            drop(system);
        }
    }
}

thread_local!(static AT_END: AtEnd = const { AtEnd(RefCell::new(None)) });

#[cfg_attr(leno_baton, ignore = "coroutines have thread-locals of their own there")]
#[test]
fn a_core_that_ends_does_not_wait_for_the_body_that_waits_for_it() {
    in_time(|| {
        let threadless = Arc::new(Mutex::new(None));
        let cores = leno_kernel::System::new(1).unwrap();
        let own = threadless.clone();
        cores.spawn(move || AT_END.with(|end| end.0.replace(Some(own)))).join().unwrap();
        let system = Threadless::new();
        let drops = system.create("drops", |mut me: AsyncMe<leno_kernel::System, ()>| async move {
            // Waits for the core's thread, which drops the threadless system.
            drop(me.parameter());
        });
        *threadless.lock().unwrap() = Some(system);
        let _ = drops.call(cores);
        assert_eq!(drops.state(), State::Terminated);
    });
}

#[test]
fn a_coroutine_on_top_of_a_body_drops_the_system_of_the_body() {
    in_time(|| {
        let gone = Arc::new(());
        let own = gone.clone();
        let system = Threadless::new();
        let runs = system.create("runs", |mut me: AsyncMe<Threadless, ()>| async move {
            let _own = own;
            let system = me.parameter();
            let local = leno_kernel::LocalSystem::new();
            drop(local.spawn(move || drop(system)));
            local.run().unwrap();
        });
        let _ = runs.call(system);
        assert_eq!(runs.state(), State::Terminated);
        assert_eq!(Arc::strong_count(&gone), 1);
    });
}

/// In a process of its own, which runs out of address space.
#[test]
fn a_coroutine_may_drop_its_own_system_when_there_is_no_thread() {
    const CHILD: &str = "LENO_FLEXIBLE_NO_THREAD";
    if std::env::var_os(CHILD).is_none() {
        const NAME: &str = concat!(
            module_path!(),
            "::a_coroutine_may_drop_its_own_system_when_there_is_no_thread"
        );
        let (_crate, name) = NAME.split_once("::").unwrap();
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "ulimit -v 4000000 && exec \"$0\" \"$@\""]);
        child.arg(std::env::current_exe().unwrap()).args([name, "--exact", "--nocapture"]);
        let output = child.env(CHILD, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "no test has run");
        return;
    }
    in_time(|| {
        let (system, (tell, told)) = (System::new(), mpsc::channel());
        let (give, given) = mpsc::channel::<System>();
        let drops = system.create("drops", move |_: &mut Me<(), ()>| {
            let system = given.recv().unwrap();
            // Address space is taken, and not used; what is left is too little for a stack of a thread.
            let mut taken: Vec<Vec<u8>> = Vec::with_capacity(4096);
            for size in [1 << 26, 1 << 22, 1 << 20] {
                let take = |_| {
                    let mut place = Vec::new();
                    place.try_reserve_exact(size).is_ok().then_some(place)
                };
                taken.extend((0..1000).map_while(take));
            }
            taken.pop();
            let is_without = thread::Builder::new().spawn(|| {}).is_err();
            drop(system);
            drop(taken);
            tell.send(is_without).unwrap();
        });
        drops.kick().unwrap();
        assert!(give.send(system).is_ok());
        assert!(told.recv().expect("the drop returns"), "there was a thread");
    });
}
