use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_explore::{Explorer, thread};
use leno_flexible::System;
use leno_flexible::synchroniser::{Preference, ReadWrite};

use super::{explore, wait};

const ALL: [Preference; 3] = [Preference::Arrival, Preference::Writers, Preference::Readers];

/// Who is inside: writers are below zero.
#[derive(Default)]
struct Room(AtomicI32);

impl Room {
    fn read(&self) {
        assert!(self.0.fetch_add(1, SeqCst) >= 0, "a reader beside a writer");
        thread::yield_now();
        self.0.fetch_sub(1, SeqCst);
    }

    fn write(&self) {
        assert_eq!(self.0.fetch_sub(1, SeqCst), 0, "a writer is not alone");
        thread::yield_now();
        self.0.fetch_add(1, SeqCst);
    }
}

type Lock = Arc<ReadWrite<Room>>;

fn reader(lock: &Lock, times: usize) -> leno_kernel::JoinHandle<()> {
    let lock = lock.clone();
    thread::spawn("reader", move || (0..times).for_each(|_| lock.read().unwrap().read()))
}

fn writer(lock: &Lock, times: usize) -> leno_kernel::JoinHandle<()> {
    let lock = lock.clone();
    thread::spawn("writer", move || (0..times).for_each(|_| lock.write().unwrap().write()))
}

#[test]
fn f79_f80_f81_a_writer_is_alone_whatever_the_preference() {
    for preference in ALL {
        explore(move || {
            let system = System::new();
            let lock = ReadWrite::with_preference(&system, "lock", preference, Room::default());
            let lock = Arc::new(lock);
            let all = [reader(&lock, 2), writer(&lock, 2), reader(&lock, 1), writer(&lock, 1)];
            all.into_iter().for_each(|own| own.join().unwrap());
            assert!(lock.try_write().is_some());
        });
    }
}

#[test]
fn f79_readers_share() {
    explore(|| {
        let system = System::new();
        let lock = Arc::new(ReadWrite::new(&system, "lock", ()));
        let both = Arc::new(leno_channel::WaitGroup::shared());
        let readers = [0, 1].map(|_| {
            let (lock, arrived) = (lock.clone(), both.clone());
            let token = arrived.worker();
            thread::spawn("reader", move || {
                let _inside = lock.read().unwrap();
                drop(token);
                // Neither leaves before both are inside.
                arrived.wait().unwrap();
            })
        });
        readers.into_iter().for_each(|own| own.join().unwrap());
    });
}

/// A writer is inside; a reader comes, a writer, another reader; then the first one leaves, and perhaps
/// the preference has changed by then. In which order the others enter: readers as `r`, the writer as `w`.
fn order(preference: Preference, then: Preference) -> String {
    let entered: Arc<Mutex<String>> = Arc::default();
    let own = entered.clone();
    Explorer::new().runs(100).check(move || {
        own.lock().unwrap().clear();
        let system = System::new();
        let lock = ReadWrite::with_preference(&system, "lock", preference, ());
        let lock = Arc::new(lock);
        let first = lock.write().unwrap();
        let come = |at: u64, is_writer: bool| {
            let (lock, own) = (lock.clone(), own.clone());
            thread::spawn(format!("at {at}"), move || {
                wait(at);
                if is_writer {
                    let _inside = lock.write().unwrap();
                    own.lock().unwrap().push('w');
                    wait(1);
                } else {
                    let _inside = lock.read().unwrap();
                    own.lock().unwrap().push('r');
                    wait(1);
                }
            })
        };
        let others = [come(1, false), come(2, true), come(3, false)];
        wait(4);
        lock.set_preference(then);
        wait(1);
        assert_eq!(*own.lock().unwrap(), "");
        drop(first);
        others.into_iter().for_each(|own| own.join().unwrap());
        let text = own.lock().unwrap().clone();
        // The same in every run: whoever waits was there long before.
        let expected = match then {
            Preference::Arrival => "rwr",
            Preference::Writers => "wrr",
            _ => "rrw",
        };
        assert_eq!(text, expected);
    });
    entered.lock().unwrap().clone()
}

#[test]
fn f79_in_order_of_arrival_nobody_passes_whoever_waits() {
    assert_eq!(order(Preference::Arrival, Preference::Arrival), "rwr");
}

#[test]
fn f80_a_waiting_writer_passes_earlier_readers() {
    assert_eq!(order(Preference::Writers, Preference::Writers), "wrr");
}

