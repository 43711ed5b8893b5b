//! Very many operations at once.

use std::io::{Read, Write};
use std::rc::Rc;

use leno_io::fs::Backend;
use leno_kernel::{LocalSystem, System, yield_now};

use super::{BACKENDS, Folder, pattern, slow_file, to_read};

#[test]
fn coroutines_read_one_file_all_over() {
    const SIZE: usize = 1 << 20;
    let folder = Folder::new();
    let path = folder.with(&pattern(SIZE));
    for backend in BACKENDS {
        for assume_cached in [false, true] {
            let (system, all) = (LocalSystem::new(), Rc::new(pattern(SIZE)));
            let file = Rc::new(to_read(backend, assume_cached).open(&path).unwrap());
            for n in 0..100usize {
                let (file, all) = (file.clone(), all.clone());
                drop(system.spawn(move || {
                    let mut buffer = [0; 4096];
                    for round in 0..20 {
                        let at = (n * 104_729 + round * 7_919) % (SIZE - 4096);
                        file.read_exact_at(&mut buffer, at as u64).unwrap();
                        assert!(buffer == all[at..at + 4096]);
                        if round % 7 == n % 7 {
                            yield_now();
                        }
                    }
                }));
            }
            assert_eq!(system.run().unwrap().returned, 100, "{backend}");
        }
    }
}

#[test]
fn whoever_never_has_to_wait_lets_others_run() {
    let folder = Folder::new();
    let path = folder.with(&pattern(4096));
    for backend in BACKENDS {
        let (system, path) = (LocalSystem::new(), path.clone());
        let stop = Rc::new(std::cell::Cell::new(false));
        let stopped = stop.clone();
        let reads = system.spawn(move || {
            let file = to_read(backend, true).open(path).unwrap();
            while !stopped.get() {
                file.read_at(&mut [0; 16], 0).unwrap();
            }
        });
        drop(system.spawn(move || {
            yield_now();
            stop.set(true);
        }));
        system.run().unwrap();
        reads.join().unwrap();
    }
}

#[test]
fn more_than_a_ring_holds_wait_at_once() {
    const ALL: usize = 1_000;
    if leno_io::fs::backend() != Backend::Ring {
        return;
    }
    let (file, _reader, mut writer) = slow_file(Backend::Ring);
    let (system, file) = (LocalSystem::new(), Rc::new(file));
    for _ in 0..ALL {
        let file = file.clone();
        drop(system.spawn(move || assert_eq!((&*file).read(&mut [0]).unwrap(), 1)));
    }
    drop(system.spawn(move || {
        yield_now();
        writer.write_all(&[0; ALL]).unwrap();
        writer
    }));
    assert_eq!(system.run().unwrap().returned, ALL as u64 + 1);
}

#[test]
fn cores_write_beside_each_other() {
    const PIECES: usize = 64;
    let folder = Folder::new();
    for backend in BACKENDS {
        let path = folder.file("out");
        let mut options = leno_io::fs::File::options();
        options.write(true).create(true).truncate(true).backend(backend);
        let file = std::sync::Arc::new(options.open(&path).unwrap());
        let system = System::builder().cores(2).build().unwrap();
        let write = |n: usize| {
            let file = file.clone();
            system.spawn(move || {
                file.write_all_at(&vec![n as u8; 5_000], n as u64 * 5_000).unwrap();
                file.sync_data().unwrap();
            })
        };
        let writes: Vec<_> = (0..PIECES).map(write).collect();
        writes.into_iter().for_each(|write| write.join().unwrap());
        let written = std::fs::read(&path).unwrap();
        assert!(written.chunks(5_000).enumerate().all(|(n, piece)| piece == [n as u8; 5_000]));
    }
}
