//! Processes: entries, order, statements, stopping, replies. What happens when they fail is in
//! `supervision.rs`.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::clerk::{Clerk, ClerkRef, Seen, say, text};
use crate::support::round_robin;
use leno_explore::{Explorer, thread};
use leno_kernel::{LocalSystem, Options, block_on, sleep, yield_now};
use leno_process::{
    Budget, Me, Plan, Prepared, Process, Refusal, ReplyError, Sink, Status, System, process,
};

/// Runs processes on one core, in virtual time, each for 100 units at a time.
fn scheduled(bodies: impl IntoIterator<Item = Prepared> + 'static, main: impl FnOnce() + 'static) {
    let system = LocalSystem::builder().preemptive().virtual_time().build();
    let done = system.spawn(|| {
        let sink = Sink::new();
        for body in bodies {
            let options = body.options().clone();
            drop(sink.spawn(&options, move || body.run()).unwrap());
        }
        drop(sink.spawn(&Options::new(), main).unwrap());
        round_robin(&sink, Budget::units(100));
    });
    system.run().unwrap();
    done.join().unwrap();
}

#[test]
fn m10_a_call_is_queued_and_returns_at_once() {
    let seen = Seen::default();
    let (clerk, body) = Plan::new().prepare(Clerk { seen: seen.clone(), sum: 0 });
    // It has not even started.
    clerk.note(1).unwrap();
    clerk.pair("two".to_owned(), 2).unwrap();
    assert_eq!(text(&seen), "");
    let inner = seen.clone();
    scheduled([body], move || {
        clerk.note(3).unwrap();
        say(&inner, "called");
        drop(clerk);
    });
    assert_eq!(text(&seen), "1 two2 called 3 closed");
}

#[test]
fn m11_entries_run_in_order_of_arrival() {
    Explorer::new().exhaustive().most_interruptions(2).check(|| {
        let seen = Seen::default();
        let system = System::new(1).unwrap();
        let clerk = system.start(Clerk { seen: seen.clone(), sum: 0 });
        (0..4).for_each(|n| clerk.note(n).unwrap());
        system.run().unwrap();
        assert_eq!(text(&seen), "0 1 2 3 closed");
    });
}

/// Has statements of its own.
struct Worker {
    seen: Seen,
    is_ready: bool,
}

#[process]
impl Worker {
    #[body]
    fn work(&mut self, me: &Me<Self>) {
        say(&self.seen, "begins");
        assert!(me.exe_next(self));
        say(&self.seen, "between");
        // Only this one, however long others wait.
        while !self.is_ready {
            assert!(me.exe_next_where(self, |_, call| matches!(call, WorkerMessage::Ready { .. })));
        }
        say(&self.seen, "ends");
    }

    #[entry]
    fn tell(&mut self, word: String) {
        say(&self.seen, word);
    }

    #[entry]
    fn ready(&mut self) {
        self.is_ready = true;
    }
}

fn worker(seen: &Seen) -> Worker {
    Worker { seen: seen.clone(), is_ready: false }
}

#[test]
fn m12_a_process_serves_one_call_within_its_own_statements() {
    let seen = Seen::default();
    let (worker, body) = Plan::new().prepare(worker(&seen));
    for word in ["a", "b", "c"] {
        worker.tell(word.to_owned()).unwrap();
    }
    worker.ready().unwrap();
    drop(worker);
    scheduled([body], || ());
    assert_eq!(text(&seen), "begins a between ends b c");
}

#[test]
fn m13_after_its_statements_it_serves_for_ever() {
    let seen = Seen::default();
    let system = System::new(1).unwrap();
    let worker = system.start(worker(&seen));
    worker.tell("first".to_owned()).unwrap();
    worker.ready().unwrap();
    system.wait_idle().unwrap();
    for n in 0..50 {
        worker.tell(n.to_string()).unwrap();
        system.wait_idle().unwrap();
    }
    assert_eq!(worker.status(), Status::Waiting);
    assert_eq!(seen.lock().unwrap().len(), 4 + 50);
    system.run().unwrap();
    assert_eq!(worker.status(), Status::Terminated);
}

#[test]
fn m14_no_call_is_lost_while_the_process_goes_to_wait() {
    Explorer::new().exhaustive().most_interruptions(3).check(|| {
        let (clerk, body) = Plan::new().prepare(Clerk::default());
        let system = LocalSystem::new();
        drop(system.spawn(move || body.run()));
        let calls = thread::spawn("calls", move || {
            clerk.note(1).unwrap();
            clerk.note(2).unwrap();
            clerk.sum().unwrap().wait()
        });
        system.run().unwrap();
        assert_eq!(calls.join().unwrap(), Ok(3));
    });
}

