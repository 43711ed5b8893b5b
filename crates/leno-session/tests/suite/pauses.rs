//! Workers whose store fails by errors that may pass: they try again after pauses that grow, by virtual time.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use crate::support::hooked::{Hand, Hooked};
use crate::support::with_nul::good;
use leno_kernel::{LocalSystem, Time, now};
use leno_session::store::{Commit, Result as Stored};
use leno_session::{Metrics, Sessions, StoreError};

/// Notes when a lease is asked for, grants those of these numbers only, and stops the worker at the last.
struct Fails {
    at: Mutex<Vec<Time>>,
    granted: &'static [usize],
    last: usize,
    stop: Arc<AtomicBool>,
}

impl Hand for Fails {
    fn before(&self, operation: &str, _: &[Commit]) -> Stored<()> {
        if operation != "lease" {
            return Ok(());
        }
        let mut at = self.at.lock().unwrap();
        at.push(now());
        if at.len() == self.last {
            self.stop.store(true, SeqCst);
        }
        let is_granted = self.granted.contains(&at.len());
        if is_granted { Ok(()) } else { Err(StoreError::Faulty("it fails".into())) }
    }
}

/// How many milliseconds of its own time a worker has let pass between one lease and the next, and what it has counted.
fn pauses(granted: &'static [usize], last: usize) -> (Vec<u128>, Metrics) {
    let stop = Arc::new(AtomicBool::new(false));
    let hand = Fails { at: Mutex::default(), granted, last, stop: stop.clone() };
    let store = Arc::new(Hooked::new(hand));
    let sessions = Sessions::open_shared(store.clone()).register("good", good);
    let system = LocalSystem::builder().virtual_time().build();
    let own = sessions.clone();
    let worker = system.spawn(move || own.work(&stop));
    system.run().unwrap();
    worker.join().unwrap().unwrap();
    let at = store.hand.at.lock().unwrap();
    let pauses = at.windows(2).map(|two| two[1].since(two[0]).as_millis()).collect();
    (pauses, sessions.metrics())
}

#[test]
fn pauses_of_workers_after_errors_double_up_to_five_seconds() {
    let (pauses, metrics) = pauses(&[], 11);
    assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
    assert_eq!(metrics.retried, 11);
}

#[test]
fn pauses_of_workers_begin_anew_after_a_turn_that_succeeds() {
    let (pauses, metrics) = pauses(&[4], 9);
    assert_eq!(pauses[..3], [100, 200, 400]);
    // The fourth lease finds nothing to do, and the store is waited for.
    assert_eq!(pauses[4..], [100, 200, 400, 800]);
    assert_eq!(metrics.retried, 8);
}
