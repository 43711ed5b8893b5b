//! Reading into several places and writing from several, in one call.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Seek, Write};

use leno_io::fs::{Backend, File};
use leno_kernel::block_on;

use super::{BACKENDS, Folder, pattern, run, slow_file, to_read};

/// More parts than the system takes at once.
const MANY: usize = 1500;

#[test]
fn many_parts_are_written_and_read_in_few_calls() {
    for backend in BACKENDS {
        for assume_cached in [false, true] {
            let folder = Folder::new();
            let path = folder.file("parts");
            run(move || {
                let all = pattern(MANY * 3);
                let mut file = File::options()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .backend(backend)
                    .assume_cached(assume_cached)
                    .open(&path)
                    .unwrap();
                let mut parts: Vec<_> = all.chunks(3).map(IoSlice::new).collect();
                let (mut parts, mut calls) = (&mut parts[..], 0);
                while !parts.is_empty() {
                    let count = file.write_vectored(parts).unwrap();
                    IoSlice::advance_slices(&mut parts, count);
                    calls += 1;
                }
                assert!(calls <= 2, "{calls} calls by {backend}");
                file.rewind().unwrap();
                let mut read = vec![0; all.len()];
                let mut parts: Vec<_> = read.chunks_mut(5).map(IoSliceMut::new).collect();
                let (mut parts, mut calls) = (&mut parts[..], 0);
                while !parts.is_empty() {
                    let count = file.read_vectored(parts).unwrap();
                    assert_ne!(count, 0, "{backend}");
                    IoSliceMut::advance_slices(&mut parts, count);
                    calls += 1;
                }
                assert!(calls <= 2, "{calls} calls by {backend}");
                assert_eq!(read, all, "{backend}");
                assert_eq!(file.read_vectored(&mut []).unwrap(), 0);
                assert_eq!(file.write_vectored(&[]).unwrap(), 0);
            });
        }
    }
}

/// A read that waits gets what has come, and leaves the rest of its places alone.
#[test]
fn a_short_read_fills_the_first_places() {
    for backend in BACKENDS {
        let (mut file, _reader, mut writer) = slow_file(backend);
        run(move || {
            let writes = leno_kernel::spawn_local(move || writer.write_all(b"abcde").unwrap());
            let (mut first, mut second, mut third) = ([b'-'; 2], [b'-'; 4], [b'-'; 2]);
            let mut into = [&mut first[..], &mut second, &mut third].map(IoSliceMut::new);
            assert_eq!(file.read_vectored(&mut into).unwrap(), 5, "{backend}");
            assert_eq!((&first, &second, &third), (b"ab", b"cde-", b"--"));
            writes.join().unwrap();
        });
    }
}

#[test]
fn futures_and_threads_do_the_same() {
    let folder = Folder::new();
    let path = folder.file("parts");
    block_on(async {
        let file = File::create_new_async(&path).await.unwrap();
        let error = File::create_new_async(&path).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        let parts = [&b"one "[..], b"", b"two"].map(IoSlice::new);
        assert_eq!(file.write_vectored_async(&parts).await.unwrap(), 7);
        let metadata = file.metadata_async().await.unwrap();
        let mut permissions = metadata.permissions();
        permissions.set_readonly(true);
        file.set_permissions_async(permissions.clone()).await.unwrap();
        assert!(leno_io::fs::metadata_async(&path).await.unwrap().permissions().readonly());
        leno_io::fs::set_permissions_async(&path, metadata.permissions()).await.unwrap();
        for (backend, assume_cached) in
            BACKENDS.map(|b| (b, false)).into_iter().chain([(Backend::Ring, true)])
        {
            let file = to_read(backend, assume_cached).open_async(&path).await.unwrap();
            let (mut first, mut second) = ([0; 3], [0; 8]);
            let mut into = [&mut first[..], &mut second].map(IoSliceMut::new);
            assert_eq!(file.read_vectored_async(&mut into).await.unwrap(), 7);
            assert_eq!((&first, &second[..4]), (b"one", &b" two"[..]), "{backend}");
        }
    });
    // A thread, which blocks.
    let mut file = File::open(&path).unwrap();
    let (mut first, mut second) = ([0; 1], [0; 6]);
    let mut into = [&mut first[..], &mut second].map(IoSliceMut::new);
    assert_eq!(file.read_vectored(&mut into).unwrap(), 7);
    assert_eq!((&first, &second), (b"o", b"ne two"));
}