#[test]
fn m15_arguments_are_made_by_the_caller_and_the_body_runs_in_the_process() {
    struct Who(Option<std::thread::ThreadId>);
    #[process]
    impl Who {
        #[entry]
        fn ask(&mut self, caller: std::thread::ThreadId) -> bool {
            self.0.replace(caller);
            caller == std::thread::current().id()
        }
    }
    let system = System::new(1).unwrap();
    let who = system.start(Who(None));
    assert_eq!(who.ask(std::thread::current().id()).unwrap().wait(), Ok(false));
    system.run().unwrap();
}

#[test]
fn m16_several_call_one_process_at_once() {
    Explorer::new().exhaustive().most_interruptions(1).check(|| {
        let system = System::new(1).unwrap();
        let clerk = system.start(Clerk::default());
        let callers = [1, 2].map(|n| {
            let clerk = clerk.clone();
            thread::spawn("calls", move || clerk.note(n).unwrap())
        });
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert_eq!(clerk.sum().unwrap().wait(), Ok(3));
        system.run().unwrap();
    });
    // And for real.
    let system = System::builder().cores(2).quantum(Budget::units(20)).build().unwrap();
    let clerk = system.start(Clerk::default());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let clerk = clerk.clone();
            scope.spawn(move || (0..500).for_each(|_| clerk.note(1).unwrap()));
        }
    });
    assert_eq!(clerk.sum().unwrap().wait(), Ok(2000));
    system.run().unwrap();
}

#[test]
fn m17_stop_serves_what_is_queued_then_does_its_last_and_ends() {
    let seen = Seen::default();
    let (clerk, body) = Plan::new().name("clerk").prepare(Clerk { seen: seen.clone(), sum: 0 });
    let other = clerk.clone();
    scheduled([body], move || {
        clerk.note(1).unwrap();
        clerk.note(2).unwrap();
        clerk.stop();
        let refused = clerk.note(3).unwrap_err();
        assert_eq!((refused.why, refused.arguments), (Refusal::Stopped, 3));
    });
    assert_eq!(text(&seen), "1 2 closed");
    assert_eq!(other.status(), Status::Terminated);
}

#[test]
fn m18_start_makes_it_active_among_those_that_are_scheduled() {
    let (clerk, body) = Plan::new().prepare(Clerk::default());
    assert_eq!(clerk.status(), Status::New);
    let system = System::new(1).unwrap();
    let active = Arc::new(Mutex::new(None));
    struct Looks(ClerkRef, Arc<Mutex<Option<Status>>>);
    #[process]
    impl Looks {
        #[body]
        fn look(&mut self, me: &Me<Self>) {
            *self.1.lock().unwrap() = me.address().map(|own| own.status());
            self.0.stop();
        }
    }
    let looks = system.start(Looks(clerk, active.clone()));
    drop(body);
    system.run().unwrap();
    assert_eq!(*active.lock().unwrap(), Some(Status::Active));
    assert_eq!(looks.status(), Status::Terminated);
}

#[test]
fn m19_a_system_runs_when_its_own_statements_are_over() {
    let seen = Seen::default();
    let system = System::new(1).unwrap();
    let clerk = system.start(Clerk { seen: seen.clone(), sum: 0 });
    (0..3).for_each(|n| clerk.note(n).unwrap());
    // Its statements end; now it runs until nobody has anything to do.
    let ended = system.run().unwrap();
    assert_eq!(text(&seen), "0 1 2 closed");
    assert_eq!((ended.started, ended.restarts, ended.failures.len()), (1, 0, 0));
}

#[test]
fn m54_the_status_of_a_process() {
    let system = System::new(1).unwrap();
    let clerk = system.start(Clerk::default());
    system.wait_idle().unwrap();
    assert_eq!(clerk.status(), Status::Waiting);
    assert!(format!("{clerk:?}").contains("Waiting"));
    system.stop().unwrap();
    assert_eq!(clerk.status(), Status::Terminated);
}

#[test]
fn m59_a_call_of_a_stopped_process_comes_back_with_its_arguments() {
    let (clerk, body) = Plan::new().name("clerk").prepare(Clerk::default());
    drop(body);
    let refused = clerk.pair("word".to_owned(), 5).unwrap_err();
    assert_eq!(refused.arguments, ("word".to_owned(), 5));
    assert_eq!(refused.to_string(), "process 'clerk' does not take the call: it has ended");
    clerk.stop();
    let refused = clerk.sum().unwrap_err();
    assert_eq!(refused.why, Refusal::Stopped);
    assert_eq!(refused.to_string(), "process 'clerk' does not take the call: it was stopped");
    // Who has no name is called by its type's.
    let (clerk, body) = Plan::new().prepare(Clerk::default());
    drop(body);
    let refused = clerk.note(1).unwrap_err();
    assert_eq!(refused.to_string(), "process 'Clerk' does not take the call: it has ended");
}

