//! Reading, writing, syncing, names: one after the other.

use std::io::{BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

use leno_io::fs::{self, Backend, File};
use leno_kernel::{LocalSystem, System, VirtualTime, block_on, cancel, current, yield_now};

use super::{BACKENDS, Folder, pattern, run, to_read};

/// So long nothing takes here.
const LONG: std::time::Duration = std::time::Duration::from_secs(600);

#[test]
fn what_was_written_is_read_again() {
    for backend in BACKENDS {
        let folder = Folder::new();
        let path = folder.file("a");
        run(move || {
            let mut options = File::options();
            options.read(true).write(true).create_new(true).backend(backend).assume_cached(false);
            let mut file = options.open(&path).unwrap();
            assert_eq!(file.write(b"Hello, world").unwrap(), 12);
            file.seek(SeekFrom::Start(7)).unwrap();
            file.write_all(b"there").unwrap();
            file.sync_data().unwrap();
            file.sync_all().unwrap();
            file.rewind().unwrap();
            let mut text = String::new();
            assert_eq!(file.read_to_string(&mut text).unwrap(), 12);
            assert_eq!(text, "Hello, there");
            assert_eq!(file.metadata().unwrap().len(), 12);
            file.set_len(5).unwrap();
            assert_eq!(file.read_at(&mut [0; 8], 5).unwrap(), 0);
            let mut middle = [0; 3];
            file.read_exact_at(&mut middle, 1).unwrap();
            assert_eq!(&middle, b"ell");
            let error = file.read_exact_at(&mut middle, 3).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        });
    }
}

#[test]
fn large_files_go_piece_by_piece() {
    const SIZE: usize = (3 << 20) + 7;
    let expected = pattern(SIZE);
    for backend in BACKENDS {
        for assume_cached in [false, true] {
            let folder = Folder::new();
            let (path, all) = (folder.file("a"), expected.clone());
            run(move || {
                File::options()
                    .write(true)
                    .create(true)
                    .backend(backend)
                    .open(&path)
                    .unwrap()
                    .write_all(&all)
                    .unwrap();
                let mut read = Vec::new();
                let options = to_read(backend, assume_cached);
                options.open(&path).unwrap().read_to_end(&mut read).unwrap();
                assert!(read == all, "{backend}");
                // In one piece, if it can.
                let mut read = vec![0; SIZE];
                options.open(&path).unwrap().read_exact(&mut read).unwrap();
                assert!(read == all, "{backend}");
            });
        }
    }
}

#[test]
fn futures_read_and_write_the_same() {
    const SIZE: usize = (1 << 20) + 3;
    let all = pattern(SIZE);
    for backend in BACKENDS {
        let folder = Folder::new();
        let (path, there) = (folder.file("a"), all.clone());
        let work = async move {
            let mut options = File::options();
            options.write(true).create(true).backend(backend);
            let file = options.open_async(&path).await?;
            file.write_all_async(&there).await?;
            file.write_at_async(b"!", 5).await?;
            file.sync_data_async().await?;
            let file = to_read(backend, false).open_async(&path).await?;
            let mut read = Vec::new();
            file.read_to_end_async(&mut read).await?;
            let mut one = [0];
            assert_eq!(file.read_at_async(&mut one, 5).await?, 1);
            assert_eq!(file.metadata_async().await?.len(), SIZE as u64);
            assert_eq!(&one, b"!");
            Ok::<_, std::io::Error>(read)
        };
        // On a core, and on a thread that has none.
        let read = if backend == Backend::Ring {
            let system = LocalSystem::new();
            let read = system.spawn_future(work);
            system.run().unwrap();
            read.join().unwrap()
        } else {
            block_on(work)
        };
        let mut expected = all.clone();
        expected[5] = b'!';
        assert!(read.unwrap() == expected, "{backend}");
    }
}

#[test]
fn futures_read_exactly_and_until_the_end() {
    for backend in BACKENDS {
        let folder = Folder::new();
        let path = folder.file("a");
        block_on(async {
            let file = File::create_async(&path).await.unwrap();
            file.write_all_at_async(b"world", 7).await.unwrap();
            file.write_all_at_async("Hello, ".as_bytes(), 0).await.unwrap();
            let file = to_read(backend, false).open_async(&path).await.unwrap();
            let (mut head, mut text) = ([0; 5], String::new());
            file.read_exact_async(&mut head).await.unwrap();
            assert_eq!(&head, b"Hello");
            assert_eq!(file.read_to_string_async(&mut text).await.unwrap(), 7);
            assert_eq!(text, ", world");
            file.read_exact_at_async(&mut head, 7).await.unwrap();
            assert_eq!(&head, b"world");
            for short in [
                file.read_exact_at_async(&mut head, 8).await,
                file.read_exact_async(&mut [0]).await,
            ] {
                let error = short.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
                assert!(error.to_string().starts_with(&format!("read {path:?}: ")), "{error}");
            }
            fs::write_async(&path, b"\xff").await.unwrap();
            let file = to_read(backend, true).open_async(&path).await.unwrap();
            let error = file.read_to_string_async(&mut text).await.unwrap_err();
            assert_eq!((error.kind(), &*text), (ErrorKind::InvalidData, ", world"));
        });
    }
}

#[test]
fn futures_on_a_thread_use_its_ring() {
    let folder = Folder::new();
    let path = folder.with(&pattern(100_000));
    // The thread that begins ends before the future does, perhaps.
    let file = to_read(Backend::Ring, false).open(&path).unwrap();
    let mut buffer = vec![0; 4096];
    assert_eq!(block_on(file.read_at_async(&mut buffer, 4096)).unwrap(), 4096);
    assert!(buffer == pattern(100_000)[4096..8192]);
}

#[test]
fn appending_goes_to_the_end() {
    for backend in BACKENDS {
        let folder = Folder::new();
        let path = folder.file("log");
        let there = path.clone();
        run(move || {
            for line in 0..20 {
                let mut options = File::options();
                let mut log =
                    options.append(true).create(true).backend(backend).open(&there).unwrap();
                log.seek(SeekFrom::Start(0)).unwrap();
                writeln!(log, "{line}").unwrap();
                log.sync_data().unwrap();
            }
        });
        let lines: Vec<_> = (0..20).map(|line| line.to_string()).collect();
        assert!(fs::read_to_string(path).unwrap().lines().eq(lines));
    }
}

#[test]
fn errors_say_what_was_done_to_what() {
    for backend in BACKENDS {
        let folder = Folder::new();
        let path = folder.file("a");
        run(move || {
            let error = to_read(backend, false).open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            let text = format!("open {path:?}: No such file or directory (os error 2)");
            assert_eq!(error.to_string(), text);
            let mut file =
                File::options().write(true).create(true).backend(backend).open(&path).unwrap();
            let error = file.read(&mut [0]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("read {path:?}: Bad file descriptor (os error 9)")
            );
            let error = to_read(backend, true).open(&path).unwrap().write(&[0]).unwrap_err();
            assert!(error.to_string().starts_with(&format!("write to {path:?}: ")), "{error}");
            let error = fs::create_dir(&path).unwrap_err();
            assert!(error.to_string().starts_with(&format!("create {path:?}: ")), "{error}");
            let error = fs::read_dir(&path).unwrap_err();
            assert!(error.to_string().starts_with(&format!("read {path:?}: ")), "{error}");
            file.write_all(&[0xff]).unwrap();
            let error = fs::read_to_string(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
        });
    }
}

#[test]
fn what_cannot_be_opened_at_once_is_opened_elsewhere() {
    let folder = Folder::new();
    let (path, fifo) = (folder.with(b"bytes"), folder.file("fifo"));
    let link = folder.file("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let system = LocalSystem::new();
    let (there, through) = (fifo.clone(), link.clone());
    let waits = system.spawn(move || {
        // It waits until someone opens it to write, and others of its core run.
        let mut text = String::new();
        File::open(there).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    let others = system.spawn(move || {
        for _ in 0..10 {
            assert_eq!(fs::read(&through).unwrap(), b"bytes");
            assert!(fs::read(path.parent().unwrap()).is_err());
        }
        let file = to_read(Backend::Ring, true).timeout(Some(LONG)).open(&link).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 5);
        fs::write(&fifo, "through a pipe").unwrap();
    });
    system.run().unwrap();
    others.join().unwrap();
    assert_eq!(waits.join().unwrap(), "through a pipe");
}

#[test]
fn virtual_time_refuses_files() {
    let system = LocalSystem::builder().platform(VirtualTime::new()).build();
    let refused = system.spawn(|| fs::read("/proc/self/comm").unwrap_err());
    let open = std::fs::File::open("/proc/self/comm").unwrap();
    let refused_read = system.spawn(move || File::from_std(open).read(&mut [0]).unwrap_err());
    let refused_future =
        system.spawn_future(async { fs::read_async("/proc/self/comm").await.unwrap_err() });
    system.run().unwrap();
    for refused in [refused, refused_read, refused_future] {
        let error = refused.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("virtual time"), "{error}");
    }
}

#[test]
fn a_future_is_told_to_use_the_other_form() {
    let system = LocalSystem::new();
    let wrong = system.spawn_future(async { fs::read("/proc/self/comm") });
    system.run().unwrap();
    let error = wrong.join().unwrap_err();
    assert!(error.to_string().contains("_async"), "{error}");
}

#[test]
fn destructors_of_whoever_exits_still_write() {
    for backend in BACKENDS {
        let folder = Folder::new();
        let path = folder.file("a");
        let there = path.clone();
        let system = LocalSystem::new();
        let exits = system.spawn(move || {
            let file = File::options().write(true).create(true).backend(backend).open(there);
            let mut file = BufWriter::new(file.unwrap());
            file.write_all(b"not lost").unwrap();
            cancel(current().unwrap());
            yield_now();
        });
        system.run().unwrap();
        assert!(exits.join().is_err());
        assert_eq!(std::fs::read(path).unwrap(), b"not lost");
    }
}

#[test]
fn a_thread_reads_too_and_with_a_limit() {
    let folder = Folder::new();
    let path = folder.with(b"bytes");
    for backend in BACKENDS {
        for timeout in [None, Some(std::time::Duration::from_secs(60))] {
            let mut file = to_read(backend, false).timeout(timeout).open(&path).unwrap();
            assert_eq!(file.timeout(), timeout);
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "bytes");
        }
    }
}

#[test]
fn direct_reads_find_aligned_memory() {
    #[repr(align(4096))]
    struct Page([u8; 4096]);
    let folder = Folder::new();
    let path = folder.with(&pattern(8192));
    if std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path).is_err() {
        return;
    }
    for backend in BACKENDS {
        let path = path.clone();
        run(move || {
            let file = to_read(backend, true).custom_flags(libc::O_DIRECT).open(&path).unwrap();
            let mut page = Box::new(Page([0; 4096]));
            assert_eq!(file.read_at(&mut page.0, 4096).unwrap(), 4096);
            assert!(page.0 == pattern(8192)[4096..]);
            page.0.fill(0);
            assert_eq!(block_on(file.read_at_async(&mut page.0, 4096)).unwrap(), 4096);
            assert!(page.0 == pattern(8192)[4096..]);
        });
    }
}

#[test]
fn a_folder_of_many_files_is_listed_once() {
    const FILES: usize = 150;
    let folder = Folder::new();
    for n in 0..FILES {
        std::fs::write(folder.file(&n.to_string()), "x").unwrap();
    }
    let path = folder.0.clone();
    let mut names = run(move || {
        let entries = fs::read_dir(&path).unwrap().map(Result::unwrap);
        entries
            .inspect(|entry| assert!(entry.file_type().unwrap().is_file()))
            .inspect(|entry| assert_eq!(entry.metadata().unwrap().len(), 1))
            .map(|entry| entry.file_name().into_string().unwrap().parse().unwrap())
            .collect::<Vec<usize>>()
    });
    names.sort_unstable();
    assert!(names.into_iter().eq(0..FILES));
    let path = folder.0.clone();
    let count = block_on(async move {
        let (mut entries, mut count) = (fs::read_dir_async(path).await.unwrap(), 0);
        while let Some(entry) = entries.next_async().await {
            entry.unwrap();
            count += 1;
        }
        count
    });
    assert_eq!(count, FILES);
}

#[test]
fn several_cores_and_futures_that_move() {
    const SIZE: usize = 1 << 18;
    let folder = Folder::new();
    let all = std::sync::Arc::new(pattern(SIZE));
    let path = folder.with(&all);
    for backend in BACKENDS {
        let system = System::builder().cores(2).build().unwrap();
        let file = std::sync::Arc::new(to_read(backend, false).open(&path).unwrap());
        let reads: Vec<_> = (0..200usize)
            .map(|n| {
                let (file, all, at) = (file.clone(), all.clone(), (n * 7919) % (SIZE - 1000));
                system.spawn_future(async move {
                    let mut buffer = vec![0; 1000];
                    let count = file.read_at_async(&mut buffer, at as u64).await.unwrap();
                    buffer == all[at..at + count] && count == 1000
                })
            })
            .collect();
        assert!(reads.into_iter().all(|read| read.join().unwrap()), "{backend}");
    }
}

#[test]
fn an_offset_that_no_file_has_is_no_other_one() {
    for backend in BACKENDS {
        let folder = Folder::new();
        let path = folder.with(b"0123456789");
        let content = run(move || {
            let file =
                fs::OpenOptions::new().read(true).write(true).backend(backend).open(&path).unwrap();
            let mut buffer = [0; 4];
            for offset in [u64::MAX, u64::MAX - 1, 1 << 63] {
                let refused = file.read_at(&mut buffer, offset).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
                assert!(file.write_at(b"x", offset).is_err());
                assert!(file.write_all_at(b"xyz", offset).is_err());
                assert!(file.read_exact_at(&mut buffer, offset).is_err());
                assert!(block_on(file.write_at_async(b"x", offset)).is_err());
                assert!(block_on(file.read_at_async(&mut buffer, offset)).is_err());
            }
            (&file).read_exact(&mut buffer).unwrap();
            assert_eq!(&buffer, b"0123", "the cursor stays where it is");
            std::fs::read(&path).unwrap()
        });
        assert_eq!(content, b"0123456789");
    }
}
