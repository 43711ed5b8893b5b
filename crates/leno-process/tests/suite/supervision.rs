//! Processes that panic or are made to exit: what their callers learn, and what becomes of them and of others.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use crate::support::clerk::{Clerk, Seen, text};
use leno_coroutine::{Coroutine, Suspender};
use leno_kernel::{LocalSystem, sleep, yield_now};
use leno_process::{Me, Plan, Refusal, ReplyError, Status, Supervision, System, process};

#[test]
fn a_process_that_fails_ends_and_says_so() {
    let system = System::new(1).unwrap();
    let clerk = system.start_with(Plan::new().name("clerk"), Clerk::default());
    let other = system.start(Clerk::default());
    let failed = clerk.fail().unwrap().wait().unwrap_err();
    assert_eq!(failed.to_string(), "no reply: process 'clerk' panicked while it served the call");
    // From the moment on at which anyone can know.
    let refused = clerk.note(1).unwrap_err();
    assert_eq!(refused.why, Refusal::Failed);
    assert_eq!(refused.to_string(), "process 'clerk' does not take the call: it panicked");
    other.note(5).unwrap();
    assert_eq!(other.sum().unwrap().wait(), Ok(5));
    system.wait_idle().unwrap();
    assert_eq!(clerk.note(1).unwrap_err().why, Refusal::Failed);
    let ended = system.run().unwrap();
    assert_eq!(ended.failures.len(), 1);
    assert_eq!(format!("{:?}", ended.failures[0]), "process 'clerk' panicked: planned");
}

#[test]
fn a_supervised_process_begins_again_with_the_next_call() {
    let system = System::new(1).unwrap();
    let plan = Plan::new().name("clerk").supervised(Supervision::Restart(2));
    let clerk = system.start_again(plan, Clerk::default);
    for _ in 0..2 {
        clerk.note(5).unwrap();
        let failed = clerk.fail().unwrap();
        clerk.note(1).unwrap();
        assert!(matches!(failed.wait(), Err(ReplyError::Failed(_))));
        assert_eq!(clerk.sum().unwrap().wait(), Ok(1), "a new state, the same mailbox");
    }
    let other = system.start(Clerk::default());
    system.wait_idle().unwrap();
    assert!(matches!(clerk.fail().unwrap().wait(), Err(ReplyError::Failed(_))));
    system.wait_idle().unwrap();
    assert_eq!(other.status(), Status::Terminated, "too often: the whole system ends");
    let ended = system.run().unwrap();
    assert_eq!((ended.restarts, ended.failures.len()), (2, 1));
}

#[test]
fn one_that_cannot_begin_again_says_that_it_failed() {
    let system = System::new(1).unwrap();
    let plan = Plan::new().supervised(Supervision::Restart(5));
    let clerk = system.start_with(plan, Clerk::default());
    drop(clerk.fail().unwrap().wait());
    let ended = system.run().unwrap();
    assert_eq!((ended.restarts, ended.failures.len()), (0, 1));
}

#[test]
fn a_system_that_is_dropped_ends_its_processes() {
    let seen = Seen::default();
    let system = System::new(1).unwrap();
    let clerk = system.start(Clerk { seen: seen.clone(), sum: 0 });
    clerk.note(1).unwrap();
    system.wait_idle().unwrap();
    drop(system);
    assert_eq!(clerk.status(), Status::Terminated);
    assert_eq!(text(&seen), "1", "it exits, without its last");
    assert_eq!(clerk.note(2).unwrap_err().why, Refusal::Ended);
}

#[test]
fn who_catches_a_panic_of_a_call_that_it_serves_goes_on() {
    struct Patient(u32);
    #[process]
    impl Patient {
        #[body]
        fn serve_all(&mut self, me: &Me<Self>) {
            while catch_unwind(AssertUnwindSafe(|| me.exe_next(self))).unwrap_or(true) {}
        }

        #[entry]
        fn count(&mut self, fails: bool) -> u32 {
            assert!(!fails, "planned");
            self.0 += 1;
            self.0
        }

        /// Whether it can be called while it serves this.
        #[entry]
        fn is_callable(&mut self, me: &Me<Self>) -> bool {
            me.address().unwrap().count(false).is_ok()
        }
    }
    let system = System::new(1).unwrap();
    let patient = system.start(Patient(0));
    assert!(matches!(patient.count(true).unwrap().wait(), Err(ReplyError::Failed(_))));
    system.wait_idle().unwrap();
    assert_eq!(patient.count(false).unwrap().wait(), Ok(1));
    // Also from the next call on that it had taken along with the one that failed.
    let (fails, next) = (patient.count(true).unwrap(), patient.is_callable().unwrap());
    assert!(matches!(fails.wait(), Err(ReplyError::Failed(_))));
    assert_eq!(next.wait(), Ok(true));
    assert_eq!(system.run().unwrap().failures.len(), 0);
}

