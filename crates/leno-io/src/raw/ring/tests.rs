//! Nothing stays in a ring that nobody waits for.

use core::pin::pin;
use core::task::Context;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use leno_kernel::{LocalSystem, cancel, deadline_in, yield_now};

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
        ring.reap();
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
