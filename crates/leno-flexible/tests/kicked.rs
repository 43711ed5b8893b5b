//! Coroutines that end with nobody to tell: what they, a hook or an observer raises then ends nobody else.

use std::panic::panic_any;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, atomic::AtomicUsize, atomic::Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use leno_flexible::{AsyncMe, Flexible, State, Threadless};

/// Runs `f` on a thread of its own; it must end in time.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(f())));
    told.recv_timeout(Duration::from_secs(60)).expect("it ends in time, and does not panic")
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("a destructor panics");
        }
    }
}

/// Lets a coroutine run and end on the calling thread, which calls another one of the system and is answered.
fn runs_on<R: Send + 'static>(system: &Threadless, kicked: Flexible<(), R>, keeps: bool) {
    let kept = keeps.then(|| kicked.clone());
    let driver = system.create("driver", |mut me: AsyncMe<(), u32>| async move {
        kicked.kick().unwrap();
        drop(kicked);
        me.yield_now().await;
        me.detach(1).await;
        me.detach(2).await;
    });
    assert_eq!(driver.call(()).unwrap(), 1);
    assert_eq!(driver.call(()).unwrap(), 2, "the system goes on");
    assert!(kept.is_none_or(|kept| kept.state() == State::Terminated));
}

fn count() -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    (count.clone(), count)
}

#[test]
fn a_payload_that_panics_when_a_hook_drops_it_does_not_end_a_threadless_system() {
    in_time(|| {
        let (count, own) = count();
        let hook = move |_| drop(own.fetch_add(1, SeqCst));
        let system = Threadless::builder().on_failure(hook).threadless();
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic_any(Bomb) });
        runs_on(&system, fails, false);
        assert_eq!(count.load(SeqCst), 1);
    });
}

#[test]
fn a_hook_that_panics_does_not_end_a_threadless_system() {
    in_time(|| {
        let system = Threadless::builder().on_failure(|_| panic_any(Bomb)).threadless();
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("a body panics") });
        runs_on(&system, fails, true);
    });
}

#[test]
fn a_hook_that_calls_its_system_does_not_end_it() {
    in_time(|| {
        let place: Arc<Mutex<Option<Flexible<(), ()>>>> = Arc::default();
        let own = place.clone();
        let hook = move |_| {
            let logger = own.lock().unwrap().take().expect("it is called once");
            let _ = logger.call(());
        };
        let system = Threadless::builder().on_failure(hook).threadless();
        *place.lock().unwrap() = Some(system.create("logs", |_: AsyncMe<(), ()>| async {}));
        let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("a body panics") });
        runs_on(&system, fails, false);
        assert!(place.lock().unwrap().is_none(), "the hook was called");
    });
}
