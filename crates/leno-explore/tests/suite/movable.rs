//! Futures that any core may poll, under many schedules.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use leno_explore::{Explorer, thread};
use leno_kernel::layer::world::point;
use leno_kernel::log::Operation;
use leno_kernel::{Outcome, System, cancel, spawn, spawn_future};

struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// One future is woken by a thread while it may be polled, another is cancelled, both await others;
/// then the system goes, with a third one that waits.
fn program() {
    let dropped = Arc::new(AtomicU32::new(0));
    let system = System::new(2).unwrap();
    let (flag, waker) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None::<Waker>)));
    let waits = {
        let (flag, waker, counted) = (flag.clone(), waker.clone(), Counted(dropped.clone()));
        system.spawn_future(async move {
            let _counted = counted;
            poll_fn(|context| {
                *waker.lock().unwrap() = Some(context.waker().clone());
                point(Operation::Receive, None);
                if flag.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            spawn_future(async { 1 }).await.unwrap() + spawn(|| 2).await.unwrap()
        })
    };
    let counted = Counted(dropped.clone());
    let cancelled = system.spawn_future(async move {
        let _counted = counted;
        std::future::pending::<()>().await;
    });
    let counted = Counted(dropped.clone());
    drop(system.spawn_future(async move {
        let _counted = counted;
        std::future::pending::<()>().await;
    }));
    let co = cancelled.co().unwrap();
    let wakes = thread::spawn("wakes", move || {
        flag.store(true, SeqCst);
        thread::yield_now();
        let waker = waker.lock().unwrap().take();
        waker.into_iter().for_each(Waker::wake);
    });
    let cancels = thread::spawn("cancels", move || cancel(co));
    assert_eq!(waits.join().unwrap(), 3);
    assert_eq!(cancelled.join().unwrap_err().outcome(), Some(Outcome::Exited));
    wakes.join().unwrap();
    cancels.join().unwrap();
    drop(system);
    assert_eq!(dropped.load(SeqCst), 3);
}

#[test]
fn p48_futures_are_woken_and_cancelled_under_many_schedules() {
    for seed in 0..2 {
        Explorer::new().random(seed).runs(300).run(program).unwrap();
    }
    Explorer::new().pct(1, 3).runs(300).run(program).unwrap();
}

#[test]
fn no_depth_is_too_large_to_begin_with() {
    Explorer::new().pct(1, usize::MAX).runs(2).run(|| ()).unwrap();
}
