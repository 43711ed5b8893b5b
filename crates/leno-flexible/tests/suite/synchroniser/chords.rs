use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_explore::thread;
use leno_flexible::System;
use leno_flexible::synchroniser::Chords;

use super::{explore, wait};

#[test]
fn f93_each_get_is_matched_with_one_put() {
    explore(|| {
        let system = System::new();
        let buffer = Chords::new(&system, "buffer");
        let (get, put) = (buffer.enquiry::<(), u32>("get"), buffer.post::<u32>("put"));
        buffer.chord(&get, &put, |(), n| n);
        let gets: Vec<_> = (0..3)
            .map(|_| {
                let get = get.clone();
                thread::spawn("get", move || get.call(()).unwrap())
            })
            .collect();
        let own = put.clone();
        let puts = thread::spawn("put", move || (0..2).for_each(|n| own.send(n).unwrap()));
        put.send(2).unwrap();
        let mut got: Vec<_> = gets.into_iter().map(|own| own.join().unwrap()).collect();
        puts.join().unwrap();
        got.sort_unstable();
        assert_eq!((got, put.pending()), (vec![0, 1, 2], 0));
    });
}

#[test]
fn f93_a_get_without_a_put_waits_and_puts_are_kept_in_order() {
    explore(|| {
        let system = System::new();
        let buffer = Chords::new(&system, "buffer");
        let (get, put) = (buffer.enquiry::<(), u32>("get"), buffer.post::<u32>("put"));
        buffer.chord(&get, &put, |(), n| n);
        let got = Arc::new(AtomicUsize::new(0));
        let own = got.clone();
        let waits = thread::spawn("get", move || {
            for n in 1..=3 {
                assert_eq!(get.call(()).unwrap(), n);
                own.store(n as usize, SeqCst);
            }
        });
        wait(1);
        assert_eq!(got.load(SeqCst), 0);
        put.send(1).unwrap();
        wait(1);
        assert_eq!(got.load(SeqCst), 1);
        put.send(2).unwrap();
        put.send(3).unwrap();
        waits.join().unwrap();
    });
}

#[test]
fn f93_a_chord_takes_all_its_messages_or_none() {
    explore(|| {
        let system = System::new();
        let chords = Chords::new(&system, "chords");
        let (a, b) = (chords.post::<u32>("a"), chords.post::<u32>("b"));
        // Two enquiries want the same messages.
        let (one, two) = (chords.enquiry::<(), u32>("one"), chords.enquiry::<(), u32>("two"));
        chords.chord(&one, (&a, &b), |(), (a, b)| a + b);
        chords.chord(&two, (&b, &a), |(), (b, a)| a + b);
        let calls = [one, two].map(|own| thread::spawn("calls", move || own.call(()).unwrap()));
        let own = a.clone();
        let sends = thread::spawn("sends", move || (1..=2).for_each(|n| own.send(n).unwrap()));
        (10..=11).for_each(|n| b.send(n).unwrap());
        let sum: u32 = calls.map(|own| own.join().unwrap()).into_iter().sum();
        sends.join().unwrap();
        assert_eq!((sum, a.pending(), b.pending()), (24, 0, 0));
    });
}

#[test]
fn f93_earlier_chords_go_first_and_posts_alone_react() {
    explore(|| {
        let system = System::new();
        let door = Chords::new(&system, "door");
        let (reindeer, elves) = (door.post::<()>("reindeer"), door.post::<()>("elves"));
        let next = door.enquiry::<(), &str>("next");
        door.chord(&next, &reindeer, |(), ()| "reindeer");
        door.chord(&next, &elves, |(), ()| "elves");
        elves.send(()).unwrap();
        reindeer.send(()).unwrap();
        assert_eq!((next.call(()).unwrap(), next.call(()).unwrap()), ("reindeer", "elves"));

        let sums: Arc<Mutex<Vec<u32>>> = Arc::default();
        let (left, right) = (door.post::<u32>("left"), door.post::<u32>("right"));
        let (own, done) = (sums.clone(), door.post::<()>("done"));
        let told = done.clone();
        door.react((&left, &right), move |(left, right)| {
            own.lock().unwrap().push(left + right);
            told.send(()).unwrap();
        });
        let all = door.enquiry::<(), ()>("all");
        door.chord(&all, (&done, &done), |(), _| ());
        left.send(1).unwrap();
        right.send(2).unwrap();
        right.send(4).unwrap();
        left.send(3).unwrap();
        all.call(()).unwrap();
        sums.lock().unwrap().sort_unstable();
        assert_eq!(*sums.lock().unwrap(), [3, 7]);
    });
}

#[test]
fn f93_a_panic_is_its_callers() {
    let system = System::new();
    let chords = Chords::new(&system, "chords");
    let (get, put) = (chords.enquiry::<(), u32>("get"), chords.post::<Option<u32>>("put"));
    chords.chord(&get, &put, |(), n| n.expect("a number"));
    put.send(None).unwrap();
    put.send(Some(1)).unwrap();
    let text = get.call(()).unwrap_err().to_string();
    assert_eq!(text, "coroutine 'chords.get' has panicked: a number");
    assert_eq!(get.call(()).unwrap(), 1);
}

#[test]
#[should_panic(expected = "'one.put' cannot be in a chord of 'two', where it was not made")]
fn f93_chords_do_not_mix() {
    let system = System::new();
    let (one, two) = (Chords::new(&system, "one"), Chords::new(&system, "two"));
    let (get, put) = (two.enquiry::<(), ()>("get"), one.post::<()>("put"));
    two.chord(&get, &put, |(), ()| ());
}
