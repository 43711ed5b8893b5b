//! Every interleaving of the protocols in which threads meet. `LENO_PLANTED` takes a fence out of some
//! of them, or a comparison, or makes two operations of one, and then these must fail.

use loom::sync::Arc;
use loom::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
};
use loom::thread;

use crate::bell::{Bell, Sleeper};
use crate::core::About;
use crate::io::beacon::{Beacon, Watcher};
use crate::io::{Flags, Interest, Readiness};
use crate::join::Packet;
use crate::mailbox::{Address, Mailbox, Message};
use crate::options::{Options, Start};
use crate::queue::{First, Next, Shared, Stage, WaitQueue};
use crate::raw::closure::SendClosure;
use crate::system::{Left, Movable, MovableBody, Rest, Team, Turn, Unstarted, Work};
use crate::window::{Plate, Title};
use crate::{Co, Name, Object, RealTime, Time, Waiter};

#[test]
fn loom_a_ring_is_never_lost() {
    loom::model(|| {
        let bell = Arc::new(Bell::new());
        let other = bell.clone();
        let ringer = thread::spawn(move || other.ring());
        bell.wait();
        ringer.join().unwrap();
        assert!(!bell.is_rung());
    });
}

#[test]
fn loom_two_rings_are_one_or_two() {
    // With three threads, all interleavings of up to three preemptions.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let bell = Arc::new(Bell::new());
        let ringers = [bell.clone(), bell.clone()].map(|bell| thread::spawn(move || bell.ring()));
        bell.wait();
        ringers.into_iter().for_each(|ringer| ringer.join().unwrap());
    });
}

#[test]
fn loom_a_message_wakes_a_core_that_goes_to_sleep() {
    loom::model(|| {
        let mailbox: &Mailbox = Box::leak(Box::new(Mailbox::new(0)));
        mailbox.set_open();
        let sender = thread::spawn(|| mailbox.send(Message::Unpark(Co::new(0, 0, 1))));
        let mut messages = Vec::new();
        while messages.is_empty() {
            mailbox.bell.wait();
            mailbox.receive(&mut messages);
        }
        sender.join().unwrap();
        assert_eq!((messages.len(), mailbox.sent()), (1, 1));
    });
}

fn about() -> About {
    Options::new().about(Time::START, core::panic::Location::caller())
}

fn packet() -> std::sync::Arc<Packet<()>> {
    Packet::new(Object::local(), Start::Ready)
}

fn work() -> Work {
    let launch = Options::new().launch(false);
    Work::Closure(Unstarted {
        about: about(),
        launch,
        body: SendClosure::new(|| ()),
        adoption: packet(),
    })
}

fn team(cores: u32) -> &'static Team {
    let mailbox = |number| &*Box::leak(Box::new(Mailbox::new(number)));
    let address = Address { mailbox: mailbox(cores), generation: 1, sent: 0 };
    let on_failure = crate::user::SystemHook::default();
    let title = Title { name: String::new(), cores: 1, object: Object::shared(), on_failure };
    let cores = (0..cores).map(mailbox);
    Box::leak(Box::new(Team::new(cores, address, RealTime::new(), title.into())))
}

#[test]
fn loom_nobody_sleeps_while_there_is_work() {
    loom::model(|| {
        let team = team(1);
        let adder = thread::spawn(|| team.add(None, work()));
        let mut taken = 0;
        while taken == 0 {
            team.take(0, 1, |_| taken += 1);
            if taken == 0 {
                team.rest(0, true, Left::default, || team.places()[0].mailbox.bell.wait());
            }
        }
        adder.join().unwrap();
    });
}

/// Whoever waits for quiescence learns of it, also from a core that has told others before.
#[test]
fn loom_whoever_watches_is_told() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let team = team(1);
        {
            let _watch = team.watch();
            team.places()[0].mailbox.bell.take();
            team.rest(0, true, Left::default, || ());
        }
        let core = thread::spawn(|| {
            while !team.is_stopping() {
                team.places()[0].mailbox.bell.take();
                team.rest(0, true, Left::default, || team.places()[0].mailbox.bell.wait());
            }
        });
        let bell = std::sync::Arc::new(Bell::new());
        let _watch = team.watch();
        let mut is_at_rest = false;
        while !is_at_rest {
            team.wait_for_rest(Waiter::Thread(bell.clone()), || {
                is_at_rest = matches!(team.look(), Rest::Quiescent { live: 0 });
                if is_at_rest { Next::Leave } else { rung(&bell) }
            });
        }
        team.stop();
        core.join().unwrap();
    });
}

/// A plate that another coroutine gets while it is read is not read, or is read as it was.
#[test]
fn loom_a_plate_is_never_read_torn() {
    loom::model(|| {
        let (first, second) = (Co::new(0, 0, 1), Co::new(0, 0, 2));
        let site = core::panic::Location::caller();
        let plate = Arc::new(Plate::new());
        plate.write(first, &Name::from("first"), site);
        let other = plate.clone();
        let core = thread::spawn(move || other.write(second, &Name::from("second"), site));
        for (co, name) in [(first, "first"), (second, "second")] {
            if let Some((seen, _)) = plate.read(co) {
                assert_eq!(seen.as_str(), Some(name), "a torn plate");
            }
        }
        core.join().unwrap();
        assert!(plate.read(first).is_none() && plate.read(second).is_some());
    });
}

