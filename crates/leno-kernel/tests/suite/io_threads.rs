//! Waiting for descriptors where threads meet: several cores, plain threads, futures elsewhere, and
//! descriptors that are dropped or outlive the core that watched them.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::layer::deadline_in;
use leno_kernel::{LocalSystem, System, block_on, sleep, spawn, yield_now};

type Stream = Descriptor<UnixStream>;

fn pair() -> (Arc<Stream>, Arc<Stream>) {
    let (near, far) = UnixStream::pair().unwrap();
    (Arc::new(Descriptor::new(near).unwrap()), Arc::new(Descriptor::new(far).unwrap()))
}

fn read(from: &Stream) -> io::Result<u8> {
    let mut byte = [0];
    match from.io(Interest::READ, |mut stream| stream.read(&mut byte))? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(byte[0]),
    }
}

fn write(to: &Stream, byte: u8) {
    assert_eq!(to.io(Interest::WRITE, |mut stream| stream.write(&[byte])).unwrap(), 1);
}

/// Runs a body on a core, and a thread, of its own.
fn on_a_core<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    std::thread::spawn(move || {
        let system = LocalSystem::new();
        let result = system.spawn(body);
        system.run().unwrap();
        result.join().unwrap()
    })
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        std::thread::yield_now();
    }
}

/// A core watches the first one, until something comes from the second.
fn watched(stream: Arc<Stream>, hold: Arc<Stream>) -> std::thread::JoinHandle<u8> {
    let is_watched = Arc::new(AtomicBool::new(false));
    let tell = is_watched.clone();
    let watcher = on_a_core(move || {
        stream.wait(Interest::WRITE).unwrap();
        tell.store(true, SeqCst);
        read(&hold).unwrap()
    });
    wait_for(&is_watched);
    watcher
}

#[test]
fn a_core_wakes_who_waits_on_another_one() {
    let ((near, far), (hold, release)) = (pair(), pair());
    let watcher = watched(near.clone(), hold);
    let reader = on_a_core(move || (0..100).map(|_| u32::from(read(&near).unwrap())).sum::<u32>());
    for _ in 0..100 {
        write(&far, 1);
    }
    assert_eq!(reader.join().unwrap(), 100);
    write(&release, 7);
    assert_eq!(watcher.join().unwrap(), 7);
}

#[test]
fn who_waits_on_a_core_that_ends_is_watched_elsewhere() {
    let ((near, far), (hold, release)) = (pair(), pair());
    let watcher = watched(near.clone(), hold);
    let asks = Arc::new(AtomicBool::new(false));
    let tell = asks.clone();
    let reader = on_a_core(move || {
        tell.store(true, SeqCst);
        read(&near).unwrap()
    });
    wait_for(&asks);
    std::thread::sleep(Duration::from_millis(2));
    write(&release, 1);
    watcher.join().unwrap();
    write(&far, 9);
    assert_eq!(reader.join().unwrap(), 9);
}

