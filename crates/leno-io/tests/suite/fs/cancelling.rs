//! Operations that end early: cancelled, too late, dropped. Nothing is lost that nobody has got.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::time::Duration;

use leno_io::fs::{Backend, File};
use leno_kernel::layer::bell::Bell;
use leno_kernel::{
    LocalSystem, Platform, RealTime, System, Time, block_on, cancel, now, spawn_local, yield_now,
};

use super::{BACKENDS, run, slow_file};

/// What the ring can stop; helpers have to wait.
fn can_stop() -> bool {
    leno_io::fs::backend() == Backend::Ring
}

#[test]
fn a_cancelled_read_takes_nothing() {
    if !can_stop() {
        return;
    }
    let (mut file, mut reader, mut writer) = slow_file(Backend::Ring);
    let system = LocalSystem::new();
    let dropped = Rc::new(RefCell::new(false));
    let sets = dropped.clone();
    let waits = system.spawn(move || {
        struct Sets(Rc<RefCell<bool>>);
        impl Drop for Sets {
            fn drop(&mut self) {
                *self.0.borrow_mut() = true;
            }
        }
        let _sets = Sets(sets);
        let mut buffer = [0; 64];
        file.read(&mut buffer)
    });
    let co = waits.co().expect("it is of this system");
    drop(system.spawn(move || {
        yield_now();
        cancel(co);
    }));
    system.run().unwrap();
    assert!(waits.join().is_err() && *dropped.borrow());
    writer.write_all(b"x").unwrap();
    let mut one = [0];
    reader.read_exact(&mut one).unwrap();
    assert_eq!(&one, b"x");
}

#[test]
fn a_cancelled_helper_is_waited_for() {
    let (mut file, mut reader, mut writer) = slow_file(Backend::Helpers);
    let system = LocalSystem::new();
    let read = Rc::new(Cell::new(0));
    let reads = read.clone();
    let waits = system.spawn(move || {
        reads.set(file.read(&mut [0; 64]).unwrap());
        yield_now();
    });
    let co = waits.co().expect("it is of this system");
    drop(system.spawn(move || {
        yield_now();
        cancel(co);
        yield_now();
        writer.write_all(b"x").unwrap();
        drop(writer);
    }));
    system.run().unwrap();
    // What it has got is not lost; then it exits. Unless no helper had begun: then it is still there.
    assert!(waits.join().is_err());
    let mut left = Vec::new();
    reader.read_to_end(&mut left).unwrap();
    assert_eq!(read.get() + left.len(), 1);
}

#[test]
fn a_limit_ends_a_read_that_waits() {
    if !can_stop() {
        return;
    }
    let (file, mut reader, mut writer) = slow_file(Backend::Ring);
    let file = Rc::new(file);
    let inside = file.clone();
    run(move || {
        let mut file = &*inside;
        file.set_timeout(Some(Duration::from_millis(5)));
        let start = now();
        let error = file.read(&mut [0; 64]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().ends_with(": the time is over"), "{error}");
        assert!(now().since(start) >= Duration::from_millis(5));
    });
    writer.write_all(b"x").unwrap();
    reader.read_exact(&mut [0]).unwrap();
}

