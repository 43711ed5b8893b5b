//! Waiting for descriptors, on one core: pipes, socket pairs, loopback TCP.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use leno_kernel::io::{Descriptor, Interest, Reactor};
use leno_kernel::layer::bell::Bell;
use leno_kernel::layer::deadline_in;
use leno_kernel::{LocalSystem, Platform, RealTime, Time, cancel, now, sleep, yield_now};

/// So long nothing takes here.
const LONG: Duration = Duration::from_secs(60);

fn pair() -> (Descriptor<UnixStream>, Descriptor<UnixStream>) {
    let (near, far) = UnixStream::pair().unwrap();
    (Descriptor::new(near).unwrap(), Descriptor::new(far).unwrap())
}

fn pipe() -> (Descriptor<PipeReader>, Descriptor<PipeWriter>) {
    let (reader, writer) = io::pipe().unwrap();
    (Descriptor::new(reader).unwrap(), Descriptor::new(writer).unwrap())
}

fn read(from: &Descriptor<UnixStream>, into: &mut [u8]) -> io::Result<usize> {
    from.io(Interest::READ, |mut stream| stream.read(into))
}

fn write(to: &Descriptor<UnixStream>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = to.io(Interest::WRITE, |mut stream| stream.write(bytes))?;
        bytes = &bytes[count..];
    }
    Ok(())
}

#[test]
fn a_reader_waits_until_something_is_written() {
    let (near, far) = pair();
    let system = LocalSystem::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    let log = order.clone();
    let reader = system.spawn(move || {
        let mut byte = [0];
        assert_eq!(read(&near, &mut byte).unwrap(), 1);
        log.borrow_mut().push("read");
        byte[0]
    });
    let log = order.clone();
    drop(system.spawn(move || {
        yield_now();
        log.borrow_mut().push("write");
        write(&far, &[7]).unwrap();
    }));
    let report = system.run().unwrap();
    assert_eq!((reader.join().unwrap(), report.returned), (7, 2));
    assert_eq!(*order.borrow(), ["write", "read"]);
}

#[test]
fn a_writer_goes_on_when_there_is_room_again() {
    const ALL: usize = 1 << 20;
    let (reader, writer) = pipe();
    let system = LocalSystem::new();
    drop(system.spawn(move || {
        let (mut left, chunk) = (ALL, vec![1; 100_000]);
        while left > 0 {
            left -= writer
                .io_with(Interest::WRITE, None, |mut pipe| {
                    let size = left.min(chunk.len());
                    let count = pipe.write(&chunk[..size])?;
                    Ok((count, count < size))
                })
                .unwrap();
        }
    }));
    let sum = system.spawn(move || {
        let (mut sum, mut buffer) = (0, [0; 1_000]);
        loop {
            match reader.io(Interest::READ, |mut pipe| pipe.read(&mut buffer)).unwrap() {
                0 => return sum,
                count => sum += count,
            }
        }
    });
    system.run().unwrap();
    assert_eq!(sum.join().unwrap(), ALL);
}

#[test]
fn a_closed_half_is_the_end_for_the_reader_only() {
    let (near, far) = pair();
    let system = LocalSystem::new();
    let there = system.spawn(move || {
        let mut all = Vec::new();
        let mut buffer = [0; 64];
        loop {
            // Short reads: the end is not announced a second time.
            let count = near
                .io_with(Interest::READ, None, |mut stream| {
                    let count = stream.read(&mut buffer)?;
                    Ok((count, count < buffer.len()))
                })
                .unwrap();
            all.extend_from_slice(&buffer[..count]);
            if count == 0 {
                assert!(near.wait(Interest::READ).unwrap().is_read_end());
                write(&near, b"answer").unwrap();
                return all;
            }
        }
    });
    let back = system.spawn(move || {
        write(&far, b"question").unwrap();
        far.get_ref().shutdown(Shutdown::Write).unwrap();
        let mut buffer = [0; 64];
        let count = read(&far, &mut buffer).unwrap();
        buffer[..count].to_vec()
    });
    system.run().unwrap();
    assert_eq!(
        (there.join().unwrap(), back.join().unwrap()),
        (b"question".into(), b"answer".into())
    );
}