/// What a reactor is to a bell: a wake-up stays until a sleep takes it, as an eventfd's does.
#[derive(Default)]
struct Eventfd {
    written: loom::sync::Mutex<bool>,
    change: loom::sync::Condvar,
}

impl Sleeper for Eventfd {
    fn sleep(&self, _: Option<core::time::Duration>) {
        let mut written = self.written.lock().unwrap();
        while !*written {
            written = self.change.wait(written).unwrap();
        }
        *written = false;
    }

    fn rouse(&self) {
        *self.written.lock().unwrap() = true;
        self.change.notify_one();
    }

    fn serve(&self) {}
}

#[test]
fn loom_a_ring_ends_a_sleep_by_other_means() {
    loom::model(|| {
        let bell = Arc::new(Bell::new());
        bell.set_sleeper(Some(std::sync::Arc::new(Eventfd::default())));
        let other = bell.clone();
        let ringer = thread::spawn(move || other.ring());
        // It may come back early, with a wake-up that came late.
        while !bell.wait_for(core::time::Duration::MAX) {}
        ringer.join().unwrap();
        assert!(!bell.is_rung());
    });
}

#[test]
fn loom_a_ring_while_the_listener_changes_its_way_of_sleeping() {
    loom::model(|| {
        let bell = Arc::new(Bell::new());
        let other = bell.clone();
        let ringer = thread::spawn(move || {
            other.ring();
            other.ring();
        });
        bell.wait();
        bell.set_sleeper(Some(std::sync::Arc::new(Eventfd::default())));
        ringer.join().unwrap();
        bell.ring();
        assert!(bell.wait_for(core::time::Duration::MAX));
    });
}

#[test]
fn loom_an_event_wakes_whoever_goes_to_wait_for_it() {
    loom::model(|| {
        let beacon = Arc::new(Beacon::new());
        beacon.begin(Watcher::Core);
        let other = beacon.clone();
        let reactor = thread::spawn(move || other.raise(Flags::READ));
        wait_for_read(&beacon);
        reactor.join().unwrap();
    });
}

/// Two events, and one who tries in between: what it finds out must not undo the second.
#[test]
fn loom_a_try_in_vain_forgets_no_later_event() {
    loom::model(|| {
        let beacon = Arc::new(Beacon::new());
        let data = Arc::new(loom::sync::atomic::AtomicUsize::new(0));
        beacon.begin(Watcher::Core);
        beacon.raise(Flags::READ);
        let (other, source) = (beacon.clone(), data.clone());
        let reactor = thread::spawn(move || {
            source.store(1, SeqCst);
            other.raise(Flags::READ);
        });
        loop {
            let seen = wait_for_read(&beacon);
            if data.load(SeqCst) == 1 {
                break;
            }
            beacon.clear(seen, Interest::READ, false);
        }
        reactor.join().unwrap();
    });
}

/// The reactor ends; whoever waits finds out that nobody watches any more.
#[test]
fn loom_who_waits_learns_that_nobody_watches() {
    loom::model(|| {
        let beacon = Arc::new(Beacon::new());
        beacon.begin(Watcher::Core);
        let other = beacon.clone();
        let reactor = thread::spawn(move || {
            other.end();
            other.wake_all();
        });
        let bell = std::sync::Arc::new(Bell::new());
        let mut has_ended = false;
        while !has_ended {
            let first = || {
                has_ended = beacon.watcher() == Watcher::Nobody;
                if has_ended { First::Leave } else { First::Wait }
            };
            beacon.wait(Interest::READ, Waiter::Thread(bell.clone()), first, || rung(&bell));
        }
        reactor.join().unwrap();
    });
}

/// A future stands in line, and is dropped or woken while the reactor tells.
#[test]
fn loom_a_future_that_waits_is_woken_or_leaves() {
    loom::model(|| {
        let beacon = Arc::new(Beacon::new());
        beacon.begin(Watcher::Core);
        let other = beacon.clone();
        let reactor = thread::spawn(move || other.raise(Flags::READ));
        let bell = std::sync::Arc::new(Bell::new());
        let mut place = None;
        for _ in 0..2 {
            beacon.enlist(&mut place, Interest::READ, Waiter::Thread(bell.clone()));
        }
        if beacon.ready(Interest::READ).is_none() {
            bell.wait();
            assert!(beacon.ready(Interest::READ).is_some());
        }
        drop(place);
        reactor.join().unwrap();
    });
}

fn rung(bell: &Bell) -> Next {
    bell.wait();
    Next::Look
}

