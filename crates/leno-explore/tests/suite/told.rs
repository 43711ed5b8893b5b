//! How a failing schedule is told: by names and places of the program, not by numbers and those of leno.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use leno_channel::{Named, bounded, shared};
use leno_explore::{Explorer, Monitor, thread};
use leno_kernel::{LocalSystem, Options, System};

/// A stock of one, and two buyers who look, tell the bank, and take.
fn shop() {
    let system = LocalSystem::new();
    let stock = Rc::new(Cell::new(1));
    let (bank, asked) = bounded::<&str>(2).named("bank");
    for who in ["ann", "bob"] {
        let (stock, bank) = (stock.clone(), bank.clone());
        drop(system.spawn_with(&Options::new().name(who), move || {
            if stock.get() > 0 {
                bank.send(who).unwrap();
                stock.set(stock.get() - 1);
            }
        }));
    }
    drop(bank);
    let reads = move || asked.iter().for_each(drop);
    drop(system.spawn_with(&Options::new().name("teller"), reads));
    system.run().unwrap();
    assert!(stock.get() >= 0, "sold twice");
}

#[test]
fn objects_have_their_names_and_choices_are_words() {
    let text = Explorer::new().exhaustive().run(shop).unwrap_err().to_string();
    let (_, story) = text.split_once("what happened:\n").unwrap();
    let expected = "  'main'
      closes its end of 'bank'
  'teller'
      begins to receive from 'bank'
      waits to receive from 'bank'
  'ann'
      begins to send to 'bank'
      wakes 'teller'
      chooses to let the other run first
      is interrupted, or lets others run
  'teller'
      receives from 'bank'
      begins to receive from 'bank'
      waits to receive from 'bank'
  'bob'
      begins to send to 'bank'
      wakes 'teller'
      sends to 'bank'
      closes its end of 'bank'
      ends: returned
  'ann'
      sends to 'bank'
      closes its end of 'bank'
      ends: returned
  'teller'
      receives from 'bank'
      cannot receive from 'bank'
      closes its end of 'bank'
      ends: returned
  'main'
      ends: panicked
";
    assert_eq!(story, expected);
}

#[test]
fn a_deadlock_of_a_system_names_no_place_of_leno() {
    let failure = Explorer::new().run(|| {
        let system = System::new(2).unwrap();
        let (a, from_a) = shared::channel::<u32>().named("a");
        let (b, from_b) = shared::channel::<u32>().named("b");
        let left = move || b.send(from_a.recv().unwrap()).unwrap();
        drop(system.spawn_with(&Options::new().name("left"), left));
        let right = move || a.send(from_b.recv().unwrap()).unwrap();
        drop(system.spawn_with(&Options::new().name("right"), right));
        system.wait().unwrap();
    });
    let text = failure.unwrap_err().to_string();
    assert!(text.contains("'left' is waiting to receive from channel 'a'"), "{text}");
    assert!(text.contains("waits to receive from 'b'"), "{text}");
    assert!(text.contains("tests/suite/told.rs:"), "{text}");
    assert!(!text.contains("leno-kernel/src"), "{text}");
}

#[test]
fn places_are_those_of_the_program() {
    let failure = Explorer::new().runs(1).shrinks(0).run(|| {
        let monitor = Monitor::new("an answer");
        monitor.hot();
        let other = thread::spawn("other", || thread::sleep(Duration::from_secs(1)));
        thread::yield_now();
        other.join().unwrap();
        monitor.cold();
        panic!("to see it");
    });
    let text = failure.unwrap_err().to_string();
    for said in
        ["spawns 'other' at", "lets others run, at", "sleeps, at", "'an answer' is owed, at"]
    {
        let line =
            text.lines().find(|line| line.contains(said)).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains("tests/suite/told.rs:"), "{text}");
    }
}

#[test]
fn the_log_of_a_system_calls_channels_by_their_names() {
    let system = LocalSystem::builder().virtual_time().log(100).build();
    // Named before the system runs, by nobody whose log it could be.
    let (tx, rx) = bounded::<u32>(1).named("work");
    let both = move || (tx.send(1).unwrap(), rx.recv().unwrap());
    drop(system.spawn_with(&Options::new().name("both"), both));
    system.run().unwrap();
    let log = system.log().to_string();
    assert!(log.contains("'both' does send on 'work'"), "{log}");
    assert!(!log.contains("object 1"), "{log}");
}