#[test]
fn a_hang_up_is_readiness_both_ways() {
    let (near, far) = pair();
    let system = LocalSystem::new();
    let waits = system.spawn(move || {
        // Nothing was read yet, and nothing can be written.
        let fill = |mut stream: &UnixStream| stream.write(&[0; 4096]);
        while near.try_io(Interest::WRITE, fill).is_ok() {}
        let seen = near.wait(Interest::WRITE).unwrap();
        let error = near.io(Interest::WRITE, fill).unwrap_err();
        (seen.is_write_end(), seen.is_read_end(), error.kind())
    });
    drop(system.spawn(move || {
        yield_now();
        drop(far);
    }));
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), (true, true, ErrorKind::BrokenPipe));
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let (near, _far) = pair();
    let system = LocalSystem::new();
    let waits = system.spawn(move || {
        let deadline = deadline_in(Duration::from_millis(5));
        let error = near.wait_until(Interest::READ, deadline).unwrap_err();
        assert!(now() >= deadline);
        let read = |mut stream: &UnixStream| stream.read(&mut [0]);
        let again = near.io_until(Interest::READ, deadline, read).unwrap_err();
        // What is ready is found even if the time is over.
        assert!(near.wait_until(Interest::WRITE, deadline).is_ok());
        (error.kind(), again.kind())
    });
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), (ErrorKind::TimedOut, ErrorKind::TimedOut));
}

#[test]
fn who_is_cancelled_waits_no_more() {
    let (near, far) = pair();
    let near = Rc::new(near);
    let system = LocalSystem::new();
    let dropped = Rc::new(Cell::new(false));
    struct Tell(Rc<Cell<bool>>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let (own, tell) = (near.clone(), Tell(dropped.clone()));
    let waits = system.spawn(move || {
        let _tell = tell;
        own.wait(Interest::READ).unwrap();
        unreachable!("nothing is written before it is cancelled");
    });
    let other = system.spawn(move || {
        while waits.co().is_none() {
            yield_now();
        }
        sleep(Duration::from_millis(2));
        cancel(waits.co().unwrap());
        assert!(waits.join().is_err());
        write(&far, b"!").unwrap();
        near.wait(Interest::READ).unwrap().is_readable()
    });
    system.run().unwrap();
    assert!(other.join().unwrap() && dropped.get());
}

#[test]
fn who_waits_for_a_descriptor_keeps_its_system_open() {
    let (near, far) = pair();
    let system = LocalSystem::new();
    let waits = system.spawn(move || read(&near, &mut [0]).unwrap());
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        write(&far, b"!").unwrap();
    });
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), 1);
    thread.join().unwrap();
}

#[test]
fn many_wait_for_one_descriptor() {
    let (near, far) = pair();
    let near = Rc::new(near);
    let system = LocalSystem::new();
    let readers: Vec<_> = (0..10)
        .map(|_| {
            let near = near.clone();
            system.spawn(move || read(&near, &mut [0]).unwrap())
        })
        .collect();
    let writer = near.clone();
    drop(system.spawn(move || writer.wait(Interest::WRITE).unwrap()));
    drop(system.spawn(move || {
        for _ in 0..10 {
            write(&far, b"!").unwrap();
            yield_now();
        }
    }));
    system.run().unwrap();
    assert_eq!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>(), 10);
}

#[test]
fn a_busy_core_does_not_starve_its_sockets() {
    let (near, far) = pair();
    let system = LocalSystem::new();
    let done = Rc::new(Cell::new(false));
    let seen = done.clone();
    let busy = system.spawn(move || {
        let mut turns = 0u64;
        while !seen.get() {
            turns += 1;
            yield_now();
        }
        turns
    });
    drop(system.spawn(move || {
        for _ in 0..100 {
            read(&near, &mut [0]).unwrap();
            write(&near, b"!").unwrap();
        }
        done.set(true);
    }));
    let thread = std::thread::spawn(move || {
        for _ in 0..100 {
            write(&far, b"!").unwrap();
            read(&far, &mut [0]).unwrap();
        }
    });
    system.run().unwrap();
    assert!(busy.join().unwrap() > 0);
    thread.join().unwrap();
}

#[test]
fn futures_wait_as_coroutines_do() {
    let (near, far) = pair();
    let system = LocalSystem::new();
    let future = system.spawn_future(async move {
        let mut byte = [0];
        near.io_async(Interest::READ, |mut stream| stream.read(&mut byte)).await.unwrap();
        byte[0]
    });
    drop(system.spawn(move || {
        sleep(Duration::from_millis(2));
        write(&far, &[9]).unwrap();
    }));
    system.run().unwrap();
    assert_eq!(future.join().unwrap(), 9);
}

