//! The same without a home core: whoever waits runs them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::time::Duration;

use leno_explore::thread;
use leno_flexible::Threadless;
use leno_flexible::synchroniser::monitor::Request;
use leno_flexible::synchroniser::{
    BinarySemaphore, Chords, Monitor, NWay, Preference, ReadWrite, Rendezvous, Semaphore,
};

use super::{explore, wait};

#[test]
fn a_writer_is_alone_without_a_home_core() {
    for preference in [Preference::Arrival, Preference::Writers, Preference::Readers] {
        explore(move || {
            let system = Threadless::new();
            let lock = ReadWrite::with_preference(&system, "lock", preference, AtomicI32::new(0));
            let lock = Arc::new(lock);
            let threads = [true, false, true, false].map(|is_writer| {
                let lock = lock.clone();
                thread::spawn("thread", move || {
                    if is_writer {
                        let inside = lock.write().unwrap();
                        assert_eq!(inside.fetch_sub(1, SeqCst), 0);
                        thread::yield_now();
                        inside.fetch_add(1, SeqCst);
                    } else {
                        let inside = lock.read().unwrap();
                        assert!(inside.fetch_add(1, SeqCst) >= 0);
                        thread::yield_now();
                        inside.fetch_sub(1, SeqCst);
                    }
                })
            });
            threads.into_iter().for_each(|own| own.join().unwrap());
            assert!(lock.try_write().is_some());
        });
    }
}

#[test]
fn the_order_holds_without_a_home_core() {
    explore(|| {
        let system = Threadless::new();
        let lock = Arc::new(ReadWrite::new(&system, "lock", String::new()));
        let first = lock.read().unwrap();
        let come = |at: u64, who: char| {
            let lock = lock.clone();
            thread::spawn(who.to_string(), move || {
                wait(at);
                lock.write().unwrap().push(who);
            })
        };
        let others = [come(1, 'a'), come(2, 'b'), come(3, 'c')];
        wait(4);
        drop(first);
        others.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(*lock.read().unwrap(), "abc");
    });
}

#[test]
fn meetings_take_place_without_a_home_core() {
    explore(|| {
        let system = Threadless::new();
        let place: NWay<(), u32> = NWay::new(&system, "place", 3);
        let entries = [0, 1, 2].map(|n| {
            let own = place.clone();
            thread::spawn("entry", move || own.enter(n).unwrap())
        });
        let mut met = place.accept(()).unwrap();
        met.sort_unstable();
        assert_eq!(met, [0, 1, 2]);
        entries.into_iter().for_each(|own| own.join().unwrap());

        let place: Rendezvous<u32, u32> = Rendezvous::new(&system, "two");
        let own = place.clone();
        let short = Duration::from_millis(1);
        let late = thread::spawn("late", move || own.enter_timeout(1, short).ok());
        wait(1);
        match (place.accept_timeout(7, short).ok(), late.join().unwrap()) {
            (Some(1), Some(7)) | (None, None) => {}
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn semaphores_count_without_a_home_core() {
    explore(|| {
        let system = Threadless::new();
        let (room, flag) =
            (Semaphore::new(&system, "room", 1), BinarySemaphore::new(&system, "flag"));
        let threads = [0; 3].map(|_| {
            let (room, flag) = (room.clone(), flag.clone());
            thread::spawn("thread", move || {
                let _held = room.hold().unwrap();
                flag.down().unwrap();
                flag.up().unwrap();
            })
        });
        threads.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!((room.count(), flag.value()), (1, true));
    });
}

#[test]
fn monitors_and_chords_without_a_home_core() {
    explore(|| {
        let system = Threadless::new();
        let scheduler = |sum: &u32, waiting: &[Request]| {
            waiting.iter().position(|own| own.method() == "add" || *sum >= 3)
        };
        let sum = Monitor::with_scheduler(&system, "sum", 0, scheduler);
        let add = sum.method("add", |sum, n: u32| *sum += n);
        let see = sum.method("see", |sum, ()| *sum);
        let buffer = Chords::new(&system, "buffer");
        let (get, put) = (buffer.enquiry::<(), u32>("get"), buffer.post::<u32>("put"));
        buffer.chord(&get, &put, |(), n| n);
        let extra = buffer.post::<u32>("extra");
        let again = put.clone();
        buffer.react(&extra, move |n| again.send(n).unwrap());
        let sees = thread::spawn("sees", move || see.call(()).unwrap());
        let gets = [0; 2].map(|_| {
            let (get, add) = (get.clone(), add.clone());
            thread::spawn("gets", move || add.call(get.call(()).unwrap()).unwrap())
        });
        put.send(1).unwrap();
        extra.send(2).unwrap();
        gets.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(sees.join().unwrap(), 3);
    });
}

#[test]
fn what_is_dropped_leaves_no_coroutine_without_a_home_core() {
    let system = Threadless::new();
    let lock = ReadWrite::new(&system, "lock", ());
    let room = Semaphore::new(&system, "room", 1);
    let chords = Chords::new(&system, "chords");
    drop((lock.write().unwrap(), room.hold().unwrap()));
    drop((lock, room, chords));
    for _ in 0..1_000_000 {
        if system.snapshot().coroutines.is_empty() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{}", system.snapshot());
}