#[test]
fn f81_readers_pass_an_earlier_writer() {
    assert_eq!(order(Preference::Readers, Preference::Readers), "rrw");
}

#[test]
fn f81_the_preference_is_changed_while_others_wait() {
    for (before, then) in ALL.into_iter().flat_map(|before| ALL.map(|then| (before, then))) {
        order(before, then);
    }
}

/// Two of one kind hand over to each other so that one of them always waits, for `rounds` each; one of the
/// other kind comes first. How many of those got in before it.
fn passed_by(preference: Preference, is_reader_alone: bool, rounds: usize) -> usize {
    let passed = Arc::new(AtomicUsize::new(0));
    let result = passed.clone();
    Explorer::new().runs(20).check(move || {
        passed.store(0, SeqCst);
        let system = System::new();
        let lock = ReadWrite::with_preference(&system, "lock", preference, ());
        let (lock, entered) = (Arc::new(lock), Arc::new(AtomicUsize::new(0)));
        let stream = [0, 2].map(|begin| {
            let (lock, entered) = (lock.clone(), entered.clone());
            thread::spawn("stream", move || {
                wait(begin);
                for _ in 0..rounds {
                    if is_reader_alone {
                        let _inside = lock.write().unwrap();
                        entered.fetch_add(1, SeqCst);
                        wait(3);
                    } else {
                        let _inside = lock.read().unwrap();
                        entered.fetch_add(1, SeqCst);
                        wait(3);
                    }
                }
            })
        });
        let alone = {
            let (lock, passed) = (lock.clone(), passed.clone());
            thread::spawn("alone", move || {
                wait(1);
                if is_reader_alone {
                    let _inside = lock.read().unwrap();
                    passed.store(entered.load(SeqCst), SeqCst);
                } else {
                    let _inside = lock.write().unwrap();
                    passed.store(entered.load(SeqCst), SeqCst);
                }
            })
        };
        stream.into_iter().for_each(|own| own.join().unwrap());
        alone.join().unwrap();
    });
    result.load(SeqCst)
}

#[test]
fn f82_each_preference_starves_the_other_kind_and_arrival_nobody() {
    const ROUNDS: usize = 25;
    assert_eq!(passed_by(Preference::Writers, true, ROUNDS), 2 * ROUNDS);
    assert_eq!(passed_by(Preference::Readers, false, ROUNDS), 2 * ROUNDS);
    for is_reader_alone in [true, false] {
        assert_eq!(passed_by(Preference::Arrival, is_reader_alone, ROUNDS), 1);
    }
    // And the kind that is preferred is not starved.
    assert_eq!(passed_by(Preference::Writers, false, ROUNDS), 1);
    assert_eq!(passed_by(Preference::Readers, true, ROUNDS), 1);
}

#[test]
fn f83_three_readers_and_a_writer_that_writes_twice_complete() {
    for preference in ALL {
        explore(move || {
            let system = System::new();
            let lock = ReadWrite::with_preference(&system, "lock", preference, Room::default());
            let lock = Arc::new(lock);
            let readers = [0; 3].map(|_| reader(&lock, 1));
            let writer = writer(&lock, 2);
            readers.into_iter().chain([writer]).for_each(|own| own.join().unwrap());
        });
    }
}

#[test]
fn f79_all_schedules_of_a_reader_and_a_writer_with_three_interruptions() {
    let explorer = Explorer::new().exhaustive().most_interruptions(3);
    let seen = explorer.run(|| {
        let system = System::new();
        let lock = Arc::new(ReadWrite::new(&system, "lock", Room::default()));
        let other = reader(&lock, 1);
        lock.write().unwrap().write();
        other.join().unwrap();
    });
    let seen = seen.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(seen.runs() > 300, "{seen}");
}

#[test]
fn try_passes_nobody_who_waits() {
    explore(|| {
        let system = System::new();
        let lock = Arc::new(ReadWrite::new(&system, "lock", ()));
        let inside = lock.read().unwrap();
        assert!(lock.try_read().is_some());
        assert!(lock.try_write().is_none());
        let waits = writer(&Arc::new(ReadWrite::new(&system, "other", Room::default())), 1);
        waits.join().unwrap();
        let own = lock.clone();
        let writes = thread::spawn("writes", move || drop(own.write().unwrap()));
        wait(1);
        assert!(lock.try_read().is_none(), "a writer waits");
        lock.set_preference(Preference::Readers);
        assert!(lock.try_read().is_some());
        drop(inside);
        writes.join().unwrap();
    });
}