#[test]
fn m59_a_reply_of_one_that_ends_first_says_so() {
    let (clerk, body) = Plan::new().name("clerk").prepare(Clerk::default());
    let reply = clerk.sum().unwrap();
    let awaited = clerk.sum().unwrap();
    drop(body);
    assert_eq!(reply.wait(), Err(ReplyError::Stopped("clerk".into())));
    let error = block_on(awaited).unwrap_err();
    assert_eq!(error.to_string(), "no reply: process 'clerk' ended before it served the call");
}

#[test]
fn replies_are_awaited_waited_for_or_looked_at() {
    let system = System::new(1).unwrap();
    let clerk = system.start(Clerk::default());
    clerk.note(7).unwrap();
    assert_eq!(block_on(clerk.sum().unwrap()), Ok(7));
    assert_eq!(clerk.sum().unwrap().wait_timeout(Duration::from_secs(60)), Ok(7));
    let mut reply = clerk.sum().unwrap();
    let sum = loop {
        match reply.try_take() {
            Ok(sum) => break sum,
            Err(not_yet) => reply = not_yet,
        }
        std::thread::yield_now();
    };
    assert_eq!(sum, Ok(7));
    system.run().unwrap();
}

#[test]
fn a_reply_that_comes_late_is_given_up() {
    struct Slow;
    #[process]
    impl Slow {
        #[entry]
        fn wait(&mut self) -> u32 {
            sleep(Duration::from_secs(10));
            1
        }
    }
    let (slow, body) = Plan::new().name("slow").prepare(Slow);
    scheduled([body], move || {
        let late = slow.wait().unwrap().wait_timeout(Duration::from_secs(1));
        assert_eq!(late, Err(ReplyError::TimedOut("slow".into())));
        assert_eq!(slow.wait().unwrap().wait_timeout(Duration::from_secs(100)), Ok(1));
    });
}

#[test]
fn a_bounded_mailbox_makes_callers_wait() {
    let program = || {
        let system = LocalSystem::new();
        let (clerk, body) = Plan::new().mailbox(1).prepare(Clerk::default());
        drop(system.spawn(move || body.run()));
        let other = clerk.clone();
        let calls = thread::spawn("calls", move || (0..2).for_each(|_| clerk.note(1).unwrap()));
        let sum = system.spawn(move || {
            other.note(4).unwrap();
            other.note(5).unwrap();
            calls.join().unwrap();
            other.sum().unwrap().wait()
        });
        system.run().unwrap();
        assert_eq!(sum.join().unwrap(), Ok(11));
    };
    Explorer::new().exhaustive().most_interruptions(1).check(program);
    Explorer::new().random(5).runs(200).check(program);
}

#[test]
fn a_full_mailbox_refuses_if_it_is_to() {
    let (clerk, body) = Plan::new().mailbox(2).refusing().prepare(Clerk::default());
    clerk.note(1).unwrap();
    clerk.note(2).unwrap();
    let refused = clerk.note(3).unwrap_err();
    assert_eq!((refused.why, refused.arguments), (Refusal::Full, 3));
    scheduled([body], move || {
        yield_now();
        clerk.note(3).unwrap();
    });
}

#[test]
fn callers_that_wait_for_room_learn_that_it_was_stopped() {
    let (clerk, body) = Plan::new().mailbox(1).prepare(Clerk::default());
    clerk.note(1).unwrap();
    let system = LocalSystem::new();
    let (waits, stops) = (clerk.clone(), clerk);
    let refused = system.spawn(move || waits.note(2).unwrap_err().arguments);
    drop(system.spawn(move || stops.stop()));
    system.run().unwrap();
    assert_eq!(refused.join().unwrap(), 2);
    drop(body);
}

/// Calls itself.
struct Selfish;

#[process]
impl Selfish {
    #[entry]
    fn fill(&mut self, me: &Me<Self>) -> Refusal {
        let own = me.address().unwrap();
        own.nothing().unwrap();
        own.nothing().unwrap_err().why
    }

    #[entry]
    fn nothing(&mut self) {}

    #[entry]
    fn number(&mut self) -> u32 {
        1
    }

    #[entry]
    fn ask_oneself(&mut self, me: &Me<Self>) -> Result<(), ReplyError> {
        me.address().unwrap().number().unwrap().wait().map(drop)
    }
}

#[test]
fn a_process_does_not_wait_for_room_in_its_own_mailbox() {
    let system = System::new(1).unwrap();
    let selfish = system.start_with(Plan::new().mailbox(1), Selfish);
    assert_eq!(selfish.fill().unwrap().wait(), Ok(Refusal::Full));
    system.run().unwrap();
}

