//! Wakers, hooks, schedulers of monitors and destructors that panic, or use the very system that calls them: the system
//! goes on, or says which rule was broken. Observers and policies: see `asked`.

use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;

use leno_channel::shared;
use leno_flexible::synchroniser::monitor::{Monitor, Request};
use leno_flexible::{AsyncMe, Flexible, System, Threadless};
use leno_kernel::{LocalSystem, blocking};

use super::support::in_time;

struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("a waker panics");
    }
}

#[test]
fn a_system_without_threads_goes_on_after_a_waker_that_panics() {
    in_time(|| {
        let system = Threadless::new();
        let (tx, rx) = shared::channel::<u32>();
        let gate = system.create("gate", move |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = rx.recv_async().await.unwrap();
                me.detach(n).await;
            }
        });
        let other = system.create("other", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        let mut call = Box::pin(gate.call_async(1));
        let bomb = Waker::from(Arc::new(Bomb));
        assert!(call.as_mut().poll(&mut Context::from_waker(&bomb)).is_pending());
        let own = gate.clone();
        let waits = thread::spawn(move || own.call_wait(2));
        tx.send(10).unwrap();
        tx.send(20).unwrap();
        assert_eq!(other.call(4).unwrap(), 5);
        assert_eq!(waits.join().unwrap().unwrap(), 20);
    });
}

#[test]
fn helpers_outlive_hooks_that_panic() {
    struct Nasty;
    impl Drop for Nasty {
        fn drop(&mut self) {
            panic!("a payload's destructor panics");
        }
    }
    in_time(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let systems: Vec<_> = (0..260)
            .map(|_| {
                let count = count.clone();
                let system = Threadless::builder()
                    .on_failure(move |_| {
                        count.fetch_add(1, SeqCst);
                        panic_any(Nasty);
                    })
                    .threadless();
                let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("body") });
                fails.kick().unwrap();
                system
            })
            .collect();
        while count.load(SeqCst) < systems.len() {
            thread::yield_now();
        }
        let system = LocalSystem::new();
        let five = system.spawn(|| blocking(|| 5));
        system.run().unwrap();
        assert_eq!(five.join().unwrap(), 5);
    });
}

/// A system that its own code drops.
type Own = Arc<Mutex<Option<Threadless>>>;

/// Between two turns, the thread that steers drops what a call has left.
#[test]
fn a_parameter_that_drops_its_system_does_not_wait_for_its_own_thread() {
    struct Last(Own);
    impl Drop for Last {
        fn drop(&mut self) {
            let taken = self.0.lock().unwrap().take();
            drop(taken);
        }
    }
    in_time(|| {
        let (system, place) = (Threadless::new(), Own::default());
        let ignores = system.create("ignores", |mut me: AsyncMe<Last, ()>| async move {
            loop {
                me.detach(()).await;
            }
        });
        *place.lock().unwrap() = Some(system);
        let _refused = ignores.call(Last(place.clone()));
        let _refused = ignores.call(Last(place.clone()));
        assert!(place.lock().unwrap().is_none());
    });
}

/// One thread steers both systems, and the inner one has the innermost turn.
#[test]
fn a_body_of_another_system_that_drops_this_one_does_not_wait_for_its_own_thread() {
    in_time(|| {
        let (system, inner, place) = (Threadless::new(), Threadless::new(), Own::default());
        let own = place.clone();
        let drops = inner.create("drops", |mut me: AsyncMe<(), ()>| async move {
            let taken = own.lock().unwrap().take();
            drop(taken);
            me.answer(());
        });
        let calls = system.create("calls", |mut me: AsyncMe<(), ()>| async move {
            let _answer = drops.call_async(()).await;
            me.answer(());
        });
        *place.lock().unwrap() = Some(system);
        let _refused = calls.call(());
        assert!(place.lock().unwrap().is_none());
    });
}

#[test]
fn a_scheduler_of_a_monitor_may_use_the_monitor() {
    in_time(|| {
        let system = System::new();
        let place: Arc<OnceLock<Monitor<u32>>> = Arc::default();
        let own = place.clone();
        let counts =
            Monitor::with_scheduler(&system, "counts", 0, move |_: &u32, _: &[Request]| {
                if let Some(monitor) = own.get() {
                    monitor.set_scheduler(|_: &u32, _: &[Request]| Some(0));
                }
                Some(0)
            });
        assert!(place.set(counts.clone()).is_ok());
        let next = counts.method("next", |count, ()| {
            *count += 1;
            *count
        });
        assert_eq!(next.call(()).unwrap(), 1);
        assert_eq!(next.call(()).unwrap(), 2);
    });
}

#[test]
fn a_parameter_that_nobody_takes_may_use_the_system_when_it_is_dropped() {
    struct Looks(Arc<OnceLock<Flexible<Looks, ()>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            if let Some(own) = self.0.get() {
                own.look();
            }
        }
    }
    in_time(|| {
        let system = Threadless::new();
        let place: Arc<OnceLock<Flexible<Looks, ()>>> = Arc::default();
        let ignores = system.create("ignores", |mut me: AsyncMe<Looks, ()>| async move {
            loop {
                me.detach(()).await;
            }
        });
        assert!(place.set(ignores.clone()).is_ok());
        for _ in 0..3 {
            ignores.call(Looks(place.clone())).unwrap();
        }
        let mut call = Box::pin(ignores.call_async(Looks(place.clone())));
        let waker = Waker::noop();
        assert!(call.as_mut().poll(&mut Context::from_waker(waker)).is_ready());
    });
}

/// By then the thread has lost what tells it whose turn it is, so it cannot steer itself.
#[test]
fn a_call_in_the_destructor_of_a_thread_local_is_answered() {
    struct Last(Flexible<u32, u32>, mpsc::Sender<Result<u32, String>>);
    impl Drop for Last {
        fn drop(&mut self) {
            let answer = self.0.call(1).map_err(|error| error.to_string());
            self.1.send(answer).unwrap();
        }
    }
    thread_local!(static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) });
    in_time(|| {
        let system = Threadless::new();
        let adds = system.create("adds", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            LAST.set(Some(Last(adds.clone(), tell)));
            // After that one, so what it uses goes before that one.
            assert_eq!(adds.call(4).unwrap(), 5);
        });
        thread.join().unwrap();
        assert_eq!(told.recv().unwrap().unwrap(), 2);
    });
}

#[test]
fn an_answer_after_the_end_of_its_system_is_void() {
    in_time(|| {
        let system = Arc::new(Threadless::new());
        let own = Arc::downgrade(&system);
        let stops = system.create("stops", |mut me: AsyncMe<u32, u32>| async move {
            own.upgrade().expect("its caller has it").stop();
            me.detach(7).await;
        });
        let stopped = stops.call(1).unwrap_err();
        assert!(matches!(stopped, leno_flexible::CallError::Refused(_)), "{stopped}");
        assert!(system.failures().is_empty());
    });
}
