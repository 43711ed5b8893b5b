//! Wakers, hooks, jobs and destructors that panic: leno's own threads outlive them, everyone else is woken,
//! and a failure hook is told.
//!
//! What could hang or abort runs under a limit of time of its own.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;
use std::time::Duration;

use leno_kernel::layer::{Alarm, deadline_in, user};
use leno_kernel::{
    LocalSystem, System, Waiter, block_on, blocking, help,
    io::{Descriptor, Interest},
};

/// Long enough for any machine, short enough for a test.
const LIMIT: Duration = Duration::from_secs(60);

/// A payload whose destructor panics.
struct Nasty;

impl Drop for Nasty {
    fn drop(&mut self) {
        panic!("a payload's destructor panics");
    }
}

/// A waker that panics when it wakes.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic_any(Nasty);
    }
}

fn bomb() -> Waker {
    Waker::from(Arc::new(Bomb))
}

/// A waker that counts.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Runs `f` on a thread of its own; it must end in time.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(f())));
    told.recv_timeout(LIMIT).expect("it ends in time")
}

/// A future that is woken at a certain time.
struct Sleep(Duration, Option<Alarm>, bool);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.2 {
            return Poll::Ready(());
        }
        self.2 = true;
        self.1 = Some(Alarm::set(deadline_in(self.0), context));
        Poll::Pending
    }
}

#[test]
fn a_coroutine_ends_although_a_waker_panics_and_all_are_woken() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let own = told.clone();
    let system = LocalSystem::builder()
        .on_failure(move |caught| own.lock().unwrap().push(caught.what))
        .build();
    let mut ends = system.spawn(|| 5);
    let mut first = pin!(&mut ends);
    assert!(first.as_mut().poll(&mut Context::from_waker(&bomb())).is_pending());
    let count = Arc::new(Count::default());
    let second = Waker::from(count.clone());
    assert!(first.as_mut().poll(&mut Context::from_waker(&second)).is_pending());
    let report = system.run().unwrap();
    assert_eq!((report.returned, count.0.load(SeqCst)), (1, 1));
    assert_eq!(*told.lock().unwrap(), ["a waker"]);
    assert_eq!(ends.join().unwrap(), 5);
}

#[test]
fn the_clock_outlives_a_waker_that_panics() {
    in_time(|| {
        let mut sleep = pin!(Sleep(Duration::from_millis(1), None, false));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&bomb())).is_pending());
        block_on(Sleep(Duration::from_millis(20), None, false));
        block_on(Sleep(Duration::from_millis(1), None, false));
    });
}

