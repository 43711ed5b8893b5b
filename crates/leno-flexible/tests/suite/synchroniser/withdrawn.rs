//! Whoever gives up leaves nothing behind; so do the things themselves.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use leno_explore::thread;
use leno_flexible::synchroniser::{
    BinarySemaphore, Chords, Monitor, NWay, ReadWrite, Rendezvous, Semaphore,
};
use leno_flexible::{CallError, Me, System};
use leno_kernel::LocalSystem;

use super::{assert_gone, explore, wait};

const SHORT: Duration = Duration::from_millis(1);

/// Polls once, and drops it, at some moment in between.
fn poll_and_drop(future: impl Future) {
    let mut future = pin!(future);
    let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    thread::yield_now();
}

#[test]
fn a_lock_survives_those_who_give_up() {
    explore(|| {
        let system = System::new();
        let lock = Arc::new(ReadWrite::new(&system, "lock", ()));
        let own = lock.clone();
        let drops = thread::spawn("drops", move || {
            poll_and_drop(own.write_async());
            poll_and_drop(own.read_async());
        });
        let own = lock.clone();
        let late = thread::spawn("late", move || drop(own.write_timeout(SHORT)));
        let own = lock.clone();
        let holds = thread::spawn("holds", move || {
            let _inside = own.read().unwrap();
            wait(1);
        });
        drop(lock.write().unwrap());
        [drops, late, holds].into_iter().for_each(|own| own.join().unwrap());
        assert!(lock.try_write().is_some());
    });
}

#[test]
fn a_semaphore_loses_none() {
    explore(|| {
        let system = System::new();
        let room = Semaphore::new(&system, "room", 1);
        let flag = BinarySemaphore::new(&system, "flag");
        let (own, other) = (room.clone(), flag.clone());
        let drops = thread::spawn("drops", move || {
            poll_and_drop(own.hold_async());
            poll_and_drop(other.down_async());
        });
        let own = room.clone();
        let late = thread::spawn("late", move || {
            if own.down_timeout(SHORT).is_ok() {
                own.up();
            }
        });
        let held = room.hold().unwrap();
        wait(1);
        drop(held);
        [drops, late].into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(room.count(), 1);
        // A down that nobody has heard of is undone.
        flag.down().unwrap();
        assert!(!flag.value());
    });
}

#[test]
fn a_meeting_takes_place_for_both_or_for_neither() {
    explore(|| {
        let system = System::new();
        let place: Rendezvous<u32, u32> = Rendezvous::new(&system, "place");
        let own = place.clone();
        let late = thread::spawn("late", move || {
            own.enter_timeout(1, SHORT).map_err(|error| assert_eq!(error.value, 1)).ok()
        });
        let own = place.clone();
        let accepts = thread::spawn("accepts", move || {
            wait(1);
            own.accept_timeout(7, SHORT).map_err(|error| assert_eq!(error.value, 7)).ok()
        });
        match (late.join().unwrap(), accepts.join().unwrap()) {
            (Some(7), Some(1)) | (None, None) => {}
            other => panic!("{other:?}"),
        }
        // And the next two meet.
        let own = place.clone();
        let next = thread::spawn("next", move || own.enter(2).unwrap());
        assert_eq!(place.accept(8).unwrap(), 2);
        assert_eq!(next.join().unwrap(), 8);
    });
}

#[test]
fn a_master_that_gives_up_has_met_those_who_have_gone_on() {
    explore(|| {
        let system = System::new();
        let place: NWay<(), u32> = NWay::new(&system, "place", 2);
        let own = place.clone();
        let master = thread::spawn("master", move || own.accept_timeout((), SHORT));
        let entered = place.enter_timeout(1, SHORT);
        let met = master.join().unwrap().unwrap_err();
        assert_eq!(met.value.len(), usize::from(entered.is_ok()));
        assert!(matches!(met.error, CallError::TimedOut { .. }), "{met}");
    });
}

#[test]
fn a_chord_takes_a_message_for_a_caller_or_leaves_it() {
    explore(|| {
        let system = System::new();
        let chords = Chords::new(&system, "buffer");
        let (get, put) = (chords.enquiry::<(), u32>("get"), chords.post::<u32>("put"));
        chords.chord(&get, &put, |(), n| n);
        let own = get.clone();
        let drops = thread::spawn("gives up", move || own.call_timeout((), SHORT).ok());
        wait(1);
        put.send(1).unwrap();
        match drops.join().unwrap() {
            Some(n) => assert_eq!((n, put.pending()), (1, 0)),
            None => {
                // Its time was over before the message came, or while it was taken for it.
                let rest = get.call_timeout((), SHORT).ok();
                assert_eq!((put.pending(), rest.is_some_and(|n| n != 1)), (0, false));
            }
        }
    });
}

