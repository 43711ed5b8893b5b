//! Files, by both backends. Where the system has no ring, both are the helpers.

mod basics;
mod cancelling;
mod many;
mod vectored;

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use leno_io::fs::{Backend, File, OpenOptions};
use leno_kernel::LocalSystem;

const BACKENDS: [Backend; 2] = [Backend::Ring, Backend::Helpers];

/// A folder that is gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("leno-fs-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with these bytes, to be read in a certain way.
    fn with(&self, bytes: &[u8]) -> PathBuf {
        let path = self.file("bytes");
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// To read from the system's memory if it is there, or always through the backend.
fn to_read(backend: Backend, assume_cached: bool) -> OpenOptions {
    let mut options = File::options();
    options.read(true).backend(backend).assume_cached(assume_cached);
    options
}

/// A pipe whose reader is opened as a file: reading waits until something is written.
fn slow_file(backend: Backend) -> (File, PipeReader, PipeWriter) {
    let (reader, writer) = io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
    (to_read(backend, true).open(path).unwrap(), reader, writer)
}

/// What a coroutine gives.
fn run<T: 'static>(body: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::new();
    let result = system.spawn(body);
    system.run().unwrap();
    result.join().unwrap()
}

/// Bytes that tell where they are.
fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|place| (place ^ (place >> 8) ^ (place >> 16)) as u8).collect()
}
