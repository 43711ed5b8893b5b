//! What the tests share.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leno::io::net::{TcpListener, TcpStream};
use leno::kernel::LocalSystem;

pub(crate) const MS: Duration = Duration::from_millis(1);
/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// A listener on loopback, and where it is.
pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Connects, and is patient.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Closes a stream so that its peer sees a reset.
pub(crate) fn reset(stream: TcpStream) {
    stream.set_linger(Some(Duration::ZERO)).unwrap();
}

/// Runs a body as the first coroutine of a system. Afterwards there are no coroutines and as many
/// descriptors as before.
pub(crate) fn leaves_nothing(body: impl FnOnce() + 'static) {
    let _alone = alone();
    // Whatever the process makes once is made by now.
    run(|| drop(listener()));
    let before = descriptors();
    run(body);
    assert_eq!(descriptors(), before, "descriptors are left");
}

fn run(body: impl FnOnce() + 'static) {
    let system = LocalSystem::new();
    let body = system.spawn(body);
    let report = system.run().unwrap();
    body.join().unwrap();
    assert_eq!((report.panicked, report.alive.len()), (0, 0), "{report:?}");
    assert_eq!(report.spawned, report.returned + report.exited, "{report:?}");
}

/// Whoever counts what the whole process has, counts alone.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
