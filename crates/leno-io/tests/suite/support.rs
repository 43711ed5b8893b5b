//! What the tests of this crate share.
#![allow(dead_code, reason = "not every binary uses all of it")]

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leno_io::net::{TcpListener, TcpStream};
use leno_kernel::{LocalSystem, report::Report};

pub(crate) const MS: Duration = Duration::from_millis(1);
/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// More than fits on a small stack.
pub(crate) static MUCH: [u8; 65536] = [0; 65536];

/// A listener on loopback, and where it is.
pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Two streams that are connected to one another, made on a plain thread.
pub(crate) fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listener();
    let near = TcpStream::connect(address).unwrap();
    let (far, from) = listener.accept().unwrap();
    assert_eq!(from, near.local_addr().unwrap());
    (near, far)
}

/// Runs a body as the first coroutine of a system of its own.
pub(crate) fn run<T: 'static>(body: impl FnOnce() -> T + 'static) -> T {
    let (result, report) = run_and_report(body);
    assert_eq!(report.panicked, 0, "{report:?}");
    result
}

pub(crate) fn run_and_report<T: 'static>(body: impl FnOnce() -> T + 'static) -> (T, Report) {
    let system = LocalSystem::new();
    let result = system.spawn(|| or_end(body));
    let report = system.run().unwrap();
    (result.join().unwrap(), report)
}

/// Ends the process if a body panics: others of its system may wait for the outside for ever.
pub(crate) fn or_end<T>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        // Not by a macro, whose output is kept until the test has ended.
        let thread = std::thread::current();
        let message = format!("{}: {}\n", thread.name().unwrap_or("?"), text.unwrap_or("a panic"));
        let _ = io::stderr().write_all(message.as_bytes());
        std::process::exit(101)
    })
}

/// Runs a body on a core, and a thread, of its own.
pub(crate) fn on_a_core<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    std::thread::spawn(move || run(body))
}

/// How many descriptors the process has.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Says how long the process has computed. It has its file open, for when there are no descriptors.
pub(crate) struct Cpu(File);

impl Cpu {
    pub(crate) fn new() -> Cpu {
        Cpu(File::open("/proc/self/stat").unwrap())
    }

    /// In ticks of a hundredth of a second.
    pub(crate) fn ticks(&self) -> u64 {
        let mut text = [0; 1024];
        let count = self.0.read_at(&mut text, 0).unwrap();
        let text = String::from_utf8_lossy(&text[..count]).into_owned();
        let after_name = text.rsplit_once(')').unwrap().1;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// Sleeps, and fails if the process has computed for long meanwhile: then someone spins.
    pub(crate) fn idles(&self, time: Duration) {
        let before = self.ticks();
        leno_kernel::sleep(time);
        let computed = self.ticks() - before;
        assert!(computed <= 10, "{computed} ticks of CPU while nothing happens");
    }
}

/// Whoever counts what the whole process has, counts alone.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kind of an error.
pub(crate) fn kind<T>(result: io::Result<T>) -> io::ErrorKind {
    result.err().expect("it fails").kind()
}
