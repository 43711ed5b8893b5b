//! Members of rings that another thread takes while they begin to wait: they are woken there.
#![cfg(not(any(loom, leno_baton, leno_asan)))]

use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use leno_channel::{Condition, Mutex, Select, Source, shared};
use leno_coroutine::{Builder, migrate, ring};
use leno_kernel::Waiter;

/// Wakes nobody, and suspends the member of a ring that wakes it.
struct Suspends;

impl Wake for Suspends {
    fn wake(self: Arc<Self>) {
        ring::yield_now();
    }
}

/// Has a thread of its own take a member, and go on with it until that waits.
fn steal(member: migrate::Member) -> JoinHandle<()> {
    let (stolen, is_stolen) = mpsc::channel();
    let thief = std::thread::spawn(move || {
        ring::scope(|_| {
            assert_eq!(member.steal(), Ok(true));
            stolen.send(()).unwrap();
            ring::yield_now();
        });
    });
    is_stolen.recv().unwrap();
    // Until it waits, as a rule; if it does not yet, it looks later, and nothing is tried.
    std::thread::sleep(Duration::from_millis(50));
    thief
}

#[test]
fn a_member_that_is_taken_to_another_thread_while_it_unlocks_is_woken_there() {
    let both = Arc::new((Mutex::shared(()), Condition::shared()));
    let (own, (tell, told)) = (both.clone(), mpsc::channel());
    let body = move || {
        let guard = own.0.lock().unwrap();
        ring::yield_now();
        // It wakes who waits for the mutex, and goes on elsewhere.
        drop(own.1.wait(guard).unwrap());
        tell.send(std::thread::current().id()).unwrap();
    };
    // SAFETY: all that it has is `Send`.
    let member = unsafe { Builder::new().spawn_migratable(body) }.unwrap();
    ring::yield_now();
    let mut locks = Box::pin(both.0.lock_async());
    let waker = Waker::from(Arc::new(Suspends));
    assert!(locks.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    ring::yield_now();
    // The member is in the waker.
    drop(locks);
    let thief = steal(member);
    both.1.notify_one();
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(thief.thread().id()));
    thief.join().unwrap();
}

/// Never ready; suspends the member of a ring that asks for the second time, in line.
struct SuspendsInLine(u32);

impl Source for SuspendsInLine {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        self.0 += 1;
        if self.0 == 2 {
            ring::yield_now();
        }
        None
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}
}

#[test]
fn a_select_of_a_member_that_is_taken_to_another_thread_is_woken_there() {
    let ((tx, rx), (tell, told)) = (shared::channel(), mpsc::channel());
    let body = move || {
        let select = Select::new().recv(&rx, |value| value.ok());
        tell.send(select.source(SuspendsInLine(0), |()| None).wait().unwrap()).unwrap();
    };
    // SAFETY: all that it has is `Send`.
    let member = unsafe { Builder::new().spawn_migratable(body) }.unwrap();
    ring::yield_now();
    // The member is in the source.
    let thief = steal(member);
    let sender = std::thread::spawn(move || tx.send(7));
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(Some(7)));
    assert_eq!(sender.join().unwrap(), Ok(()));
    thief.join().unwrap();
}