fn wait_for_read(beacon: &Beacon) -> Readiness {
    let bell = std::sync::Arc::new(Bell::new());
    loop {
        let mut seen = None;
        let first = || {
            seen = beacon.ready(Interest::READ);
            if seen.is_some() { First::Leave } else { First::Wait }
        };
        beacon.wait(Interest::READ, Waiter::Thread(bell.clone()), first, || rung(&bell));
        if let Some(seen) = seen {
            return seen;
        }
    }
}

/// A movable future that is ready when `done` says so, not queued yet.
fn movable(team: &Team, done: impl Fn() -> bool + Send + 'static) -> std::sync::Arc<Movable> {
    let future = Box::pin(core::future::poll_fn(move |_| match done() {
        true => core::task::Poll::Ready(()),
        false => core::task::Poll::Pending,
    }));
    let launch = Options::new().start(Start::Idle).launch(false);
    let body = MovableBody { future, adoption: packet() };
    let made = team.movables.add(0, |co| Movable::new(co, about(), launch, true, body));
    made.expect("there is room")
}

/// What a core does: turns of whatever is on its pile, and rest, until one future has ended.
fn run_one(team: &Team) {
    let bell = &team.places()[0].mailbox.bell;
    loop {
        bell.take();
        match team.take_woken(0).map(|movable| (movable.turn(), movable)) {
            Some((Turn::Ended(_), movable)) => return team.movables.remove(movable.co),
            Some((Turn::Parked { woken: true }, movable)) => team.add_woken(Some(0), movable, true),
            Some((Turn::Parked { woken: false }, _)) => {}
            None => team.rest(0, true, Left::default, || bell.wait()),
        }
    }
}

#[test]
fn loom_a_future_that_is_woken_while_it_is_polled_is_polled_again() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let team = team(1);
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        let movable = movable(team, move || seen.load(Relaxed));
        // It has been polled once, and someone has its waker.
        assert!(movable.rouse());
        team.add_woken(None, movable.clone(), false);
        let waker = thread::spawn(move || {
            flag.store(true, Relaxed);
            if movable.rouse() {
                team.add_woken(None, movable, false);
            }
        });
        run_one(team);
        waker.join().unwrap();
        assert_eq!(team.movables.live(), (0, 0));
    });
}

#[test]
fn loom_a_future_that_is_cancelled_while_it_is_woken_ends_once() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let team = team(1);
        let movable = movable(team, || false);
        let other = movable.clone();
        let waker = thread::spawn(move || {
            if other.rouse() {
                team.add_woken(None, other, false);
            }
        });
        let canceller = thread::spawn(move || {
            if movable.cancel() {
                team.add_woken(None, movable, false);
            }
        });
        run_one(team);
        waker.join().unwrap();
        canceller.join().unwrap();
        assert_eq!(team.movables.live(), (0, 0));
        assert!(!team.has_work(0));
    });
}

type Numbers = WaitQueue<Shared, bool, Option<u32>, 1>;

/// Hands over to the first that waits; or leaves word that it came too early.
fn hand_over(numbers: &Numbers) {
    let mut guard = numbers.lock();
    let hand = |payload: &mut Option<u32>, number| *payload = Some(number);
    let Ok((_, waiter)) = guard.settle_first(0, Stage::Met, 7, hand) else {
        *guard = true;
        return;
    };
    drop(guard);
    waiter.into_iter().for_each(Waiter::wake);
}

/// Waits in the frame of a thread, unless it has come too late; says what it was handed. One that is `hasty` gives up
/// at once.
fn await_number(numbers: &Numbers, is_hasty: bool) -> Option<u32> {
    let bell = std::sync::Arc::new(Bell::new());
    let guard = numbers.lock();
    if *guard {
        return Some(7);
    }
    let next = || {
        if is_hasty {
            return Next::Leave;
        }
        bell.wait();
        Next::Look
    };
    let waiter = Waiter::Thread(bell.clone());
    let (guard, left) = guard.wait(0, waiter, None, || First::Wait, next, |_, _| ());
    drop(guard);
    left.payload
}

#[test]
fn loom_who_waits_in_a_queue_is_settled_and_woken() {
    loom::model(|| {
        let numbers = Arc::new(Numbers::new(false));
        let other = numbers.clone();
        let partner = thread::spawn(move || hand_over(&other));
        assert_eq!(await_number(&numbers, false), Some(7));
        partner.join().unwrap();
        assert!(numbers.lock().is_empty(0));
    });
}

#[test]
fn loom_who_gives_up_in_a_queue_was_settled_or_is_gone() {
    loom::model(|| {
        let numbers = Arc::new(Numbers::new(false));
        let others = [numbers.clone(), numbers.clone()];
        let [hasty, partner] = others;
        let hasty = thread::spawn(move || await_number(&hasty, true));
        let partner = thread::spawn(move || hand_over(&partner));
        let had = hasty.join().unwrap();
        partner.join().unwrap();
        let came_too_early = *numbers.lock();
        assert!(numbers.lock().is_empty(0));
        assert!(had.is_some() || came_too_early, "what is handed over is had");
    });
}
