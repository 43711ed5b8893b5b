//! Operations that say they have used up what there was: the next one waits without a system call, for
//! coroutines, futures, hand-written futures and single tries alike; and the end is never used up.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::{LocalSystem, block_on, sleep, spawn_local};

struct Counted {
    stream: Descriptor<UnixStream>,
    tries: Cell<u32>,
}

impl Counted {
    /// Reads into a buffer that is larger than what comes.
    fn read(&self) -> io::Result<(usize, bool)> {
        self.tries.set(self.tries.get() + 1);
        let mut buffer = [0; 64];
        let count = self.stream.get_ref().read(&mut buffer)?;
        Ok((count, count < buffer.len()))
    }
}

/// Lets a reader wait for a word at a time, and gives how many tries that took.
fn tries(read: impl Fn(&Counted) -> io::Result<usize> + 'static) -> u32 {
    let system = LocalSystem::new();
    let (near, mut far) = UnixStream::pair().unwrap();
    let tries = system.spawn(move || {
        let counted =
            Rc::new(Counted { stream: Descriptor::new(near).unwrap(), tries: Cell::new(0) });
        let own = counted.clone();
        let reader = spawn_local(move || {
            let words = std::iter::from_fn(|| Some(read(&own).unwrap()).filter(|count| *count > 0));
            words.count()
        });
        for _ in 0..10 {
            sleep(Duration::from_millis(1));
            far.write_all(b"word").unwrap();
        }
        sleep(Duration::from_millis(1));
        drop(far);
        // Words that come close together are read at once.
        assert!(reader.join().unwrap() <= 10);
        counted.tries.get()
    });
    system.run().unwrap();
    tries.join().unwrap()
}

#[test]
fn each_kind_of_caller_waits_before_it_tries_again() {
    // The first try of all finds nothing; then one for each word, and one that finds the end.
    let coroutine = tries(|own| own.stream.io_with(Interest::READ, None, |_| own.read()));
    let future = tries(|own| block_on(own.stream.io_async_with(Interest::READ, |_| own.read())));
    let by_hand = tries(|own| {
        block_on(poll_fn(|context| {
            own.stream.poll_io_with(context, Interest::READ, |_| own.read())
        }))
    });
    for (who, tries) in [("coroutine", coroutine), ("future", future), ("by hand", by_hand)] {
        assert!(tries <= 12, "{who}: {tries} tries");
    }
}

#[test]
fn a_single_try_is_not_made_while_nothing_is_known() {
    let system = LocalSystem::new();
    let end = system.spawn(|| {
        let (near, mut far) = UnixStream::pair().unwrap();
        let own = Counted { stream: Descriptor::new(near).unwrap(), tries: Cell::new(0) };
        far.write_all(b"word").unwrap();
        own.stream.wait(Interest::READ).unwrap();
        let read = || own.stream.try_io_with(Interest::READ, |_| own.read());
        assert_eq!(read().unwrap(), 4);
        assert_eq!(read().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(own.tries.get(), 1);
        drop(far);
        own.stream.wait(Interest::READ).unwrap();
        // However often it is read.
        [read().unwrap(), read().unwrap(), read().unwrap()]
    });
    system.run().unwrap();
    assert_eq!(end.join().unwrap(), [0; 3]);
}

#[test]
fn help_is_given_without_waiting() {
    let (tell, told) = std::sync::mpsc::channel();
    let system = LocalSystem::new();
    drop(system.spawn(move || {
        leno_kernel::help(move || {
            tell.send(std::thread::current().name().map(str::to_owned)).unwrap()
        });
    }));
    system.run().unwrap();
    assert_eq!(told.recv().unwrap().as_deref(), Some("leno-helper"));
}
