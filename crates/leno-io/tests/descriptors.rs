//! Nothing keeps descriptors open. The only test of its process, so that it can count them.

use std::io::{Read, Write};
use std::pin::pin;
use std::task::{Context, Waker};

use leno_io::fs::{self, Backend, File};
use leno_io::process::Command;
use leno_io::signal::{Signal, Signals};
use leno_kernel::{LocalSystem, cancel, yield_now};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Each of these opens something, and some are cancelled in the middle.
fn work() {
    // In a thread of its own, whose ring goes with it.
    let thread = std::thread::spawn(|| {
        let path = std::env::temp_dir().join(format!("leno-descriptors-{}", std::process::id()));
        let system = LocalSystem::new();
        for backend in [Backend::Ring, Backend::Helpers] {
            let path = path.with_extension(backend.to_string());
            drop(system.spawn(move || {
                let mut file = File::options()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .backend(backend)
                    .assume_cached(false)
                    .open(&path)
                    .unwrap();
                file.write_all(b"text").unwrap();
                assert_eq!(file.read_at(&mut [0; 8], 0).unwrap(), 4);
                assert!(fs::read_dir("/proc/self").unwrap().next().is_some());
                fs::remove_file(&path).unwrap();
            }));
        }
        let signals = Signals::new(&[Signal::User1]).unwrap();
        let waits = system.spawn(move || signals.recv());
        let sleeps = system.spawn(|| Command::new("sleep").arg("1000").output());
        let (reader, writer) = std::io::pipe().unwrap();
        let reads = system.spawn(move || {
            let mut file = File::from_std(std::os::fd::OwnedFd::from(reader).into());
            if file.backend() == Backend::Ring {
                let _ = file.read(&mut [0]);
            }
        });
        let all = [waits.co(), sleeps.co(), reads.co()];
        drop(system.spawn(move || {
            for _ in 0..3 {
                yield_now();
            }
            all.into_iter().flatten().for_each(cancel);
        }));
        system.run().unwrap();
        drop((waits.join(), sleeps.join(), reads.join(), writer));
    });
    thread.join().unwrap();
}

#[test]
fn all_that_was_opened_is_closed() {
    // From here on there is the thread that watches for those who have no core.
    let signals = Signals::new(&[Signal::User2]).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(signals.recv_async()).poll(&mut context).is_pending());
    work();
    // Orphans are reaped by whoever watches, a little later.
    let settle = |most: usize| {
        for _ in 0..10_000 {
            if descriptors() <= most {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let open: Vec<_> = std::fs::read_dir("/proc/self/fd").unwrap().flatten().collect();
        let open: Vec<_> = open.iter().map(|entry| std::fs::read_link(entry.path())).collect();
        panic!("{} descriptors are open, and there were {most}: {open:?}", descriptors());
    };
    std::thread::sleep(std::time::Duration::from_millis(50));
    let before = descriptors();
    for _ in 0..20 {
        work();
    }
    settle(before);
}