#[test]
fn connections_are_accepted_and_served() {
    let system = LocalSystem::new();
    let total = system.spawn(|| {
        let listener = Descriptor::new(TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let clients = std::thread::spawn(move || {
            let client = move |n: u8| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(&[n; 100]).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let mut back = Vec::new();
                stream.read_to_end(&mut back).unwrap();
                assert_eq!(back, [n; 100]);
            };
            let clients: Vec<_> = (0..20).map(|n| std::thread::spawn(move || client(n))).collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
        let serve = |stream: TcpStream| {
            let stream = Descriptor::new(stream).unwrap();
            let (mut total, mut buffer) = (0, [0; 64]);
            loop {
                let read = |mut stream: &TcpStream| stream.read(&mut buffer);
                let count = stream.io(Interest::READ, read).unwrap();
                if count == 0 {
                    return total;
                }
                let write = |mut stream: &TcpStream| stream.write(&buffer[..count]);
                assert_eq!(stream.io(Interest::WRITE, write).unwrap(), count);
                total += count;
            }
        };
        let served: Vec<_> = (0..20)
            .map(|_| {
                let (stream, _) =
                    listener.io(Interest::READ, |listener| listener.accept()).unwrap();
                leno_kernel::spawn_local(move || serve(stream))
            })
            .collect();
        let total = served.into_iter().map(|one| one.join().unwrap()).sum::<usize>();
        clients.join().unwrap();
        total
    });
    system.run().unwrap();
    assert_eq!(total.join().unwrap(), 2000);
}

#[test]
fn virtual_time_refuses_real_descriptors() {
    let (near, _far) = UnixStream::pair().unwrap();
    let outside = Descriptor::new(near).unwrap();
    let system = LocalSystem::builder().virtual_time().build();
    let errors = system.spawn(move || {
        let made = Descriptor::new(UnixStream::pair().unwrap().0).unwrap_err();
        let waited = outside.wait_until(Interest::WRITE, deadline_in(LONG)).unwrap_err();
        let tried = outside.io(Interest::WRITE, |mut stream| stream.write(b"!")).unwrap_err();
        [made, waited, tried].map(|error| (error.kind(), error.to_string()))
    });
    system.run().unwrap();
    for (kind, message) in errors.join().unwrap() {
        assert_eq!(kind, ErrorKind::Unsupported);
        assert!(message.starts_with("real I/O in virtual time: "), "{message}");
    }
}

struct Refusing(RealTime);

impl Platform for Refusing {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }

    fn reactor(&self) -> io::Result<Reactor> {
        Err(io::Error::new(ErrorKind::Unsupported, "not controlled: real I/O"))
    }
}

#[test]
fn any_platform_may_refuse() {
    let (outside, _far) = pair();
    let system = LocalSystem::builder().platform(Refusing(RealTime::new())).build();
    let errors = system.spawn(move || {
        let made = Descriptor::new(UnixStream::pair().unwrap().0).unwrap_err();
        [made, outside.wait(Interest::WRITE).unwrap_err()].map(|error| error.to_string())
    });
    let (near, _far) = pair();
    let future = system.spawn_future(async move {
        near.wait_async(Interest::WRITE).await.unwrap_err().to_string()
    });
    system.run().unwrap();
    assert_eq!(errors.join().unwrap(), ["not controlled: real I/O"; 2]);
    assert_eq!(future.join().unwrap(), "not controlled: real I/O");
}

#[test]
fn who_unwinds_cannot_wait() {
    struct Waits(Descriptor<UnixStream>, Rc<RefCell<String>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            *self.1.borrow_mut() = self.0.wait(Interest::READ).unwrap_err().to_string();
        }
    }
    let (near, _far) = pair();
    let text = Rc::new(RefCell::new(String::new()));
    let waits = Waits(near, text.clone());
    let system = LocalSystem::new();
    let cancelled = system.spawn(move || {
        let _waits = waits;
        loop {
            yield_now();
        }
    });
    drop(system.spawn(move || cancelled.cancel()));
    system.run().unwrap();
    assert!(text.borrow().contains("unwinds"), "{}", text.borrow());
}

#[test]
#[should_panic(expected = "use its `_async` form")]
fn a_future_that_would_park_is_told_how_to_wait() {
    let (near, _far) = pair();
    let system = LocalSystem::new();
    let future = system.spawn_future(async move { near.wait(Interest::READ).map(drop) });
    system.run().unwrap();
    let error = future.join().unwrap_err();
    std::panic::resume_unwind(error.into_panic().unwrap());
}

#[test]
fn a_descriptor_is_watched_once_and_the_error_says_so() {
    let (near, _far) = UnixStream::pair().unwrap();
    let near = Rc::new(near);
    let system = LocalSystem::new();
    let error = system.spawn(move || {
        let [first, second] = [(); 2].map(|()| Descriptor::new(&*near).unwrap());
        first.wait(Interest::WRITE).unwrap();
        let error = second.wait(Interest::WRITE).unwrap_err();
        drop(first);
        assert!(second.wait(Interest::WRITE).is_ok());
        error.to_string()
    });
    system.run().unwrap();
    let error = error.join().unwrap();
    assert!(error.contains("watched already for another `Descriptor`"), "{error}");
}

