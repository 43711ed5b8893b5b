//! Workers in coroutines, and exits: their own end them, those of others are panics like any other.
#![forbid(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::with_nul::good;
use leno_frame::{Co, resumable};
use leno_kernel::{LocalSystem, System, sleep};
use leno_session::{Memory, Sessions, Stage, State, Wait};

type Order = Co<Wait, Option<String>, Stage>;
type Payload = Box<dyn Any + Send>;

/// The exit of a coroutine, which that has caught.
fn caught_exit() -> Payload {
    let system = LocalSystem::new();
    let waits = system.spawn(|| {
        catch_unwind(AssertUnwindSafe(|| sleep(Duration::from_secs(3600)))).err().map(|exit| {
            *CAUGHT.lock().unwrap() = Some(exit);
        })
    });
    let cancels = system.spawn(move || waits.cancel());
    system.run().unwrap();
    drop(cancels);
    CAUGHT.lock().unwrap().take().expect("it was cancelled")
}

/// An exit that is to be raised by a step.
static CAUGHT: Mutex<Option<Payload>> = Mutex::new(None);

#[resumable]
async fn raises_exit(co: &mut Order) -> u32 {
    let _answer = co.suspend(Wait::step()).await;
    let exit = CAUGHT.lock().unwrap().take();
    match exit {
        Some(exit) => resume_unwind(exit),
        None => 0,
    }
}

#[test]
fn a_worker_in_a_coroutine_outlives_the_exit_of_another_that_a_step_raises() {
    let exit = caught_exit();
    *CAUGHT.lock().unwrap() = Some(exit);
    let sessions =
        Sessions::open(Memory::new()).register("good", good).register("raises_exit", raises_exit);
    let system = System::builder().cores(1).build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (own, told) = (sessions.clone(), stop.clone());
    let worker = system.spawn(move || own.work(&told));
    for (kind, end) in [("raises_exit", State::Failed), ("good", State::Done)] {
        let id = match kind {
            "good" => sessions.start(kind, &(1_u32,)).unwrap(),
            _ => sessions.start(kind, &()).unwrap(),
        };
        let begun = Instant::now();
        while sessions.show(id).unwrap().state != end {
            assert!(!worker.is_finished(), "the worker has ended");
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", sessions.show(id));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let health = sessions.health();
    assert!(health.is_well());
    assert_eq!(health.workers, 1);
    stop.store(true, SeqCst);
    worker.join().unwrap().unwrap();
}

#[test]
fn a_worker_in_a_coroutine_ends_by_its_own_exit() {
    let sessions = Sessions::open(Memory::new()).register("good", good);
    let system = LocalSystem::new();
    let (own, stop) = (sessions.clone(), AtomicBool::new(false));
    let worker = system.spawn(move || own.work(&stop));
    let cancels = system.spawn(move || {
        sleep(Duration::from_millis(1));
        worker.cancel();
    });
    let report = system.run().unwrap();
    drop(cancels);
    assert_eq!((report.exited, sessions.health().workers), (1, 0));
}