#[test]
fn helpers_outlive_jobs_that_panic_and_a_panic_goes_to_whoever_waits() {
    in_time(|| {
        let (tell, ended) = mpsc::channel();
        struct Tells(mpsc::Sender<()>);
        impl Drop for Tells {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        // More than there are helpers.
        for _ in 0..300 {
            let tells = Tells(tell.clone());
            help(move || {
                let _tells = tells;
                panic_any(Nasty);
            });
        }
        (0..300).for_each(|_| ended.recv().unwrap());
        let system = LocalSystem::new();
        let five = system.spawn(|| blocking(|| 5));
        let panics = system.spawn(|| blocking(|| panic!("to whoever waits")));
        system.run().unwrap();
        assert_eq!(five.join().unwrap(), 5);
        let payload = panics.join().unwrap_err().into_panic().unwrap();
        assert_eq!(payload.downcast_ref(), Some(&"to whoever waits"));
    });
}

#[test]
fn a_core_outlives_a_waker_that_panics_in_its_reactor() {
    in_time(|| {
        use std::io::Write;
        use std::os::unix::net::UnixStream;
        let failures = Arc::new(AtomicUsize::new(0));
        let own = failures.clone();
        let system = System::builder()
            .cores(1)
            .on_failure(move |_| {
                own.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let near = Arc::new(Descriptor::new(near).unwrap());
        let registers = near.clone();
        system
            .spawn(move || {
                let mut wait = Box::pin(registers.wait_async(Interest::READ));
                assert!(wait.as_mut().poll(&mut Context::from_waker(&bomb())).is_pending());
                std::mem::forget(wait);
            })
            .join()
            .unwrap();
        let waits = near.clone();
        let other = system.spawn(move || waits.wait(Interest::READ).is_ok());
        far.write_all(b"!").unwrap();
        assert!(other.join().unwrap());
        assert_eq!(system.spawn(|| 6).join().unwrap(), 6);
        assert_eq!(failures.load(SeqCst), 1);
    });
}

/// A waker that tells which thread wakes it.
struct Tells(mpsc::Sender<Option<String>>);

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        drop(self.0.send(thread::current().name().map(str::to_owned)));
    }
}

#[test]
fn the_reactor_of_those_without_a_core_outlives_a_waker_that_panics_and_wakes_the_others() {
    in_time(|| {
        use std::io::Write;
        use std::os::unix::net::UnixStream;
        let (tell, told) = mpsc::channel();
        let good = || Waker::from(Arc::new(Tells(tell.clone())));
        let one = || {
            let (near, far) = UnixStream::pair().unwrap();
            (Descriptor::new(near).unwrap(), far)
        };
        // Once more: the thread that has called the first one's waker is still there.
        for _ in 0..2 {
            let ((shared, mut far), (other, mut other_far)) = (one(), one());
            for waker in [good(), bomb(), good(), bomb(), good()] {
                let mut context = Context::from_waker(&waker);
                assert!(shared.poll_ready(&mut context, Interest::READ).is_pending());
            }
            let waker = good();
            let mut context = Context::from_waker(&waker);
            assert!(other.poll_ready(&mut context, Interest::READ).is_pending());
            far.write_all(b"!").unwrap();
            other_far.write_all(b"!").unwrap();
            for _ in 0..4 {
                let name = told.recv_timeout(LIMIT / 4).expect("all are woken");
                assert_eq!(name.as_deref(), Some("leno-reactor"));
            }
        }
        // A future of a plain thread.
        let (near, mut far) = one();
        let writer = thread::spawn(move || far.write_all(b"!").map(|()| far));
        assert!(block_on(near.wait_async(Interest::READ)).unwrap().is_readable());
        drop(writer.join().unwrap().unwrap());
    });
}

#[test]
fn a_hook_that_panics_or_calls_itself_does_no_harm() {
    in_time(|| {
        let system = LocalSystem::builder()
            .on_failure(|_| {
                Waiter::Waker(bomb()).wake();
                panic_any(Nasty);
            })
            .build();
        let wakes = system.spawn(|| {
            Waiter::Waker(bomb()).wake();
            7
        });
        system.run().unwrap();
        assert_eq!(wakes.join().unwrap(), 7);
    });
}

#[test]
fn all_are_woken_although_one_panics() {
    let count = Arc::new(Count::default());
    let good = || Waiter::Waker(Waker::from(count.clone()));
    user::wake_all([good(), Waiter::Waker(bomb()), good()]);
    assert_eq!(count.0.load(SeqCst), 2);
}

#[test]
fn a_result_that_nobody_takes_may_panic_when_it_is_dropped() {
    let system = LocalSystem::new();
    let ends = system.spawn(|| Nasty);
    system.run().unwrap();
    // In the code of its owner,
    let raised = catch_unwind(AssertUnwindSafe(|| drop(ends)));
    raised.unwrap_err();
    // or as a failure of its coroutine.
    drop(system.spawn(|| Nasty));
    let report = system.run().unwrap();
    assert_eq!((report.returned, report.failures.len()), (2, 1));
    drop(report);
}

type Looks = Mutex<Option<Box<dyn Fn() + Send>>>;

/// A waker whose clone and drop look at the handle that keeps it.
fn curious(handle: Arc<Looks>) -> Waker {
    fn look(data: *const ()) {
        // SAFETY: made of an `Arc` below, and kept by each waker.
        let looks = unsafe { &*data.cast::<Looks>() };
        let look = looks.lock().unwrap().take();
        if let Some(look) = look {
            look();
            looks.lock().unwrap().replace(look);
        }
    }
    fn clone(data: *const ()) -> RawWaker {
        look(data);
        // SAFETY: as above.
        unsafe { Arc::increment_strong_count(data.cast::<Looks>()) };
        RawWaker::new(data, &TABLE)
    }
    fn wake(data: *const ()) {
        wake_by_ref(data);
        drop_it(data);
    }
    fn wake_by_ref(data: *const ()) {
        look(data);
    }
    fn drop_it(data: *const ()) {
        look(data);
        // SAFETY: as above.
        drop(unsafe { Arc::from_raw(data.cast::<Looks>()) });
    }
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_it);
    let data = Arc::into_raw(handle).cast();
    // SAFETY: the functions keep the counts of an `Arc`, whose content may be used by any thread.
    unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
}

#[test]
fn a_waker_may_use_what_it_is_kept_by() {
    in_time(|| {
        let system = System::new(1).unwrap();
        let (go, wait) = mpsc::channel();
        let ends = Arc::new(Mutex::new(system.spawn(move || wait.recv().is_ok())));
        let looks: Arc<Looks> = Arc::default();
        let own = ends.clone();
        *looks.lock().unwrap() = Some(Box::new(move || {
            if let Ok(handle) = own.try_lock() {
                handle.is_finished();
            }
        }));
        let waker = curious(looks.clone());
        let waiter = Waiter::Waker(waker);
        {
            let handle = ends.lock().unwrap();
            handle.add_waiter(&waiter);
            handle.add_waiter(&waiter);
            handle.remove_waiter(&waiter);
            handle.add_waiter(&waiter);
        }
        go.send(()).unwrap();
        system.wait().unwrap();
        looks.lock().unwrap().take();
    });
}

#[test]
fn a_join_in_a_thread_local_destructor_works() {
    in_time(|| {
        struct Joins(System, mpsc::Sender<u32>);
        impl Drop for Joins {
            fn drop(&mut self) {
                let slow = self.0.spawn(|| {
                    leno_kernel::sleep(Duration::from_millis(20));
                    9
                });
                let _ = self.1.send(slow.join().unwrap());
            }
        }
        thread_local!(static JOINS: std::cell::RefCell<Option<Joins>> = const { std::cell::RefCell::new(None) });
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            JOINS.set(Some(Joins(System::new(1).unwrap(), tell)));
            // Made after it, and so gone before it.
            drop(Waiter::current());
        });
        assert_eq!(told.recv().unwrap(), 9);
    });
}