#[test]
fn a_file_cannot_be_waited_for_and_the_error_says_why() {
    let file = Descriptor::new(std::fs::File::open("/proc/self/exe").unwrap()).unwrap();
    let system = LocalSystem::new();
    let error = system.spawn(move || {
        let mut byte = [0];
        // It never would block.
        assert_eq!(file.io(Interest::READ, |mut file| file.read(&mut byte)).unwrap(), 1);
        file.wait(Interest::READ).unwrap_err().to_string()
    });
    system.run().unwrap();
    let error = error.join().unwrap();
    assert!(error.contains("files and folders on a disk are always ready"), "{error}");
}

#[test]
fn a_nested_system_uses_what_the_outer_one_watches() {
    let (near, far) = pair();
    let (near, far) = (Rc::new(near), Rc::new(far));
    let outer = LocalSystem::new();
    let (own, peer) = (near.clone(), far.clone());
    let sum = outer.spawn(move || {
        // Watched by the outer core from here on.
        own.wait(Interest::WRITE).unwrap();
        let inner = LocalSystem::new();
        let reader = own.clone();
        let read = inner.spawn(move || read(&reader, &mut [0]).unwrap());
        drop(inner.spawn(move || {
            sleep(Duration::from_millis(2));
            write(&peer, b"!").unwrap();
        }));
        inner.run().unwrap();
        // And by the outer core again.
        write(&far, b"!").unwrap();
        read.join().unwrap() + self::read(&own, &mut [0]).unwrap()
    });
    outer.run().unwrap();
    assert_eq!(sum.join().unwrap(), 2);
    // It ends when its core has: a plain thread may still use it.
    assert!(near.wait(Interest::WRITE).is_ok());
}

#[test]
fn a_dump_says_which_descriptor_is_waited_for() {
    let (near, far) = UnixStream::pair().unwrap();
    let system = LocalSystem::new();
    let near = Descriptor::new(near).unwrap();
    let number = near.as_fd().as_raw_fd();
    drop(system.spawn(move || near.wait(Interest::READ)));
    let seen = system.spawn(move || {
        leno_kernel::yield_now();
        let dump = leno_kernel::dump_all(leno_kernel::dump::Depth::States).to_string();
        drop(far);
        dump
    });
    system.run().unwrap();
    let dump = seen.join().unwrap();
    assert!(dump.contains(&format!("waiting to read descriptor {number}")), "{dump}");
}

/// Names its descriptor as long as it is told to.
struct Silent(UnixStream, Rc<Cell<bool>>);

impl AsFd for Silent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        assert!(!self.1.get(), "it names none");
        self.0.as_fd()
    }
}

#[test]
fn an_owner_that_panics_when_it_is_asked_for_its_descriptor_leaves_nobody_waiting() {
    for unwinds in [false, true] {
        let (near, _far) = UnixStream::pair().unwrap();
        let is_silent = Rc::new(Cell::new(false));
        let near = Descriptor::new(Silent(near, is_silent.clone())).unwrap();
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        let polled = near.poll_ready(&mut Context::from_waker(&waker), Interest::READ);
        assert!(polled.is_pending());
        is_silent.set(true);
        let raised = catch_unwind(AssertUnwindSafe(|| {
            let _near = near;
            assert!(!unwinds, "for a reason of its own");
        }));
        let message = raised.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(*message, if unwinds { "for a reason of its own" } else { "it names none" });
        assert!(woken.0.load(SeqCst));
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn an_operation_on_a_descriptor_may_panic_and_use_it() {
    let (near, far) = pair();
    let raised = catch_unwind(AssertUnwindSafe(|| {
        near.io(Interest::READ, |_| -> io::Result<()> { panic!("it cannot be done") })
    }));
    assert!(raised.is_err());
    write(&far, b"ab").unwrap();
    // It reads by itself, and says that there was nothing.
    let mut is_first = true;
    let read_twice = near.io(Interest::READ, |mut stream| {
        let mut byte = [0];
        if std::mem::take(&mut is_first) {
            assert_eq!(read(&near, &mut byte).unwrap(), 1);
            return Err(ErrorKind::WouldBlock.into());
        }
        stream.read(&mut byte).map(|count| (count, byte[0]))
    });
    assert_eq!(read_twice.unwrap(), (1, b'b'));
}