#[test]
fn a_plain_thread_waits_too() {
    let (near, far) = pair();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        write(&far, 3);
        far
    });
    assert_eq!(read(&near).unwrap(), 3);
    let error = near.wait_until(Interest::READ, deadline_in(Duration::from_millis(2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(near.wait(Interest::READ | Interest::WRITE).unwrap().is_writable());
    drop(writer.join().unwrap());
    assert_eq!(read(&near).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_future_without_a_core_is_watched_by_the_helper_and_then_by_a_core() {
    let (near, far) = pair();
    let own = near.clone();
    let future = std::thread::spawn(move || {
        block_on(async {
            let mut byte = [0];
            own.io_async(Interest::READ, |mut stream| stream.read(&mut byte)).await.unwrap();
            byte[0]
        })
    });
    std::thread::sleep(Duration::from_millis(2));
    write(&far, 5);
    assert_eq!(future.join().unwrap(), 5);
    let reader = on_a_core(move || read(&near).unwrap());
    std::thread::sleep(Duration::from_millis(2));
    write(&far, 6);
    assert_eq!(reader.join().unwrap(), 6);
}

struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_drop_wakes_who_was_left_waiting_and_later_events_find_nobody() {
    let (near, far) = pair();
    // The stream stays open after its descriptor is gone.
    let kept = near.as_fd().try_clone_to_owned().unwrap();
    let counters = [(); 3].map(|()| Arc::new(Counter(AtomicUsize::new(0))));
    for counter in &counters {
        let waker = Waker::from(counter.clone());
        for _ in 0..2 {
            let mut context = Context::from_waker(&waker);
            assert!(near.poll_ready(&mut context, Interest::READ).is_pending());
        }
    }
    let near = Arc::into_inner(near).unwrap();
    std::thread::spawn(move || drop(near)).join().unwrap();
    let counts = || counters.each_ref().map(|counter| counter.0.load(SeqCst));
    assert_eq!(counts(), [1; 3]);
    assert!(counters.iter().all(|counter| Arc::strong_count(counter) == 1));
    write(&far, 1);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(counts(), [1; 3]);
    drop(kept);
}

#[test]
fn an_event_wakes_each_waker_once() {
    let (near, far) = pair();
    let counter = Arc::new(Counter(AtomicUsize::new(0)));
    let waker = Waker::from(counter.clone());
    let mut context = Context::from_waker(&waker);
    for round in 1..=3 {
        while near.poll_ready(&mut context, Interest::READ).is_ready() {
            let mut byte = [0];
            let _ = near.try_io(Interest::READ, |mut stream| stream.read(&mut byte));
        }
        let before = counter.0.load(SeqCst);
        write(&far, round);
        while counter.0.load(SeqCst) == before {
            std::thread::yield_now();
        }
        assert_eq!(counter.0.load(SeqCst), before + 1);
    }
}

#[test]
fn a_system_that_stops_ends_those_who_wait() {
    let system = System::new(2).unwrap();
    let pairs: Vec<_> = (0..20).map(|_| pair()).collect();
    let waiting = Arc::new(AtomicUsize::new(0));
    for (near, _) in &pairs {
        let (near, waiting) = (near.clone(), waiting.clone());
        drop(system.spawn(move || {
            waiting.fetch_add(1, SeqCst);
            read(&near).unwrap()
        }));
    }
    while waiting.load(SeqCst) < 20 {
        std::thread::yield_now();
    }
    let report = system.shutdown(Duration::from_secs(60)).unwrap();
    assert_eq!((report.spawned, report.exited), (20, 20));
}

#[test]
fn a_team_waits_while_one_of_its_coroutines_waits_for_a_descriptor() {
    let system = System::new(2).unwrap();
    let (near, far) = pair();
    drop(system.spawn(move || read(&near).unwrap()));
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        write(&far, 1);
    });
    assert_eq!(system.wait().unwrap().returned, 1);
    thread.join().unwrap();
}

/// Bytes go back and forth over many pairs; the ends are coroutines of a team, coroutines of another
/// core, threads and futures; now and then one gives up waiting and tries again. Every byte arrives.
#[test]
fn no_wake_up_is_lost_between_cores_threads_and_futures() {
    let seconds = std::env::var("LENO_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(1));
    let system = System::new(2).unwrap();
    let mut rounds = 0;
    while rounds == 0 || Instant::now() < end {
        rounds += 1;
        let ((a, b), (c, d), (e, f)) = (pair(), pair(), pair());
        let echo = |near: Arc<Stream>| {
            move || {
                let mut count = 0u32;
                while let Ok(byte) = read(&near) {
                    write(&near, byte);
                    count += 1;
                    if count.is_multiple_of(16) {
                        yield_now();
                    }
                }
                near.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
                count
            }
        };
        let ask = |far: Arc<Stream>, count: u32| {
            move || {
                for n in 0..count {
                    write(&far, n as u8);
                    let deadline = deadline_in(Duration::from_micros(u64::from(n % 50)));
                    let _ = far.wait_until(Interest::READ, deadline);
                    assert_eq!(read(&far).unwrap(), n as u8);
                }
                far.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
                count
            }
        };
        // Within the team, on whichever cores.
        let team = [system.spawn(echo(a)), system.spawn(ask(b, 200))];
        // A core of its own, and a thread.
        let core = on_a_core(echo(c));
        let thread = std::thread::spawn(ask(d, 200));
        // A future of the team, and one that no core polls.
        let future = system.spawn_future(async move {
            let mut count = 0;
            let mut byte = [0];
            loop {
                match e.io_async(Interest::READ, |mut stream| stream.read(&mut byte)).await {
                    Ok(1) => write_async(&e, byte[0]).await,
                    _ => break count,
                }
                count += 1;
            }
        });
        block_on(async {
            let mut byte = [0];
            for n in 0..100 {
                write_async(&f, n).await;
                f.io_async(Interest::READ, |mut stream| stream.read(&mut byte)).await.unwrap();
                assert_eq!(byte[0], n);
            }
            f.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
        });
        assert_eq!(team.map(|one| one.join().unwrap()), [200; 2]);
        assert_eq!((core.join().unwrap(), thread.join().unwrap()), (200, 200));
        assert_eq!(future.join().unwrap(), 100);
    }
}

async fn write_async(to: &Stream, byte: u8) {
    to.io_async(Interest::WRITE, |mut stream| stream.write(&[byte])).await.unwrap();
}

/// Many coroutines on two cores wait for the same descriptor, and are cancelled, time out, or read.
#[test]
fn every_byte_is_read_once_however_many_wait() {
    const BYTES: usize = 2000;
    let system = System::new(2).unwrap();
    let (near, far) = pair();
    let got = Arc::new(AtomicUsize::new(0));
    let readers = (near.clone(), got.clone());
    let all = system.spawn(move || {
        let (near, got) = readers;
        let readers: Vec<_> = (0..32)
            .map(|n| {
                let (near, got) = (near.clone(), got.clone());
                spawn(move || {
                    while got.load(SeqCst) < BYTES {
                        let deadline = deadline_in(Duration::from_micros(200 + n));
                        let read = |mut stream: &UnixStream| stream.read(&mut [0]);
                        match near.io_until(Interest::READ, deadline, read) {
                            Ok(count) => drop(got.fetch_add(count, SeqCst)),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
                        }
                    }
                })
            })
            .collect();
        let victims: Vec<_> = (0..32)
            .map(|_| {
                let near = near.clone();
                spawn(move || near.wait(Interest::READ).map(drop))
            })
            .collect();
        sleep(Duration::from_millis(1));
        victims.iter().for_each(|victim| victim.cancel());
        victims.into_iter().for_each(|victim| drop(victim.join()));
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    for n in 0..BYTES {
        write(&far, n as u8);
    }
    all.join().unwrap();
    assert_eq!(got.load(SeqCst), BYTES);
}
