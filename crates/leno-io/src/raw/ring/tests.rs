//! Nothing stays in a ring that nobody waits for.

use core::pin::pin;
use core::sync::atomic::AtomicUsize;
use core::task::Context;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::time::Duration;

use leno_kernel::layer::deadline_in;
use leno_kernel::{LocalSystem, cancel, yield_now};

use super::*;
use crate::fs::action::{Action, OwnedAction};
use crate::fs::buffer::Buffer;

/// This thread's ring, and a pipe to wait for.
fn set_up() -> Option<(Arc<Ring>, PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe().unwrap();
    Some((current()?, reader, writer))
}

fn read(ring: &Arc<Ring>, file: &PipeReader, deadline: Option<Duration>) -> io::Result<usize> {
    let action = Action::Read { into: &mut [0; 64], at: None };
    perform(ring, file.as_fd(), action, deadline.map(deadline_in))
}

#[test]
fn what_is_cancelled_or_late_has_landed() {
    let Some((ring, reader, _writer)) = set_up() else { return };
    let system = LocalSystem::new();
    let (there, reader) = (ring.clone(), Arc::new(reader));
    let own = reader.clone();
    let late = system.spawn(move || read(&there, &own, Some(Duration::from_millis(1))));
    let there = ring.clone();
    let exits = system.spawn(move || read(&there, &reader, None));
    let (co, there) = (exits.co().unwrap(), ring.clone());
    drop(system.spawn(move || {
        yield_now();
        // The other one may have been late by now.
        assert!((1..=2).contains(&there.inner().flights.aloft()));
        cancel(co);
    }));
    system.run().unwrap();
    assert_eq!(late.join().unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!(exits.join().is_err());
    assert_eq!(ring.inner().flights.aloft(), 0);
}

#[test]
fn what_was_abandoned_is_gone_with_its_cargo() {
    let Some((ring, reader, _writer)) = set_up() else { return };
    let file = Arc::new(File::from(OwnedFd::from(reader)));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..100 {
        let action = OwnedAction::Read { into: Buffer::new(64), at: None };
        let mut flight = pin!(perform_owned(&ring, file.clone(), action));
        assert!(flight.as_mut().poll(&mut context).is_pending());
    }
    while ring.inner().flights.aloft() > 0 {
        std::thread::yield_now();
        drop(ring.reap());
    }
    assert_eq!(Arc::strong_count(&file), 1);
}

#[test]
fn a_thread_that_ends_ends_what_it_began() {
    let Some((_, reader, mut writer)) = set_up() else { return };
    let file = Arc::new(File::from(OwnedFd::from(reader)));
    let there = file.clone();
    let thread = std::thread::spawn(move || {
        let ring = current().unwrap();
        let action = OwnedAction::Read { into: Buffer::new(64), at: None };
        let mut flight = Box::pin(async move { perform_owned(&ring, there, action).await });
        let mut context = Context::from_waker(Waker::noop());
        assert!(flight.as_mut().poll(&mut context).is_pending());
        flight
    });
    // It goes on elsewhere, and says that it was stopped, or has got what came.
    let flight = thread.join().unwrap();
    writer.write_all(b"x").unwrap();
    let (result, _) = leno_kernel::block_on(flight);
    match result {
        Ok(count) => assert_eq!(count, 1),
        Err(error) => assert!(crate::fs::ended::is_cancelled(&error), "{error}"),
    }
}

#[test]
fn when_the_system_takes_no_more_helpers_do_it() {
    let Some((ring, reader, mut writer)) = set_up() else { return };
    let system = LocalSystem::new();
    let (there, reader) = (ring.clone(), Arc::new(reader));
    let own = reader.clone();
    let flies = system.spawn(move || read(&there, &own, None));
    let refused = system.spawn(move || {
        ring.inner().uring.break_down();
        let refused = read(&ring, &reader, None).unwrap_err();
        assert!(ring.is_broken.load(Relaxed));
        // What was taken before lands.
        writer.write_all(b"x").unwrap();
        refused.kind()
    });
    system.run().unwrap();
    assert_eq!(flies.join().unwrap().unwrap(), 1);
    assert_eq!(refused.join().unwrap(), io::ErrorKind::PermissionDenied);
}

/// A payload whose `Drop` panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("a payload panics");
    }
}

/// A waker that panics; its `Drop` does, too, if nothing unwinds.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic_any(Payload);
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a dropped waker panics");
    }
}

/// A waker that uses the ring, and counts how often it was woken.
struct Nosy {
    ring: Weak<Ring>,
    woken: AtomicUsize,
}

impl Nosy {
    fn look(&self) {
        if let Some(ring) = self.ring.upgrade() {
            // Here, where nobody else uses it, it would be waited for.
            leno_kernel::layer::user::assert_outside();
            drop(ring.inner());
        }
    }
}

impl Wake for Nosy {
    fn wake(self: Arc<Self>) {
        self.look();
        self.woken.fetch_add(1, Relaxed);
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        self.look();
    }
}

type Reading = core::pin::Pin<Box<dyn Future<Output = (io::Result<usize>, Buffer)>>>;