/// Asks the next one.
struct Asks(Option<AsksRef>);

#[process]
impl Asks {
    #[entry]
    fn set(&mut self, next: AsksRef) {
        self.0 = Some(next);
    }

    #[entry]
    fn ask(&mut self, hops: u32) -> Result<u32, ReplyError> {
        yield_now();
        match &self.0 {
            Some(next) if hops > 0 => next.ask(hops - 1).unwrap().wait().and_then(|answer| answer),
            _ => Ok(42),
        }
    }
}

#[test]
fn processes_that_wait_for_each_others_replies_are_reported() {
    let system = System::new(1).unwrap();
    let start = |name: &'static str| system.start_with(Plan::new().name(name), Asks(None));
    let (a, b, c) = (start("a"), start("b"), start("c"));
    a.set(b.clone()).unwrap();
    b.set(c.clone()).unwrap();
    assert_eq!(a.ask(5).unwrap().wait(), Ok(Ok(42)));
    c.set(a.clone()).unwrap();
    let error = a.ask(5).unwrap().wait().unwrap().unwrap_err();
    let ReplyError::Deadlock(names) = &error else { panic!("{error:?}") };
    assert_eq!(names.len(), 3);
    let text = error.to_string();
    assert!(text.starts_with("no reply could ever come: process '"), "{text}");
    assert!(text.ends_with(", which is the caller"), "{text}");
    let selfish = system.start_with(Plan::new().name("selfish"), Selfish);
    let error = selfish.ask_oneself().unwrap().wait().unwrap().unwrap_err();
    assert_eq!(error, ReplyError::Deadlock(vec!["selfish".into()]));
    // They refer to each other, and end all the same.
    system.run().unwrap();
}

#[test]
fn a_call_whose_wait_is_refused_is_not_served() {
    struct Ping(Option<PongRef>, u32);
    struct Pong(Option<PingRef>);
    #[process]
    impl Ping {
        #[entry]
        fn meet(&mut self, other: PongRef) {
            self.0 = Some(other);
        }

        #[entry]
        fn ping(&mut self) -> String {
            self.1 += 1;
            let answer = self.0.as_ref().unwrap().pong().unwrap().wait();
            answer.unwrap_or_else(|error| error.to_string())
        }

        #[entry]
        fn served(&mut self) -> u32 {
            self.1
        }
    }
    #[process]
    impl Pong {
        #[entry]
        fn meet(&mut self, other: PingRef) {
            self.0 = Some(other);
        }

        #[entry]
        fn pong(&mut self) -> String {
            let answer = self.0.as_ref().unwrap().ping().unwrap().wait();
            answer.unwrap_or_else(|error| error.to_string())
        }
    }
    for cores in [1, 2] {
        let system = System::new(cores).unwrap();
        let (ping, pong) = (system.start(Ping(None, 0)), system.start(Pong(None)));
        ping.meet(pong.clone()).unwrap();
        pong.meet(ping.clone()).unwrap();
        let text = ping.ping().unwrap().wait().unwrap();
        assert!(text.starts_with("no reply could ever come: process 'P"), "{text}");
        // It would call the other again, and so on for ever.
        system.wait_idle().unwrap();
        let served = ping.served().unwrap().wait().unwrap();
        // On two cores either one may close the circle; a call that is served already is, to its end.
        assert!(served == 1 || cores == 2 && served == 2, "{served} on {cores}");
        system.run().unwrap();
    }
}

#[test]
fn processes_start_processes() {
    struct Parent(Vec<ClerkRef>);
    #[process]
    impl Parent {
        #[entry]
        fn start(&mut self, me: &Me<Self>) -> ClerkRef {
            let child = me.start(Plan::new(), Clerk::default());
            self.0.push(child.clone());
            child
        }
    }
    let system = System::new(2).unwrap();
    let parent = system.start(Parent(Vec::new()));
    let child = parent.start().unwrap().wait().unwrap();
    child.note(3).unwrap();
    assert_eq!(child.sum().unwrap().wait(), Ok(3));
    assert_eq!(system.run().unwrap().started, 2);
}

#[test]
fn a_process_nobody_can_call_any_more_ends() {
    let system = LocalSystem::new();
    let (clerk, body) = Plan::new().prepare(Clerk::default());
    let handle = system.spawn(move || body.run());
    drop(system.spawn(move || clerk.note(1)));
    system.run().unwrap();
    handle.join().unwrap();
}

fn _refs_cross_threads<P: Process>(address: leno_process::Address<P>) -> impl Send + Sync {
    address
}
