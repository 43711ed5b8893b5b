//! Calls by coroutines of the process's own core take no lock; those of others do. Nobody can tell.
//! Not in `suite`: the leg of thread sanitizer builds it without the others.
#![forbid(unsafe_code)]

use std::sync::mpsc;

use leno_coroutine::Coroutine;
use leno_kernel::{LocalSystem, yield_now};
use leno_process::{Budget, Plan, ReplyError, System, process};

/// Keeps who has called with what.
#[derive(Default)]
struct Log(Vec<(usize, u32)>);

#[process]
impl Log {
    #[entry]
    fn note(&mut self, who: usize, n: u32) {
        self.0.push((who, n));
    }

    #[entry]
    fn noted(&mut self) -> Vec<(usize, u32)> {
        core::mem::take(&mut self.0)
    }

    #[entry]
    fn fail(&mut self) {
        panic!("planted");
    }
}

/// Notes numbers, and lets its partner go on.
struct Player {
    own: usize,
    log: LogRef,
    partner: Option<PlayerRef>,
}

#[process]
impl Player {
    #[entry]
    fn meet(&mut self, partner: PlayerRef) {
        self.partner = Some(partner);
    }

    #[entry]
    fn play(&mut self, n: u32, last: u32) {
        self.log.note(self.own, n).unwrap();
        if n < last {
            self.partner.as_ref().unwrap().play(n + 1, last).unwrap();
        }
    }

    #[entry]
    fn note_all(&mut self, last: u32) {
        for n in 0..=last {
            self.log.note(self.own, n).unwrap();
            if n % 7 == 0 {
                yield_now();
            }
        }
    }
}

fn two_cores() -> System {
    System::builder().cores(2).quantum(Budget::units(50)).build().unwrap()
}

#[test]
fn m11_what_was_called_first_is_served_first_on_one_core_or_two() {
    const LAST: u32 = 5000;
    let system = two_cores();
    let log = system.start_on(0, Plan::new(), Log::default());
    let players = [0, 1].map(|own| {
        system.start_on(own, Plan::new(), Player { own, log: log.clone(), partner: None })
    });
    players[0].meet(players[1].clone()).unwrap();
    players[1].meet(players[0].clone()).unwrap();
    // Each calls after the other has: in turn without a lock, and with one.
    players[0].play(0, LAST).unwrap();
    system.wait_idle().unwrap();
    let noted = log.noted().unwrap().wait().unwrap();
    let expected: Vec<_> = (0..=LAST).map(|n| (n as usize % 2, n)).collect();
    assert_eq!(noted, expected);
    system.run().unwrap();
}

#[test]
fn m16_calls_of_the_own_core_of_others_and_of_threads_are_all_served() {
    const LAST: u32 = 3000;
    let system = two_cores();
    let log = system.start_on(0, Plan::new(), Log::default());
    let calls = |own: usize| {
        let player = Player { own, log: log.clone(), partner: None };
        system.start_on(own % 2, Plan::new(), player).note_all(LAST).unwrap();
    };
    (0..4).for_each(calls);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..=LAST).for_each(|n| log.note(4, n).unwrap()));
    });
    system.wait_idle().unwrap();
    let noted = log.noted().unwrap().wait().unwrap();
    assert_eq!(noted.len(), 5 * (LAST as usize + 1));
    for who in 0..5 {
        let own = noted.iter().filter(|(by, _)| *by == who).map(|(_, n)| *n);
        assert!(own.eq(0..=LAST), "those of {who} in their order");
    }
    system.run().unwrap();
}

/// Players on two cores, who fall asleep between their turns and are woken by one another and by a thread.
#[test]
fn m55_all_are_idle_only_when_nobody_has_a_call() {
    let system = System::new(2).unwrap();
    let on = |core| {
        let log = system.start_on(core, Plan::new(), Log::default());
        let player = Player { own: core, log: log.clone(), partner: None };
        (log, system.start_on(core, Plan::new(), player))
    };
    let ((log, first), (other, second)) = (on(0), on(1));
    first.meet(second.clone()).unwrap();
    second.meet(first.clone()).unwrap();
    for _ in 0..300 {
        first.play(0, 19).unwrap();
        second.play(0, 9).unwrap();
        system.wait_idle().unwrap();
        let noted = log.noted().unwrap().wait().unwrap().len();
        assert_eq!((noted, other.noted().unwrap().wait().unwrap().len()), (15, 15));
    }
    system.run().unwrap();
}

#[test]
fn m59_calls_behind_one_that_fails_are_told_so_on_the_same_core() {
    let system = LocalSystem::new();
    let (log, body) = Plan::new().name("log").prepare(Log::default());
    let served = system.spawn(move || body.run());
    let replies = system.spawn(move || {
        log.note(0, 0).unwrap();
        log.fail().unwrap();
        let behind = log.noted().unwrap();
        let stopped = behind.wait();
        (stopped, log.note(0, 1).is_err())
    });
    system.run().unwrap();
    assert!(served.join().is_err());
    assert_eq!(replies.join().unwrap(), (Err(ReplyError::Stopped("log".into())), true));
}

#[test]
fn a_process_on_a_coroutine_of_its_own_is_called_from_anywhere() {
    let system = LocalSystem::new();
    let (log, body) = Plan::new().prepare(Log::default());
    drop(system.spawn(move || {
        // Such a one might move to another thread, if it were made for it.
        let inner = Coroutine::new(move |_: &leno_coroutine::Suspender<(), ()>, ()| body.run());
        let _ = inner.resume(());
    }));
    let own = log.clone();
    let near = system.spawn(move || {
        (0..100).for_each(|n| own.note(0, n).unwrap());
        own.noted().unwrap().wait().unwrap().len()
    });
    let (told, tells) = mpsc::channel();
    let far = std::thread::spawn(move || {
        log.note(1, 0).unwrap();
        told.send(()).unwrap();
    });
    tells.recv().unwrap();
    system.run().unwrap();
    far.join().unwrap();
    assert_eq!(near.join().unwrap(), 101);
}