#[test]
fn a_limit_ends_a_future_that_waits() {
    for backend in BACKENDS {
        let (file, _reader, mut writer) = slow_file(backend);
        file.set_timeout(Some(Duration::from_millis(3)));
        block_on(async {
            let error = file.read_async(&mut [0; 64]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(error.to_string().ends_with(": the time is over"), "{error}");
        });
        // A helper that has begun reads on, and ends.
        writer.write_all(b"x").unwrap();
    }
    // Opening has the limit, too: a pipe with a name waits for whoever writes.
    let folder = super::Folder::new();
    let fifo = folder.file("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let open = File::options().read(true).timeout(Some(Duration::from_millis(3))).clone();
    let error = block_on(open.open_async(&fifo)).unwrap_err();
    assert_eq!(error.to_string(), format!("open {fifo:?}: the time is over"));
    // If a helper has begun, it waits for this.
    drop(std::fs::File::options().read(true).write(true).open(&fifo).unwrap());
}

#[test]
fn what_comes_in_time_is_read() {
    for backend in BACKENDS {
        let (mut file, _reader, mut writer) = slow_file(backend);
        run(move || {
            file.set_timeout(Some(Duration::from_secs(600)));
            let read = spawn_local(move || {
                let mut buffer = [0; 64];
                let count = file.read(&mut buffer).unwrap();
                buffer[..count].to_vec()
            });
            yield_now();
            writer.write_all(b"hello").unwrap();
            assert_eq!(read.join().unwrap(), b"hello");
        });
    }
}

#[test]
fn a_dropped_future_takes_nothing() {
    use std::task::{Context, Poll, Waker};
    if !can_stop() {
        return;
    }
    let (file, mut reader, mut writer) = slow_file(Backend::Ring);
    for _ in 0..300 {
        let mut buffer = [0; 64];
        let mut read = Box::pin(file.read_async(&mut buffer));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(read.as_mut().poll(&mut context), Poll::Pending));
    }
    writer.write_all(b"x").unwrap();
    let mut one = [0];
    reader.read_exact(&mut one).unwrap();
    assert_eq!(&one, b"x");
}

#[test]
fn a_forgotten_future_does_no_harm() {
    use std::task::{Context, Poll, Waker};
    let (file, _reader, mut writer) = slow_file(Backend::Ring);
    let file: &'static _ = Box::leak(Box::new(file));
    {
        let mut buffer = vec![0; 64];
        let mut read = Box::pin(file.read_async(&mut buffer));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(read.as_mut().poll(&mut context), Poll::Pending));
        std::mem::forget(read);
        // The buffer goes; the operation has its own.
    }
    writer.write_all(b"x").unwrap();
}

#[test]
fn a_system_that_shuts_down_ends_what_flies() {
    if !can_stop() {
        return;
    }
    let (mut file, _reader, _writer) = slow_file(Backend::Ring);
    let system = System::new(1).unwrap();
    let (began, begins) = std::sync::mpsc::channel();
    let waits = system.spawn(move || {
        began.send(()).unwrap();
        file.read(&mut [0; 64])
    });
    begins.recv().unwrap();
    let report = system.shutdown(Duration::from_secs(600)).unwrap();
    assert_eq!(report.exited, 1);
    assert!(waits.join().is_err());
}

/// A clock that panics when it is asked for the so-many-th time.
struct Fails(RealTime, Rc<Cell<u32>>);

impl Platform for Fails {
    fn now(&self) -> Time {
        let left = self.1.get();
        self.1.set(left.saturating_sub(1));
        if left == 1 {
            std::panic::resume_unwind(Box::new("the clock is broken"));
        }
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }
}

#[test]
fn a_panic_in_the_middle_of_a_wait_stops_the_read_first() {
    if !can_stop() {
        return;
    }
    let (mut file, mut reader, mut writer) = slow_file(Backend::Ring);
    let asked = Rc::new(Cell::new(0));
    let system = LocalSystem::builder().platform(Fails(RealTime::new(), asked.clone())).build();
    let fails = system.spawn(move || {
        file.set_timeout(Some(Duration::from_secs(600)));
        // Once for the deadline, and once to wait for it: by then the read flies.
        asked.set(2);
        let read = std::panic::catch_unwind(AssertUnwindSafe(|| file.read(&mut [0; 64])));
        asked.set(0);
        assert!(read.is_err());
        writer.write_all(b"x").unwrap();
        reader.read_exact(&mut [0]).unwrap();
    });
    system.run().unwrap();
    fails.join().unwrap();
}

#[test]
fn systems_inside_systems_wait_for_files() {
    if !can_stop() {
        return;
    }
    let (mut outer_file, _keep, mut outer_writer) = slow_file(Backend::Ring);
    let (mut inner_file, _keep_too, mut inner_writer) = slow_file(Backend::Ring);
    let system = LocalSystem::new();
    let outer = system.spawn(move || outer_file.read(&mut [0; 64]).unwrap());
    let inner = system.spawn(move || {
        // The outer read flies by now. The inner core sleeps for its own.
        let writes = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            inner_writer.write_all(b"inner").unwrap();
        });
        let count = run(move || inner_file.read(&mut [0; 64]).unwrap());
        writes.join().unwrap();
        outer_writer.write_all(b"out").unwrap();
        count
    });
    system.run().unwrap();
    assert_eq!((outer.join().unwrap(), inner.join().unwrap()), (3, 5));
}