/// A read of a pipe that was polled once, with this waker.
fn reading(ring: &Arc<Ring>, reader: PipeReader, waker: &Waker) -> Reading {
    let (ring, file) = (ring.clone(), Arc::new(File::from(OwnedFd::from(reader))));
    let action = OwnedAction::Read { into: Buffer::new(8), at: None };
    let mut reading: Reading = Box::pin(async move { perform_owned(&ring, file, action).await });
    assert!(reading.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    reading
}

/// Waits until so many have landed that nobody has looked at.
fn landed(ring: &Ring, count: usize) {
    while ring.inner().uring.landed() < count {
        std::thread::yield_now();
    }
}

/// Runs it in a coroutine, whose core watches the ring: nobody else looks at it meanwhile. Panics of wakers go
/// to a failure hook.
fn in_a_coroutine(f: impl FnOnce(&Arc<Ring>) + Send + 'static) {
    in_a_coroutine_of(&LocalSystem::builder().on_failure(|_| ()).build(), f);
}

fn in_a_coroutine_of(system: &LocalSystem, f: impl FnOnce(&Arc<Ring>) + Send + 'static) {
    let Some(ring) = current() else { return };
    let ended = system.spawn(move || f(&ring));
    system.run().unwrap();
    ended.join().unwrap();
}

#[test]
fn a_waker_that_panics_does_not_end_the_operation_of_another() {
    in_a_coroutine(|ring| {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut first = reading(ring, reader, &Waker::from(Arc::new(Bomb)));
        writer.write_all(b"x").unwrap();
        landed(ring, 1);
        let (silent, mut rest) = io::pipe().unwrap();
        let writes = std::thread::spawn(move || rest.write_all(b"for others").unwrap());
        // Wakes the first one, whose panic goes to the failure hook, when its own operation is submitted.
        assert_eq!(read(ring, &silent, None).unwrap(), 10);
        writes.join().unwrap();
        assert_eq!(ring.inner().flights.aloft(), 0);
        assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    });
}

#[test]
fn a_panic_that_no_hook_hears_of_is_raised_where_the_operation_was_taken_back() {
    in_a_coroutine_of(&LocalSystem::new(), |ring| {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut first = reading(ring, reader, &Waker::from(Arc::new(Bomb)));
        writer.write_all(b"x").unwrap();
        landed(ring, 1);
        // Nothing is ever written here: without the panic, the read would wait.
        let (silent, _writer) = io::pipe().unwrap();
        let raised = catch_unwind(AssertUnwindSafe(|| read(ring, &silent, None))).unwrap_err();
        drop(Panic::new(raised));
        assert_eq!(ring.inner().flights.aloft(), 0, "the system may still write");
        assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    });
}

#[test]
fn a_waker_that_panics_does_not_keep_others_from_being_woken() {
    in_a_coroutine(|ring| {
        let [first_pipe, second_pipe] = [(); 2].map(|()| io::pipe().unwrap());
        let nosy = Arc::new(Nosy { ring: Arc::downgrade(ring), woken: AtomicUsize::new(0) });
        let first = reading(ring, first_pipe.0, &Waker::from(Arc::new(Bomb)));
        let second = reading(ring, second_pipe.0, &Waker::from(nosy.clone()));
        for mut writer in [first_pipe.1, second_pipe.1] {
            writer.write_all(b"x").unwrap();
        }
        landed(ring, 2);
        // The panic goes to the failure hook.
        ring.reaper.wake_by_ref();
        assert_eq!(nosy.woken.load(Relaxed), 1);
        for mut reading in [first, second] {
            assert!(reading.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }
    });
}

#[test]
fn operations_are_taken_back_although_wakers_panic() {
    in_a_coroutine(|ring| {
        let [lands, silent] = [(); 2].map(|()| io::pipe().unwrap());
        let bomb = || Waker::from(Arc::new(Bomb));
        let (first, second) = (reading(ring, lands.0, &bomb()), reading(ring, silent.0, &bomb()));
        let mut writer = lands.1;
        writer.write_all(b"x").unwrap();
        landed(ring, 1);
        // Wakes the first one, and drops the waker of the second; in the middle of a panic, too.
        let unwound = catch_unwind(AssertUnwindSafe(move || {
            let _second = second;
            panic!("an owner panics");
        }));
        assert!(unwound.is_err());
        drop(first);
        while ring.inner().flights.aloft() > 0 {
            std::thread::yield_now();
            drop(ring.reap());
        }
    });
}

#[test]
fn wakers_are_called_and_dropped_without_the_lock() {
    in_a_coroutine(|ring| {
        let (reader, _writer) = io::pipe().unwrap();
        let waker = || {
            let nosy = Nosy { ring: Arc::downgrade(ring), woken: AtomicUsize::new(0) };
            Waker::from(Arc::new(nosy))
        };
        let mut first = reading(ring, reader, &waker());
        // Drops the one before it.
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker())).is_pending());
        let waiters = ring.settle_all();
        assert!(waiters.len() == 1 && wake_all(waiters).is_none());
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker())).is_pending());
        drop(first);
    });
}

#[test]
fn a_wait_that_was_ended_before_its_operation_landed_begins_again() {
    let Some((ring, reader, mut writer)) = set_up() else { return };
    let system = LocalSystem::new();
    let there = ring.clone();
    let reads = system.spawn(move || read(&there, &reader, None));
    let ends = system.spawn(move || {
        for _ in 0..3 {
            let mut woken = ring.settle_all();
            while woken.is_empty() && ring.inner().flights.aloft() > 0 {
                yield_now();
                woken = ring.settle_all();
            }
            assert!(woken.len() == 1 && wake_all(woken).is_none());
        }
        assert_eq!(ring.inner().flights.aloft(), 1);
        writer.write_all(b"x").unwrap();
    });
    system.run().unwrap();
    ends.join().unwrap();
    assert_eq!(reads.join().unwrap().unwrap(), 1);
}
