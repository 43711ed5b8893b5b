//! What may migrate has no budget of its own, and is not stolen while it runs on another's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use leno_coroutine::{Builder, Step};
use leno_kernel::{LocalSystem, Options};
use leno_process::{Budget, Sink, charge};

#[test]
fn c10_a_migrant_is_not_stolen_in_the_middle_of_a_slice() {
    // SAFETY: the body has nothing that is bound to a thread.
    let made = unsafe {
        Builder::new().migratable(|co, ()| {
            (0..100).for_each(|_| charge(1));
            co.suspend(1);
            (0..100).for_each(|_| charge(1));
        })
    };
    let migrant = Arc::new(made.unwrap());
    let (other, is_done) = (migrant.clone(), Arc::new(AtomicBool::new(false)));
    let system = LocalSystem::builder().preemptive().build();
    let inner = is_done.clone();
    let stolen = system.spawn(move || {
        let sink = Sink::new();
        let own = migrant.clone();
        drop(sink.spawn(&Options::new(), move || assert_eq!(own.resume(()), Step::Suspended(1))));
        let co = sink.next().unwrap();
        assert!(co.attach(Budget::units(10)).unwrap().is_preempted());
        // It is in the middle of a call, on this thread: nobody can have it.
        let thief = migrant.clone();
        let stolen = std::thread::spawn(move || thief.steal()).join().unwrap();
        while let Some(co) = sink.next() {
            co.attach(Budget::units(10)).unwrap();
        }
        inner.store(true, SeqCst);
        stolen
    });
    system.run().unwrap();
    let stolen = stolen.join().unwrap();
    assert!(!matches!(stolen, Ok(true)), "{stolen:?}");
    assert!(is_done.load(SeqCst));
    // Between two slices it is free: its units are counted by whatever thread runs it.
    std::thread::spawn(move || {
        other.steal().unwrap();
        assert!(matches!(other.resume(()), Step::Finished(())));
    })
    .join()
    .unwrap();
}
