//! A file descriptor as an alternative: it is taken when an operation is worth trying.

use std::io;
use std::os::fd::AsFd;

use leno_kernel::Waiter;
use leno_kernel::io::{Readiness, WaitFuture};

use super::source::Source;

/// A descriptor that becomes ready.
///
/// # Examples
/// ```
/// use leno_channel::{Select, shared};
/// use leno_kernel::io::{Descriptor, Interest};
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
///
/// let (near, mut far) = UnixStream::pair()?;
/// let near = Descriptor::new(near)?;
/// let (_stop, stopped) = shared::channel::<()>();
/// far.write_all(b"!")?;
/// let what = Select::new()
///     .recv(&stopped, |_| "stopped")
///     .source(near.wait_async(Interest::READ), |ready| ready.map_or("failed", |_| "readable"))
///     .wait()?;
/// assert_eq!(what, "readable");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: AsFd> Source for WaitFuture<'_, T> {
    type Item = io::Result<Readiness>;

    fn take(&mut self) -> Option<Self::Item> {
        self.try_wait()
    }

    fn wait(&mut self, waiter: &Waiter) {
        self.set_waiter(waiter);
    }

    fn leave(&mut self, _: &Waiter) {
        self.remove_waiter();
    }

    fn is_ready(&self) -> bool {
        WaitFuture::is_ready(self)
    }

    fn is_shared(&self) -> bool {
        true
    }
}