#[test]
fn coroutines_of_the_system_itself_wait_at_them() {
    explore(|| {
        let system = System::new();
        let lock = Arc::new(ReadWrite::new(&system, "lock", 0));
        let workers = [0; 2].map(|_| {
            let lock = lock.clone();
            system.create("worker", move |me: &mut Me<(), ()>| {
                let mut value = lock.write().unwrap();
                let before = *value;
                me.yield_now();
                *value = before + 1;
            })
        });
        let calls = workers.map(|own| thread::spawn("calls", move || own.call(()).unwrap()));
        calls.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(*lock.read().unwrap(), 2);
    });
}

#[test]
fn a_coroutine_that_exits_leaves_the_queue_and_gives_its_guard_back() {
    let system = System::new();
    let lock = Arc::new(ReadWrite::new(&system, "lock", 0));
    let local = LocalSystem::new();
    let own = lock.clone();
    let holds = local.spawn(move || {
        let _inside = own.write().unwrap();
        while leno_kernel::park(leno_kernel::Reason::Passive) != leno_kernel::Wake::Exit {}
        leno_kernel::exit();
    });
    let own = lock.clone();
    let waits = local.spawn(move || drop(own.read()));
    let (first, second) = (holds.co().unwrap(), waits.co().unwrap());
    let own = system.snapshot();
    assert_eq!(own.coroutines.len(), 2);
    drop(local.spawn(move || {
        while !system.snapshot().blocked().iter().any(|own| &*own.on == "lock.read") {
            leno_kernel::yield_now();
        }
        leno_kernel::cancel(second);
        leno_kernel::cancel(first);
        *lock.write().unwrap() += 1;
    }));
    local.run().unwrap();
    let ended = (holds.join().is_err(), waits.join().is_err());
    assert_eq!(ended, (true, true), "both exit");
}

#[test]
fn a_system_that_ends_tells_everybody() {
    explore(|| {
        let system = System::new();
        let place: Rendezvous = Rendezvous::new(&system, "place");
        let lock = Arc::new(ReadWrite::new(&system, "lock", ()));
        let own = lock.clone();
        let waits = thread::spawn("waits", move || drop(own.write()));
        let own = place.clone();
        let alone = thread::spawn("alone", move || own.accept(()).unwrap_err().to_string());
        let inside = lock.read();
        drop(system);
        drop(inside);
        waits.join().unwrap();
        let text = alone.join().unwrap();
        assert!(text.ends_with("the system of coroutine 'place.accept' has ended"), "{text}");
        assert!(matches!(lock.read(), Err(CallError::Refused(_))));
    });
}

#[test]
fn what_is_dropped_leaves_no_coroutine() {
    let system = System::new();
    for used in [false, true] {
        let lock = ReadWrite::new(&system, "lock", ());
        let (room, flag) =
            (Semaphore::new(&system, "room", 1), BinarySemaphore::new(&system, "flag"));
        let place: Rendezvous = Rendezvous::new(&system, "place");
        let group: NWay = NWay::new(&system, "group", 2);
        let monitor = Monitor::new(&system, "monitor", 0);
        let method = monitor.method("add", |sum, n: i32| *sum += n);
        let chords = Chords::new(&system, "chords");
        let (get, put) = (chords.enquiry::<(), ()>("get"), chords.post::<()>("put"));
        chords.chord(&get, &put, |(), ()| ());
        if used {
            drop((lock.read().unwrap(), room.hold().unwrap()));
            flag.down().unwrap();
            drop((place.accept_timeout((), SHORT), place.enter_timeout((), SHORT)));
            drop(group.accept_timeout((), SHORT));
            method.call(1).unwrap();
            put.send(()).unwrap();
            get.call(()).unwrap();
            drop(get.call_timeout((), SHORT));
        }
        drop((lock, room, flag, place, group, monitor, chords));
        method.call(1).unwrap();
        drop(method);
        assert!(put.send(()).is_ok(), "an enquiry is there that could take it");
        drop(get);
        assert!(put.send(()).is_err());
        drop(put);
        assert_gone(&system);
    }
}