#[test]
fn what_escalates_stops_all_others() {
    let system = System::new(2).unwrap();
    let others = [0, 1, 2].map(|_| system.start(Clerk::default()));
    let plan = Plan::new().supervised(Supervision::Escalate);
    let clerk = system.start_with(plan, Clerk::default());
    drop(clerk.fail().unwrap().wait());
    let ended = system.run().unwrap();
    assert_eq!(ended.failures.len(), 1);
    assert!(others.iter().all(|other| other.status() == Status::Terminated));
}

/// Serves for ever.
struct Slow;

#[process]
impl Slow {
    #[entry]
    fn wait(&mut self) -> u32 {
        sleep(Duration::from_secs(1_000_000));
        1
    }
}

#[test]
fn one_that_is_cancelled_while_it_serves_says_so() {
    // Even if it were to begin again after a panic.
    let plan = Plan::new().name("slow").supervised(Supervision::Restart(5));
    let (slow, body) = plan.prepare_with(|| Slow);
    let system = LocalSystem::new();
    let handle = system.spawn(move || body.run());
    let (first, second) = (slow.wait().unwrap(), slow.wait().unwrap());
    let errors = system.spawn(move || {
        yield_now();
        handle.cancel();
        let error = first.wait().unwrap_err();
        // From the moment on at which anyone can know.
        assert_eq!(slow.wait().unwrap_err().why, Refusal::Ended);
        (error, second.wait().unwrap_err())
    });
    system.run().unwrap();
    let (first, second) = errors.join().unwrap();
    assert_eq!(first, ReplyError::Exited("slow".into()));
    let text = "no reply: process 'slow' was made to exit while it served the call";
    assert_eq!(first.to_string(), text);
    assert_eq!(second, ReplyError::Stopped("slow".into()), "its call was not served at all");
}

#[test]
fn one_whose_system_is_dropped_while_it_serves_says_so() {
    let system = System::new(1).unwrap();
    let slow = system.start_with(Plan::new().name("slow"), Slow);
    let reply = slow.wait().unwrap();
    while slow.status() != Status::Active {
        std::thread::yield_now();
    }
    drop(system);
    let error = reply.wait().unwrap_err();
    // It may not have come to serve the call.
    let (exited, stopped) = (ReplyError::Exited("slow".into()), ReplyError::Stopped("slow".into()));
    assert!(error == exited || error == stopped, "{error:?}");
    assert_eq!(slow.wait().unwrap_err().why, Refusal::Ended);
}

/// An exit of another coroutine than those around the calling code.
fn stolen_exit() -> Box<dyn std::any::Any + Send> {
    let stolen = std::rc::Rc::new(std::cell::Cell::new(None));
    let into = stolen.clone();
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        into.set(catch_unwind(AssertUnwindSafe(|| co.suspend(()))).err());
    });
    coroutine.resume(());
    drop(coroutine);
    stolen.take().expect("it was made to exit")
}

struct Thief(u32);

#[process]
impl Thief {
    #[entry]
    fn count(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }

    #[entry]
    fn steal(&mut self) -> u32 {
        resume_unwind(stolen_exit())
    }
}

#[test]
fn a_process_that_raises_an_exit_of_another_coroutine_has_failed() {
    let system = System::new(1).unwrap();
    let plan = Plan::new().name("thief").supervised(Supervision::Restart(1));
    let thief = system.start_again(plan, || Thief(0));
    assert_eq!(thief.count().unwrap().wait(), Ok(1));
    assert!(matches!(thief.steal().unwrap().wait(), Err(ReplyError::Failed(_))));
    assert_eq!(thief.count().unwrap().wait(), Ok(1), "it has begun again");
    assert!(matches!(thief.steal().unwrap().wait(), Err(ReplyError::Failed(_))));
    let ended = system.run().unwrap();
    assert_eq!((ended.restarts, ended.failures.len()), (1, 1));
    assert_eq!(thief.count().unwrap_err().why, Refusal::Failed);
}
